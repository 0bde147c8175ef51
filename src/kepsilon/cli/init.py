"""placeholder until written"""
import click
@click.command()
def init() -> None:
    """..."""

"""placeholder until written"""
import click
@click.command()
def demo() -> None:
    """..."""

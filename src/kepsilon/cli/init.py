# SPDX-License-Identifier: Apache-2.0
"""`kepsilon init`: proposes a policy for the curator to edit."""

from __future__ import annotations

from pathlib import Path

import click

import kepsilon
from kepsilon.cli.screen import progress


@click.command()
@click.argument("input_path", metavar="INPUT", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write the policy to this file instead of the screen."
)
def init(input_path: Path, output: Path | None) -> None:
    """Propose a policy for INPUT.

    Gives every column a role, and the hierarchy or precision that the role needs, with the reason as a comment. You have
    to set k, epsilon and max_suppression yourself: until then, other commands refuse the policy.
    """
    if output is not None:
        kepsilon.check_new_policy(output)
    with progress() as on_step:
        on_step("look at the data")
        text = kepsilon.propose_policy(input_path)
    if output is None:
        click.echo(text, nl=False)
        click.echo("\nNothing was written. To write the policy to a file, add -o policy.toml.", err=True)
        return
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        kepsilon.check_new_policy(output)
    click.echo(f"Wrote {output}. Next:", err=True)
    click.echo("  1. Edit it: decide k, epsilon and max_suppression, and go through the roles.", err=True)
    click.echo(f"  2. kepsilon check {input_path} -p {output}", err=True)
    click.echo(f"  3. kepsilon anonymise {input_path} -p {output} -o release{input_path.suffix}", err=True)

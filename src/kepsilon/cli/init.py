# SPDX-License-Identifier: Apache-2.0
"""`kepsilon init`: proposes a policy for the curator to edit."""

from __future__ import annotations

from pathlib import Path

import click

import kepsilon
from kepsilon.cli.paths import AnyPath
from kepsilon.cli.screen import progress
from kepsilon.cli.surroundings import say, showing


@click.command()
@click.argument("input_path", metavar="INPUT", type=AnyPath())
@click.option("-o", "--output", type=AnyPath(), help="Write the policy to this file instead of the screen.")
def init(input_path: Path, output: Path | None) -> None:
    """Propose a policy for INPUT.

    Gives every column a role, and the hierarchy or precision that the role needs, with the reason as a comment. You have
    to set k yourself, and epsilon or averages: until then, other commands refuse the policy. Where more columns look like
    k-quasis than make sense, some are proposed in another role or not at all, and the comments say why.
    """
    if output is not None:
        kepsilon.refuse_input(output, kepsilon.inputs_of(input_path))
        kepsilon.check_new_policy(output)
    with progress() as on_step:
        on_step("look at the data")
        text = kepsilon.propose_policy(input_path)
    if output is None:
        with showing("the policy"):
            click.echo(text, nl=False)
        say("\nNothing was written. To write the policy to a file, add -o policy.toml.")
        return
    kepsilon.write_new_policy(output, text)
    say(f"Wrote {output}. Next:")
    say("  1. Edit it: decide k, and epsilon or averages, and go through the roles.")
    say(f"  2. kepsilon check {input_path} -p {output}")
    say(f"  3. kepsilon anonymise {input_path} -p {output} -o release{input_path.suffix}")

# SPDX-License-Identifier: Apache-2.0
"""`kepsilon init`: proposes a policy for the curator to edit."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

import kepsilon
from kepsilon.cli.next_command import show_next
from kepsilon.cli.paths import AnyPath
from kepsilon.cli.screen import progress, show_heading, show_point, show_table, show_wrapped
from kepsilon.cli.surroundings import say, showing

LONGEST_NAME = 24
"""Characters of a column's name that the table of roles shows."""


@click.command()
@click.argument("input_path", metavar="INPUT", type=AnyPath())
@click.option("-o", "--output", type=AnyPath(), help="Write the policy to this file instead of the screen.")
def init(input_path: Path, output: Path | None) -> None:
    """Propose a policy for INPUT.

    Gives every column a role, and the hierarchy or precision that the role needs, with the reason as a comment. You have
    to set k yourself, and epsilon or averages: until then, other commands refuse the policy. Where more columns look like
    k-quasis than make sense, two columns say the same, or one would give people away, some are not published, and the
    comments say why. With -o the roles and what to look at first are shown on the screen.
    """
    if output is not None:
        kepsilon.refuse_input(output, kepsilon.inputs_of(input_path))
        kepsilon.check_new_policy(output)
    with progress() as on_step:
        on_step("look at the data")
        proposed = kepsilon.propose_with_reasons(input_path)
    if output is None:
        with showing("the policy"):
            click.echo(proposed.text, nl=False)
        say("\nNothing was written. To write the policy to a file, add -o policy.toml.")
        return
    kepsilon.write_new_policy(output, proposed.text)
    with showing("the proposal"):
        show_proposal(proposed)
        *first, last = _to_decide(proposed)
        decided = f"{', '.join(first)} and {last}"
        click.echo()
        show_wrapped(f"Wrote {output}. Decide {decided} in it (remove the # before them), and go through the roles.")
        show_next("check", input_path, "-p", output, why="Then see what a release would be worth")
        show_next("explore", input_path, "-p", output, "--max-risk", "0.05", why="Or compare settings")


def show_proposal(proposed: kepsilon.ProposedPolicy) -> None:
    """Prints the role of every column with the reason, and what to look at first."""
    counts = Counter(own.role for own in proposed.columns)
    told = ", ".join(f"{n} {role}" for role, n in counts.most_common())
    show_wrapped(f"{len(proposed.columns)} columns, {proposed.n_records:,} records: {told}.")
    click.echo()
    rows = [(_shortened(own.name), own.role, own.reason) for own in proposed.columns]
    show_table(("column", "role", "why"), rows)
    warned = [(own.name, told) for own in proposed.columns for told in own.warnings]
    if proposed.warnings or warned:
        show_heading("Look at these first")
    for told in proposed.warnings:
        show_point(told)
    for name, told in warned:
        show_point(f"{name}: {told}")


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _to_decide(proposed: kepsilon.ProposedPolicy) -> list[str]:
    """What the policy leaves open, in words."""
    is_noisy = any(own.role == "epsilon-quasi" for own in proposed.columns)
    return ["k", "max_risk", *["epsilon or averages"] * is_noisy]

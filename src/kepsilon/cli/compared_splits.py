# SPDX-License-Identifier: Apache-2.0
"""What `kepsilon explore --split` shows: the answer first, then a line for each split of the numeric quasis."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

import kepsilon
from kepsilon.cli.screen import estimate, percent, show_table, show_wrapped

HEADERS = (
    "",
    "k-quasis",
    "ε-quasis",
    "loss",
    "error",
    "error of range",
    "linking",
    "by",
    "largest single risk",
    "left out",
    "distortion",
    "front",
    "breaks",
)
PROPOSED = (
    "An attribute in its other role has settings as init would propose them, made from the data for this comparison. Edit them "
    "before you use such a split: what is published must not come from the data."
)


def show_splits(grid: kepsilon.Grid, choice: kepsilon.Choice, output: Path | None) -> None:
    """Prints the answer, the table of splits, refusals, and what was chosen."""
    for line in grid.answer:
        show_wrapped(line)
    click.echo()
    show_table(list(HEADERS), list(_rows(grid, choice)))
    click.echo()
    first = grid.cells[0]
    show_wrapped(f"All splits: {first.algorithm}, k = {first.k}{_drawn(grid)}.")
    others = [] if first.split is None else first.split.others
    if others:
        show_wrapped(f"k-quasis in every split, besides: {', '.join(others)}.")
    for cell in grid.cells:
        if cell.refused:
            show_wrapped(f"refused: {cell.name}: {cell.refused}")
    attackers = {own.name: own for cell in reversed(grid.cells) if (own := cell.strongest) is not None}
    for name, attacker in attackers.items():
        show_wrapped(f"Linking by “{name}” is by {attacker.in_words}.")
    show_wrapped(grid.about_single_risk)
    for line in choice.in_words():
        show_wrapped(line)
    if not choice.limits.stated():
        show_wrapped("No limit was stated, so nothing is chosen: try --max-risk 0.05 --max-suppression 0.05.")
    show_wrapped(PROPOSED)
    if output is not None:
        click.echo(f"splits     {output}  (for you only)")


def _drawn(grid: kepsilon.Grid) -> str:
    """What is done to the ε-quasis of all splits that have any, in words."""
    settings = dict.fromkeys(
        cell.setting for cell in grid.cells if cell.split is not None and cell.split.epsilon_quasis
    )
    return "".join(f", {setting}" for setting in settings)


def _rows(grid: kepsilon.Grid, choice: kepsilon.Choice) -> Iterator[list[str]]:
    for cell in grid.cells:
        if cell.split is None:
            continue
        mark = " ".join(["→"] * (cell is choice.cell) + ["own"] * cell.split.is_own)
        roles = [", ".join(names) for names in (cell.split.k_quasis, cell.split.epsilon_quasis)]
        found = cell.prediction
        if found is None:
            yield [mark, *roles, "refused"]
            continue
        errors = [own.range_relative for own in found.error.values()]
        known = [own for own in errors if own is not None]
        yield [
            mark,
            *roles,
            f"{found.loss.ncp.overall:.3f}" if found.loss.ncp.by_attribute else "",
            percent(found.largest_error) if errors else "",
            "" if not errors else percent(sum(known) / len(known) if len(known) == len(errors) else None),
            estimate(found.linking_risk.headline.risk),
            "" if cell.strongest is None else cell.strongest.name,
            percent(found.linking_risk.largest_possible_by_matching),
            estimate(found.suppression),
            "undefined" if found.distortion is None else f"{found.distortion:.3f}",
            "*" if cell.pareto else "",
            ", ".join(sorted(choice.limits.broken_by(cell))),
        ]

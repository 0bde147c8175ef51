# SPDX-License-Identifier: Apache-2.0
"""What `kepsilon explore --split` shows: the answer first, then a line for each split of the numeric quasis."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

import kepsilon
from kepsilon.cli.after_exploring import NextCommand
from kepsilon.cli.fitted_table import show_fitted
from kepsilon.cli.screen import show_wrapped
from kepsilon.rounding import percent

HEADERS = ("", "k-quasis", "ε-quasis", "loss", "error", "linked", "by", "single", "left out", "distortion")
LEAST_NEEDED = ("left out", "by", "error", "loss", "single")
"""Columns that a narrow screen goes without, the least needed first."""
PROPOSED = (
    "An attribute in its other role has settings as init would propose them, made from the data for this comparison. Edit them "
    "before you use such a split: what is published must not come from the data."
)


def show_splits(grid: kepsilon.Grid, choice: kepsilon.Choice, next_command: NextCommand, output: Path | None) -> None:
    """Prints the answer, the table of splits, refusals, and what was chosen."""
    for line in grid.in_words(choice):
        show_wrapped(line)
    if choice.cell is not None:
        next_command.show(grid, choice.cell)
    click.echo()
    show_fitted(HEADERS, list(_rows(grid, choice)), least_needed=LEAST_NEEDED)
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
    if any(_is_out(cell, choice) for cell in grid.cells):
        show_wrapped("× breaks a limit or leaves an attribute useless that the policy does not accept.")
    if not choice.limits.stated():
        show_wrapped("No limit was stated, so nothing is chosen: try --max-risk 0.05 --max-suppression 0.05.")
    show_wrapped(PROPOSED)
    if output is not None:
        click.echo(f"splits     {output}  (for you only)")


def _is_out(cell: kepsilon.Cell, choice: kepsilon.Choice) -> bool:
    """Whether a split that was predicted could not be chosen."""
    found = cell.prediction
    return found is not None and (bool(found.refused_useless) or not choice.limits.allow(cell))


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
        if _is_out(cell, choice):
            mark += " ×"
        left_out = found.suppression.total
        yield [
            mark,
            *roles,
            f"{found.loss.ncp.overall:.3f}" if found.loss.ncp.by_attribute else "",
            percent(found.largest_error) if found.error else "",
            percent(found.linking_risk.headline.risk.total),
            "" if cell.strongest is None else cell.strongest.name,
            percent(found.linking_risk.largest_possible_by_matching),
            percent(left_out) if left_out else "",
            "undefined" if found.distortion is None else f"{found.distortion:.3f}",
        ]

# SPDX-License-Identifier: Apache-2.0
"""What `kepsilon explore` shows: the answer, what to change, the command that comes next, and then the front."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

import kepsilon
from kepsilon.cli.after_exploring import NextCommand
from kepsilon.cli.fitted_table import show_fitted
from kepsilon.cli.screen import show_wrapped
from kepsilon.rounding import percent

NAMES = ("", "algorithm", "k", "values", "linked", "single", "left out", "distortion", "attributes")
"""Columns of the table."""
SETTING_ENDS = 3
"""The columns before this one hold marks, algorithm and k."""
LEAST_NEEDED = ("single", "left out", "attributes")
"""Columns that a narrow screen goes without, the least needed first."""


def show_grid(
    grid: kepsilon.Grid,
    choice: kepsilon.Choice,
    next_command: NextCommand,
    output: Path | None,
    *,
    show_all: bool,
) -> None:
    """Prints the answer first, then the cells that no other beats, or all of them, and what their figures are."""
    for line in grid.in_words(choice):
        show_wrapped(line)
    if choice.cell is not None:
        next_command.show(grid, choice.cell)
    cells = list(grid.cells if show_all else grid.pareto)
    cells += [own for own in (grid.current, choice.cell) if own is not None and own not in cells]
    if not show_all:
        cells = _without_equals(grid, choice, cells)
        cells.sort(key=_by_distortion)
    if show_all:
        click.echo("\nEvery cell:")
    elif grid.pareto:
        click.echo("\nThe front, which no other cell beats in distortion, linking and left out:")
    else:
        click.echo("\nNo cell can be released. Your policy as it is:" if cells else "\nNo cell can be released.")
    if cells:
        show_fitted(NAMES, [_row(grid, choice, cell) for cell in cells], least_needed=LEAST_NEEDED)
    click.echo()
    for line in _notes(grid, choice, cells, show_all=show_all):
        show_wrapped(line)
    if output is not None:
        click.echo(f"grid       {output}  (for you only)")


def _without_equals(grid: kepsilon.Grid, choice: kepsilon.Choice, cells: list[kepsilon.Cell]) -> list[kepsilon.Cell]:
    """One of each set of cells that differ in nothing shown but k and algorithm: the largest k, of the policy's algorithm
    if there is one. The chosen cell and that of the policy as it is stay.
    """
    marked = [own for own in (choice.cell, grid.current) if own is not None]
    preferred = sorted(cells, key=lambda cell: (cell not in marked, -cell.k, cell.algorithm != grid.policy.algorithm))
    shown: dict[tuple[str, ...], kepsilon.Cell] = {}
    for cell in preferred:
        shown.setdefault(tuple(_row(grid, choice, cell)[SETTING_ENDS:]), cell)
    return [cell for cell in cells if cell in marked or cell in shown.values()]


def distortion_in_words(found: kepsilon.Prediction) -> str:
    """The distortion of a cell, on every screen alike."""
    return "undefined" if found.distortion is None else f"{found.distortion:.3f}"


def _by_distortion(cell: kepsilon.Cell) -> float:
    found = cell.prediction
    return float("inf") if found is None or found.distortion is None else found.distortion


def _row(grid: kepsilon.Grid, choice: kepsilon.Choice, cell: kepsilon.Cell) -> list[str]:
    found = cell.prediction
    marks = ["→"] * (cell == choice.cell) + ["•"] * (cell == grid.current)
    start = [cell.algorithm, str(cell.k), cell.short_setting]
    if found is None:
        return ["".join(marks), *start, "refused"]
    if found.refused_useless or not choice.limits.allow(cell):
        marks.append("×")
    left_out = found.suppression.total
    return [
        "".join(marks),
        *start,
        percent(found.linking_risk.headline.risk.total),
        percent(found.linking_risk.largest_possible_by_matching),
        percent(left_out) if left_out else "",
        distortion_in_words(found),
        _worst(found),
    ]


def _worst(found: kepsilon.Prediction) -> str:
    """How many attributes have the worst verdict of all, such as "1 useless"; empty where every attribute is kept."""
    verdicts = [own.verdict for own in found.verdicts.values()]
    worst = found.verdict.usefulness.state
    return "" if worst == "kept" else f"{verdicts.count(worst)} {worst}"


def _notes(
    grid: kepsilon.Grid, choice: kepsilon.Choice, cells: list[kepsilon.Cell], *, show_all: bool
) -> Iterator[str]:
    """Sentences that say what marks and figures mean, and what was refused."""
    marks = ["→ is chosen"] * (choice.cell is not None)
    if grid.current is not None:
        marks.append("• is your policy as it is")
    if any(cell.prediction and (cell.prediction.refused_useless or not choice.limits.allow(cell)) for cell in cells):
        marks.append("× breaks a limit or leaves an attribute useless that the policy does not accept")
    if marks:
        yield f"{', '.join(marks)}."
    if grid.current is None:
        yield "Your policy as it is was not among the settings that were asked for."
    attackers = dict.fromkeys(
        cell.prediction.linking_risk.headline.attacker for cell in cells if cell.prediction is not None
    )
    which = "" if len(attackers) == 1 else "the strongest of these in each cell: "
    if attackers:
        yield f"Linked: share of the records, by {which}{'; '.join(attackers)}."
    yield grid.about_single_risk
    if grid.about_smaller_k:
        yield grid.about_smaller_k
    n_hidden = len(grid.cells) - len(cells)
    more = f" --all shows {n_hidden:,} more." if n_hidden and not show_all else ""
    n_on_the_way = grid.cells_looked_at - len(grid.cells)
    on_the_way = f", {n_on_the_way:,} of them only on the way to others" if n_on_the_way else ""
    yield f"{grid.cells_looked_at:,} cells were looked at{on_the_way}.{more}"
    refusals = {cell.refused: cell for cell in reversed(grid.cells) if cell.refused}
    for cell in refusals.values():
        yield f"refused: {cell.name}: {cell.refused}"
    for cell in cells:
        if cell.prediction is not None and cell.prediction.loss.not_proven is not None:
            yield f"{cell.name}: {cell.prediction.loss.not_proven.in_words}"
    n_left = grid.records.read - grid.records.counted
    if n_left:
        yield (
            f"In every cell {percent(n_left / grid.records.read)} of the records are left out because "
            f"{grid.records.why_not_counted}. They are included in what is left out."
        )
    if any(cell.prediction is not None and cell.prediction.linking_risk.headline.risk.variance for cell in cells):
        yield (
            "With several epsilon-quasis linking is simulated; a cell is within a limit only if it still is with three standard "
            "errors added, which --json has."
        )
    if not grid.policy.epsilon_quasis:
        yield "There is no epsilon-quasi, so nothing depends on ε."

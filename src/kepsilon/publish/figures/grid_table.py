# SPDX-License-Identifier: Apache-2.0
"""The explore page in words and as one table: every cell of the grid, marked where it is the choice, or outside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kepsilon.publish.figures.figure import Json, Tile
from kepsilon.publish.figures.grid import chosen, epsilon_quasis, left_out_words, met
from kepsilon.publish.wording import exact, listed, out_of, percent, plural


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRow:
    """One cell of the grid as a line of its table; `refused` says why there are no figures."""

    look: str
    mark: str
    cells: Sequence[str]
    refused: str | None = None


def grid_headers(grid: Json) -> list[str]:
    confidence = ["left out for confidence", "left out"] if grid.get("confidence") else []
    errors = [f"error of {name}" for name in epsilon_quasis(grid)]
    return [
        "algorithm",
        "k",
        "ε",
        "classes",
        "left out for k",
        *confidence,
        "detail lost",
        *errors,
        "linking risk",
        "distortion",
    ]


def grid_rows(grid: Json) -> Iterator[GridRow]:
    best = chosen(grid)
    names = epsilon_quasis(grid)
    for cell in grid["cells"]:
        key = [cell["algorithm"], exact(cell["k"]), exact(cell["epsilon"])]
        if cell.get("refused"):
            yield GridRow(look="outside", mark="refused", cells=key, refused=cell["refused"])
            continue
        marks = [
            *(["chosen"] if cell is best else []),
            *(["front"] if cell.get("pareto") else []),
            *(["outside limits"] if not cell.get("within_limits", True) else []),
        ]
        confidence = [percent(cell.get("suppressed_by_confidence")), left_out_words(grid, cell, "suppression")]
        error: Json = cell.get("error") or {}
        spread = cell.get("linking_risk_standard_error")
        yield GridRow(
            look=" ".join(mark.split()[0] for mark in marks),
            mark=", ".join(marks),
            cells=[
                *key,
                f"{cell['classes']:,}",
                left_out_words(grid, cell, "suppressed_by_k"),
                *(confidence if grid.get("confidence") else []),
                percent(cell.get("precision_loss")),
                *(percent((error.get(name) or {}).get("expected_relative")) for name in names),
                percent(cell.get("linking_risk")) + (f" ± {percent(2 * spread)}" if spread else ""),
                percent(cell.get("distortion")),
            ],
        )


def grid_lead(grid: Json) -> list[str]:
    """What was looked at and what came of it, in words."""
    counted = (grid.get("records") or {}).get("counted")
    of_records = f" for {counted:,} records" if counted is not None else ""
    refused = len(grid["cells"]) - len(met(grid))
    lead = [
        f"Worked out{of_records}, before any noise is drawn: {plural(len(grid['cells']), 'choice')} of k, ε and algorithm"
        + (f", {refused:,} of which cannot be met." if refused else ".")
    ]
    limits = limits_words(grid)
    lead.append(f"Limits: {limits}." if limits else "No limits were set.")
    if chosen(grid) and grid.get("chosen") is not None:
        lead.append(
            "The choice below has the least distortion among those that keep the limits."
            if limits
            else "The choice below has the least distortion."
        )
    return lead


def limits_words(grid: Json) -> str:
    limits: Json = grid.get("limits") or {}
    words = {"max_risk": "linking risk", "max_suppression": "records left out", "max_error": "error"}
    told = [f"{words[key]} at most {percent(limits[key])}" for key in words if limits.get(key) is not None]
    return listed(told)


def grid_tiles(grid: Json, cell: Json) -> Iterator[Tile]:
    if cell.get("linking_risk") is not None:
        yield Tile(
            value=out_of(cell["linking_risk"]),
            meaning="records linked to the right person by an attacker who knows every true value",
        )
    yield Tile(value=left_out_words(grid, cell, "suppression"), meaning="left out of the release")
    for name, error in list((cell.get("error") or {}).items())[:2]:
        if error.get("expected_relative") is not None:
            yield Tile(
                value=percent(error["expected_relative"]), meaning=f"is how far {name} is off on average, of its value"
            )
    if cell.get("precision_loss") is not None:
        yield Tile(value=percent(cell["precision_loss"]), meaning="of the detail of the generalised attributes lost")
    yield Tile(value=f"{cell['classes']:,}", meaning="classes of records that look alike")

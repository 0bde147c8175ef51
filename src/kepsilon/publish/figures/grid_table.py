# SPDX-License-Identifier: Apache-2.0
"""The explore page as one table: every cell of the grid, marked where it is the choice, on the front, or outside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kepsilon.json_values import Json
from kepsilon.publish.figures.grid import chosen, epsilon_quasis
from kepsilon.publish.wording import distortion, exact, give, percent


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
        spread = cell.get("suppressed_by_confidence_standard_error")
        confidence = [percent(cell.get(key)) + give(spread) for key in ("suppressed_by_confidence", "suppression")]
        error: Json = cell.get("error") or {}
        yield GridRow(
            look=" ".join(mark.split()[0] for mark in marks),
            mark=", ".join(marks),
            cells=[
                *key,
                f"{cell['classes']:,}",
                percent(cell.get("suppressed_by_k")),
                *(confidence if grid.get("confidence") else []),
                percent(cell.get("precision_loss")),
                *(_error(error.get(name)) for name in names),
                percent(cell.get("linking_risk")) + give(cell.get("linking_risk_standard_error")),
                distortion(cell.get("distortion")),
            ],
        )


def _error(one: Json | None) -> str:
    expected = (one or {}).get("expected_relative")
    return "not given" if expected is None else percent(expected)

# SPDX-License-Identifier: Apache-2.0
"""The table of the explore page: every cell of the grid, marked if it is chosen, on the front, or outside the limits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from kepsilon.pages.figures.explored import Explored, setting_words
from kepsilon.pages.wording import distortion, exact, give, percent
from kepsilon.predict.prediction import ExpectedError, Prediction

_CLASSES = {"chosen": "chosen", "your": "current", "front": "front", "outside": "outside", "useless": "outside"}
"""How a row is styled, by the first word of each of its marks."""


FRONT = (
    "“Front”: no other choice is at least as good in all three of distortion, linking risk and records left out, and better "
    "in one."
)
_SHORT = re.compile(r"(?:^|, )front\b")
"""What the short table need not say: its rows are the front."""
_MOST_ERRORS = 4
_FEW = 24
"""Choices that are shown in one table; of more, the table of all of them is folded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRow:
    """One cell of the grid as a row of the table; `refused` says why there are no figures."""

    css_class: str
    mark: str
    fields: Sequence[str]
    refused: str | None = None


def grid_headers(explored: Explored) -> list[str]:
    records = explored.grid.records
    before = ["left out before counting"] if records.counted < records.read else []
    confidence = ["left out for confidence"] if explored.confidence else []
    altogether = ["left out"] if before or confidence else []
    errors = [f"error of {name}, of its value" for name in explored.epsilon_quasis]
    return [
        "algorithm",
        "k",
        *(["ε"] if explored.grid.epsilons else []),
        *(["averages of"] if explored.grid.groups else []),
        "classes",
        *before,
        "left out for k",
        *confidence,
        *altogether,
        "detail lost",
        "bits lost",
        *errors,
        "linking risk",
        "largest single risk",
        "distortion",
    ]


def grid_rows(explored: Explored) -> Iterator[GridRow]:
    names = explored.epsilon_quasis
    for cell in explored.grid.cells:
        setting = [
            cell.algorithm,
            exact(cell.k),
            *([exact(cell.epsilon)] if explored.grid.epsilons else []),
            *([exact(cell.group)] if explored.grid.groups else []),
        ]
        prediction = cell.prediction
        if prediction is None:
            yield GridRow(css_class="outside", mark="refused", fields=setting, refused=cell.refused)
            continue
        marks = [
            *(["chosen"] if cell == explored.choice.cell else []),
            *(["your policy"] if cell is explored.grid.current else []),
            *(["front"] if cell.pareto else []),
            *(["outside limits"] if not explored.choice.limits.allow(cell) else []),
            *(["useless: " + ", ".join(prediction.refused_useless)] if prediction.refused_useless else []),
        ]
        classes = dict.fromkeys(_CLASSES[mark.split()[0].rstrip(":")] for mark in marks)
        risk = prediction.linking_risk.headline.risk
        yield GridRow(
            css_class=" ".join(classes),
            mark=", ".join(marks),
            fields=[
                *setting,
                f"{prediction.classes.count:,}",
                *_left_out(prediction, has_before=explored.grid.records.counted < explored.grid.records.read),
                percent(prediction.loss.ncp.overall),
                percent(prediction.loss.entropy_share.overall),
                *(_error(prediction.error.get(name)) for name in names),
                percent(risk.total) + give(risk.standard_error),
                percent(prediction.linking_risk.largest_possible_by_matching),
                distortion(prediction.distortion),
            ],
        )


def best_headers(explored: Explored) -> list[str]:
    """Headers of the short table; the first two columns are words."""
    errors = [f"error of {name}, of its value" for name in explored.epsilon_quasis[:_MOST_ERRORS]]
    return ["", "choice", "linking risk", "largest single risk", "left out", *errors, "distortion"]


def best_rows(explored: Explored) -> list[GridRow]:
    """Of many cells those on the front, the chosen one and the policy's own, the least distorted first.

    None where all cells fit on a screen.
    """
    cells = [*zip(explored.grid.cells, grid_rows(explored), strict=True)]
    if len(cells) <= _FEW:
        return []
    best = [
        (prediction, row)
        for cell, row in cells
        if (prediction := cell.prediction) is not None
        and not {"front", "chosen", "current"}.isdisjoint(row.css_class.split())
    ]
    best.sort(key=lambda pair: inf if pair[0].distortion is None else pair[0].distortion)
    return [_best(prediction, row, explored) for prediction, row in best]


def _best(prediction: Prediction, row: GridRow, explored: Explored) -> GridRow:
    risk, left_out = prediction.linking_risk.headline.risk, prediction.suppressed.together
    return GridRow(
        css_class=" ".join(name for name in row.css_class.split() if name != "front"),
        mark="",
        fields=[
            _SHORT.sub("", row.mark).removeprefix(", "),
            setting_words(prediction),
            percent(risk.total) + give(risk.standard_error),
            percent(prediction.linking_risk.largest_possible_by_matching),
            percent(left_out.total) + give(left_out.standard_error),
            *(_error(prediction.error.get(name)) for name in explored.epsilon_quasis[:_MOST_ERRORS]),
            distortion(prediction.distortion),
        ],
    )


def _left_out(prediction: Prediction, *, has_before: bool) -> list[str]:
    """Shares of the records read that are left out, by cause, and altogether if there is more than one cause.

    `has_before` says that some records are left out before anything is counted.
    """
    shares = prediction.suppressed
    fields = [percent(shares.before_counting)] * has_before + [percent(shares.by_k)]
    if shares.by_confidence is not None:
        fields.append(percent(shares.by_confidence.total) + give(shares.by_confidence.standard_error))
    if len(fields) > 1:
        fields.append(percent(shares.together.total) + give(shares.together.standard_error))
    return fields


def _error(error: ExpectedError | None) -> str:
    return "not given" if error is None or error.expected_relative is None else percent(error.expected_relative)

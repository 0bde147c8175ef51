# SPDX-License-Identifier: Apache-2.0
"""The figure of all cells by risk and distortion, and of what noise and averages cost at each risk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kepsilon.grid.cells import Cell
from kepsilon.pages.charts import Dot, Series, Style, line_chart, scatter_chart, styles_of
from kepsilon.pages.charts.axes import percent as axis_percent
from kepsilon.pages.charts.palette import BLUE, N_COLOURS, VERMILLION
from kepsilon.pages.charts.scatter import SHAPES
from kepsilon.pages.figures.explored import Explored, is_wide, setting_words
from kepsilon.pages.figures.figure import Figure, Table
from kepsilon.pages.wording import NOTHING, distortion, percent
from kepsilon.predict.prediction import Prediction

_RISKS = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Linking risks at which the table compares noise with averages."""


def front_figures(explored: Explored) -> Iterator[Figure]:
    limits, best = explored.choice.limits, explored.chosen
    ranked = [ranked for cell in explored.grid.cells if (ranked := _ranked(cell)) is not None]
    if not ranked:
        return
    shape_of = {algorithm: SHAPES[i % len(SHAPES)] for i, algorithm in enumerate(explored.grid.algorithms)}
    front = _unbeaten(ranked)
    colours = _colours(explored.grid.ks)
    dots = [
        Dot(
            one.distortion,
            one.risk,
            next(colour for ks, colour in colours if one.cell.k in ks),
            shape_of[one.cell.algorithm],
            is_front=one in front,
            is_pale=not limits.allow(one.cell),
            is_chosen=one.prediction == best,
            is_open=one.cell.group is not None,
        )
        for one in ranked
    ]
    yield Figure(
        title="Every choice, one dot",
        sentences=[
            (
                "Down is safer, left is closer to the original. "
                + ("Filled dots are noise, open ones averages. " if _has_both(explored) else "")
                + "Distortion is the mean over attributes of the detail lost and "
                "the error as a share of the range. Along the line nothing has less of both"
                + ("; pale dots are outside the limits." if limits.stated() else ".")
            )
        ],
        drawing=scatter_chart(
            dots,
            title="Linking risk against distortion",
            x_label="distortion",
            y_label="records linked",
            colours=[(f"k = {ks[0]}" + (f" to {ks[-1]}" if len(ks) > 1 else ""), colour) for ks, colour in colours],
            shapes=[*shape_of.items()],
            filled_words="filled: noise" if _has_both(explored) else "",
            open_words="open: averages" if explored.grid.groups else "",
            y_words=axis_percent,
            x_log=is_wide([dot.x for dot in dots]),
            y_log=is_wide([dot.y for dot in dots]),
            limit=explored.limit("max_risk"),
            chosen_words=f"chosen: {setting_words(best)}" if best else "",
        ),
        table=Table(
            headers=["nothing has less of both", "distortion", "linking risk"],
            rows=[[setting_words(one.prediction), distortion(one.distortion), percent(one.risk)] for one in front],
        ),
    )


def compared_figures(explored: Explored) -> Iterator[Figure]:
    """For each ε-quasi the least error that noise and averages reach at each linking risk, on one scale."""
    if not _has_both(explored):
        return
    limits = explored.choice.limits
    cells = [
        cell
        for cell in explored.grid.cells
        if cell.prediction is not None and not limits.broken_by(cell) - {"max_risk", "max_error"}
    ]
    for name in explored.epsilon_quasis:
        noise, averages = (
            _least(name, [cell for cell in cells if (cell.group is not None) is averaged]) for averaged in (False, True)
        )
        if not noise or not averages:
            continue
        errors = [error for _, error, _ in (*noise, *averages)]
        risks = [risk for risk, _, _ in (*noise, *averages)]
        yield Figure(
            title=f"Noise or averages: {name}",
            sentences=[
                f"The least error of {name} that is to be had for a linking risk, with whatever k and algorithm: the lower "
                "line costs less for the same risk. Both risks are of the strongest attacker who needs to know nothing but "
                "the quasi-identifiers."
                + (
                    " Only choices that leave out no more than allowed are compared."
                    if _limits_leaving(explored)
                    else ""
                )
            ],
            drawing=line_chart(
                [
                    Series(
                        "noise", [(risk, error) for risk, error, _ in noise], Style(VERMILLION, "7 3"), has_dots=True
                    ),
                    Series("averages", [(risk, error) for risk, error, _ in averages], Style(BLUE), has_dots=True),
                ],
                title=f"Error of {name} against linking risk, noise and averages",
                x_label="records linked",
                y_label="mean relative error",
                x_words=axis_percent,
                y_words=axis_percent,
                x_log=is_wide(risks),
                y_log=is_wide(errors),
                limit=explored.limit("max_error"),
                height=250,
            ),
            table=Table(
                headers=["linking risk at most", "noise, error", "by", "averages, error", "by"],
                rows=[[percent(risk), *_at(noise, risk), *_at(averages, risk)] for risk in _RISKS],
            ),
        )


def _has_both(explored: Explored) -> bool:
    """Whether noise and averages are compared."""
    return bool(explored.grid.groups) and any(cell.group is None for cell in explored.grid.cells)


def _limits_leaving(explored: Explored) -> bool:
    return explored.tightest("max_suppression", "max_total_suppression") is not None


_Point = tuple[float, float, Cell]
"""A linking risk, an error, and the cell that has them."""


def _least(name: str, cells: Sequence[Cell]) -> list[_Point]:
    """The cells that have less error of an ε-quasi than every cell of less risk, from the smallest risk to the largest."""
    found: list[_Point] = []
    for cell in cells:
        error = None if cell.prediction is None else cell.prediction.error[name].expected_relative
        if cell.prediction is not None and error is not None:
            found.append((cell.prediction.linking_risk.headline.risk.total, error, cell))
    front: list[_Point] = []
    for point in sorted(found, key=lambda point: point[:2]):
        if not front or point[1] < front[-1][1]:
            front.append(point)
    return front


def _at(front: Sequence[_Point], risk: float) -> tuple[str, str]:
    """The least error at a linking risk, and the cell that has it."""
    within = [point for point in front if point[0] <= risk]
    return (percent(within[-1][1]), within[-1][2].name) if within else (NOTHING, NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranked:
    """A cell that is not refused and has a defined distortion."""

    cell: Cell
    prediction: Prediction
    distortion: float

    @property
    def risk(self) -> float:
        return self.prediction.linking_risk.headline.risk.total


def _ranked(cell: Cell) -> _Ranked | None:
    if cell.prediction is None or cell.prediction.distortion is None:
        return None
    return _Ranked(cell=cell, prediction=cell.prediction, distortion=cell.prediction.distortion)


def _unbeaten(cells: Sequence[_Ranked]) -> list[_Ranked]:
    """Cells such that no other has less risk at no more distortion: the front in these two figures alone."""
    front: list[_Ranked] = []
    for one in sorted(cells, key=lambda one: (one.distortion, one.risk)):
        if not front or one.risk < front[-1].risk:
            front.append(one)
    return front


def _colours(ks: Sequence[int]) -> list[tuple[Sequence[int], int]]:
    """Colours with the k that they stand for; neighbouring k share a colour if there are more k than colours."""
    if len(ks) <= N_COLOURS:
        return [([k], style.colour) for k, style in styles_of(ks).items()]
    together = -(-len(ks) // N_COLOURS)
    ordered = sorted(ks)
    return [(ordered[i : i + together], 1 + i // together) for i in range(0, len(ks), together)]

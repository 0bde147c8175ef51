# SPDX-License-Identifier: Apache-2.0
"""The figure of all cells by risk and distortion, and of what noise and averages cost at each risk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kepsilon.grid.cells import Cell
from kepsilon.grid.choice import is_ranked
from kepsilon.pages.charts import Dot, Series, Style, line_chart, scatter_chart, styles_of
from kepsilon.pages.charts.axes import percent as axis_percent
from kepsilon.pages.charts.drawing import WIDTH, Drawing
from kepsilon.pages.charts.palette import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILLION, VIOLET
from kepsilon.pages.charts.scatter import SHAPES
from kepsilon.pages.figures.explored import Explored, is_wide, setting_words
from kepsilon.pages.figures.figure import Figure, Table
from kepsilon.pages.wording import NOTHING, distortion, percent
from kepsilon.predict.prediction import Prediction

_UNLIKE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, GREY, VIOLET)
"""Colours of marks whose k share one: neighbours do not look alike."""
_RISKS = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Linking risks at which the table compares noise with averages."""


def front_figures(explored: Explored) -> Iterator[Figure]:
    limits, best = explored.choice.limits, explored.chosen
    current = explored.grid.current
    ranked = [
        ranked
        for cell in explored.grid.cells
        if (ranked := _ranked(cell)) is not None and (is_ranked(cell) or cell is current)
    ]
    if not ranked:
        return
    n_useless = sum(
        cell.prediction is not None and bool(cell.prediction.refused_useless) for cell in explored.grid.cells
    )
    shape_of = {algorithm: SHAPES[i % len(SHAPES)] for i, algorithm in enumerate(explored.grid.algorithms)}
    front = _unbeaten([one for one in ranked if is_ranked(one.cell)])
    colours = _colours(explored.grid.ks)
    dots = [
        Dot(
            one.distortion,
            one.risk,
            next(colour for ks, colour in colours if one.cell.k in ks),
            shape_of[one.cell.algorithm],
            is_front=one in front,
            is_pale=not limits.allow(one.cell) or not is_ranked(one.cell),
            is_chosen=one.prediction == best,
            is_open=one.cell.group is not None,
            is_current=one.cell is current,
            words=_name(one.cell),
        )
        for one in ranked
    ]

    def drawn(marks: Sequence[Dot], *, width: float, height: float) -> Drawing:
        return scatter_chart(
            marks,
            width=width,
            height=height,
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
            current_words="" if current is None else f"your policy: {current.name}",
        )

    yield Figure(
        title="Risk against distortion: every choice is a mark",
        sentences=[
            (
                "Down is safer, left is closer to the original. "
                + ("Filled marks are noise, open ones averages. " if _has_both(explored) else "")
                + "Distortion is the mean over attributes of the detail lost and of "
                "the error in units of the spread. Along the line nothing has less of both"
                + ("; pale marks are outside the limits." if limits.stated() else ".")
                + f" Beside a mark stand its {_beside(explored)}, where there is room."
                + (
                    f" {_not_drawn(n_useless, is_own=current is not None and not is_ranked(current))}"
                    if n_useless
                    else ""
                )
            )
        ],
        drawing=drawn([_named(dot, full=True) for dot in dots], width=760, height=380),
        slim=drawn([_named(dot, full=False) for dot in dots], width=WIDTH, height=300),
        table=Table(
            headers=["nothing has less of both", "distortion", "linking risk"],
            rows=[[setting_words(one.prediction), distortion(one.distortion), percent(one.risk)] for one in front],
        ),
    )


def _beside(explored: Explored) -> str:
    """What is written beside a mark."""
    parts = [*(["ε"] if explored.grid.epsilons else []), *(["the size of its groups"] if explored.grid.groups else [])]
    return " and ".join(filter(None, ["k", " or ".join(parts)]))


def _not_drawn(n_useless: int, *, is_own: bool) -> str:
    """How many cells would be refused for a useless attribute, as a sentence; `is_own` says that the policy's is one of them."""
    if n_useless == 1:
        drawn = "it is drawn, because it is your policy's own" if is_own else "it is not drawn"
        return f"One choice leaves an attribute useless and would be refused; {drawn}."
    drawn = "of these only your policy's own is drawn" if is_own else "they are not drawn"
    return f"{n_useless:,} choices leave an attribute useless and would be refused; {drawn}."


def _name(cell: Cell) -> str:
    """k, and ε or the size of groups, as short as a mark needs it."""
    return ", ".join(filter(None, (f"k {cell.k}", cell.short_setting)))


def _named(dot: Dot, *, full: bool) -> Dot:
    """The mark with the name that stands beside it; where there is little room, only the chosen and the current have one."""
    what = [*(["chosen"] if dot.is_chosen else []), *(["your policy"] if dot.is_current else [])]
    if not what:
        return dot if full else replace(dot, words="")
    said = " and ".join(what)
    return replace(dot, words=f"{said}: {dot.words}" if full and dot.words else said)


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
    if len(ks) <= len(_UNLIKE):
        return [([k], style.colour) for k, style in styles_of(ks).items()]
    together = -(-len(ks) // len(_UNLIKE))
    ordered = sorted(ks)
    return [(ordered[i : i + together], _UNLIKE[i // together]) for i in range(0, len(ks), together)]

# SPDX-License-Identifier: Apache-2.0
"""The figures of the explore page: what every cell would cost, and what risk it would leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kepsilon.grid.cells import Cell
from kepsilon.pages.charts import (
    Bar,
    Dot,
    Limit,
    Mark,
    Segment,
    Series,
    bar_chart,
    line_chart,
    scatter_chart,
    styles_of,
)
from kepsilon.pages.charts.axes import percent as axis_percent
from kepsilon.pages.charts.palette import GREY, N_COLOURS, ORANGE, VERMILLION
from kepsilon.pages.charts.scatter import SHAPES
from kepsilon.pages.figures.explored import Explored, setting_words
from kepsilon.pages.figures.figure import Figure, Section, Table
from kepsilon.pages.wording import NOTHING, distortion, exact, percent
from kepsilon.predict.prediction import Prediction


def grid_sections(explored: Explored) -> Iterator[Section]:
    algorithms = explored.grid.algorithms
    risks = [_risk(explored, algorithm) for algorithm in algorithms]
    errors = [_error(explored, algorithm, name) for name in explored.epsilon_quasis for algorithm in algorithms]
    for title, figures in (("Risk", risks), ("Error", errors)):
        if drawn := [figure for figure in figures if figure is not None]:
            yield Section(title=title, figures=drawn)
    met = {prediction.algorithm for prediction in explored.met}
    left_out = [_suppression(explored, algorithm) for algorithm in algorithms if algorithm in met]
    if left_out:
        yield Section(title="Records left out", figures=left_out)
    front = [*_pareto(explored)]
    if front:
        yield Section(title="Risk against distortion", figures=front)


def _limit(explored: Explored, *names: str) -> Limit | None:
    """The tightest of the named limits, to be drawn in a chart."""
    tightest = explored.tightest(*names)
    return None if tightest is None else Limit(tightest, f"limit {percent(tightest)}")


def _risk(explored: Explored, algorithm: str) -> Figure | None:
    return _against_epsilon(
        explored,
        algorithm,
        lambda prediction: prediction.linking_risk.headline.risk.total,
        title="Linking risk",
        sentence="How many records are linked to the right person, on average, by the strongest attacker who needs to know "
        "nothing but the quasi-identifiers: one who takes the likeliest original, or works out a kept column from them. "
        + (
            "Less noise (a larger ε) and smaller classes (a smaller k) mean more links."
            if explored.epsilon_quasis
            else "Smaller classes (a smaller k) mean more links; ε has no effect, because no attribute gets noise."
        ),
        y_label="records linked",
        limit=_limit(explored, "max_risk"),
    )


def _error(explored: Explored, algorithm: str, name: str) -> Figure | None:
    return _against_epsilon(
        explored,
        algorithm,
        lambda prediction: prediction.error[name].expected_relative,
        title=f"Error of {name}",
        sentence=f"How far {name} is off on average, of its value"
        + (": half the ε is twice the error." if explored.has_closed_forms else "."),
        y_label="mean relative error",
        limit=_limit(explored, "max_error"),
    )


def _against_epsilon(
    explored: Explored,
    algorithm: str,
    value: Callable[[Prediction], float | None],
    *,
    title: str,
    sentence: str,
    y_label: str,
    limit: Limit | None,
) -> Figure | None:
    """A chart with one line per k over ε, with the same axes for every algorithm; None if there is nothing to draw."""
    ks, epsilons = explored.grid.ks, explored.grid.epsilons
    curves = {k: {own.epsilon or 0.0: value(own) for own in explored.of(algorithm, k)} for k in ks}
    styles = styles_of(ks)
    series = [Series(f"k = {k}", [*curve.items()], styles[k], has_dots=True) for k, curve in curves.items() if curve]
    everywhere = [y for prediction in explored.met if (y := value(prediction)) is not None]
    if not any(y for curve in curves.values() for y in curve.values()):
        return None
    chosen = explored.chosen
    is_here = chosen is not None and chosen.algorithm == algorithm and chosen.groups is None
    marked = value(chosen) if chosen is not None and is_here else None
    return Figure(
        title=f"{title}, {algorithm}",
        sentences=[sentence],
        drawing=line_chart(
            series,
            title=f"{title} against ε, {algorithm}",
            x_label="ε (smaller hides more)",
            y_label=y_label,
            y_words=axis_percent,
            x_log=len(epsilons) > 1,
            y_log=_is_wide(everywhere),
            x_ticks=epsilons,
            x_reach=(epsilons[0], epsilons[-1]) if len(epsilons) > 1 else None,
            y_holds=everywhere,
            limit=limit,
            mark=Mark(chosen.epsilon or 0.0, marked, "chosen") if chosen and marked is not None else None,
            height=250,
        ),
        table=Table(
            headers=["k", *(f"ε = {exact(epsilon)}" for epsilon in epsilons)],
            rows=[[exact(k), *(percent(curve.get(epsilon)) for epsilon in epsilons)] for k, curve in curves.items()],
            n_words=0,
        ),
    )


def _suppression(explored: Explored, algorithm: str) -> Figure:
    """Records left out by k, at the chosen ε or else at the largest, where confidence leaves out most."""
    epsilon = explored.chosen.epsilon if explored.chosen else max(explored.grid.epsilons, default=None)
    before = explored.grid.records.why_not_counted
    bars, rows = [], []
    for k in explored.grid.ks:
        found = next((own for own in explored.of(algorithm, k) if own.epsilon == epsilon), None)
        if found is None:
            rows.append([exact(k), "refused", NOTHING, NOTHING, NOTHING])
            continue
        shares = found.suppressed
        by_confidence = None if shares.by_confidence is None else shares.by_confidence.total
        # A segment of 1 to k − 1 records is not drawn; expected suppression tells about no record.
        is_few = 0 < found.records.suppressed_by_k < k
        n_before = found.records.read - found.records.counted
        segments = [Segment("to reach k", 0.0 if is_few else shares.by_k, VERMILLION)]
        if n_before >= k:
            segments.insert(0, Segment(before, shares.before_counting, GREY))
        if by_confidence is not None:
            segments.append(Segment("to hold k with confidence", by_confidence, ORANGE))
        together = percent(shares.together.total)
        bars.append(Bar(f"k = {k}", segments, together))
        rows.append([exact(k), percent(shares.before_counting), percent(shares.by_k), percent(by_confidence), together])
    confidence = (
        f", for k to hold with a confidence of {percent(explored.confidence)} in spite of the noise"
        if explored.confidence
        else ""
    )
    return Figure(
        title=f"Left out, {algorithm}, ε = {exact(epsilon)}",
        sentences=[f"The share of the records read that cannot be released: for k{confidence}, and because {before}."],
        drawing=bar_chart(
            bars,
            title=f"Records left out by k, {algorithm}",
            label="records left out",
            axis_words=axis_percent,
            limit=_limit(explored, "max_suppression", "max_total_suppression"),
        )
        if bars
        else None,
        table=Table(
            headers=["k", "before counting", "to reach k", "with confidence", "together"], rows=rows, n_words=0
        ),
    )


def _pareto(explored: Explored) -> Iterator[Figure]:
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
        )
        for one in ranked
    ]
    yield Figure(
        title="Every choice, one dot",
        sentences=[
            (
                "Down is safer, left is closer to the original. Distortion is the mean over attributes of the detail lost and "
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
            y_words=axis_percent,
            x_log=_is_wide([dot.x for dot in dots]),
            y_log=_is_wide([dot.y for dot in dots]),
            limit=_limit(explored, "max_risk"),
            chosen_words=f"chosen: {setting_words(best)}" if best else "",
        ),
        table=Table(
            headers=["nothing has less of both", "distortion", "linking risk"],
            rows=[[setting_words(one.prediction), distortion(one.distortion), percent(one.risk)] for one in front],
        ),
    )


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


def _is_wide(numbers: Sequence[float]) -> bool:
    return min(numbers) > 0 and max(numbers) / min(numbers) > 20

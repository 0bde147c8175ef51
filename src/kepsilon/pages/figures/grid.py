# SPDX-License-Identifier: Apache-2.0
"""The figures of the explore page: what every cell would cost, and what risk it would leave."""

from __future__ import annotations

from collections.abc import Iterator

from kepsilon.pages.charts import Bar, Segment, bar_chart
from kepsilon.pages.charts.axes import percent as axis_percent
from kepsilon.pages.charts.palette import GREY, ORANGE, VERMILLION
from kepsilon.pages.figures.explored import Explored
from kepsilon.pages.figures.figure import Figure, Section, Table
from kepsilon.pages.figures.grid_curves import error_figures, risk_figures
from kepsilon.pages.figures.grid_front import compared_figures
from kepsilon.pages.wording import NOTHING, exact, percent
from kepsilon.predict.prediction import Prediction


def grid_sections(explored: Explored) -> Iterator[Section]:
    algorithms = explored.grid.algorithms
    compared = [*compared_figures(explored)]
    if compared:
        yield Section(title="Noise or averages", figures=compared)
    risks = [figure for algorithm in algorithms for figure in risk_figures(explored, algorithm)]
    errors = [
        figure
        for name in explored.epsilon_quasis
        for algorithm in algorithms
        for figure in error_figures(explored, algorithm, name)
    ]
    for title, figures in (("Risk", risks), ("Error", errors)):
        if figures:
            yield Section(title=title, figures=figures)
    met = {prediction.algorithm for prediction in explored.met}
    left_out = [_suppression(explored, algorithm) for algorithm in algorithms if algorithm in met]
    if left_out:
        yield Section(title="Records left out", figures=left_out)


def _suppression(explored: Explored, algorithm: str) -> Figure:
    """Records left out by k: with averages if these were chosen, or else at the ε that is shown."""
    before = explored.grid.records.why_not_counted
    bars, rows = [], []
    for k in explored.grid.ks:
        found = _shown(explored, algorithm, k)
        if found is None:
            tried = [cell for cell in explored.grid.cells if (cell.algorithm, cell.k) == (algorithm, k)]
            if tried:
                is_refused = all(cell.prediction is None for cell in tried)
                rows.append([exact(k), "refused" if is_refused else NOTHING, NOTHING, NOTHING, NOTHING])
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
        if explored.confidence and not explored.chooses_averages
        else ""
    )
    epsilon = None if explored.chooses_averages else explored.shown_epsilon
    return Figure(
        title=f"Left out, {algorithm}" + ("" if epsilon is None else f", ε = {exact(epsilon)}"),
        sentences=[f"The share of the records read that cannot be released: for k{confidence}, and because {before}."],
        drawing=bar_chart(
            bars,
            title=f"Records left out by k, {algorithm}",
            label="records left out",
            axis_words=axis_percent,
            limit=explored.limit("max_suppression", "max_total_suppression"),
        )
        if bars
        else None,
        table=Table(
            headers=["k", "before counting", "to reach k", "with confidence", "together"], rows=rows, n_words=0
        ),
    )


def _shown(explored: Explored, algorithm: str, k: int) -> Prediction | None:
    """The prediction whose suppression is shown; that for k alone depends neither on ε nor on groups."""
    noisy = [own for own in explored.of(algorithm, k) if own.epsilon == explored.shown_epsilon]
    averaged = explored.averaged(algorithm, k)
    if explored.chooses_averages or not noisy:
        return next(iter(averaged or ([] if explored.confidence else explored.of(algorithm, k))), None)
    return noisy[0]

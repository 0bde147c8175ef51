# SPDX-License-Identifier: Apache-2.0
"""Figures of the explore page with a curve for each k: over ε for noise, over the size of groups for averages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kepsilon.pages.charts import Bar, Limit, Mark, Segment, Series, bar_chart, line_chart, styles_of
from kepsilon.pages.charts.axes import percent as axis_percent
from kepsilon.pages.charts.palette import BLUE
from kepsilon.pages.figures.explored import Explored, is_wide
from kepsilon.pages.figures.figure import Figure, Table
from kepsilon.pages.wording import exact, percent
from kepsilon.predict.prediction import Prediction

Value = Callable[[Prediction], float | None]


def risk_figures(explored: Explored, algorithm: str) -> Iterator[Figure]:
    """The linking risk of one algorithm: over ε, over the size of groups, or by k where nothing else matters."""
    who = (
        "How many records are linked to the right person, on average, by the strongest attacker who needs to know "
        "nothing but the quasi-identifiers: one who takes the likeliest original, or works out a kept column from them. "
    )
    grouped = (
        "How many records are linked to the right person, on average, by the strongest attacker who needs to know "
        "nothing but the quasi-identifiers: one who makes the same groups, or works out a kept column from them. "
    )
    charts = _Charts(explored=explored, algorithm=algorithm, value=_headline)
    limit = explored.limit("max_risk")
    if not explored.epsilon_quasis:
        words = f"{who}Smaller classes (a smaller k) mean more links; ε has no effect, because no attribute gets noise."
        yield from charts.by_k(title="Linking risk", sentence=words, label="records linked", limit=limit)
        return
    yield from charts.over_epsilon(
        title="Linking risk",
        sentence=f"{who}Less noise (a larger ε) and smaller classes (a smaller k) mean more links.",
        y_label="records linked",
        limit=limit,
    )
    yield from charts.over_groups(
        title="Linking risk",
        sentence=f"{grouped}Smaller groups mean more links.",
        y_label="records linked",
        limit=limit,
    )


def error_figures(explored: Explored, algorithm: str, name: str) -> Iterator[Figure]:
    """The error of one ε-quasi and algorithm: over ε, and over the size of groups."""
    charts = _Charts(
        explored=explored,
        algorithm=algorithm,
        value=lambda prediction: prediction.error[name].expected_relative if name in prediction.error else None,
    )
    off = f"How far {name} is off on average, of its value"
    limit = explored.limit("max_error")
    yield from charts.over_epsilon(
        title=f"Error of {name}",
        sentence=off + (": half the ε is twice the error." if explored.has_closed_forms else "."),
        y_label="mean relative error",
        limit=limit,
    )
    yield from charts.over_groups(
        title=f"Error of {name}",
        sentence=f"{off}: larger groups are farther from each of their records.",
        y_label="mean relative error",
        limit=limit,
    )


def _headline(prediction: Prediction) -> float:
    return prediction.linking_risk.headline.risk.total


@dataclass(frozen=True, slots=True, kw_only=True)
class _Charts:
    """Charts of one figure of one algorithm, with the same vertical axis for noise, for averages and for all algorithms."""

    explored: Explored
    algorithm: str
    value: Value

    def over_epsilon(self, *, title: str, sentence: str, y_label: str, limit: Limit | None) -> Iterator[Figure]:
        """One line per k over ε, of records with noise of their own; nothing if there is nothing to draw."""
        explored = self.explored
        chosen = explored.chosen
        is_here = chosen is not None and chosen.algorithm == self.algorithm and chosen.groups is None
        yield from self._lines(
            {k: [(own.epsilon or 0.0, own) for own in explored.of(self.algorithm, k)] for k in explored.grid.ks},
            title=f"{title} of noise, {self.algorithm}" if explored.grid.groups else f"{title}, {self.algorithm}",
            sentence=sentence,
            over="ε",
            x_label="ε (smaller hides more)",
            y_label=y_label,
            name=lambda epsilon: f"ε = {exact(epsilon)}",
            limit=limit,
            chosen=(chosen.epsilon or 0.0, chosen) if chosen is not None and is_here else None,
        )

    def over_groups(self, *, title: str, sentence: str, y_label: str, limit: Limit | None) -> Iterator[Figure]:
        """One line per k over the size of averaged groups; nothing if there is nothing to draw."""
        explored = self.explored
        chosen = explored.chosen if explored.chooses_averages else None
        epsilon = explored.shown_epsilon_of_averages
        yield from self._lines(
            {
                k: [(own.groups.asked, own) for own in explored.averaged(self.algorithm, k) if own.groups is not None]
                for k in explored.grid.ks
            },
            title=f"{title} of averages, {self.algorithm}" + ("" if epsilon is None else f", ε = {exact(epsilon)}"),
            sentence=sentence,
            over="the size of groups",
            x_label="records averaged together, at least",
            y_label=y_label,
            name=lambda group: f"averages of {exact(int(group))}",
            limit=limit,
            chosen=None
            if chosen is None or chosen.groups is None or chosen.algorithm != self.algorithm
            else (chosen.groups.asked, chosen),
        )

    def by_k(self, *, title: str, sentence: str, label: str, limit: Limit | None) -> Iterator[Figure]:
        """One bar per k, where neither noise nor averages are asked for."""
        found = {k: [self.value(own) for own in self.explored.of(self.algorithm, k)] for k in self.explored.grid.ks}
        shares = {k: own[0] for k, own in found.items() if own and own[0] is not None}
        if not shares:
            return
        yield Figure(
            title=f"{title}, {self.algorithm}",
            sentences=[sentence],
            drawing=bar_chart(
                [Bar(f"k = {k}", [Segment(label, share, BLUE)], percent(share)) for k, share in shares.items()],
                title=f"{title} by k, {self.algorithm}",
                label=label,
                axis_words=axis_percent,
                limit=limit,
            ),
            table=Table(
                headers=["k", label], rows=[[exact(k), percent(share)] for k, share in shares.items()], n_words=0
            ),
        )

    def _lines(
        self,
        points: Mapping[int, Sequence[tuple[float, Prediction]]],
        *,
        title: str,
        sentence: str,
        over: str,
        x_label: str,
        y_label: str,
        name: Callable[[float], str],
        limit: Limit | None,
        chosen: tuple[float, Prediction] | None,
    ) -> Iterator[Figure]:
        """One line per k; `points` are predictions with where they stand on the horizontal axis."""
        curves = {k: {x: self.value(own) for x, own in found} for k, found in points.items()}
        xs = sorted({x for curve in curves.values() for x in curve})
        if not any(y for curve in curves.values() for y in curve.values()):
            return
        marked_k = None if chosen is None else chosen[1].k
        if len(xs) > 1:  # a point alone is no curve: the table has it, and the chart of risk against distortion
            drawn = {k: own for k, own in curves.items() if len(own) > 1 or k == marked_k}
            if not any(len(own) > 1 for own in drawn.values()):
                return
        else:
            drawn = curves
        styles = styles_of(self.explored.grid.ks)
        everywhere = [y for own in self.explored.met if (y := self.value(own)) is not None]
        marked = None if chosen is None else self.value(chosen[1])
        yield Figure(
            title=title,
            sentences=[sentence],
            drawing=line_chart(
                [Series(f"k = {k}", [*own.items()], styles[k], has_dots=True) for k, own in drawn.items() if own],
                title=f"{title}, against {over}",
                x_label=x_label,
                y_label=y_label,
                y_words=axis_percent,
                x_log=len(xs) > 1,
                y_log=is_wide(everywhere),
                x_ticks=xs,
                x_reach=(xs[0], xs[-1]) if len(xs) > 1 else None,
                y_holds=everywhere,
                limit=limit,
                mark=Mark(chosen[0], marked, "chosen") if chosen is not None and marked is not None else None,
                height=250,
            ),
            table=Table(
                headers=["k", *map(name, xs)],
                rows=[[exact(k), *(percent(curve.get(x)) for x in xs)] for k, curve in curves.items() if curve],
                n_words=0,
            ),
        )

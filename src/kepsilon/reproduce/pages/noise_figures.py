# SPDX-License-Identifier: Apache-2.0
"""Where noise by class stands beside noise for the whole data set and uniform noise: errors, and what is given away."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kepsilon.json_values import Json
from kepsilon.pages.charts import Bar, Segment, Series, Spread, Style, bar_chart, line_chart
from kepsilon.pages.charts.axes import percent as axis_percent
from kepsilon.pages.charts.palette import BROWN, INK, TEAL
from kepsilon.pages.figures.figure import Table
from kepsilon.pages.wording import NOTHING, percent
from kepsilon.reproduce.pages import paper_says
from kepsilon.reproduce.pages.numbers import across, known, shares
from kepsilon.reproduce.pages.panels import (
    Panel,
    ShownFigure,
    described,
    in_order,
    n_columns,
    not_measured,
    shown_title,
)
from kepsilon.reproduce.setting import Measurements

BY_CLASS, BY_WHOLE, UNIFORM = Style(INK), Style(BROWN, "6 3"), Style(TEAL, "2 2")
_CURVES = ("per_class", "whole_data", "uniform")
_RUNS = ("per_class_runs", "whole_data_runs")
_DOTS, _LINES = 10, 10
"""Dots along a line, and lines of a table; the file has every point."""
_GIVEN_AWAY = {
    "ruled_out": "others ruled out",
    "risk": "linked",
    "over_half": "above one half",
    "certain": "certain",
}
_KINDS = (("uniform", "uniform_noise", UNIFORM), ("classes", "class_noise", BY_CLASS))


def distributions(measurements: Measurements) -> ShownFigure:
    measured = in_order(measurements, "distributions")
    return ShownFigure(
        id="error-distributions",
        title="How errors are distributed",
        reference="Figure 2",
        reading=[
            (
                "The share of records whose error is at most that on the axis. The paper does not give its ε; here it is the "
                "one at which noise by class (“classes”) errs as much on average as uniform noise of ± 5 %, and noise for the "
                "whole data set (“whole”) has the same ε. Lines are closed forms, dots the runs. Published values have one "
                "decimal, so that some runs have no error at all where the line starts at 0."
            ),
        ],
        says=paper_says.distributions(measured),
        panels=[_distributions_panel(ours) for ours in measured],
        rows=[row for ours in measured for row in _distribution_rows(ours)],
        note="Per cent of the records, closed forms.",
        missing=not_measured(measurements, "distributions"),
        columns=n_columns(measured),
    )


def _distributions_panel(ours: Json) -> Panel:
    cell, title = _as_uniform(ours), shown_title(ours)
    at: Sequence[float] = cell["at"]
    looks = (("classes", BY_CLASS), ("whole", BY_WHOLE), ("uniform", UNIFORM))
    series = []
    for i, (name, look) in enumerate(looks):
        runs = cell.get(_RUNS[i]) if i < len(_RUNS) else None
        every = max(len(at) // _DOTS, 1)
        dots = [Spread(at[j], runs[j]) for j in range(every, len(at), every)] if runs else []
        series.append(Series(name, [*zip(at, cell[_CURVES[i]], strict=True)], look, runs=dots))
    chart = line_chart(
        series,
        title=f"Distribution of relative errors, {title}",
        x_label="relative error, linear",
        y_label=f"records, k = {ours['k']}, ε = {cell['epsilon']:.3g}, linear",
        x_words=axis_percent,
        y_words=axis_percent,
        y_holds=[1.0],
    )
    shown = range(0, len(at), max(len(at) // _LINES, 1))
    return Panel(
        title=title,
        drawing=chart,
        table=Table(
            headers=["error at most", "noise by class", "noise for the whole", "uniform ± 5 %"],
            rows=across([shares([at[i] for i in shown]), *(shares([cell[key][i] for i in shown]) for key in _CURVES)]),
            n_words=0,
        ),
    )


def _as_uniform(ours: Json) -> Json:
    """The cell whose mean error is nearest to that of uniform noise."""
    wanted = ours.get("epsilon_as_uniform") or 1
    found: Json = min(ours["cells"], key=lambda cell: abs(math.log(cell["epsilon"] / wanted)))
    return found


def _distribution_rows(ours: Json) -> list[Json]:
    return [
        {
            **described(ours),
            "k": ours["k"],
            "epsilon": cell["epsilon"],
            "error": error,
            **{key: cell[key][i] for key in (*_CURVES, *_RUNS) if cell.get(key)},
        }
        for cell in ours["cells"]
        for i, error in enumerate(cell["at"])
    ]


def uniform_noise(measurements: Measurements) -> ShownFigure:
    """What the paper says about uniform noise without a figure."""
    measured = in_order(measurements, "uniform")
    everywhere = [
        known(ours[key].get(name)) or 0.0 for ours in measured for _, key, _ in _KINDS for name in _GIVEN_AWAY
    ]
    return ShownFigure(
        id="uniform-noise",
        title="What uniform noise gives away",
        reference="Section III-C, without a figure there",
        reading=[
            (
                "Noise of the same mean error. “Others ruled out”: the share of the other originals of the class that a "
                "published value cannot come from. “Linked”: by an attacker who picks the likeliest original. “Above one half” "
                "and “certain”: records whose own original is likelier than all others together, or the only one possible."
            ),
            _linked(measured),
        ],
        says=paper_says.uniform_noise(),
        panels=[_uniform_panel(ours, max(everywhere)) for ours in measured],
        rows=[
            {
                **described(ours),
                "k": ours["k"],
                "noise": noise,
                "epsilon": epsilon,
                "quantity": name,
                **_figure(found, name),
            }
            for ours in measured
            for noise, found, epsilon in (
                ("uniform", ours["uniform_noise"], None),
                ("class", ours["class_noise"], ours["epsilon"]),
            )
            for name in _GIVEN_AWAY
        ],
        missing=not_measured(measurements, "uniform"),
        note="Per cent of the records, ± two standard errors.",
        columns=n_columns(measured),
    )


def _linked(measured: Sequence[Json]) -> str:
    """What speaks for uniform noise, and what against it; and how often it was drawn."""
    if not measured:
        return ""

    def linked(ours: Json) -> str:
        by_class, uniform = (percent(ours[key]["risk"]) for key in ("class_noise", "uniform_noise"))
        return f"{by_class} against {uniform} ({shown_title(ours)})"

    def certain(key: str) -> str:
        found = [ours[key]["certain"] for ours in measured]
        return percent(found[0]) if min(found) == max(found) else f"{percent(min(found))} to {percent(max(found))}"

    more = [ours for ours in measured if ours["class_noise"]["risk"] > ours["uniform_noise"]["risk"]]
    runs = " or ".join(str(n) for n in sorted({ours["runs"] for ours in measured}))
    where = "everywhere" if len(more) == len(measured) else f"in {len(more)} of {len(measured)} panels"
    ordered = sorted(measured, key=lambda ours: float(ours["class_noise"]["risk"]))
    return (
        f"At the same mean error an attacker links more records under noise by class than under uniform noise {where}: "
        f"from {linked(ordered[0])} to {linked(ordered[-1])}. What uniform noise adds is certainty about some: "
        f"{certain('uniform_noise')} of the records, under noise by class {certain('class_noise')}. "
        f"All this is from {runs} runs of its own."
    )


def _figure(found: Json, name: str) -> Json:
    return {
        "expected": known(found.get(f"{name}_expected")),
        "mean": known(found.get(name)),
        "standard_error": known(found.get(f"{name}_standard_error")),
    }


def _uniform_panel(ours: Json, largest: float) -> Panel:
    title = shown_title(ours)
    bars = [
        Bar(
            words if key == "uniform_noise" else "",
            [Segment(f"noise: {name}", found, look.colour)],
            f"{percent(found)} {name}",
        )
        for quantity, words in _GIVEN_AWAY.items()
        for name, key, look in _KINDS
        if (found := known(ours[key].get(quantity))) is not None
    ]
    chart = bar_chart(
        bars,
        title=f"What uniform noise and noise by class give away, {title}",
        label=f"share, k = {ours['k']}, linear",
        axis_words=axis_percent,
        holds=largest,
    )
    return Panel(
        title=title,
        drawing=chart,
        table=Table(
            headers=["", "uniform ± 5 %", f"noise by class, ε = {ours['epsilon']:.4g}"],
            rows=[
                [
                    words,
                    *(
                        _with_give(known(ours[key].get(name)), known(ours[key].get(f"{name}_standard_error")))
                        for _, key, _ in _KINDS
                    ),
                ]
                for name, words in _GIVEN_AWAY.items()
            ],
        ),
    )


def _with_give(share: float | None, standard_error: float | None) -> str:
    if share is None:
        return NOTHING
    return f"{100 * share:.3f}" + (f" ± {200 * standard_error:.3f}" if standard_error else "")

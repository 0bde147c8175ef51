# SPDX-License-Identifier: Apache-2.0
"""The paper's figures and its table of suppression, in its order; those that are not over the grid are drawn here."""

from __future__ import annotations

from collections.abc import Sequence

from kepsilon.publish.charts import Look, Series, line_chart
from kepsilon.publish.charts.palette import BROWN, GREY, INK
from kepsilon.publish.figures.figure import Table
from kepsilon.publish.wording import NOTHING, exact, number, percent
from kepsilon.reproduce.pages import paper_says
from kepsilon.reproduce.pages.grid_panels import against_k
from kepsilon.reproduce.pages.noise_figures import distributions, uniform_noise
from kepsilon.reproduce.pages.panels import (
    Json,
    Panel,
    ShownFigure,
    described,
    in_order,
    n_columns,
    not_measured,
    share,
    shown_title,
)
from kepsilon.reproduce.pages.release_figures import (
    confident_k,
    error_by_epsilon,
    error_by_k,
    risk_by_epsilon,
    suppression_table,
)
from kepsilon.reproduce.setting import ALGORITHM_NAMES, Measurements

WITHOUT, WITH, EXTRA = Look(INK), Look(BROWN, "6 3"), Look(GREY, "2 2")
"""(k,ε)-anonymity, k-anonymity with the extra k-quasi, and that quasi itself."""

_PLAIN = {
    "ola": "“Ratio, plain” in the tables: if all records were grouped anew at every node that is looked at.",
    "mondrian": "“Ratio, plain” in the tables: if records were cut one by one instead of counted first.",
}


def paper_figures(measurements: Measurements) -> list[ShownFigure]:
    return [
        dimensions(measurements),
        distributions(measurements),
        uniform_noise(measurements),
        suppression_table(measurements),
        error_by_k(measurements),
        error_by_epsilon(measurements),
        risk_by_epsilon(measurements),
        confident_k(measurements),
        running_times(measurements, "mondrian"),
        running_times(measurements, "ola"),
    ]


def dimensions(measurements: Measurements) -> ShownFigure:
    measured = in_order(measurements, "dimensions")
    return ShownFigure(
        id="dimensions",
        title="What one more k-quasi costs the others",
        reference="Figure 1",
        reading=[
            (
                "Loss runs from 0, every value kept, to 1, every value gone. “Without”: the mean loss of the other quasis where "
                "height or weight only gets noise. “With”: the same quasis where it is a k-quasi too. The third line is what it "
                "loses itself. Each algorithm has an axis of its own."
            ),
        ],
        says=paper_says.dimensions(),
        panels=[_dimensions_panel(ours, _largest_loss(measured, ours["algorithm"])) for ours in measured],
        rows=[
            {
                **described(ours),
                "extra": ours["extra"],
                **{key: value for key, value in one.items() if not isinstance(value, dict)},
            }
            for ours in measured
            for one in ours["ks"]
        ],
        missing=not_measured(measurements, "dimensions"),
        columns=n_columns(measured),
    )


_LOSSES = ("loss_without", "loss_with", "extra_loss")


def _largest_loss(measured: Sequence[Json], algorithm: str) -> float:
    """Of one algorithm; Mondrian loses so little that its line of panels has an axis of its own."""
    losses: list[float] = [
        one[key] for ours in measured if ours["algorithm"] == algorithm for one in ours["ks"] for key in _LOSSES
    ]
    return max(losses)


def _dimensions_panel(ours: Json, largest: float) -> Panel:
    extra, title = ours["extra"], shown_title(ours)
    lines = zip(("without", "with", extra), _LOSSES, (WITHOUT, WITH, EXTRA), strict=True)
    chart = line_chart(
        [Series(name, [(one["k"], one[key]) for one in ours["ks"]], look, has_dots=True) for name, key, look in lines],
        title=f"Loss of the k-quasis with and without {extra}, {title}",
        y_label="precision loss, 0 to 1",
        y_holds=[largest],
        **against_k(ours),
    )
    return Panel(
        title=title,
        drawing=chart,
        table=Table(
            headers=[
                "k",
                "without",
                "with",
                extra,
                "left out without",
                "left out with",
                "levels without",
                "levels with",
            ],
            rows=[
                [
                    exact(one["k"]),
                    share(one["loss_without"]),
                    share(one["loss_with"]),
                    share(one["extra_loss"]),
                    percent(one["suppressed_without"]),
                    percent(one["suppressed_with"]),
                    _levels(one["levels_without"]),
                    _levels(one["levels_with"]),
                ]
                for one in ours["ks"]
            ],
            n_words=0,
        ),
    )


def _levels(levels: Json | None) -> str:
    return NOTHING if levels is None else ", ".join(f"{name} {level}" for name, level in levels.items())


def running_times(measurements: Measurements, algorithm: str) -> ShownFigure:
    measured = in_order(measurements, "times", algorithms=(algorithm,))
    name = ALGORITHM_NAMES[algorithm]
    everywhere = [one[key] for ours in measured for one in ours["ks"] for key in ("seconds_with", "seconds_without")]
    says = paper_says.times_of_ola(measured) if algorithm == "ola" else paper_says.times_of_mondrian()
    return ShownFigure(
        id=f"times-{algorithm}",
        title=f"Running time with {name}",
        reference="Figure 8" if algorithm == "ola" else "Figure 7",
        reading=[
            (
                "“k alone”: k-anonymity with height or weight as one more k-quasi. “(k,ε)”: without it, noise included. Both are "
                "timed in one process, one after the other; the ratio says more than the seconds."
            ),
            _PLAIN[algorithm],
        ],
        says=says,
        panels=[_times_panel(ours, everywhere, is_log=algorithm == "ola") for ours in measured],
        rows=[{**described(ours), **one, "ratio_plain": _plain(ours, one)} for ours in measured for one in ours["ks"]],
        missing=not_measured(measurements, "times", algorithms=(algorithm,)),
        columns=n_columns(measured),
    )


def _times_panel(ours: Json, everywhere: Sequence[float], *, is_log: bool) -> Panel:
    title = shown_title(ours)
    lines = (("k alone", "seconds_with", WITH), ("(k,ε)", "seconds_without", WITHOUT))
    chart = line_chart(
        [Series(name, [(one["k"], one[key]) for one in ours["ks"]], look, has_dots=True) for name, key, look in lines],
        title=f"Running time against k, {title}",
        y_label="seconds",
        y_log=is_log,
        y_holds=everywhere,
        height=200,
        **against_k(ours),
    )
    return Panel(
        title=title,
        drawing=chart,
        table=Table(
            headers=[
                "k",
                "k alone, seconds",
                "(k,ε), seconds",
                "ratio",
                "ratio, plain",
                "nodes, k alone",
                "nodes, (k,ε)",
            ],
            rows=[
                [
                    exact(one["k"]),
                    number(one["seconds_with"]),
                    number(one["seconds_without"]),
                    _times(one["ratio"]),
                    _times(_plain(ours, one)),
                    number(one.get("nodes_counted_with")),
                    number(one.get("nodes_counted_without")),
                ]
                for one in ours["ks"]
            ],
            n_words=0,
        ),
    )


def _plain(ours: Json, one: Json) -> float | None:
    """The ratio for code that does not count combinations once and for all, where that was timed."""
    found = (ours.get("regrouping") or {}).get("ks") or ours.get("by_record") or []
    ratio: float | None = next((row["ratio"] for row in found if row["k"] == one["k"]), None)
    return ratio


def _times(ratio: float | None) -> str:
    return NOTHING if ratio is None else f"{number(ratio)} ×"

# SPDX-License-Identifier: Apache-2.0
"""The paper's figures and its table of suppression, in its order; those that are not over the grid are drawn here."""

from __future__ import annotations

from collections.abc import Sequence

from kepsilon.json_values import Json
from kepsilon.pages.charts import Limit, Series, Style, line_chart
from kepsilon.pages.charts.palette import BROWN, INK, TEAL
from kepsilon.pages.figures.figure import Table
from kepsilon.pages.wording import NOTHING, exact
from kepsilon.reproduce.pages import paper_says
from kepsilon.reproduce.pages.grid_panels import against_k
from kepsilon.reproduce.pages.noise_figures import distributions, uniform_noise
from kepsilon.reproduce.pages.numbers import across, plain_column, shares
from kepsilon.reproduce.pages.panels import (
    Panel,
    ShownFigure,
    described,
    in_order,
    levels_words,
    n_columns,
    not_measured,
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

WITHOUT, WITH, EXTRA = Style(INK), Style(BROWN, "6 3"), Style(TEAL, "2 2")
"""(k,ε)-anonymity, k-anonymity with the extra k-quasi, and that quasi itself."""
AS_FAST = Limit(1, "1 ×: as fast")
_SLOWER = 0.5
"""On every axis of ratios, so that the line of 1 is not its end."""

_PLAIN = {
    "ola": "“Plain”: if all records were grouped anew at every node that is looked at, instead of counted once.",
    "mondrian": "“Plain”: if records were cut one by one, instead of counted once.",
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
                "Loss runs from 0, every value kept, to 1, every value gone. “Others” are the other quasis, their mean loss: where "
                "height or weight is left out of them and only gets noise, and where it is included as one more k-quasi. The third "
                "line is what it loses itself. Each algorithm has an axis of its own."
            ),
        ],
        says=paper_says.dimensions(measured),
        panels=[_dimensions_panel(ours, _largest_loss(measured, ours["algorithm"])) for ours in measured],
        rows=[_dimensions_row(ours, one) for ours in measured for one in ours["ks"]],
        note="Losses from 0 to 1, all else in per cent. The error of the extra attribute is what its cutting alone costs; noise of "
        "the class's range has the same mean error at the ε beside it, and more at every smaller one.",
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


def _dimensions_row(ours: Json, one: Json) -> Json:
    """Levels as words, all else as it was measured."""
    single = {key: value for key, value in one.items() if not isinstance(value, dict)}
    return {
        **described(ours),
        "extra": ours["extra"],
        **single,
        **{key: levels_words(one.get(key)) for key in ("levels_without", "levels_with")},
    }


def _dimensions_panel(ours: Json, largest: float) -> Panel:
    extra, title = ours["extra"], shown_title(ours)
    names = (f"others, {extra} left out", f"others, {extra} included", f"{extra} itself")
    lines = zip(names, _LOSSES, (WITHOUT, WITH, EXTRA), strict=True)
    chart = line_chart(
        [Series(name, [(one["k"], one[key]) for one in ours["ks"]], look, has_dots=True) for name, key, look in lines],
        title=f"Loss of the k-quasis with and without {extra}, {title}",
        y_label="precision loss, 0 to 1, linear",
        y_holds=[largest],
        **against_k(ours),
    )
    ks = ours["ks"]
    columns = {
        "k": [exact(one["k"]) for one in ks],
        names[0]: _losses(ks, "loss_without"),
        names[1]: _losses(ks, "loss_with"),
        names[2]: _losses(ks, "extra_loss"),
        f"error of {extra}, included": shares([one.get("extra_error") for one in ks]),
        "ε of noise with that error": plain_column([one.get("epsilon_same_error") for one in ks]),
        f"records gone, {extra} left out": shares([one["suppressed_without"] for one in ks]),
        f"records gone, {extra} included": shares([one["suppressed_with"] for one in ks]),
    }
    more = []
    if any(one["levels_without"] for one in ks):
        levels = {"k": columns["k"]}
        for key, words in (("levels_without", "left out"), ("levels_with", "included")):
            levels[f"{extra} {words}"] = [levels_words(one[key]) or NOTHING for one in ks]
        more = [("levels of the hierarchies", Table(headers=[*levels], rows=across([*levels.values()]), n_words=0))]
    table = Table(headers=[*columns], rows=across([*columns.values()]), n_words=0)
    return Panel(title=title, drawing=chart, table=table, more=more)


def _losses(ks: Sequence[Json], key: str) -> list[str]:
    return [NOTHING if one[key] is None else f"{one[key]:.4f}" for one in ks]


def running_times(measurements: Measurements, algorithm: str) -> ShownFigure:
    measured = in_order(measurements, "times", algorithms=(algorithm,))
    name = ALGORITHM_NAMES[algorithm]
    everywhere = [ratio for ours in measured for one in ours["ks"] for ratio in _ratios(ours, one).values() if ratio]
    says = paper_says.times_of_ola(measured) if algorithm == "ola" else paper_says.times_of_mondrian()
    return ShownFigure(
        id=f"times-{algorithm}",
        title=f"Running time with {name}",
        reference="Figure 8" if algorithm == "ola" else "Figure 7",
        reading=[
            (
                "How many times as long k-anonymity takes with height or weight included as one more k-quasi as (k,ε)-anonymity "
                "without it, noise included. Both are timed in one process, one after the other. “Search” leaves out counting "
                "the records and drawing noise; above 1 × (k,ε)-anonymity is the faster."
            ),
            _PLAIN[algorithm],
        ],
        says=says,
        panels=[_times_panel(ours, everywhere) for ours in measured],
        rows=[_times_row(ours, one) for ours in measured for one in ours["ks"]],
        missing=not_measured(measurements, "times", algorithms=(algorithm,)),
        columns=n_columns(measured),
        note="Seconds; counting happens once for every k. Nodes are those of the lattice that OLA looked at.",
    )


def _ratios(ours: Json, one: Json) -> dict[str, float | None]:
    """By what is compared: all of it, the search alone, and code that does not count first, where that was timed."""
    with_it, without = one.get("search_seconds_with"), one.get("search_seconds_without")
    search = one.get("search_only_ratio") or (with_it / without if with_it and without else None)
    found = (ours.get("regrouping") or {}).get("ks") or ours.get("by_record") or []
    plain = next((row["ratio"] for row in found if row["k"] == one["k"]), None)
    return {"total": one["ratio"], "search": search, "plain": plain}


def _times_row(ours: Json, one: Json) -> Json:
    ratios = _ratios(ours, one)
    return {
        **described(ours),
        **{key: value for key, value in one.items() if key not in ("search_ratio", "search_only_ratio")},
        "search_only_ratio": ratios["search"],
        "plain_ratio": ratios["plain"],
        **{
            key: ours.get(key)
            for key in ("count_seconds_with", "count_seconds_without", "lattice_with", "lattice_without")
        },
    }


def _times_panel(ours: Json, everywhere: Sequence[float]) -> Panel:
    title, ks = shown_title(ours), ours["ks"]
    looks = {"total": Style(INK), "search": Style(BROWN, "6 3"), "plain": Style(TEAL, "2 2")}
    lines = [
        Series(name, [(one["k"], _ratios(ours, one)[name]) for one in ks], look, has_dots=True)
        for name, look in looks.items()
        if any(_ratios(ours, one)[name] for one in ks)
    ]
    chart = line_chart(
        lines,
        title=f"Ratio of running times against k, {title}",
        y_label="times as long, log",
        y_words=lambda ratio: f"{ratio:g} ×",
        y_log=True,
        y_holds=[*everywhere, _SLOWER],
        limit=AS_FAST,
        height=220,
        **against_k(ours),
    )
    timed = {"with": "k-anonymity, extra included", "without": "(k,ε)"}
    columns = {"k": [exact(one["k"]) for one in ks]}
    for key, name in timed.items():
        count = ours.get(f"count_seconds_{key}")
        columns[f"{name}: seconds"] = plain_column([one[f"seconds_{key}"] for one in ks])
        columns[f"{name}: counting"] = plain_column([count for _ in ks])
        columns[f"{name}: search"] = plain_column([one.get(f"search_seconds_{key}") for one in ks])
    columns["(k,ε): noise"] = plain_column([one.get("noise_seconds") for one in ks])
    for name in looks:
        columns[f"ratio, {name}"] = [_times(_ratios(ours, one)[name]) for one in ks]
    for key, name in timed.items():
        if ours.get(f"lattice_{key}"):
            of = f"nodes of {ours[f'lattice_{key}']:,}, {name}"
            columns[of] = [exact(one.get(f"nodes_counted_{key}")) for one in ks]
    return Panel(
        title=title, drawing=chart, table=Table(headers=[*columns], rows=across([*columns.values()]), n_words=0)
    )


def _times(ratio: float | None) -> str:
    return NOTHING if ratio is None else f"{ratio:.2f} ×"

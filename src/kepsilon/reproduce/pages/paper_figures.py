# SPDX-License-Identifier: Apache-2.0
"""The paper's figures and its table of suppression, in its order; those that are not over the grid are drawn here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from kepsilon.json_values import Json
from kepsilon.pages.charts import Bar, Limit, Segment, Series, Spread, Style, bar_chart, line_chart
from kepsilon.pages.charts.axes import percent as axis_percent
from kepsilon.pages.charts.palette import BROWN, INK, TEAL
from kepsilon.pages.wording import NOTHING, exact, percent
from kepsilon.reproduce.pages.panels import Panel, ShownFigure, described, figure_of, in_order
from kepsilon.reproduce.pages.release_figures import GRID_QUANTITIES, against_k, grid_figure, suppression_table
from kepsilon.reproduce.pages.wording import known, levels_words, numbers, panel_title, shares, table_of
from kepsilon.reproduce.scope import Measurements

FIRST, SECOND, THIRD = Style(INK), Style(BROWN, "6 3"), Style(TEAL, "2 2")
"""The styles of a figure's three lines."""
AS_FAST = Limit(1, "1 ×: as fast")
_SLOWER = 0.5
"""A ratio that every axis of ratios holds, so that the line of 1 is not its end."""
_CURVES = {"per_class": ("classes", FIRST), "whole_data": ("whole", SECOND), "uniform": ("uniform", THIRD)}
_RUNS = ("per_class_runs", "whole_data_runs")
_SHOWN_POINTS = 10
"""Dots along a line, and lines of a table; the file has every point."""
_GIVEN_AWAY = {"ruled_out": "others ruled out", "risk": "linked", "over_half": "above one half", "certain": "certain"}
_KINDS = (("uniform", "uniform_noise", THIRD), ("classes", "class_noise", FIRST))


def paper_figures(measurements: Measurements) -> list[ShownFigure]:
    return [
        dimensions(measurements),
        figure_of(
            measurements, "distributions", "error-distributions", panel=_distributions_panel, rows=_distribution_rows
        ),
        uniform_noise(measurements),
        suppression_table(measurements),
        *(grid_figure(measurements, what) for what in GRID_QUANTITIES),
        running_times(measurements, "mondrian"),
        running_times(measurements, "ola"),
    ]


def dimensions(measurements: Measurements) -> ShownFigure:
    measured = in_order(measurements, "dimensions")
    return figure_of(
        measurements,
        "dimensions",
        "dimensions",
        panel=lambda ours: _dimensions_panel(ours, _largest_loss(measured, ours["algorithm"])),
        rows=lambda ours: [_dimensions_row(ours, one) for one in ours["ks"]],
    )


_TIMED = {"with": "k-anonymity, extra included", "without": "(k,ε)"}
_LOSSES = ("loss_without", "loss_with", "extra_loss")


def _largest_loss(measured: Sequence[Json], algorithm: str) -> float:
    """The largest loss with one algorithm; Mondrian loses so little that its panels have an axis of their own."""
    losses: list[float] = [
        one[key] for ours in measured if ours["algorithm"] == algorithm for one in ours["ks"] for key in _LOSSES
    ]
    return max(losses)


def _dimensions_row(ours: Json, one: Json) -> Json:
    """A row of the CSV file: levels as words, all else as it was measured."""
    single = {key: value for key, value in one.items() if not isinstance(value, dict)}
    return {
        **described(ours),
        "extra": ours["extra"],
        **single,
        **{key: levels_words(one.get(key)) for key in ("levels_without", "levels_with")},
    }


def _dimensions_panel(ours: Json, largest: float) -> Panel:
    extra, title = ours["extra"], panel_title(ours)
    names = (f"others, {extra} left out", f"others, {extra} included", f"{extra} itself")
    lines = zip(names, _LOSSES, (FIRST, SECOND, THIRD), strict=True)
    chart = line_chart(
        [
            Series(name, [(one["k"], one[key]) for one in ours["ks"]], style, has_dots=True)
            for name, key, style in lines
        ],
        title=f"Loss of the k-quasis with and without {extra}, {title}",
        y_label="precision loss, 0 to 1, linear",
        y_holds=[largest],
        **against_k(ours),
    )
    ks = ours["ks"]
    columns = {
        "k": [exact(one["k"]) for one in ks],
        **{name: _losses(ks, key) for name, key in zip(names, _LOSSES, strict=True)},
        f"error of {extra}, included": shares([one.get("extra_error") for one in ks]),
        "ε of noise with that error": numbers([one.get("epsilon_same_error") for one in ks]),
        f"records gone, {extra} left out": shares([one["suppressed_without"] for one in ks]),
        f"records gone, {extra} included": shares([one["suppressed_with"] for one in ks]),
    }
    more = []
    if any(one["levels_without"] for one in ks):
        levels = {"k": columns["k"]}
        for key, words in (("levels_without", "left out"), ("levels_with", "included")):
            levels[f"{extra} {words}"] = [levels_words(one[key]) or NOTHING for one in ks]
        more = [("levels of the hierarchies", table_of(levels))]
    return Panel(title=title, drawing=chart, table=table_of(columns), more=more)


def _losses(ks: Sequence[Json], key: str) -> list[str]:
    return [NOTHING if one[key] is None else f"{one[key]:.4f}" for one in ks]


def running_times(measurements: Measurements, algorithm: str) -> ShownFigure:
    measured = in_order(measurements, "times", algorithms=(algorithm,))
    everywhere = [ratio for ours in measured for one in ours["ks"] for ratio in _ratios(ours, one).values() if ratio]
    return figure_of(
        measurements,
        "times",
        f"times-{algorithm}",
        algorithms=(algorithm,),
        panel=lambda ours: _times_panel(ours, everywhere),
        rows=lambda ours: [_times_row(ours, one) for one in ours["ks"]],
    )


def _ratios(ours: Json, one: Json) -> dict[str, float | None]:
    """Ratios of all the time, of the search alone, and of code that does not count first, where that was timed."""
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
        **{f"{name}_{which}": ours.get(f"{name}_{which}") for name in ("count_seconds", "lattice") for which in _TIMED},
    }


def _times_panel(ours: Json, everywhere: Sequence[float]) -> Panel:
    title, ks = panel_title(ours), ours["ks"]
    ratios = {name: [_ratios(ours, one)[name] for one in ks] for name in ("total", "search", "plain")}
    lines = [
        Series(name, [(one["k"], ratio) for one, ratio in zip(ks, found, strict=True)], style, has_dots=True)
        for (name, found), style in zip(ratios.items(), (FIRST, SECOND, THIRD), strict=True)
        if any(found)
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
    columns = {"k": [exact(one["k"]) for one in ks]}
    for key, name in _TIMED.items():
        count = ours.get(f"count_seconds_{key}")
        columns[f"{name}: seconds"] = numbers([one[f"seconds_{key}"] for one in ks])
        columns[f"{name}: counting"] = numbers([count for _ in ks])
        columns[f"{name}: search"] = numbers([one.get(f"search_seconds_{key}") for one in ks])
    columns["(k,ε): noise"] = numbers([one.get("noise_seconds") for one in ks])
    for name, found in ratios.items():
        columns[f"ratio, {name}"] = [NOTHING if ratio is None else f"{ratio:.2f} ×" for ratio in found]
    for key, name in _TIMED.items():
        if ours.get(f"lattice_{key}"):
            of = f"nodes of {ours[f'lattice_{key}']:,}, {name}"
            columns[of] = [exact(one.get(f"nodes_counted_{key}")) for one in ks]
    return Panel(title=title, drawing=chart, table=table_of(columns))


def _distributions_panel(ours: Json) -> Panel:
    cell, title = _as_uniform(ours), panel_title(ours)
    at: Sequence[float] = cell["at"]
    every = max(len(at) // _SHOWN_POINTS, 1)
    series = []
    for key, (name, style) in _CURVES.items():
        runs = cell.get(f"{key}_runs")
        dots = [Spread(at[i], runs[i]) for i in range(every, len(at), every)] if runs else []
        series.append(Series(name, [*zip(at, cell[key], strict=True)], style, runs=dots))
    chart = line_chart(
        series,
        title=f"Distribution of relative errors, {title}",
        x_label="relative error, linear",
        y_label=f"records, k = {ours['k']}, ε = {cell['epsilon']:.3g}, linear",
        x_words=axis_percent,
        y_words=axis_percent,
        y_holds=[1.0],
    )
    columns = {
        "at": "error at most",
        "per_class": "noise by class",
        "whole_data": "noise for the whole",
        "uniform": "uniform ± 5 %",
    }
    table = table_of({words: shares(cell[key][::every]) for key, words in columns.items()})
    return Panel(title=title, drawing=chart, table=table)


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
    """A figure for what the paper says about uniform noise without one."""
    measured = in_order(measurements, "uniform")
    everywhere = [
        known(ours[key].get(name)) or 0.0 for ours in measured for _, key, _ in _KINDS for name in _GIVEN_AWAY
    ]
    return figure_of(
        measurements,
        "uniform",
        "uniform-noise",
        panel=lambda ours: _uniform_panel(ours, max(everywhere)),
        rows=_uniform_rows,
        words={"linked": _linked(measured)},
    )


def _linked(measured: Sequence[Json]) -> str:
    """In words how many records each noise gives away, and how often it was drawn."""
    if not measured:
        return ""

    def linked(ours: Json) -> str:
        by_class, uniform = (percent(ours[key]["risk"]) for key in ("class_noise", "uniform_noise"))
        return f"{by_class} against {uniform} ({panel_title(ours)})"

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


def _uniform_rows(ours: Json) -> Iterator[Json]:
    for key, noise, epsilon in (("uniform_noise", "uniform", None), ("class_noise", "class", ours["epsilon"])):
        for name in _GIVEN_AWAY:
            yield {
                **described(ours),
                "k": ours["k"],
                "noise": noise,
                "epsilon": epsilon,
                "quantity": name,
                "expected": known(ours[key].get(f"{name}_expected")),
                "mean": known(ours[key].get(name)),
                "standard_error": known(ours[key].get(f"{name}_standard_error")),
            }


def _uniform_panel(ours: Json, largest: float) -> Panel:
    title = panel_title(ours)
    bars = [
        Bar(
            words if key == "uniform_noise" else "",
            [Segment(f"noise: {name}", found, style.colour)],
            f"{percent(found)} {name}",
        )
        for quantity, words in _GIVEN_AWAY.items()
        for name, key, style in _KINDS
        if (found := known(ours[key].get(quantity))) is not None
    ]
    chart = bar_chart(
        bars,
        title=f"What uniform noise and noise by class give away, {title}",
        label=f"share, k = {ours['k']}, linear",
        axis_words=axis_percent,
        holds=largest,
    )
    columns = {
        "": [*_GIVEN_AWAY.values()],
        "uniform ± 5 %": [_with_error(ours["uniform_noise"], name) for name in _GIVEN_AWAY],
        f"noise by class, ε = {ours['epsilon']:.4g}": [_with_error(ours["class_noise"], name) for name in _GIVEN_AWAY],
    }
    return Panel(title=title, drawing=chart, table=table_of(columns, n_words=1))


def _with_error(found: Json, name: str) -> str:
    """A share in per cent, with two standard errors where there are any."""
    share, standard_error = known(found.get(name)), known(found.get(f"{name}_standard_error"))
    if share is None:
        return NOTHING
    return f"{100 * share:.3f}" + (f" ± {200 * standard_error:.3f}" if standard_error else "")

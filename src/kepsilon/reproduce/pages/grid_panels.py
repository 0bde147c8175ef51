# SPDX-License-Identifier: Apache-2.0
"""Panels over the grid of k and ε: one line per k or per ε, axes by ratio, and the same ones in every panel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

from kepsilon.json_values import Json
from kepsilon.pages.charts import Limit, Series, Style, line_chart, styles_of, styles_of_epsilon
from kepsilon.pages.charts.axes import percent as axis_percent
from kepsilon.pages.charts.palette import BROWN
from kepsilon.pages.figures.figure import Table
from kepsilon.pages.wording import exact
from kepsilon.reproduce.pages.numbers import across, column
from kepsilon.reproduce.pages.panels import Panel, described, expected, runs_of, shown_title, spread_columns

_HEIGHT = 270


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """What is measured in every cell of the grid, and how it is shown."""

    title: str
    spread: Callable[[Json], Json]
    """Closed form, mean and deviation, of a cell."""
    y_label: Callable[[Json], str]
    limit: Limit
    table: Callable[[Json], Table] | None = None
    """Of one panel, where it is not k down and ε across."""
    more: Callable[[Json], Sequence[tuple[str, Table]]] = lambda _: ()
    """Further tables of one panel."""
    shows_ola: bool = False
    """What OLA left out itself is a line too."""


def panels_against_k(measured: Sequence[Json], what: Quantity) -> list[Panel]:
    """One line per ε."""
    return [
        _panel(ours, what, _lines_of_epsilons(ours, what), _everywhere(measured, what), **against_k(ours))
        for ours in measured
    ]


def panels_against_epsilon(measured: Sequence[Json], what: Quantity) -> list[Panel]:
    """One line per k."""
    return [
        _panel(ours, what, _lines_of_ks(ours, what), _everywhere(measured, what), **against_epsilon(epsilons_of(ours)))
        for ours in measured
    ]


def cell_rows(
    measured: Sequence[Json], columns: Callable[[Json, Json], Iterable[Json]], *, along: str = "epsilon"
) -> list[Json]:
    """Rows of a CSV file: for every cell of a k those that `columns` makes of both, in the order of the figure's axis."""
    rows: list[Json] = []
    for ours in measured:
        cells = [(one, cell) for one in ours["ks"] for cell in one["cells"]]
        if along == "k":
            cells.sort(key=lambda pair: (pair[1]["epsilon"], pair[0]["k"]))
        rows += [
            {**described(ours), "k": one["k"], "epsilon": cell["epsilon"], **row, "runs": ours["runs"]}
            for one, cell in cells
            for row in columns(one, cell)
        ]
    return rows


def spread_rows(spread: Callable[[Json], Json]) -> Callable[[Json, Json], Iterable[Json]]:
    """One row per cell."""
    return lambda _, cell: [spread_columns(spread(cell))]


def epsilons_of(ours: Json) -> list[float]:
    return sorted({cell["epsilon"] for one in ours["ks"] for cell in one["cells"]})


class Layout(TypedDict, total=False):
    """How a line chart lays out its lower axis."""

    x_label: str
    x_log: bool
    x_ticks: Sequence[float]
    x_reach: tuple[float, float]


def against_k(ours: Json) -> Layout:
    """How a chart lays out k: by ratio, a tick at each."""
    ks = [one["k"] for one in ours["ks"]]
    return {"x_label": "k, log scale", **_by_ratio(ks)}


def against_epsilon(epsilons: Sequence[float]) -> Layout:
    return {"x_label": "ε, log scale (larger: less noise)", **_by_ratio(epsilons)}


def _by_ratio(numbers: Sequence[float]) -> Layout:
    if len(numbers) < 2:
        return {"x_ticks": numbers}
    return {"x_log": True, "x_ticks": numbers, "x_reach": (numbers[0], numbers[-1])}


def _panel(
    ours: Json, what: Quantity, lines: Sequence[Series], everywhere: Sequence[float], **layout: Unpack[Layout]
) -> Panel:
    title = shown_title(ours)
    chart = line_chart(
        lines,
        title=f"{what.title}, {title}",
        y_label=f"{what.y_label(ours)}, log",
        y_words=axis_percent,
        y_log=True,
        y_holds=everywhere,
        limit=what.limit,
        height=_HEIGHT,
        **layout,
    )
    table = what.table(ours) if what.table else grid_table(ours, what.spread)
    return Panel(title=title, drawing=chart, table=table, more=what.more(ours))


def _lines_of_epsilons(ours: Json, what: Quantity) -> list[Series]:
    lines = []
    for epsilon, look in styles_of_epsilon(epsilons_of(ours)).items():
        found = [
            (one["k"], what.spread(cell)) for one in ours["ks"] for cell in one["cells"] if cell["epsilon"] == epsilon
        ]
        lines.append(_line(f"ε = {exact(epsilon)}", found, look))
    if what.shows_ola and ours["algorithm"] == "ola":
        own = [(one["k"], one["suppressed_by_k"]) for one in ours["ks"]]
        lines.append(Series("OLA itself", own, Style(BROWN, "3 2")))
    return lines


def _lines_of_ks(ours: Json, what: Quantity) -> list[Series]:
    looks = styles_of([one["k"] for one in ours["ks"]])
    return [
        _line(f"k = {one['k']}", [(cell["epsilon"], what.spread(cell)) for cell in one["cells"]], looks[one["k"]])
        for one in ours["ks"]
    ]


def _line(name: str, found: Sequence[tuple[float, Json]], look: Style) -> Series:
    """The closed form as the line, the runs as dots."""
    return Series(name, [(x, expected(spread)) for x, spread in found], look, runs=runs_of(found))


def grid_table(ours: Json, spread: Callable[[Json], Json], *first: tuple[str, Sequence[str]]) -> Table:
    """k down and ε across, with further columns between."""
    epsilons = epsilons_of(ours)
    by_epsilon = [[_cell(one, epsilon) for one in ours["ks"]] for epsilon in epsilons]
    columns = [
        [exact(one["k"]) for one in ours["ks"]],
        *(words for _, words in first),
        *(column([{} if cell is None else spread(cell) for cell in cells]) for cells in by_epsilon),
    ]
    headers = ["k", *(name for name, _ in first), *(f"ε = {exact(epsilon)}" for epsilon in epsilons)]
    return Table(headers=headers, rows=across(columns), n_words=0)


def _cell(one: Json, epsilon: float) -> Json | None:
    return next((cell for cell in one["cells"] if cell["epsilon"] == epsilon), None)


def _everywhere(measured: Sequence[Json], what: Quantity) -> list[float]:
    found = [expected(what.spread(cell)) for ours in measured for one in ours["ks"] for cell in one["cells"]]
    return [value for value in found if value is not None]

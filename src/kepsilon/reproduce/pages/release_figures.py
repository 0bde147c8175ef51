# SPDX-License-Identifier: Apache-2.0
"""The figures that come from releases: suppression by OLA, and error, linking risk and confident k over the grid of k and ε.

A figure over the grid has one line per k or per ε, axes by ratio, and the same axes in every panel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from kepsilon.json_values import Json
from kepsilon.pages.charts import Limit, Series, Style, line_chart, styles_of, styles_of_epsilon
from kepsilon.pages.charts.axes import percent as axis_percent
from kepsilon.pages.charts.palette import BROWN, INK
from kepsilon.pages.figures.figure import Table
from kepsilon.pages.wording import NOTHING, exact, percent
from kepsilon.reproduce.claims.claim import SUPPRESSED_BY_OLA
from kepsilon.reproduce.pages import panels, wording
from kepsilon.reproduce.pages.panels import Panel, ShownFigure, described, expected, figure_of, in_order, spread_columns
from kepsilon.reproduce.pages.paper_says import FIGURES
from kepsilon.reproduce.scope import SHOWN_CONFIDENCE, Measurements

TASK = "releases"
_HEIGHT = 270
ERROR_LIMIT = Limit(0.05, "5 %")
RISK_LIMITS = Limit(0.05, "5 % and 10 %", (0.1,))
SUPPRESSION_LIMIT = Limit(0.05, "5 %")
SHOWN = f"{SHOWN_CONFIDENCE:g}"

PAPERS_SHARES = {
    name: {k: round(percentage / 100, 4) for k, percentage in row.items()} for name, row in SUPPRESSED_BY_OLA.items()
}
"""Paper Table IV as shares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GridQuantity:
    """What is measured in every cell of the grid, and how its figure shows it."""

    id: str
    """The figure's id."""
    along: str
    """The lower axis: k, with a line per ε, or epsilon, with a line per k."""
    spread: Callable[[Json], Json]
    """Closed form, mean and deviation, of a cell."""
    y_label: Callable[[Json], str]
    limit: Limit
    words: Callable[[Sequence[Json]], Mapping[str, str]] = lambda _: {}
    """Words for the figure's texts."""
    rows: Callable[[Json, Json], Iterable[Json]] | None = None
    """Rows of the CSV file for a k and one of its cells, where they are not its spread."""
    table: Callable[[Json], Table] | None = None
    """The table of one panel, where it is not k down and ε across."""
    more: Callable[[Json], Sequence[tuple[str, Table]]] = lambda _: ()
    """Further tables of one panel."""
    shows_ola: bool = False
    """What OLA left out itself is a line too."""


def grid_figure(measurements: Measurements, what: GridQuantity) -> ShownFigure:
    """The figure of one quantity, all of whose panels have the same axes."""
    measured = in_order(measurements, TASK)
    found = [expected(what.spread(cell)) for ours in measured for one in ours["ks"] for cell in one["cells"]]
    everywhere = [value for value in found if value is not None]
    runs = " or ".join(str(n) for n in sorted({ours["runs"] for ours in measured}))
    return figure_of(
        measurements,
        TASK,
        what.id,
        panel=lambda ours: _panel(ours, what, everywhere),
        rows=lambda ours: _rows(ours, what),
        words={"runs": runs or "no", **what.words(measured)},
    )


def _rows(ours: Json, what: GridQuantity) -> Iterable[Json]:
    """Rows of the CSV file for every cell, in the order of the figure's lower axis."""
    cells = [(one, cell) for one in ours["ks"] for cell in one["cells"]]
    if what.along == "k":
        cells.sort(key=lambda pair: (pair[1]["epsilon"], pair[0]["k"]))
    for one, cell in cells:
        for row in [spread_columns(what.spread(cell))] if what.rows is None else what.rows(one, cell):
            yield {**described(ours), "k": one["k"], "epsilon": cell["epsilon"], **row, "runs": ours["runs"]}


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
    return {"x_label": "k, log scale", **_by_ratio([one["k"] for one in ours["ks"]])}


def against_epsilon(epsilons: Sequence[float]) -> Layout:
    """How a chart lays out ε: by ratio, a tick at each."""
    return {"x_label": "ε, log scale (larger: less noise)", **_by_ratio(epsilons)}


def _by_ratio(ticks: Sequence[float]) -> Layout:
    return {"x_ticks": ticks} if len(ticks) < 2 else {"x_log": True, "x_ticks": ticks, "x_reach": (ticks[0], ticks[-1])}


def _panel(ours: Json, what: GridQuantity, everywhere: Sequence[float]) -> Panel:
    title = wording.panel_title(ours)
    chart = line_chart(
        _lines_of_epsilons(ours, what) if what.along == "k" else _lines_of_ks(ours, what),
        title=f"{FIGURES[what.id]['title']}, {title}",
        y_label=f"{what.y_label(ours)}, log",
        y_words=axis_percent,
        y_log=True,
        y_holds=everywhere,
        limit=what.limit,
        height=_HEIGHT,
        **(against_k(ours) if what.along == "k" else against_epsilon(epsilons_of(ours))),
    )
    table = what.table(ours) if what.table else grid_table(ours, what.spread)
    return Panel(title=title, drawing=chart, table=table, more=what.more(ours))


def _lines_of_epsilons(ours: Json, what: GridQuantity) -> list[Series]:
    lines = []
    for epsilon, style in styles_of_epsilon(epsilons_of(ours)).items():
        found = [(one["k"], what.spread(cell)) for one in ours["ks"] if (cell := _cell(one, epsilon)) is not None]
        lines.append(_line(f"ε = {exact(epsilon)}", found, style))
    if what.shows_ola and ours["algorithm"] == "ola":
        own = [(one["k"], one["suppressed_by_k"]) for one in ours["ks"]]
        lines.append(Series("OLA itself", own, Style(BROWN, "3 2")))
    return lines


def _lines_of_ks(ours: Json, what: GridQuantity) -> list[Series]:
    styles = styles_of([one["k"] for one in ours["ks"]])
    return [
        _line(f"k = {one['k']}", [(cell["epsilon"], what.spread(cell)) for cell in one["cells"]], styles[one["k"]])
        for one in ours["ks"]
    ]


def _line(name: str, found: Sequence[tuple[float, Json]], style: Style) -> Series:
    """The closed form as the line, the runs as dots."""
    return Series(name, [(x, expected(spread)) for x, spread in found], style, runs=panels.runs_of(found))


def grid_table(ours: Json, spread: Callable[[Json], Json], **more: Sequence[str]) -> Table:
    """A table with k down and ε across, and further columns between."""
    columns: dict[str, Sequence[str]] = {"k": [exact(one["k"]) for one in ours["ks"]], **more}
    for epsilon in epsilons_of(ours):
        cells = [_cell(one, epsilon) for one in ours["ks"]]
        columns[f"ε = {exact(epsilon)}"] = wording.spread_words(
            [{} if cell is None else spread(cell) for cell in cells]
        )
    return wording.table_of(columns)


def _cell(one: Json, epsilon: float) -> Json | None:
    return next((cell for cell in one["cells"] if cell["epsilon"] == epsilon), None)


def suppression_table(measurements: Measurements) -> ShownFigure:
    """What OLA alone leaves out, beside the paper's table."""
    measured = in_order(measurements, TASK, algorithms=("ola",))
    everywhere = [one["suppressed_by_k"] for ours in measured for one in ours["ks"]]
    everywhere += [share for row in PAPERS_SHARES.values() for share in row.values()]
    return figure_of(
        measurements,
        TASK,
        "suppression-by-ola",
        algorithms=("ola",),
        panel=lambda ours: _suppression_panel(ours, everywhere),
        rows=_suppression_rows,
        summary=_beside_the_papers(measured) if measured else None,
    )


def _suppression_panel(ours: Json, everywhere: Sequence[float]) -> Panel:
    papers, title, ks = PAPERS_SHARES[ours["data_set"]], wording.panel_title(ours), ours["ks"]
    here = [(one["k"], one["suppressed_by_k"]) for one in ks]
    theirs = [(one["k"], papers[one["k"]]) for one in ks if one["k"] in papers]
    chart = line_chart(
        [Series("here", here, Style(INK), has_dots=True), Series("paper", theirs, Style(BROWN, "5 5"), has_dots=True)],
        title=f"Records left out by OLA against k, {title}",
        y_label="records left out by OLA, linear",
        y_words=axis_percent,
        limit=SUPPRESSION_LIMIT,
        y_holds=everywhere,
        height=190,
        **against_k(ours),
    )
    levels = [one["levels"] and dict(zip(one["loss"], one["levels"], strict=True)) for one in ks]
    columns = {
        "k": [exact(one["k"]) for one in ks],
        "paper": [_two_decimals(papers.get(one["k"])) for one in ks],
        "here": [_two_decimals(one["suppressed_by_k"]) for one in ks],
        "classes": [exact(one["n_classes"]) for one in ks],
        "levels": [wording.levels_words(one) or NOTHING for one in levels],
    }
    return Panel(title=title, drawing=chart, table=wording.table_of(columns))


def _suppression_rows(ours: Json) -> Iterable[Json]:
    for one in ours["ks"]:
        yield {
            **described(ours),
            "k": one["k"],
            "suppressed_by_k": one["suppressed_by_k"],
            "papers_suppressed_by_k": PAPERS_SHARES[ours["data_set"]].get(one["k"]),
            "n_classes": one["n_classes"],
            "n_released": one["n_released"],
            "n_counted": ours["n_counted"],
        }


def _beside_the_papers(measured: Sequence[Json]) -> Table:
    """Two lines for every data set: the paper's and ours."""
    ks = sorted({one["k"] for ours in measured for one in ours["ks"]})
    rows = []
    for ours in measured:
        here = {one["k"]: one["suppressed_by_k"] for one in ours["ks"]}
        for who, found in (("paper", PAPERS_SHARES[ours["data_set"]]), ("here", here)):
            rows.append([wording.data_set_title(ours), who, *(_two_decimals(found.get(k)) for k in ks)])
    return Table(headers=["data set", "", *(f"k = {k}" for k in ks)], rows=rows, n_words=2)


def _two_decimals(share: float | None) -> str:
    """A share in per cent, as the paper's table has it."""
    return NOTHING if share is None else f"{100 * share:.2f} %"


def _error_of(ours: Json) -> str:
    return f"mean relative error of {wording.EPSILON_QUASIS[ours['data_set']]}"


def _rounding(measured: Sequence[Json]) -> Mapping[str, str]:
    """By how much the runs exceed the closed form under the paper's rule, which rounding adds ties to."""
    cells = [cell["risk_paper_ties"] for ours in measured for one in ours["ks"] for cell in one["cells"]]
    excess = max((cell["mean"] / cell["expected"] - 1 for cell in cells if cell["expected"]), default=0.0)
    words = (
        f" There the runs exceed the closed form by up to {percent(excess)}: values are published with one decimal, which makes "
        "ties that the closed form does not have."
    )
    return {"rounding": words if excess > 0 else ""}


def _risk_rows(_: Json, cell: Json) -> Iterable[Json]:
    paper = {f"{key}_paper_ties": figure for key, figure in spread_columns(cell["risk_paper_ties"]).items()}
    yield {**spread_columns(cell["risk"]), **paper}


def _risk_table(ours: Json) -> Table:
    """The linking risk by k and ε; a risk above 1/k is marked."""
    table = grid_table(ours, lambda cell: cell["risk"], **{"1/k": [percent(1 / one["k"]) for one in ours["ks"]]})
    rows = []
    for row, one in zip(table.rows, ours["ks"], strict=True):
        risks = [expected(cell["risk"]) for cell in sorted(one["cells"], key=lambda cell: cell["epsilon"])]
        marks = [" ▲" if risk is not None and risk > 1 / one["k"] else "" for risk in risks]
        rows.append([*row[:2], *(words + mark for words, mark in zip(row[2:], marks, strict=True))])
    return Table(headers=table.headers, rows=rows, n_words=0)


def _confidence_rows(one: Json, cell: Json) -> Iterable[Json]:
    for confidence, spread in cell["suppressed"].items():
        yield {"confidence": float(confidence), **spread_columns(spread), "suppressed_by_k": one["suppressed_by_k"]}


def _suppressed_at(confidence: str) -> Callable[[Json], Json]:
    return lambda cell: cell["suppressed"].get(confidence, {})


def _more_confidences(ours: Json) -> list[tuple[str, Table]]:
    """A table for every confidence that is not drawn; with OLA also one together with what OLA left out."""
    found = {c for one in ours["ks"] for cell in one["cells"] for c in cell["suppressed"]} - {SHOWN}
    more = [
        (f"confidence {_confidence_words(c)}", grid_table(ours, _suppressed_at(c))) for c in sorted(found, key=float)
    ]
    return more if ours["algorithm"] != "ola" else [_together(ours), *more]


def _together(ours: Json) -> tuple[str, Table]:
    """What OLA left out and what confident k leaves out, closed forms."""
    own = {id(cell): one["suppressed_by_k"] for one in ours["ks"] for cell in one["cells"]}

    def total(cell: Json) -> Json:
        by_confidence = expected(_suppressed_at(SHOWN)(cell))
        return {} if by_confidence is None else {"expected": own[id(cell)] + by_confidence}

    table = grid_table(ours, total, **{"OLA itself": wording.shares([one["suppressed_by_k"] for one in ours["ks"]])})
    return f"confidence {_confidence_words(SHOWN)}, together with what OLA left out", table


def _confidence_words(confidence: str) -> str:
    """A confidence in per cent with all its digits: 99.999 % is not 99.99 %."""
    return f"{100 * float(confidence):.10g} %"


GRID_QUANTITIES = (
    GridQuantity(id="error-by-k", along="k", spread=lambda cell: cell["error"], y_label=_error_of, limit=ERROR_LIMIT),
    GridQuantity(
        id="error-by-epsilon", along="epsilon", spread=lambda cell: cell["error"], y_label=_error_of, limit=ERROR_LIMIT
    ),
    GridQuantity(
        id="risk-by-epsilon",
        along="epsilon",
        spread=lambda cell: cell["risk"],
        y_label=lambda _: "records linked",
        limit=RISK_LIMITS,
        words=_rounding,
        rows=_risk_rows,
        table=_risk_table,
    ),
    GridQuantity(  # the paper's figure at 99 %; the tables and the file have every confidence
        id="confident-k",
        along="k",
        spread=_suppressed_at(SHOWN),
        y_label=lambda _: "records left out",
        limit=SUPPRESSION_LIMIT,
        rows=_confidence_rows,
        more=_more_confidences,
        shows_ola=True,
    ),
)

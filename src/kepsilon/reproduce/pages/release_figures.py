# SPDX-License-Identifier: Apache-2.0
"""The figures that come from releases: suppression by OLA, error, linking risk and confident k."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kepsilon.json_values import Json
from kepsilon.pages.charts import Limit, Series, Style, line_chart
from kepsilon.pages.charts.axes import percent as axis_percent
from kepsilon.pages.charts.palette import BROWN, INK
from kepsilon.pages.figures.figure import Table
from kepsilon.pages.wording import NOTHING, exact, percent
from kepsilon.reproduce.pages import paper_says
from kepsilon.reproduce.pages.grid_panels import (
    Quantity,
    against_k,
    cell_rows,
    grid_table,
    panels_against_epsilon,
    panels_against_k,
    spread_rows,
)
from kepsilon.reproduce.pages.numbers import PER_CENT, shares
from kepsilon.reproduce.pages.panels import (
    EPSILON_QUASIS,
    Panel,
    ShownFigure,
    described,
    expected,
    in_order,
    levels_words,
    n_columns,
    not_measured,
    shown_title,
    spread_columns,
    title_of,
)
from kepsilon.reproduce.setting import SHOWN_CONFIDENCE, Measurements

ERROR_LIMIT = Limit(0.05, "5 %")
RISK_LIMITS = Limit(0.05, "5 % and 10 %", (0.1,))
SUPPRESSION_LIMIT = Limit(0.05, "5 %")
_TASK = "releases"


def suppression_table(measurements: Measurements) -> ShownFigure:
    """What OLA alone leaves out, beside the paper's table."""
    measured = in_order(measurements, _TASK, algorithms=("ola",))
    panels, rows = [], []
    everywhere = [one["suppressed_by_k"] for ours in measured for one in ours["ks"]]
    for ours in measured:
        papers = paper_says.SUPPRESSED_BY_OLA[ours["data_set"]]
        points = [(one["k"], one["suppressed_by_k"]) for one in ours["ks"]]
        theirs = [(k, papers[k]) for k, _ in points if k in papers]
        title = shown_title(ours)
        chart = line_chart(
            [
                Series("here", points, Style(INK), has_dots=True),
                Series("paper", theirs, Style(BROWN, "5 5"), has_dots=True),
            ],
            title=f"Records left out by OLA against k, {title}",
            y_label="records left out by OLA, linear",
            y_words=axis_percent,
            limit=SUPPRESSION_LIMIT,
            y_holds=[*everywhere, *(share for row in paper_says.SUPPRESSED_BY_OLA.values() for share in row.values())],
            height=190,
            **against_k(ours),
        )
        table = Table(
            headers=["k", "paper", "here", "classes", "levels"],
            rows=[
                [
                    exact(one["k"]),
                    _two_decimals(papers.get(one["k"])),
                    _two_decimals(one["suppressed_by_k"]),
                    exact(one["n_classes"]),
                    NOTHING
                    if one["levels"] is None
                    else levels_words(dict(zip(one["loss"], one["levels"], strict=True))) or NOTHING,
                ]
                for one in ours["ks"]
            ],
            n_words=0,
        )
        panels.append(Panel(title=title, drawing=chart, table=table))
        rows += [
            {
                **described(ours),
                "k": one["k"],
                "suppressed_by_k": one["suppressed_by_k"],
                "papers_suppressed_by_k": papers.get(one["k"]),
                "n_classes": one["n_classes"],
                "n_released": one["n_released"],
                "n_counted": ours["n_counted"],
            }
            for one in ours["ks"]
        ]
    return ShownFigure(
        id="suppression-by-ola",
        title="What OLA leaves out to reach k",
        reference="Table IV",
        reading=["Share of the records, at most 5 %; no noise is involved, so there is nothing to average."],
        says=paper_says.suppression_by_ola(),
        panels=panels,
        rows=rows,
        missing=not_measured(measurements, _TASK, algorithms=("ola",)),
        columns=n_columns(measured),
        summary=_beside_the_papers(measured) if measured else None,
    )


def _beside_the_papers(measured: Sequence[Json]) -> Table:
    """Two lines for every data set: the paper's and ours."""
    ks = sorted({one["k"] for ours in measured for one in ours["ks"]})
    rows = []
    for ours in measured:
        title = title_of(ours["data_set"], ours.get("title"), is_stand_in=ours.get("is_stand_in"))
        here = {one["k"]: one["suppressed_by_k"] for one in ours["ks"]}
        for who, found in (("paper", paper_says.SUPPRESSED_BY_OLA[ours["data_set"]]), ("here", here)):
            rows.append([title, who, *(_two_decimals(found.get(k)) for k in ks)])
    return Table(headers=["data set", "", *(f"k = {k}" for k in ks)], rows=rows, n_words=2)


def error_by_k(measurements: Measurements) -> ShownFigure:
    measured = in_order(measurements, _TASK)
    what = _error("Error of height and weight against k")
    return ShownFigure(
        id="error-by-k",
        title=what.title,
        reference="Figure 3",
        reading=[_lines(measured)],
        says=paper_says.error_by_k(measured),
        panels=panels_against_k(measured, what),
        note=PER_CENT,
        rows=cell_rows(measured, spread_rows(what.spread), along="k"),
        missing=not_measured(measurements, _TASK),
        columns=n_columns(measured),
    )


def error_by_epsilon(measurements: Measurements) -> ShownFigure:
    measured = in_order(measurements, _TASK)
    what = _error("Error of height and weight against ε")
    return ShownFigure(
        id="error-by-epsilon",
        title=what.title,
        reference="Figure 4",
        reading=[
            _lines(measured),
            "Both axes are by ratio, so that 1/ε is a straight line.",
            "Where the lines of all k lie on one another, k hardly matters; the figure before this one tells them apart.",
        ],
        says=paper_says.error_by_epsilon(),
        panels=panels_against_epsilon(measured, what),
        note=PER_CENT,
        rows=cell_rows(measured, spread_rows(what.spread)),
        missing=not_measured(measurements, _TASK),
        columns=n_columns(measured),
    )


def _error(title: str) -> Quantity:
    return Quantity(
        title=title,
        spread=lambda cell: cell["error"],
        y_label=lambda ours: f"mean relative error of {EPSILON_QUASIS[ours['data_set']]}",
        limit=ERROR_LIMIT,
    )


def risk_by_epsilon(measurements: Measurements) -> ShownFigure:
    measured = in_order(measurements, _TASK)
    what = Quantity(
        title="Linking risk against ε",
        spread=lambda cell: cell["risk"],
        y_label=lambda _: "records linked",
        limit=RISK_LIMITS,
        table=_risk_table,
    )
    return ShownFigure(
        id="risk-by-epsilon",
        title=what.title,
        reference="Figure 5",
        reading=[
            _lines(measured),
            "The paper cuts its plot at 10 %; here nothing is cut. ▲ in the tables: above 1/k.",
            "A tie of t originals counts as 1/t; the file also has the paper's rule, by which every tie is a link."
            + _rounding(measured),
        ],
        says=paper_says.risk_by_epsilon(),
        panels=panels_against_epsilon(measured, what),
        note=PER_CENT,
        rows=cell_rows(measured, _risk_rows),
        missing=not_measured(measurements, _TASK),
        columns=n_columns(measured),
    )


def confident_k(measurements: Measurements) -> ShownFigure:
    """The paper's figure at 99 %; the tables and the file have every confidence."""
    measured = in_order(measurements, _TASK)
    what = Quantity(
        title=f"What confident k leaves out at {percent(SHOWN_CONFIDENCE)}",
        spread=lambda cell: cell["suppressed"].get(f"{SHOWN_CONFIDENCE:g}", {}),
        y_label=lambda _: "records left out",
        limit=SUPPRESSION_LIMIT,
        table=lambda ours: _confidence_table(ours, f"{SHOWN_CONFIDENCE:g}"),
        more=_more_confidences,
        shows_ola=True,
    )
    return ShownFigure(
        id="confident-k",
        title=what.title,
        reference="Figure 6",
        reading=[
            _lines(measured),
            (
                "Lines are what confident k leaves out. “OLA itself” is what OLA left out before it; the paper's 5 % are for "
                "both together, which the tables have too, as they have the other confidences."
            ),
        ],
        says=paper_says.confident_k(),
        panels=panels_against_k(measured, what),
        note=PER_CENT,
        rows=cell_rows(measured, _confidence_rows, along="k"),
        missing=not_measured(measurements, _TASK),
        columns=n_columns(measured),
    )


def _rounding(measured: Sequence[Json]) -> str:
    """By how much the runs exceed the closed form under the paper's rule, which rounding adds ties to."""
    cells = [cell["risk_paper_ties"] for ours in measured for one in ours["ks"] for cell in one["cells"]]
    excess = max((cell["mean"] / cell["expected"] - 1 for cell in cells if cell["expected"]), default=0.0)
    return (
        f" There the runs exceed the closed form by up to {percent(excess)}: values are published with one decimal, which makes "
        "ties that the closed form does not have."
        if excess > 0
        else ""
    )


def _lines(measured: Sequence[Json]) -> str:
    """What lines and dots are."""
    runs = " or ".join(str(n) for n in sorted({ours["runs"] for ours in measured}))
    return (
        f"Lines are closed forms, known before any noise is drawn. Dots are means of {runs or 'no'} runs, with whiskers of two "
        "standard deviations of a single run where they are longer than a dot; an arrow ends those that leave the axis."
    )


def _risk_rows(_: Json, cell: Json) -> Iterable[Json]:
    paper = {f"{key}_paper_ties": figure for key, figure in spread_columns(cell["risk_paper_ties"]).items()}
    return [{**spread_columns(cell["risk"]), **paper}]


def _confidence_rows(one: Json, cell: Json) -> Iterable[Json]:
    return [
        {"confidence": float(c), **spread_columns(spread), "suppressed_by_k": one["suppressed_by_k"]}
        for c, spread in cell["suppressed"].items()
    ]


def _risk_table(ours: Json) -> Table:
    """Where the risk exceeds 1/k, the cell is marked."""
    inverses = [percent(1 / one["k"]) for one in ours["ks"]]
    table = grid_table(ours, lambda cell: cell["risk"], ("1/k", inverses))
    rows = []
    for row, one in zip(table.rows, ours["ks"], strict=True):
        risks = [expected(cell["risk"]) for cell in sorted(one["cells"], key=lambda cell: cell["epsilon"])]
        marks = [" ▲" if risk is not None and risk > 1 / one["k"] else "" for risk in risks]
        rows.append([*row[:2], *(words + mark for words, mark in zip(row[2:], marks, strict=True))])
    return Table(headers=table.headers, rows=rows, n_words=0)


def _confidences(ours: Json) -> list[str]:
    """Those that are not drawn."""
    found = {c for one in ours["ks"] for cell in one["cells"] for c in cell["suppressed"]}
    return sorted((c for c in found if float(c) != SHOWN_CONFIDENCE), key=float)


def _confidence_table(ours: Json, confidence: str) -> Table:
    return grid_table(ours, lambda cell: cell["suppressed"].get(confidence, {}))


def _more_confidences(ours: Json) -> list[tuple[str, Table]]:
    more = [(f"confidence {_confidence_words(c)}", _confidence_table(ours, c)) for c in _confidences(ours)]
    return more if ours["algorithm"] != "ola" else [_together(ours), *more]


def _together(ours: Json) -> tuple[str, Table]:
    """What OLA left out and what confident k leaves out, closed forms."""
    own = {id(cell): one["suppressed_by_k"] for one in ours["ks"] for cell in one["cells"]}

    def total(cell: Json) -> Json:
        by_confidence = expected(cell["suppressed"].get(f"{SHOWN_CONFIDENCE:g}", {}))
        return {} if by_confidence is None else {"expected": own[id(cell)] + by_confidence}

    table = grid_table(ours, total, ("OLA itself", shares([one["suppressed_by_k"] for one in ours["ks"]])))
    return f"confidence {_confidence_words(SHOWN_CONFIDENCE)}, together with what OLA left out", table


def _confidence_words(confidence: str | float) -> str:
    """All its digits: 99.999 % is not 99.99 %."""
    return f"{100 * float(confidence):.10g} %"


def _two_decimals(share: float | None) -> str:
    """As the paper's table has them."""
    return NOTHING if share is None else f"{100 * share:.2f} %"

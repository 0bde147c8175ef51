# SPDX-License-Identifier: Apache-2.0
"""The figures over the grid of k and ε: suppression by OLA, error, linking risk and confident k."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kepsilon.publish.charts import Limit, Look, Series, line_chart, looks_of, looks_of_epsilon
from kepsilon.publish.charts.axes import percent as axis_percent
from kepsilon.publish.charts.palette import BROWN, GREY, INK
from kepsilon.publish.figures.figure import Table
from kepsilon.publish.wording import NOTHING, exact, percent
from kepsilon.reproduce import paper_says
from kepsilon.reproduce.panels import (
    EPSILON_QUASIS,
    Json,
    Measurements,
    Panel,
    ShownFigure,
    both,
    described,
    expected,
    in_order,
    known,
    n_columns,
    not_measured,
    runs_of,
    shown_title,
    spread_columns,
)
from kepsilon.reproduce.setting import SHOWN_CONFIDENCE

ERROR_LIMIT = Limit(0.05, "5 %")
RISK_LIMITS = Limit(0.05, "5 % and 10 %", (0.1,))
SUPPRESSION_LIMIT = Limit(0.05, "5 %")
_TASK = "releases"
_LINES = (
    "Lines are closed forms, known before any noise is drawn; dots are means over the runs ({runs}), with whiskers of two "
    "standard deviations where they are longer than a dot."
)

Spread = Callable[[Json], Json]


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
                Series("here", points, Look(INK), has_dots=True),
                Series("paper", theirs, Look(BROWN, "5 5"), has_dots=True),
            ],
            title=f"Records left out by OLA against k, {title}",
            x_label="k",
            y_label="records left out by OLA",
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
                    NOTHING if one["levels"] is None else " ".join(str(level) for level in one["levels"]),
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
    )


def error_by_k(measurements: Measurements) -> ShownFigure:
    measured = in_order(measurements, _TASK)
    return _by_k(
        measurements,
        spread=lambda cell: cell["error"],
        id="error-by-k",
        title="Error of height and weight against k",
        reference="Figure 3",
        y_label=lambda ours: f"mean relative error of {EPSILON_QUASIS[ours['data_set']]}",
        limit=ERROR_LIMIT,
        says=paper_says.error_by_k(measured),
    )


def confident_k(measurements: Measurements) -> ShownFigure:
    """The paper's figure at 99 %; the tables and the file have every confidence."""
    return _by_k(
        measurements,
        spread=lambda cell: cell["suppressed"].get(f"{SHOWN_CONFIDENCE:g}", {}),
        id="confident-k",
        title=f"What confident k leaves out at {percent(SHOWN_CONFIDENCE)}",
        reference="Figure 6",
        y_label=lambda _: "records left out",
        limit=SUPPRESSION_LIMIT,
        says=paper_says.confident_k(),
        reading=["The grey line is what OLA left out before, as in the paper; the tables have the other confidences."],
        grey=True,
        table=_confidence_table,
        more_rows=_confidence_rows,
    )


def error_by_epsilon(measurements: Measurements) -> ShownFigure:
    return _by_epsilon(
        measurements,
        spread=lambda cell: cell["error"],
        id="error-by-epsilon",
        title="Error of height and weight against ε",
        reference="Figure 4",
        y_label=lambda ours: f"mean relative error of {EPSILON_QUASIS[ours['data_set']]}",
        limit=ERROR_LIMIT,
        says=paper_says.error_by_epsilon(),
        reading=[
            (
                "Both axes are by ratio, so that 1/ε is a straight line. Where the lines of all k lie on one another, k hardly "
                "matters; the figure before this one tells them apart."
            )
        ],
    )


def risk_by_epsilon(measurements: Measurements) -> ShownFigure:
    return _by_epsilon(
        measurements,
        spread=lambda cell: cell["risk"],
        id="risk-by-epsilon",
        title="Linking risk against ε",
        reference="Figure 5",
        y_label=lambda _: "records linked",
        limit=RISK_LIMITS,
        says=paper_says.risk_by_epsilon(),
        reading=[
            (
                "The paper cuts its plot at 10 %; here nothing is cut. A tie of t originals counts as 1/t; with the paper's rule, "
                "where every tie is a link, the file has a column of its own."
            ),
            "▲ in the tables: above 1/k.",
        ],
        table=_risk_table,
        more_rows=lambda cell: {"expected_paper_ties": known(cell["risk_paper_ties"].get("expected"))},
    )


def _by_k(
    measurements: Measurements,
    *,
    spread: Spread,
    y_label: Callable[[Json], str],
    limit: Limit,
    reading: Sequence[str] = (),
    grey: bool = False,
    table: Callable[[Json], Table] | None = None,
    more_rows: Callable[[Json], Any] | None = None,
    **figure: Any,
) -> ShownFigure:
    """One line per ε; axes by ratio, the same in every panel."""
    measured = in_order(measurements, _TASK)
    everywhere = _everywhere(measured, spread)
    panels = []
    for ours in measured:
        looks = looks_of_epsilon(_epsilons(ours))
        series = []
        for epsilon, look in looks.items():
            cells = [(one["k"], _cell(one, epsilon)) for one in ours["ks"]]
            found = [(k, spread(cell)) for k, cell in cells if cell is not None]
            line = [(k, expected(value)) for k, value in found]
            series.append(Series(f"ε = {exact(epsilon)}", line, look, runs=runs_of(found)))
        if grey and ours["algorithm"] == "ola":
            own = [(one["k"], one["suppressed_by_k"] or None) for one in ours["ks"]]
            series.append(Series("OLA itself", own, Look(GREY)))
        title = shown_title(ours)
        chart = line_chart(
            series,
            title=f"{figure['title']}, {title}",
            x_label="k",
            y_label=y_label(ours),
            y_words=axis_percent,
            y_log=True,
            limit=limit,
            y_holds=everywhere,
            height=270,
            **against_k(ours),
        )
        panels.append(Panel(title=title, drawing=chart, table=(table or _table(spread))(ours)))
    return _figure(measurements, measured, panels, reading, _rows(measured, spread, more_rows), figure)


def _by_epsilon(
    measurements: Measurements,
    *,
    spread: Spread,
    y_label: Callable[[Json], str],
    limit: Limit,
    reading: Sequence[str] = (),
    table: Callable[[Json], Table] | None = None,
    more_rows: Callable[[Json], Any] | None = None,
    **figure: Any,
) -> ShownFigure:
    """One line per k; axes by ratio, the same in every panel."""
    measured = in_order(measurements, _TASK)
    everywhere = _everywhere(measured, spread)
    panels = []
    for ours in measured:
        looks = looks_of([one["k"] for one in ours["ks"]])
        epsilons = _epsilons(ours)
        series = []
        for one in ours["ks"]:
            found = [(cell["epsilon"], spread(cell)) for cell in one["cells"]]
            line = [(epsilon, expected(value)) for epsilon, value in found]
            series.append(Series(f"k = {one['k']}", line, looks[one["k"]], runs=runs_of(found)))
        title = shown_title(ours)
        chart = line_chart(
            series,
            title=f"{figure['title']}, {title}",
            x_label="ε (larger: less noise)",
            y_label=y_label(ours),
            y_words=axis_percent,
            x_log=len(epsilons) > 1,
            y_log=True,
            x_ticks=epsilons,
            x_reach=(epsilons[0], epsilons[-1]) if len(epsilons) > 1 else None,
            limit=limit,
            y_holds=everywhere,
            height=270,
        )
        panels.append(Panel(title=title, drawing=chart, table=(table or _table(spread))(ours)))
    return _figure(measurements, measured, panels, reading, _rows(measured, spread, more_rows), figure)


def _figure(
    measurements: Measurements,
    measured: Sequence[Json],
    panels: Sequence[Panel],
    reading: Sequence[str],
    rows: Sequence[Json],
    figure: Mapping[str, Any],
) -> ShownFigure:
    runs = sorted({ours["runs"] for ours in measured})
    lines = _LINES.format(runs=", ".join(str(n) for n in runs) or "none")
    return ShownFigure(
        **figure,
        reading=[lines, *reading],
        panels=panels,
        rows=rows,
        missing=not_measured(measurements, _TASK),
        columns=n_columns(measured),
    )


def _table(spread: Spread) -> Callable[[Json], Table]:
    def table(ours: Json) -> Table:
        return Table(
            headers=["k", *(f"ε = {exact(epsilon)}" for epsilon in _epsilons(ours))],
            rows=[[exact(one["k"]), *(both(spread(cell)) for cell in one["cells"])] for one in ours["ks"]],
            n_words=0,
        )

    return table


def _risk_table(ours: Json) -> Table:
    def words(cell: Json, k: int) -> str:
        risk = expected(cell["risk"])
        return both(cell["risk"]) + (" ▲" if risk is not None and risk > 1 / k else "")

    return Table(
        headers=["k", "1/k", *(f"ε = {exact(epsilon)}" for epsilon in _epsilons(ours))],
        rows=[
            [exact(one["k"]), percent(1 / one["k"]), *(words(cell, one["k"]) for cell in one["cells"])]
            for one in ours["ks"]
        ],
        n_words=0,
    )


def _confidences(ours: Json) -> list[str]:
    """The one that is drawn first."""
    found = list(dict.fromkeys(c for one in ours["ks"] for cell in one["cells"] for c in cell["suppressed"]))
    return sorted(found, key=lambda c: (float(c) != SHOWN_CONFIDENCE, float(c)))


def _confidence_table(ours: Json) -> Table:
    return Table(
        headers=["confidence", "k", "by k alone", *(f"ε = {exact(epsilon)}" for epsilon in _epsilons(ours))],
        rows=[
            [
                confidence_words(confidence),
                exact(one["k"]),
                percent(one["suppressed_by_k"]),
                *(both(cell["suppressed"].get(confidence, {})) for cell in one["cells"]),
            ]
            for confidence in _confidences(ours)
            for one in ours["ks"]
        ],
        n_words=0,
    )


def confidence_words(confidence: str | float) -> str:
    """All its digits: 99.999 % is not 99.99 %."""
    return f"{100 * float(confidence):.10g} %"


def _confidence_rows(cell: Json) -> Iterator[Json]:
    for confidence, spread in cell["suppressed"].items():
        yield {"confidence": float(confidence), **spread_columns(spread)}


def _rows(measured: Sequence[Json], spread: Spread, more: Callable[[Json], Any] | None) -> list[Json]:
    """One row per cell, or what `more` makes of it: columns beside the figure, or rows of their own."""
    rows: list[Json] = []
    for ours in measured:
        for one in ours["ks"]:
            for cell in one["cells"]:
                start = {**described(ours), "k": one["k"], "epsilon": cell["epsilon"]}
                beside = more(cell) if more else {}
                if isinstance(beside, Mapping):
                    rows.append({**start, "runs": ours["runs"], **spread_columns(spread(cell)), **beside})
                else:
                    by_k = {"runs": ours["runs"], "suppressed_by_k": one["suppressed_by_k"]}
                    rows += [{**start, **by_k, **row} for row in beside]
    return rows


def _everywhere(measured: Sequence[Json], spread: Spread) -> list[float]:
    found = [expected(spread(cell)) for ours in measured for one in ours["ks"] for cell in one["cells"]]
    return [value for value in found if value is not None]


def _epsilons(ours: Json) -> list[float]:
    return sorted({cell["epsilon"] for one in ours["ks"] for cell in one["cells"]})


def _cell(one: Json, epsilon: float) -> Json | None:
    return next((cell for cell in one["cells"] if cell["epsilon"] == epsilon), None)


def against_k(ours: Json) -> dict[str, Any]:
    """How a chart lays out k: by ratio, a tick at each."""
    ks = [one["k"] for one in ours["ks"]]
    if len(ks) < 2:
        return {"x_ticks": ks}
    return {"x_log": True, "x_ticks": ks, "x_reach": (ks[0], ks[-1])}


def _two_decimals(share: float | None) -> str:
    """As the paper's table has them."""
    return NOTHING if share is None else f"{100 * share:.2f} %"

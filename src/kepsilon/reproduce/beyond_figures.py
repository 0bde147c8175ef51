# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: other ranges for the noise, several attributes at once, and which k and ε to take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kepsilon.publish.charts import Limit, Look, Series, Spread, line_chart
from kepsilon.publish.charts.axes import percent as axis_percent
from kepsilon.publish.charts.palette import BROWN, GREEN, INK, SKY, VERMILLION
from kepsilon.publish.figures.figure import Table
from kepsilon.publish.wording import NOTHING, distortion, exact, give, percent
from kepsilon.reproduce.panels import (
    ALGORITHM_NAMES,
    WHISKER,
    Json,
    Measurements,
    Panel,
    ShownFigure,
    described,
    in_order,
    n_columns,
    not_measured,
    shown_title,
    title_of,
)
from kepsilon.reproduce.release_figures import ERROR_LIMIT, RISK_LIMITS, SUPPRESSION_LIMIT
from kepsilon.reproduce.setting import ALGORITHMS, DATA_SETS

_TASK = "additions"
_LOOKS = (Look(INK), Look(BROWN, "6 3"), Look(GREEN, "2 2"), Look(SKY, "9 2 2 2"), Look(VERMILLION, "4 2"))
_BEYOND = "Beyond the paper"


def beyond_figures(measurements: Measurements) -> list[ShownFigure]:
    measured = in_order(measurements, _TASK)
    return [
        _figure(
            measurements,
            measured,
            id="additions-error",
            title="Error with other ranges",
            y_label="mean relative error",
            value=_worst_error,
            limit=ERROR_LIMIT,
            reading="Where several attributes get noise, the largest of their errors is drawn; the tables have each.",
        ),
        _figure(
            measurements,
            measured,
            id="additions-risk",
            title="Linking risk with other ranges",
            y_label="records linked",
            value=lambda cell: cell.get("risk"),
            off_by=lambda cell: cell.get("risk_standard_error"),
            limit=RISK_LIMITS,
        ),
        _figure(
            measurements,
            measured,
            id="additions-confident-k",
            title="What confident k leaves out with other ranges",
            y_label="records left out",
            value=lambda cell: cell.get("suppressed"),
            off_by=lambda cell: cell.get("suppressed_standard_error"),
            limit=SUPPRESSION_LIMIT,
        ),
    ]


def _figure(
    measurements: Measurements,
    measured: Sequence[Json],
    *,
    id: str,  # noqa: A002 the field's name
    title: str,
    y_label: str,
    value: Callable[[Json], float | None],
    limit: Limit,
    off_by: Callable[[Json], float | None] = lambda _: None,
    reading: str = "",
) -> ShownFigure:
    everywhere = [
        found
        for ours in measured
        for variant in ours["variants"]
        for cell in variant["cells"]
        if (found := value(cell)) is not None
    ]
    return ShownFigure(
        id=id,
        title=title,
        reference=_BEYOND,
        reading=[
            _variants(measured),
            "Figures worked out by simulation have whiskers of two standard errors where they show.",
            *([reading] if reading else []),
        ],
        says=(),
        panels=[_panel(ours, title, y_label, value, off_by, limit, everywhere) for ours in measured],
        rows=[row for ours in measured for row in _rows(ours)],
        missing=not_measured(measurements, _TASK),
        columns=n_columns(measured),
    )


def _panel(
    ours: Json,
    title: str,
    y_label: str,
    value: Callable[[Json], float | None],
    off_by: Callable[[Json], float | None],
    limit: Limit,
    everywhere: Sequence[float],
) -> Panel:
    of = shown_title(ours)
    series = []
    for look, variant in zip(_LOOKS * 2, ours["variants"], strict=False):
        points = [(cell["epsilon"], value(cell)) for cell in variant["cells"]]
        runs = [
            Spread(cell["epsilon"], found, WHISKER * (off_by(cell) or 0.0))
            for cell in variant["cells"]
            if (found := value(cell)) is not None
        ]
        series.append(Series(variant["name"], points, look, runs=runs))
    epsilons = sorted({cell["epsilon"] for variant in ours["variants"] for cell in variant["cells"]})
    chart = line_chart(
        series,
        title=f"{title}, {of}",
        x_label="ε (larger: less noise)",
        y_label=y_label,
        y_words=axis_percent,
        x_log=len(epsilons) > 1,
        y_log=True,
        x_ticks=epsilons,
        x_reach=(epsilons[0], epsilons[-1]) if len(epsilons) > 1 else None,
        limit=limit,
        y_holds=everywhere,
    )
    return Panel(title=of, drawing=chart, table=_table(ours, value, off_by, epsilons))


def _table(
    ours: Json,
    value: Callable[[Json], float | None],
    off_by: Callable[[Json], float | None],
    epsilons: Sequence[float],
) -> Table:
    def words(variant: Json, epsilon: float) -> str:
        cell = next((cell for cell in variant["cells"] if cell["epsilon"] == epsilon), None)
        if cell is None:
            return NOTHING
        if value is _worst_error and len(cell["error"]) > 1:
            return ", ".join(f"{name} {percent(error)}" for name, error in cell["error"].items())
        return percent(value(cell)) + give(off_by(cell))

    return Table(
        headers=["noise by", *(f"ε = {exact(epsilon)}" for epsilon in epsilons)],
        rows=[[variant["name"], *(words(variant, epsilon) for epsilon in epsilons)] for variant in ours["variants"]],
    )


def _variants(measured: Sequence[Json]) -> str:
    """What each line stands for; units differ between data sets."""
    titles: dict[str, list[str]] = {}
    for ours in measured:
        for variant in ours["variants"]:
            titles.setdefault(variant["name"], []).append(variant["title"])
    legend = "; ".join(f"“{name}”: {' or '.join(dict.fromkeys(found))}" for name, found in titles.items())
    ks = sorted({ours["k"] for ours in measured})
    return f"At k = {', '.join(map(str, ks))}. {legend}." if measured else ""


def _worst_error(cell: Json) -> float | None:
    return max((error for error in cell["error"].values() if error is not None), default=None)


def _rows(ours: Json) -> list[Json]:
    """The same rows in all three files, so that each stands alone."""
    return [
        {
            **described(ours),
            "k": ours["k"],
            "variant": variant["name"],
            "epsilon": cell["epsilon"],
            "attribute": attribute,
            "error": error,
            "risk": cell.get("risk"),
            "risk_standard_error": cell.get("risk_standard_error"),
            "suppressed": cell.get("suppressed"),
            "suppressed_standard_error": cell.get("suppressed_standard_error"),
        }
        for variant in ours["variants"]
        for cell in variant["cells"]
        for attribute, error in cell["error"].items()
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The shortest answer to "which k and ε should I take?" for one data set."""

    title: str
    answer: str
    words: str
    table: Table


def choices(measurements: Measurements) -> list[Choice]:
    return [_choice(measurements[f"choice-{name}"]) for name in DATA_SETS if f"choice-{name}" in measurements]


def _choice(ours: Json) -> Choice:
    found: Mapping[str, Any] = ours.get("by_algorithm") or {}
    shown = [(ALGORITHM_NAMES.get(name, name), found.get(name)) for name in [*ALGORITHMS, *found] if name in found]
    return Choice(
        title=title_of(ours["data_set"], ours.get("title"), is_stand_in=ours.get("is_stand_in")),
        answer=_in_short(ours["answer"]) if ours.get("answer") else "None of the grid",
        words=str(ours.get("words") or "").removeprefix(f"{ours.get('title')}: "),
        table=Table(
            headers=["best with", "k", "ε", "linking risk", "left out", "error", "distortion"],
            rows=[[name, *([NOTHING] * 6 if one is None else _cells(one))] for name, one in dict(shown).items()],
        ),
    )


def _in_short(answer: Json) -> str:
    algorithm = ALGORITHM_NAMES.get(answer["algorithm"], answer["algorithm"])
    return f"{algorithm}, k = {exact(answer['k'])}, ε = {exact(answer['epsilon'])}"


def _cells(one: Json) -> list[str]:
    error = one.get("error")
    worst = max(error.values(), default=None) if isinstance(error, Mapping) else error
    return [
        exact(one["k"]),
        exact(one["epsilon"]),
        percent(one.get("risk")),
        percent(one.get("suppression")),
        percent(worst),
        distortion(one.get("distortion")),
    ]

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
from kepsilon.reproduce.pages.grid_panels import against_epsilon
from kepsilon.reproduce.pages.panels import (
    WHISKER,
    Json,
    Panel,
    ShownFigure,
    described,
    in_order,
    n_columns,
    not_measured,
    shown_title,
    title_of,
)
from kepsilon.reproduce.pages.release_figures import ERROR_LIMIT, RISK_LIMITS, SUPPRESSION_LIMIT
from kepsilon.reproduce.setting import ALGORITHM_NAMES, ALGORITHMS, DATA_SETS, Measurements

_TASK = "additions"
_LOOKS = (Look(INK), Look(BROWN, "6 3"), Look(GREEN, "2 2"), Look(SKY, "9 2 2 2"), Look(VERMILLION, "4 2"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """What is compared between the variants."""

    id: str
    title: str
    y_label: str
    value: Callable[[Json], float | None]
    off_by: Callable[[Json], float | None] = lambda _: None
    """Its standard error, where it is simulated."""
    words: Callable[[Json], str] | None = None
    """Of a cell of the table, where it is not the figure alone."""
    limit: Limit
    reading: str = ""


def beyond_figures(measurements: Measurements) -> list[ShownFigure]:
    measured = in_order(measurements, _TASK)
    return [
        ShownFigure(
            id=what.id,
            title=what.title,
            reference="Beyond the paper",
            reading=[
                (
                    f"At k = {', '.join(str(k) for k in sorted({ours['k'] for ours in measured}))}.{what.reading} "
                    "What was simulated has whiskers of two standard errors where they show."
                )
            ],
            says=(),
            panels=[_panel(ours, what, _everywhere(measured, what)) for ours in measured],
            rows=[row for ours in measured for row in _rows(ours)],
            missing=not_measured(measurements, _TASK),
            columns=n_columns(measured),
        )
        for what in _QUANTITIES
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """Another way to set the noise; units differ between data sets."""

    name: str
    title: str
    note: str


def variants(measurements: Measurements) -> list[Variant]:
    """What the names at the lines stand for."""
    found: dict[str, list[Json]] = {}
    for ours in in_order(measurements, _TASK):
        for variant in ours["variants"]:
            found.setdefault(variant["name"], []).append(variant)
    return [
        Variant(
            name=name,
            title=" or ".join(dict.fromkeys(variant["title"] for variant in alike)),
            note=" ".join(dict.fromkeys(variant.get("note") or "" for variant in alike)),
        )
        for name, alike in found.items()
    ]


def _everywhere(measured: Sequence[Json], what: Quantity) -> list[float]:
    cells = [cell for ours in measured for variant in ours["variants"] for cell in variant["cells"]]
    return [found for cell in cells if (found := what.value(cell)) is not None]


def _panel(ours: Json, what: Quantity, everywhere: Sequence[float]) -> Panel:
    title = shown_title(ours)
    epsilons = sorted({cell["epsilon"] for variant in ours["variants"] for cell in variant["cells"]})
    chart = line_chart(
        [_line(variant, what, _LOOKS[i % len(_LOOKS)]) for i, variant in enumerate(ours["variants"])],
        title=f"{what.title}, {title}",
        y_label=what.y_label,
        y_words=axis_percent,
        y_log=True,
        y_holds=everywhere,
        limit=what.limit,
        **against_epsilon(epsilons),
    )
    return Panel(title=title, drawing=chart, table=_table(ours, what, epsilons))


def _line(variant: Json, what: Quantity, look: Look) -> Series:
    runs = [
        Spread(cell["epsilon"], found, WHISKER * (what.off_by(cell) or 0.0))
        for cell in variant["cells"]
        if (found := what.value(cell)) is not None
    ]
    return Series(variant["name"], [(cell["epsilon"], what.value(cell)) for cell in variant["cells"]], look, runs=runs)


def _table(ours: Json, what: Quantity, epsilons: Sequence[float]) -> Table:
    def words(variant: Json, epsilon: float) -> str:
        cell = next((cell for cell in variant["cells"] if cell["epsilon"] == epsilon), None)
        if cell is None:
            return NOTHING
        return what.words(cell) if what.words else percent(what.value(cell)) + give(what.off_by(cell))

    return Table(
        headers=["noise by", *(f"ε = {exact(epsilon)}" for epsilon in epsilons)],
        rows=[[variant["name"], *(words(variant, epsilon) for epsilon in epsilons)] for variant in ours["variants"]],
    )


def _worst_error(cell: Json) -> float | None:
    return max((error for error in cell["error"].values() if error is not None), default=None)


def _every_error(cell: Json) -> str:
    if len(cell["error"]) == 1:
        return percent(_worst_error(cell))
    return ", ".join(f"{name} {percent(error)}" for name, error in cell["error"].items())


_QUANTITIES = (
    Quantity(
        id="additions-error",
        title="Error with other ranges",
        y_label="mean relative error",
        value=_worst_error,
        words=_every_error,
        limit=ERROR_LIMIT,
        reading=" Of several attributes, the one with the largest error is drawn; the tables have each.",
    ),
    Quantity(
        id="additions-risk",
        title="Linking risk with other ranges",
        y_label="records linked",
        value=lambda cell: cell.get("risk"),
        off_by=lambda cell: cell.get("risk_standard_error"),
        limit=RISK_LIMITS,
    ),
    Quantity(
        id="additions-confident-k",
        title="What confident k leaves out with other ranges",
        y_label="records left out",
        value=lambda cell: cell.get("suppressed"),
        off_by=lambda cell: cell.get("suppressed_standard_error"),
        limit=SUPPRESSION_LIMIT,
    ),
)


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

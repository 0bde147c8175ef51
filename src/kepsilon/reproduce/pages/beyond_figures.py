# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: other ranges for the noise, several attributes at once, and which k and ε to take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kepsilon.json_values import Json
from kepsilon.pages.charts import Limit, Series, Spread, Style, line_chart
from kepsilon.pages.charts.axes import percent as axis_percent
from kepsilon.pages.charts.palette import BROWN, INK, OLIVE, TEAL
from kepsilon.pages.figures.figure import Table
from kepsilon.pages.wording import NOTHING, distortion, exact, percent
from kepsilon.reproduce.pages.grid_panels import against_epsilon
from kepsilon.reproduce.pages.numbers import across, shares
from kepsilon.reproduce.pages.panels import (
    EPSILON_QUASIS,
    WHISKER,
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
_LOOKS = (Style(INK), Style(BROWN, "6 3"), Style(TEAL, "2 2"), Style(OLIVE, "9 2 2 2"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """What is compared between the variants."""

    id: str
    title: str
    y_label: str
    value: Callable[[Json, str], float | None]
    """Of a cell, for an attribute."""
    off_by: Callable[[Json], float | None] = lambda _: None
    """Its standard error, where it is simulated."""
    is_by_attribute: bool = False
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
            rows=[row for ours in measured for row in _rows(ours, what)],
            note="Per cent; ± is two standard errors of what was simulated.",
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
            title=one_of([*dict.fromkeys(variant["title"] for variant in alike)]),
            note=" ".join(dict.fromkeys(variant.get("note") or "" for variant in alike)),
        )
        for name, alike in found.items()
    ]


def one_of(titles: Sequence[str]) -> str:
    """Titles that differ in their ends only, said once: multiples of 5 cm or 5 kg."""
    first, *others = titles
    words = first.split()
    common = 0
    while (
        others and common < len(words) and all(other.split()[: common + 1] == words[: common + 1] for other in others)
    ):
        common += 1
    # A number belongs to its unit.
    while common and words[common - 1].isdigit():
        common -= 1
    return " or ".join([first, *(" ".join(other.split()[common:]) for other in others)])


def _everywhere(measured: Sequence[Json], what: Quantity) -> list[float]:
    return [
        found
        for ours in measured
        for variant in ours["variants"]
        for cell in variant["cells"]
        if (found := what.value(cell, _own(ours))) is not None
    ]


def _own(ours: Json) -> str:
    """The data set's own ε-quasi; where there is another as well, that is in the table only."""
    return EPSILON_QUASIS[ours["data_set"]]


def _panel(ours: Json, what: Quantity, everywhere: Sequence[float]) -> Panel:
    title = shown_title(ours)
    epsilons = sorted({cell["epsilon"] for variant in ours["variants"] for cell in variant["cells"]})
    chart = line_chart(
        [_line(variant, what, _LOOKS[i % len(_LOOKS)], _own(ours)) for i, variant in enumerate(ours["variants"])],
        title=f"{what.title}, {title}",
        y_label=f"{what.y_label}{f' of {_own(ours)}' if what.is_by_attribute else ''}, log",
        y_words=axis_percent,
        y_log=True,
        y_holds=everywhere,
        limit=what.limit,
        **against_epsilon(epsilons),
    )
    return Panel(title=title, drawing=chart, table=_table(ours, what, epsilons))


def _line(variant: Json, what: Quantity, look: Style, own: str) -> Series:
    runs = [
        Spread(cell["epsilon"], found, WHISKER * (what.off_by(cell) or 0.0))
        for cell in variant["cells"]
        if (found := what.value(cell, own)) is not None
    ]
    points = [(cell["epsilon"], what.value(cell, own)) for cell in variant["cells"]]
    return Series(variant["name"], points, look, runs=runs)


def _attributes(variant: Json, what: Quantity, own: str) -> list[str]:
    """The data set's own first."""
    if not what.is_by_attribute:
        return [own]
    return sorted({name for cell in variant["cells"] for name in cell["error"]}, key=lambda name: (name != own, name))


def _table(ours: Json, what: Quantity, epsilons: Sequence[float]) -> Table:
    names, lines = [], []
    for variant in ours["variants"]:
        by_epsilon = {cell["epsilon"]: cell for cell in variant["cells"]}
        attributes = _attributes(variant, what, _own(ours))
        for attribute in attributes:
            names.append(f"{variant['name']}, {attribute}" if len(attributes) > 1 else variant["name"])
            lines.append([(by_epsilon.get(epsilon), attribute) for epsilon in epsilons])
    columns = [_column(cells, what) for cells in zip(*lines, strict=True)]
    headers = ["noise by", *(f"ε = {exact(epsilon)}" for epsilon in epsilons)]
    return Table(headers=headers, rows=across([names, *columns]))


def _column(cells: Sequence[tuple[Json | None, str]], what: Quantity) -> list[str]:
    """In per cent, with two standard errors where there are any."""
    found = shares([None if cell is None else what.value(cell, attribute) for cell, attribute in cells])
    digits = max(len(words.partition(".")[2]) for words in found)
    errors = [None if cell is None else what.off_by(cell) for cell, _ in cells]
    return [
        words + (f" ± {200 * error:.{digits}f}" if error else "") for words, error in zip(found, errors, strict=True)
    ]


_QUANTITIES = (
    Quantity(
        id="additions-error",
        title="Error with other ranges",
        y_label="mean relative error",
        value=lambda cell, attribute: cell["error"].get(attribute),
        is_by_attribute=True,
        limit=ERROR_LIMIT,
        reading=" With several attributes, the data set's own is drawn; the tables have both.",
    ),
    Quantity(
        id="additions-risk",
        title="Linking risk with other ranges",
        y_label="records linked",
        value=lambda cell, _: cell.get("risk"),
        off_by=lambda cell: cell.get("risk_standard_error"),
        limit=RISK_LIMITS,
    ),
    Quantity(
        id="additions-confident-k",
        title="What confident k leaves out with other ranges",
        y_label="records left out",
        value=lambda cell, _: cell.get("suppressed"),
        off_by=lambda cell: cell.get("suppressed_standard_error"),
        limit=SUPPRESSION_LIMIT,
    ),
)


def _rows(ours: Json, what: Quantity) -> list[Json]:
    return [
        {
            **described(ours),
            "k": ours["k"],
            "variant": variant["name"],
            "epsilon": cell["epsilon"],
            "attribute": attribute if what.is_by_attribute else None,
            "expected": what.value(cell, attribute),
            "standard_error": what.off_by(cell),
        }
        for variant in ours["variants"]
        for attribute in _attributes(variant, what, _own(ours))
        for cell in variant["cells"]
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
    answer = _in_short(ours["answer"]) if ours.get("answer") else "None of the grid"
    return Choice(
        title=title_of(ours["data_set"], ours.get("title"), is_stand_in=ours.get("is_stand_in")),
        answer=answer,
        words=str(ours.get("words") or "").removeprefix(f"{ours.get('title')}: ").removeprefix(f"{answer} "),
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

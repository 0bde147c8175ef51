# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: other ranges for the noise, several attributes at once, and which k and ε to take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, takewhile
from typing import Any

from kepsilon.json_values import Json
from kepsilon.pages.charts import Limit, Series, Spread, Style, line_chart
from kepsilon.pages.charts.axes import percent as axis_percent
from kepsilon.pages.charts.palette import BROWN, INK, OLIVE, TEAL
from kepsilon.pages.figures.figure import Table
from kepsilon.pages.wording import NOTHING, distortion, exact, percent
from kepsilon.reproduce.pages.panels import WHISKER, Panel, ShownFigure, described, figure_of, in_order
from kepsilon.reproduce.pages.paper_says import FIGURES
from kepsilon.reproduce.pages.release_figures import ERROR_LIMIT, RISK_LIMITS, SUPPRESSION_LIMIT, against_epsilon
from kepsilon.reproduce.pages.wording import EPSILON_QUASIS, data_set_title, panel_title, shares, table_of
from kepsilon.reproduce.scope import ALGORITHM_NAMES, ALGORITHMS, DATA_SETS, Measurements

_TASK = "additions"
_STYLES = (Style(INK), Style(BROWN, "6 3"), Style(TEAL, "2 2"), Style(OLIVE, "9 2 2 2"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedQuantity:
    """What is compared between the variants, and how its figure shows it."""

    id: str
    """The figure's id."""
    y_label: str
    value: Callable[[Json, str], float | None]
    """The figure of a cell for an attribute."""
    off_by: Callable[[Json], float | None] = lambda _: None
    """The figure's standard error, where it is simulated."""
    is_by_attribute: bool = False
    limit: Limit


def beyond_figures(measurements: Measurements) -> list[ShownFigure]:
    return [_figure(measurements, what) for what in _QUANTITIES]


def _figure(measurements: Measurements, what: ComparedQuantity) -> ShownFigure:
    measured = in_order(measurements, _TASK)
    found = [
        what.value(cell, _own(ours)) for ours in measured for variant in ours["variants"] for cell in variant["cells"]
    ]
    everywhere = [value for value in found if value is not None]
    ks = ", ".join(str(k) for k in sorted({ours["k"] for ours in measured}))
    return figure_of(
        measurements,
        _TASK,
        what.id,
        panel=lambda ours: _panel(ours, what, everywhere),
        rows=lambda ours: _rows(ours, what),
        words={"ks": ks},
    )


def variants(measurements: Measurements) -> list[Json]:
    """The ways to set the noise that the lines stand for: name, title and note, each with the units of all data sets."""
    found: dict[str, list[Json]] = {}
    for ours in in_order(measurements, _TASK):
        for variant in ours["variants"]:
            found.setdefault(variant["name"], []).append(variant)
    return [
        {
            "name": name,
            "title": one_of([*dict.fromkeys(variant["title"] for variant in alike)]),
            "note": " ".join(dict.fromkeys(variant.get("note") or "" for variant in alike)),
        }
        for name, alike in found.items()
    ]


def one_of(titles: Sequence[str]) -> str:
    """Titles that differ in their ends only, said once: multiples of 5 cm or 5 kg."""
    first, *others = [title.split() for title in titles]
    alike = takewhile(lambda words: len({*words}) == 1, zip(first, *others, strict=False))
    common = len([*alike])
    while common and first[common - 1].isdigit():  # a number belongs to its unit
        common -= 1
    return " or ".join([titles[0], *(" ".join(words[common:]) for words in others)])


def _own(ours: Json) -> str:
    """The data set's own ε-quasi; where there is another as well, that is in the table only."""
    return EPSILON_QUASIS[ours["data_set"]]


def _panel(ours: Json, what: ComparedQuantity, everywhere: Sequence[float]) -> Panel:
    title = panel_title(ours)
    epsilons = sorted({cell["epsilon"] for variant in ours["variants"] for cell in variant["cells"]})
    chart = line_chart(
        [_line(*one, what, _own(ours)) for one in zip(ours["variants"], cycle(_STYLES), strict=False)],
        title=f"{FIGURES[what.id]['title']}, {title}",
        y_label=f"{what.y_label}{f' of {_own(ours)}' if what.is_by_attribute else ''}, log",
        y_words=axis_percent,
        y_log=True,
        y_holds=everywhere,
        limit=what.limit,
        **against_epsilon(epsilons),
    )
    return Panel(title=title, drawing=chart, table=_table(ours, what, epsilons))


def _line(variant: Json, style: Style, what: ComparedQuantity, own: str) -> Series:
    points = [(cell["epsilon"], what.value(cell, own)) for cell in variant["cells"]]
    off_by = [WHISKER * (what.off_by(cell) or 0.0) for cell in variant["cells"]]
    runs = [Spread(x, y, off) for (x, y), off in zip(points, off_by, strict=True) if y is not None]
    return Series(variant["name"], points, style, runs=runs)


def _attributes(variant: Json, what: ComparedQuantity, own: str) -> list[str]:
    """The attributes of a variant, the data set's own first."""
    if not what.is_by_attribute:
        return [own]
    return sorted({name for cell in variant["cells"] for name in cell["error"]}, key=lambda name: (name != own, name))


def _table(ours: Json, what: ComparedQuantity, epsilons: Sequence[float]) -> Table:
    names, lines = [], []
    for variant in ours["variants"]:
        by_epsilon = {cell["epsilon"]: cell for cell in variant["cells"]}
        attributes = _attributes(variant, what, _own(ours))
        for attribute in attributes:
            names.append(f"{variant['name']}, {attribute}" if len(attributes) > 1 else variant["name"])
            lines.append([(by_epsilon.get(epsilon), attribute) for epsilon in epsilons])
    columns = {"noise by": names}
    for epsilon, *cells in zip(epsilons, *lines, strict=True):
        columns[f"ε = {exact(epsilon)}"] = _column(cells, what)
    return table_of(columns, n_words=1)


def _column(cells: Sequence[tuple[Json | None, str]], what: ComparedQuantity) -> list[str]:
    """One column in per cent, with two standard errors where there are any."""
    found = shares([None if cell is None else what.value(cell, attribute) for cell, attribute in cells])
    digits = max(len(words.partition(".")[2]) for words in found)
    errors = [None if cell is None else what.off_by(cell) for cell, _ in cells]
    return [
        words + (f" ± {200 * error:.{digits}f}" if error else "") for words, error in zip(found, errors, strict=True)
    ]


_QUANTITIES = (
    ComparedQuantity(
        id="additions-error",
        y_label="mean relative error",
        value=lambda cell, attribute: cell["error"].get(attribute),
        is_by_attribute=True,
        limit=ERROR_LIMIT,
    ),
    ComparedQuantity(
        id="additions-risk",
        y_label="records linked",
        value=lambda cell, _: cell.get("risk"),
        off_by=lambda cell: cell.get("risk_standard_error"),
        limit=RISK_LIMITS,
    ),
    ComparedQuantity(
        id="additions-confident-k",
        y_label="records left out",
        value=lambda cell, _: cell.get("suppressed"),
        off_by=lambda cell: cell.get("suppressed_standard_error"),
        limit=SUPPRESSION_LIMIT,
    ),
)


def _rows(ours: Json, what: ComparedQuantity) -> list[Json]:
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
class ShownChoice:
    """The shortest answer to "which k and ε should I take?" for one data set."""

    title: str
    answer: str
    words: str
    table: Table


def choices(measurements: Measurements) -> list[ShownChoice]:
    return [_choice(measurements[f"choice-{name}"]) for name in DATA_SETS if f"choice-{name}" in measurements]


def _choice(ours: Json) -> ShownChoice:
    found: Mapping[str, Any] = ours.get("by_algorithm") or {}
    shown = {ALGORITHM_NAMES.get(name, name): found[name] for name in (*ALGORITHMS, *found) if name in found}
    answer, best = "None of the grid", ours.get("answer")
    if best:
        algorithm = ALGORITHM_NAMES.get(best["algorithm"], best["algorithm"])
        answer = f"{algorithm}, k = {exact(best['k'])}, ε = {exact(best['epsilon'])}"
    return ShownChoice(
        title=data_set_title(ours),
        answer=answer,
        words=str(ours.get("words") or "").removeprefix(f"{ours.get('title')}: ").removeprefix(f"{answer} "),
        table=Table(
            headers=["best with", "k", "ε", "linking risk", "left out", "error", "distortion"],
            rows=[[name, *_fields(one)] for name, one in shown.items()],
        ),
    )


def _fields(one: Json | None) -> list[str]:
    """The fields of a table's line about the best of one algorithm."""
    if one is None:
        return [NOTHING] * 6
    shares_of = (percent(one.get(name)) for name in ("risk", "suppression", "error"))
    return [exact(one["k"]), exact(one["epsilon"]), *shares_of, distortion(one.get("distortion"))]

# SPDX-License-Identifier: Apache-2.0
"""A figure of the reproduction: its panels, the paper's sentences beside it, and the rows of its CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kepsilon.json_values import Json
from kepsilon.pages.charts import Drawing, Spread
from kepsilon.pages.figures.figure import Table
from kepsilon.reproduce.pages.paper_says import FIGURES, Said, filled, said_beside
from kepsilon.reproduce.pages.wording import known, panel_title
from kepsilon.reproduce.scope import ALGORITHMS, DATA_SETS, Measurements

WHISKER = 2
"""Standard deviations of the runs on either side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One data set under one algorithm."""

    title: str
    drawing: Drawing | None
    table: Table
    more: Sequence[tuple[str, Table]] = ()
    """Further tables under their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFigure:
    """`id` names its files, `reference` says which figure or table of the paper it is."""

    id: str
    title: str
    reference: str
    reading: Sequence[str]
    """How to read it."""
    says: Sequence[Said]
    panels: Sequence[Panel]
    rows: Sequence[Json]
    """Rows of the CSV file: one per point."""
    missing: Sequence[str]
    """Panels that were not measured."""
    columns: int
    """Panels side by side: one for every data set that was measured."""
    note: str
    """What the figures of the tables are."""
    summary: Table | None
    """A table that is seen without opening anything."""


def figure_of(
    measurements: Measurements,
    task: str,
    figure: str,
    *,
    panel: Callable[[Json], Panel],
    rows: Callable[[Json], Iterable[Json]],
    algorithms: Sequence[str] = ALGORITHMS,
    words: Mapping[str, str] | None = None,
    summary: Table | None = None,
) -> ShownFigure:
    """The figure of that id: a panel and rows for every measurement of one task, and its texts filled with `words`."""
    measured, text = in_order(measurements, task, algorithms=algorithms), FIGURES[figure]
    found = {(ours["data_set"], ours["algorithm"]) for ours in measured}
    wanted = [(data_set, algorithm) for algorithm in algorithms for data_set in DATA_SETS]
    missing = [{"data_set": name, "algorithm": own} for name, own in wanted if (name, own) not in found]
    return ShownFigure(
        id=figure,
        title=text["title"],
        reference=text["reference"],
        reading=[filled(sentence, words or {}) for sentence in text["reading"]],
        says=said_beside(figure, measured),
        panels=[panel(ours) for ours in measured],
        rows=[row for ours in measured for row in rows(ours)],
        missing=[panel_title(one) for one in missing],
        columns=max(len({name for name, _ in found}), 1),
        note=filled(text.get("note", ""), words or {}),
        summary=summary,
    )


def in_order(measurements: Measurements, task: str, *, algorithms: Sequence[str] = ALGORITHMS) -> list[Json]:
    """The measurements of one kind: a line of data sets for every algorithm."""
    names = [f"{task}-{data_set}-{algorithm}" for algorithm in algorithms for data_set in DATA_SETS]
    return [measurements[name] for name in names if name in measurements]


def described(measured: Json) -> Json:
    """The columns that open every row of a CSV file."""
    return {
        "data_set": measured["data_set"],
        "is_stand_in": bool(measured["is_stand_in"]),
        "algorithm": measured["algorithm"],
    }


def runs_of(points: Iterable[tuple[float, Json]]) -> list[Spread]:
    """The runs at every x as a dot with whiskers; one run alone has no deviation."""
    found = [(x, known(spread.get("mean")), known(spread.get("deviation")) or 0.0) for x, spread in points]
    return [Spread(x, mean, WHISKER * deviation) for x, mean, deviation in found if mean is not None]


def expected(spread: Json) -> float | None:
    """The closed form; where there is none, the mean of the runs."""
    closed = known(spread.get("expected"))
    return known(spread.get("mean")) if closed is None else closed


def spread_columns(spread: Json) -> Json:
    """The columns of a CSV file that hold a closed form and its runs."""
    return {key: known(spread.get(key)) for key in ("expected", "mean", "deviation")}


def csv_text(rows: Sequence[Json]) -> str:
    """A header and one line per point; what is not known is left empty, and a column of nothing but that left out."""
    every = dict.fromkeys(key for row in rows for key in row)
    header = [key for key in every if any(row.get(key) is not None for row in rows)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_csv_value(row.get(key)) for key in header] for row in rows)
    return out.getvalue()


def _csv_value(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value

# SPDX-License-Identifier: Apache-2.0
"""A figure of the reproduction: its panels, the paper's sentences beside it, and the rows of its CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kepsilon.json_values import Json
from kepsilon.pages.charts import Drawing, Spread
from kepsilon.pages.figures.figure import Table
from kepsilon.reproduce.pages.numbers import known
from kepsilon.reproduce.setting import ALGORITHM_NAMES, ALGORITHMS, DATA_SETS, Measurements

TITLES = {"adult": "Adult", "florida": "Florida", "michigan": "Michigan"}
STAND_INS = frozenset({"florida", "michigan"})
STAND_IN = "(stand-in)"
EPSILON_QUASIS = {"adult": "height", "florida": "height", "michigan": "weight"}
"""The attribute that gets noise, and that is the extra k-quasi where that is tried."""
WHISKER = 2
"""Standard deviations of the runs on either side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A sentence of the paper in our words, the claims that decide it, and what was seen where none does."""

    words: str
    claims: Sequence[int] = ()
    seen: str = ""
    only: str = ""
    """The algorithm that the sentence is about, where claims speak of both."""


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
    """Of the CSV file: one per point."""
    missing: Sequence[str] = ()
    """Panels that were not measured."""
    columns: int = field(default=len(DATA_SETS))
    note: str = ""
    """What the cells of the tables are."""
    summary: Table | None = None
    """What is seen without opening anything."""

    @property
    def claims(self) -> list[int]:
        return sorted({claim for said in self.says for claim in said.claims})


def title_of(data_set: str, title: str | None = None, *, is_stand_in: bool | None = None) -> str:
    """A data set's title; a stand-in's always says what it is."""
    title = title or TITLES.get(data_set, data_set)
    made_up = data_set in STAND_INS if is_stand_in is None else is_stand_in
    return f"{title} {STAND_IN}" if made_up and "stand-in" not in title else title


def shown_title(measured: Json) -> str:
    """The title of one panel."""
    of = title_of(measured["data_set"], measured.get("title"), is_stand_in=measured.get("is_stand_in"))
    algorithm = measured.get("algorithm")
    return f"{of}, {ALGORITHM_NAMES.get(algorithm, algorithm)}" if algorithm else of


def in_order(measurements: Measurements, task: str, *, algorithms: Sequence[str] = ALGORITHMS) -> list[Json]:
    """The measurements of one kind: a line of data sets for every algorithm."""
    names = [f"{task}-{data_set}-{algorithm}" for algorithm in algorithms for data_set in DATA_SETS]
    return [measurements[name] for name in names if name in measurements]


def not_measured(measurements: Measurements, task: str, *, algorithms: Sequence[str] = ALGORITHMS) -> list[str]:
    return [
        f"{title_of(data_set)}, {ALGORITHM_NAMES[algorithm]}"
        for algorithm in algorithms
        for data_set in DATA_SETS
        if f"{task}-{data_set}-{algorithm}" not in measurements
    ]


def n_columns(measured: Sequence[Json]) -> int:
    """A column for every data set that was measured."""
    return max(len({one["data_set"] for one in measured}), 1)


def described(measured: Json) -> Json:
    """What opens every row of a CSV file."""
    return {"data_set": measured["data_set"], "is_stand_in": bool(measured["is_stand_in"])} | (
        {"algorithm": measured["algorithm"]} if "algorithm" in measured else {}
    )


def run_of(x: float, spread: Json) -> Spread | None:
    """The runs as a dot with whiskers; one run alone has no deviation."""
    mean = known(spread.get("mean"))
    return None if mean is None else Spread(x, mean, WHISKER * (known(spread.get("deviation")) or 0.0))


def runs_of(points: Iterable[tuple[float, Json]]) -> list[Spread]:
    return [run for x, spread in points if (run := run_of(x, spread)) is not None]


def expected(spread: Json) -> float | None:
    """The closed form; where there is none, the mean of the runs."""
    closed = known(spread.get("expected"))
    return known(spread.get("mean")) if closed is None else closed


def spread_columns(spread: Json) -> Json:
    return {key: known(spread.get(key)) for key in ("expected", "mean", "deviation")}


def csv_text(rows: Sequence[Json]) -> str:
    """A header and one line per point; what is not known is left empty, and a column of nothing but that left out."""
    every = dict.fromkeys(key for row in rows for key in row)
    header = [key for key in every if any(row.get(key) is not None for row in rows)]
    out = io.StringIO()
    writer = csv.DictWriter(out, header, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _csv_value(row.get(key)) for key in header} for row in rows)
    return out.getvalue()


def _csv_value(value: Any) -> Any:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else value


def attribute_name(name: str) -> str:
    """As people write it."""
    return "ZIP code" if name == "zip" else name.replace("_", " ")


def levels_words(levels: Json | None) -> str | None:
    return None if levels is None else ", ".join(f"{attribute_name(name)} {level}" for name, level in levels.items())

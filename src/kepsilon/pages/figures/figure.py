# SPDX-License-Identifier: Apache-2.0
"""What the pages are made of: sections, figures with sentences, chart and table, and tiles with one number each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kepsilon.pages.charts import Drawing


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of text, as it is shown."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    n_words: int = 1
    """Number of columns, from the left, that hold words; the others hold numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure of a page: sentences, a chart, and the table behind it."""

    title: str
    sentences: Sequence[str]
    drawing: Drawing | None
    table: Table
    slim: Drawing | None = None
    """The chart as narrow screens show it, where one drawing does not do for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section of a page, with its figures."""

    title: str
    figures: Sequence[Figure]
    sentences: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One important number in large type, and what it means."""

    value: str
    meaning: str


_MOST_ALIKE = 2


def and_more(alike: Sequence[Tile]) -> list[Tile]:
    """The first two of several tiles of one kind; the second says how many more there are."""
    shown, n_more = [*alike[:_MOST_ALIKE]], len(alike) - _MOST_ALIKE
    if n_more > 0:
        shown[-1] = Tile(value=shown[-1].value, meaning=f"{shown[-1].meaning}; and {n_more:,} more below")
    return shown

# SPDX-License-Identifier: Apache-2.0
"""Which counts a report may show: none that speaks of fewer than k records, or persons where records say whom they are about.

Records are counted in full. Persons are counted among sampled records, so there are at least that many: what is shown
speaks of k persons or more, and now and then a cell is hidden that need not be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import BoolArray, IntArray

_LOOKED_AT = 64
"""Times k: among so many records there are nearly always k persons, so that no others have to be looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonsInCells:
    """Whom the sampled records are about, and the cells in which these are."""

    cells: IntArray
    """−1 for a record in no cell; shape (n_sampled,)."""
    persons: IntArray

    def by_cell(self, n_cells: int) -> IntArray:
        """How many persons have a record in each cell, shape (n_cells,)."""
        inside = self.cells >= 0
        order = np.lexsort((self.persons[inside], self.cells[inside]))
        cells, persons = self.cells[inside][order], self.persons[inside][order]
        is_new = np.ones(len(cells), dtype=np.bool_)
        is_new[1:] = (cells[1:] != cells[:-1]) | (persons[1:] != persons[:-1])
        return np.bincount(cells[is_new], minlength=n_cells)

    def within(self, chosen: BoolArray) -> int:
        """How many persons have a record in one of the chosen cells."""
        inside = self.cells >= 0
        return len(np.unique(self.persons[inside][chosen[self.cells[inside]]]))


def not_below(counts: IntArray, k: int, persons: PersonsInCells | None = None) -> tuple[int | None, ...]:
    """Counts of records that speak of at least k, and None for others.

    Where those that are hidden together speak of fewer than k, the smallest of the others is hidden too: the number of all
    records is known, and would tell the hidden sum. A single shown count stays: without it there would be no picture.
    """
    speaking_of = counts if persons is None else persons.by_cell(len(counts))
    is_hidden = speaking_of < k
    shown = [None if hidden else int(count) for count, hidden in zip(counts, is_hidden, strict=True)]
    n_hidden = int(counts[is_hidden].sum())
    speaks_of = n_hidden if persons is None else persons.within(is_hidden)
    seen = [count for count in shown if count is not None]
    if n_hidden and speaks_of < k and len(seen) > 1:
        shown[shown.index(min(seen))] = None
    return tuple(shown)


def shown_steps(counts: IntArray, n: int, k: int, persons: IntArray | None = None) -> tuple[float | None, ...]:
    """Cumulative shares of n records; None for each that would show 1 to k − 1 records below, between or above.

    With `persons`, whom the records are about, in the order in which they are counted, persons are meant.
    """
    shown: list[float | None] = []
    last = 0
    for count in counts.tolist():
        fits = all(first == end or speak_of(first, end, k, persons) for first, end in ((last, count), (count, n)))
        shown.append(round(count / n, 4) if fits and n else None)
        last = count if fits else last
    return tuple(shown)


def speak_of(first: int, end: int, k: int, persons: IntArray | None) -> bool:
    """Whether the records from `first` up to, not including, `end` are k records, or are about k persons, at least."""
    if persons is None or end - first < k:
        return end - first >= k
    few = min(end, first + _LOOKED_AT * k)
    return len(np.unique(persons[first:few])) >= k or (few < end and len(np.unique(persons[first:end])) >= k)

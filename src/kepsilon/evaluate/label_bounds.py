# SPDX-License-Identifier: Apache-2.0
"""Counts the bounds of published intervals that show the cell of a single record or person, where the data has no other value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.classes import SUPPRESSED
from kepsilon.table.number_line import NumberLine
from kepsilon.table.persons import PersonCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class TellingBounds:
    """How many of the bounds that labels of one k-quasi show tell the cell of a single record, or of a single person."""

    n_telling: int
    n_shown: int
    """Two for every class that has a number."""


def telling_bounds(
    line: NumberLine,
    codes: IntArray,
    counts: IntArray,
    class_of: IntArray,
    *,
    n_classes: int,
    shows_regions: bool = False,
    persons: PersonCounts | None = None,
) -> TellingBounds:
    """Bounds whose cell holds one record of the class, or records of one person, and one number of the whole data.

    Whoever reads such a bound knows the cell of whoever holds it, and the value where the step is no coarser than the
    values that are possible; from the data one sees only which values occur, so some bounds are counted needlessly. `codes`,
    `counts`, `class_of` and `persons` are those of the combinations, (n_combinations,). With `shows_regions`, labels are dyadic
    regions; only a region of two cells tells which cells its records lie in.
    """
    is_number = (line.places[codes] >= line.has_null) & (class_of != SUPPRESSED)
    place, own, weights = line.places[codes[is_number]], class_of[is_number], counts[is_number]
    first = np.full(n_classes, line.n_places)
    last = np.full(n_classes, -1)
    np.minimum.at(first, own, place)
    np.maximum.at(last, own, place)
    has_number = last >= 0
    is_told: BoolArray = has_number.copy()
    if shows_regions:
        pairs = [(line.cells[a - line.has_null], line.cells[b - line.has_null]) for a, b in _ends(first, last)]
        is_told[has_number] = [a == b or (a % 2 == 0 and b == a + 1) for a, b in pairs]
    n_telling = 0
    for end in (first, last):
        is_there = place == end[own]
        if persons is None:
            n_holders: IntArray = np.bincount(own[is_there], weights=weights[is_there], minlength=n_classes)
        else:
            at_end = np.full(len(class_of), SUPPRESSED, dtype=np.int64)
            at_end[np.flatnonzero(is_number)[is_there]] = own[is_there]
            n_holders = persons.in_classes(at_end, n_classes=n_classes)
        is_one = line.has_one_number()[np.minimum(end, line.n_places - 1)] & (n_holders == 1)
        n_telling += int(np.count_nonzero(is_told & is_one))
    return TellingBounds(n_telling=n_telling, n_shown=2 * int(np.count_nonzero(has_number)))


def _ends(first: IntArray, last: IntArray) -> list[tuple[int, int]]:
    """First and last place of the classes that have a number."""
    return [(a, b) for a, b in zip(first.tolist(), last.tolist(), strict=True) if b >= 0]

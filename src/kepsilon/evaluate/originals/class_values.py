# SPDX-License-Identifier: Apache-2.0
"""The distinct values of one ε-quasi in every class, with counts: all that figures depend on before noise is drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.coded_values import SLOTS_PER_RECORD, CodedValues

_ROUNDS = 4
"""How many values off a search may be, before it is done again by halving."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassValues:
    """The distinct values of one ε-quasi, class by class, rising within each class."""

    values: FloatArray
    """The distinct values of every class, one class after the other, shape (n_distinct,)."""
    class_ids: IntArray
    """The class of each distinct value, rising."""
    counts: IntArray
    """Records that hold each distinct value."""
    starts: IntArray
    """Where the values of every class begin, and last the number of all values, shape (n_classes + 1,)."""

    @property
    def n_classes(self) -> int:
        return len(self.starts) - 1

    @property
    def n_distinct(self) -> IntArray:
        """Distinct values of every class; 0 where a class has no record here."""
        n_distinct: IntArray = np.diff(self.starts)
        return n_distinct

    @property
    def sizes(self) -> IntArray:
        """Records of every class."""
        before = np.concatenate([[0], np.cumsum(self.counts)])
        sizes: IntArray = np.diff(before[self.starts])
        return sizes

    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest value of every class; 0 where it has no record here."""
        has_records = self.n_distinct > 0
        low, high = np.zeros(self.n_classes), np.zeros(self.n_classes)
        low[has_records] = self.values[self.starts[:-1][has_records]]
        high[has_records] = self.values[self.starts[1:][has_records] - 1]
        return low, high

    def sums(self, terms: FloatArray) -> FloatArray:
        """Sums over the distinct values of every class, shape (n_classes,); 0 where a class has no record here."""
        has_records = self.n_distinct > 0
        found = np.zeros(self.n_classes)
        if has_records.any():
            found[has_records] = np.add.reduceat(terms, self.starts[:-1][has_records])
        return found

    def gaps(self) -> tuple[FloatArray, IntArray]:
        """Differences between neighbouring distinct values of a class, and the position of the smaller value of each."""
        inner = np.flatnonzero(self.class_ids[1:] == self.class_ids[:-1])
        return self.values[inner + 1] - self.values[inner], inner

    def of(self, chosen: IntArray) -> ClassValues:
        """The values of some classes only; `chosen` are class ids in rising order."""
        n_distinct = self.n_distinct[chosen]
        ends = np.cumsum(n_distinct)
        positions = np.arange(int(n_distinct.sum())) + np.repeat(self.starts[chosen] - (ends - n_distinct), n_distinct)
        return ClassValues(
            values=self.values[positions],
            class_ids=np.repeat(np.arange(len(chosen)), n_distinct),
            counts=self.counts[positions],
            starts=np.concatenate([[0], ends]),
        )

    def n_distinct_up_to(self, bounds: FloatArray, class_ids: IntArray, *, include_equal: bool) -> IntArray:
        """How many entries of `values`, counted from the very first, lie before each bound in the order of classes.

        That is, all values of earlier classes, and those of the bound's own class that are smaller (or equal).

        One search in all classes at once finds about where each bound stands. Rounding may have moved it by a value or two,
        which the values themselves then decide; the few that are still wrong are searched for by halving their class.
        """
        first, last = self.starts[class_ids], self.starts[class_ids + 1]
        is_before = np.less_equal if include_equal else np.less
        found = np.clip(self._searched(bounds, class_ids), first, last)
        pending = np.arange(len(found))
        for _ in range(_ROUNDS):
            own, bound = found[pending], bounds[pending]
            too_far = own > first[pending]
            too_far[too_far] = ~is_before(self.values[own[too_far] - 1], bound[too_far])
            too_near = own < last[pending]
            too_near[too_near] = is_before(self.values[own[too_near]], bound[too_near])
            found[pending] = own + too_near - too_far
            pending = pending[too_far | too_near]
            if not pending.size:
                return found
        low, high = first[pending], last[pending]
        while np.any(low < high):
            middle = (low + high) // 2
            is_open = low < high
            before = is_open & is_before(self.values[np.where(is_open, middle, 0)], bounds[pending])
            low, high = np.where(before, middle + 1, low), np.where(is_open & ~before, middle, high)
        found[pending] = low
        return found

    def _searched(self, bounds: FloatArray, class_ids: IntArray) -> IntArray:
        """Where each bound would stand among all values but for rounding; a class is an interval of the length ½."""
        low, high = self.extremes()
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            scales = np.where(high > low, 2 * (high - low), np.inf)
            values = (self.values - low[self.class_ids]) / scales[self.class_ids]
            places = np.clip((bounds - low[class_ids]) / scales[class_ids], -0.25, 0.75)
            return np.searchsorted(np.nan_to_num(values) + self.class_ids, np.nan_to_num(places) + class_ids)


def count_values(coded: CodedValues, class_ids: IntArray, *, n_classes: int) -> ClassValues:
    """The distinct values of every class, with counts. `class_ids` are by record, like the codes."""
    require_classes(coded.codes, class_ids, n_classes=n_classes)
    n_values = max(1, len(coded.distinct))
    keys = class_ids.astype(np.int64)
    keys *= n_values
    keys += coded.codes
    counts: IntArray
    if np.all(keys[1:] >= keys[:-1]):  # sorted by class and value, so that equal ones are side by side
        firsts = np.flatnonzero(np.diff(keys, prepend=-1))
        occurring, counts = keys[firsts], np.diff(firsts, append=len(keys))
    elif n_classes * n_values <= SLOTS_PER_RECORD * len(keys):
        slots = np.bincount(keys, minlength=n_classes * n_values)
        occurring = np.flatnonzero(slots)
        counts = slots[occurring]
    else:
        occurring, counts = np.unique(keys, return_counts=True)
    distinct_ids, codes = np.divmod(occurring, n_values)
    return ClassValues(
        values=coded.distinct[codes],
        class_ids=distinct_ids,
        counts=counts,
        starts=np.searchsorted(distinct_ids, np.arange(n_classes + 1)),
    )


def running_sums(growing: FloatArray, falling: FloatArray, lengths: IntArray) -> tuple[FloatArray, FloatArray]:
    """Sums of `growing` up to each term, and sums of `falling` from each term on, within each class.

    `growing` and `falling` hold the terms of all classes, one class after the other; `lengths` is how many terms each class
    has, shape (n_classes,). Classes of similar length become rows of one array, summed along the rows: in
    one running sum over all classes a small class would drown in the rounding of a large one.
    """
    up, down = np.empty_like(growing), np.empty_like(falling)
    starts = np.cumsum(lengths) - lengths
    magnitudes = np.frexp(lengths.astype(np.float64))[1]
    for magnitude in np.flatnonzero(np.bincount(magnitudes)):
        similar = np.flatnonzero(magnitudes == magnitude)
        steps = np.arange(lengths[similar].max())
        inside = steps < lengths[similar, np.newaxis]
        positions = (starts[similar, np.newaxis] + steps)[inside]
        rows = np.zeros(inside.shape)
        rows[inside] = growing[positions]
        up[positions] = np.cumsum(rows, axis=1)[inside]
        rows[inside] = falling[positions]
        down[positions] = np.cumsum(rows[:, ::-1], axis=1)[:, ::-1][inside]
    return up, down


def require_classes(values: FloatArray | IntArray, class_ids: IntArray, *, n_classes: int) -> None:
    """Raises ValueError unless every value has a class id from 0 to n_classes − 1."""
    if values.shape != class_ids.shape:
        raise ValueError("every value needs a class")
    if class_ids.size and not 0 <= class_ids.min() <= class_ids.max() < n_classes:
        raise ValueError("some records are in no class")

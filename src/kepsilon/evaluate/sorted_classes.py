# SPDX-License-Identifier: Apache-2.0
"""The originals of all classes in one sorted order, so that questions about neighbours are answered for all at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import FloatArray, IntArray

ROUNDING = 4 * np.finfo(np.float64).eps
"""Two distances between decimals held as doubles may differ by this much, relative to the decimals, and be the same."""

_BLOCK = 1 << 15
"""Records looked at together: few enough to stay in a processor's cache, which is three times as fast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedClasses:
    """One ε-quasi's distinct values, by class and then by size; a record is found at its place in `order`."""

    order: IntArray
    """Records by class, then by value, shape (n_records,)."""
    place: IntArray
    """Position among the distinct values of every record, in that order, shape (n_records,)."""
    values: FloatArray
    """The distinct values of every class, one class after the other, shape (n_distinct,)."""
    class_ids: IntArray
    counts: IntArray
    """Records that hold each distinct value."""
    starts: IntArray
    """Where the values of every class begin, and at last where they end, shape (n_classes + 1,)."""

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

    def gaps(self) -> tuple[FloatArray, IntArray]:
        """Steps from each distinct value to the next of its class, and the position of the value each step leaves."""
        inner = np.flatnonzero(self.class_ids[1:] == self.class_ids[:-1])
        return self.values[inner + 1] - self.values[inner], inner

    def n_distinct_up_to(self, bounds: FloatArray, class_ids: IntArray, *, include_equal: bool) -> IntArray:
        """How many entries of `values`, counted from the very first, lie before each bound in the order of classes.

        That is, all values of earlier classes, and those of the bound's own class that are smaller (or equal). All
        bounds are halved in on at once, each within its class: as many rounds as the largest class has binary digits.
        """
        first, last = self.starts[class_ids], self.starts[class_ids + 1]
        is_before = np.less_equal if include_equal else np.less
        pending = np.flatnonzero(first < last)
        while pending.size:
            middle = (first[pending] + last[pending]) // 2
            before = is_before(self.values[middle], bounds[pending])
            first[pending[before]] = middle[before] + 1
            last[pending[~before]] = middle[~before]
            pending = pending[first[pending] < last[pending]]
        return first


def sort_classes(values: FloatArray, class_ids: IntArray, *, n_classes: int) -> SortedClasses:
    """The order of all records by class and value; a missing value stands for itself, all missing alike.

    Sorted by value, then by class in a way that keeps the order: two fast sorts instead of a slow one of pairs.
    """
    if values.shape != class_ids.shape:
        raise ValueError("every value needs a class")
    if class_ids.size and not 0 <= class_ids.min() <= class_ids.max() < n_classes:
        raise ValueError("some records are in no class")
    values = without_missing(values)
    by_value = np.argsort(values)
    order = by_value[_by_class(class_ids[by_value], n_classes=n_classes)]
    sorted_values, sorted_ids = values[order], class_ids[order]
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new[1:] = (sorted_values[1:] != sorted_values[:-1]) | (sorted_ids[1:] != sorted_ids[:-1])
    firsts = np.flatnonzero(is_new)
    counts = np.diff(firsts, append=len(order))
    distinct_ids = sorted_ids[firsts]
    return SortedClasses(
        order=order,
        place=np.repeat(np.arange(len(firsts)), counts),
        values=sorted_values[firsts],
        class_ids=distinct_ids,
        counts=counts,
        starts=np.searchsorted(distinct_ids, np.arange(n_classes + 1)),
    )


def blocks_of_classes(class_ids: IntArray, *, n_classes: int) -> Iterator[tuple[IntArray, IntArray, slice]]:
    """Some whole classes at a time: their records, the class ids of these counted from 0, and which classes they are."""
    sizes = np.bincount(class_ids, minlength=n_classes)
    ends = np.cumsum(sizes)
    order = _by_class(class_ids, n_classes=n_classes)
    first, done = 0, 0
    while first < n_classes:
        last = min(max(first + 1, int(np.searchsorted(ends, done + _BLOCK, side="right"))), n_classes)
        until = int(ends[last - 1])
        yield order[done:until], np.repeat(np.arange(last - first), sizes[first:last]), slice(first, last)
        first, done = last, until


def _by_class(class_ids: IntArray, *, n_classes: int) -> IntArray:
    """Records by class, 16 bits of the class id at a time: for those NumPy counts instead of comparing."""
    order: IntArray = np.argsort((class_ids & 0xFFFF).astype(np.uint16), kind="stable")
    for shift in range(16, (n_classes - 1).bit_length(), 16):
        digit = ((class_ids >> shift) & 0xFFFF).astype(np.uint16)
        order = order[np.argsort(digit[order], kind="stable")]
    return order


def without_missing(values: FloatArray) -> FloatArray:
    """0 where a value is missing: a class has all its values missing or none, so that it becomes a constant class."""
    missing = np.isnan(values)
    return np.where(missing, 0.0, values) if missing.any() else values

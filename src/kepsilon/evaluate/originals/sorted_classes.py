# SPDX-License-Identifier: Apache-2.0
"""The originals of all classes sorted by class and value, so that neighbours of all records are found at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.originals.class_values import ClassValues, require_classes
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.coded_values import without_missing

ROUNDING = 4 * np.finfo(np.float64).eps
"""Equal distances between decimals may differ by this much once held as doubles, relative to the decimals."""

_IN_CACHE = 1 << 15
"""Records worked on together: few enough to stay in a processor's cache, which is three times as fast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedClasses(ClassValues):
    """The distinct values of every class, and where each record's own value stands among them."""

    order: IntArray
    """Records by class, then by value, shape (n_records,)."""
    place: IntArray
    """For each record of `order`, the position of its value in `values`, shape (n_records,)."""


def sort_classes(values: FloatArray, class_ids: IntArray, *, n_classes: int) -> SortedClasses:
    """All records sorted by class and value; `values` and `class_ids` have shape (n_records,).

    Missing values count as 0: a class has all values missing or none.

    They are sorted by value, then stably by class: two fast sorts instead of a slow one of pairs.
    """
    require_classes(values, class_ids, n_classes=n_classes)
    values = without_missing(values)
    if _are_sorted(values, class_ids):
        order, sorted_values, sorted_ids = np.arange(len(values)), values, class_ids
    else:
        by_value = np.argsort(values)
        order = by_value[by_class(class_ids[by_value], n_classes=n_classes)]
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


def _are_sorted(values: FloatArray, class_ids: IntArray) -> bool:
    """Whether records are in the order of their classes, and inside a class in that of their values."""
    is_next = class_ids[1:] > class_ids[:-1]
    return bool(np.all(is_next | ((class_ids[1:] == class_ids[:-1]) & (values[1:] >= values[:-1]))))


def runs_of_classes(class_ids: IntArray, *, n_classes: int) -> Iterator[tuple[IntArray, IntArray, slice]]:
    """A few whole classes at a time, in the order of classes.

    Yields the positions of their records; the class of each of these records, counted from the first class of the run; and
    the slice of classes.
    """
    sizes = np.bincount(class_ids, minlength=n_classes)
    ends = np.cumsum(sizes)
    order = by_class(class_ids, n_classes=n_classes)
    first, done = 0, 0
    while first < n_classes:
        last = min(max(first + 1, int(np.searchsorted(ends, done + _IN_CACHE, side="right"))), n_classes)
        until = int(ends[last - 1])
        yield order[done:until], np.repeat(np.arange(last - first), sizes[first:last]), slice(first, last)
        first, done = last, until


def by_class(class_ids: IntArray, *, n_classes: int) -> IntArray:
    """Records in the order of classes, stably; sorted by 16 bits at a time, for which NumPy has a fast radix sort."""
    if np.all(class_ids[1:] >= class_ids[:-1]):
        return np.arange(len(class_ids))
    order: IntArray = np.argsort((class_ids & 0xFFFF).astype(np.uint16), kind="stable")
    for shift in range(16, (n_classes - 1).bit_length(), 16):
        digit = ((class_ids >> shift) & 0xFFFF).astype(np.uint16)
        order = order[np.argsort(digit[order], kind="stable")]
    return order

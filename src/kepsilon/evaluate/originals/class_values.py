# SPDX-License-Identifier: Apache-2.0
"""The distinct values of one ε-quasi in every class, with counts: all that figures depend on before noise is drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.coded_values import SLOTS_PER_RECORD, CodedValues


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

        That is, all values of earlier classes, and those of the bound's own class that are smaller (or equal). One
        binary search runs for all bounds at once, each within its class.
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


def count_values(coded: CodedValues, class_ids: IntArray, *, n_classes: int) -> ClassValues:
    """The distinct values of every class, with counts. `class_ids` are by record, like the codes."""
    require_classes(coded.codes, class_ids, n_classes=n_classes)
    n_values = max(1, len(coded.distinct))
    keys = class_ids.astype(np.int64)
    keys *= n_values
    keys += coded.codes
    if n_classes * n_values <= SLOTS_PER_RECORD * len(keys):
        slots = np.bincount(keys, minlength=n_classes * n_values)
        occurring = np.flatnonzero(slots)
        counts: IntArray = slots[occurring]
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

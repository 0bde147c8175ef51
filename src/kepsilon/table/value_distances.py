# SPDX-License-Identifier: Apache-2.0
"""How far the values of a class are from those of all records: the earth mover's distance of t-closeness.

Li, Li and Venkatasubramanian 2007. The distance is what it costs to turn the one distribution into the other, where the
cost of moving all records from one value to another is at most 1. Numbers are ordered, and neighbours are 1/(m − 1) apart,
where m is how many distinct ones there are; any two categories are 1 apart.

Distances are fractions with known denominators, so they are compared with t by whole numbers, without rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.class_values import ClassValues, is_less
from kepsilon.table.sensitive import SensitiveCounts

_LARGEST = 1 << 61
"""Sums below this fit into 64 bits, also where two of them are added; larger ones are Python's integers."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reference:
    """The values of a sensitive column in all records that were counted, which classes are compared with."""

    counts: IntArray
    """Records of each value, by its code, shape (n_values,)."""
    is_ordered: bool
    """Whether the values are numbers, and their codes rise with them."""

    @property
    def n_values(self) -> int:
        return len(self.counts)

    def distances(self, values: ClassValues) -> FloatArray:
        """Distance between the values of each class and these, 0 to 1, shape (n_classes,); 0 where a class has no value."""
        work, whole = self._work(values)
        found: FloatArray = work.astype(np.float64) / np.maximum(whole, 1).astype(np.float64)
        return found

    def are_within(self, values: ClassValues, t: Fraction) -> BoolArray:
        """Whether the distance of each class is at most t, shape (n_classes,); true of a class without a value."""
        work, whole = self._work(values)
        return is_less(work, whole, ratio=t, or_equal=True)

    def _work(self, values: ClassValues) -> tuple[IntArray, IntArray]:
        """Numerator and denominator of the distance of each class, two arrays of shape (n_classes,).

        They are 64-bit integers where they fit, otherwise Python's integers.
        """
        totals = values.totals
        steps = max(1, self.n_values - 1) if self.is_ordered else 1
        n_records = int(self.counts.sum())
        fits = int(totals.max(initial=0)) * n_records * (steps + 1) < _LARGEST
        dtype: Any = np.int64 if fits else np.object_
        of_pair = self._ordered if self.is_ordered else self._equal
        work: IntArray = np.zeros(values.n_classes, dtype=dtype)
        np.add.at(work, values.class_ids, of_pair(values, totals.astype(dtype), n_records=n_records))
        if self.is_ordered:
            # Below the smallest value of a class none of its records has come yet, and all of the reference's are ahead.
            is_first = np.diff(values.class_ids, prepend=-1) > 0
            first, class_ids = values.codes[is_first], values.class_ids[is_first]
            work[class_ids] += self._sums_below().astype(dtype)[first] * totals[class_ids].astype(dtype)
        return work, totals.astype(dtype) * n_records * steps

    def _equal(self, values: ClassValues, totals: IntArray, *, n_records: int) -> IntArray:
        """Records that have to be moved away from each value of a class, times the records of both tables, by pair.

        Half the sum of all differences is the sum of those that are positive, and these are at values of the class.
        """
        surplus = values.counts.astype(totals.dtype) * n_records - self.counts[values.codes] * totals[values.class_ids]
        return np.maximum(surplus, 0)

    def _ordered(self, values: ClassValues, totals: IntArray, *, n_records: int) -> IntArray:
        """Sum of |C·N − O·n| from each value of a class up to its next one, by pair.

        C of the n records of the class and O of all N records have the value or a smaller one. From one value of the
        class to the next C stays, and O rises, so the difference changes its sign once at the most.
        """
        own = totals[values.class_ids]
        running = np.cumsum(values.counts)
        before = np.cumsum(values.totals) - values.totals
        reached = (running - before[values.class_ids]).astype(totals.dtype) * n_records
        is_last = np.diff(values.class_ids, append=values.n_classes) > 0
        begin = values.codes
        # At the largest value of all both sums are complete, and the difference is 0.
        end: IntArray = np.where(is_last, self.n_values - 1, np.roll(begin, -1))
        # The first value at which O·n is above C·N.
        turn = np.searchsorted(np.cumsum(self.counts), (reached // own).astype(np.int64), side="right")
        turn = np.clip(turn, begin, end)
        below = self._sums_below().astype(totals.dtype)
        ahead: IntArray = reached * (turn - begin) - own * (below[turn] - below[begin])
        behind: IntArray = own * (below[end] - below[turn]) - reached * (end - turn)
        return ahead + behind

    def _sums_below(self) -> IntArray:
        """Sum of O over all values below each value, and at the end over all, shape (n_values + 1,)."""
        return np.cumsum(np.append(0, np.cumsum(self.counts)))


def reference_of(counts: SensitiveCounts) -> Reference:
    """The values of all records of a table."""
    return Reference(counts=counts.overall, is_ordered=counts.is_ordered)

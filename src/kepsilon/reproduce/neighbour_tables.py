# SPDX-License-Identifier: Apache-2.0
"""For every value that a class could publish, how near its originals are: made once, then looked up for any noise.

Thirty runs ask millions of times which original is nearest and how many lie within reach. Values come in whole units of
their precision, so the answers for one class fit in a short table. That is another way than the one of `evaluate`,
which sorts and searches and needs no units; the two are compared in the tests.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import FloatArray, IntArray

_AT_ONCE = 1 << 20
"""Entries worked out together, so that memory in flight does not grow with the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """Distances from published values to originals of the same class, in units, one entry per record."""

    nearest: IntArray
    n_nearest: IntArray
    """How many originals are as near as the nearest."""
    kth: IntArray
    """Distance to the k-th nearest original: within less than that lie fewer than k."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourTables:
    """The tables of all classes after one another, each from the smallest original to the largest."""

    starts: IntArray
    """Where the table of every class begins, shape (n_classes,), like the next two."""
    low: IntArray
    high: IntArray
    nearest: IntArray
    n_nearest: IntArray
    kth: IntArray

    def look_up(self, published: IntArray, class_ids: IntArray) -> Neighbours:
        """What is published outside a class's originals is as much further from all of them as from its nearest end."""
        low = self.low[class_ids]
        moved = np.clip(published, low, self.high[class_ids])
        entry = self.starts[class_ids] + (moved - low)
        outside = np.abs(published - moved)
        return Neighbours(
            nearest=self.nearest[entry] + outside, n_nearest=self.n_nearest[entry], kth=self.kth[entry] + outside
        )


def neighbour_tables(units: IntArray, class_ids: IntArray, *, n_classes: int, k: int) -> NeighbourTables:
    """`units` are the originals; every class has at least k of them."""
    low, high = np.full(n_classes, np.iinfo(np.int64).max), np.full(n_classes, np.iinfo(np.int64).min)
    np.minimum.at(low, class_ids, units)
    np.maximum.at(high, class_ids, units)
    ends = np.cumsum(high - low + 1)
    starts = np.concatenate([[0], ends[:-1]])
    counts = np.bincount(starts[class_ids] + units - low[class_ids], minlength=int(ends[-1]))
    nearest, n_nearest = _nearest(counts)
    kth = _kth_nearest(counts, np.repeat(starts, high - low + 1), np.repeat(ends, high - low + 1), k=k)
    return NeighbourTables(starts=starts, low=low, high=high, nearest=nearest, n_nearest=n_nearest, kth=kth)


def _nearest(counts: IntArray) -> tuple[IntArray, IntArray]:
    """A class's table begins and ends at an original, so that the next one to either side is of the same class."""
    entries = np.arange(len(counts))
    before = np.maximum.accumulate(np.where(counts > 0, entries, 0))
    after = np.minimum.accumulate(np.where(counts > 0, entries, len(counts))[::-1])[::-1]
    to_before, to_after = entries - before, after - entries
    n_nearest = np.where(to_before <= to_after, counts[before], 0)
    n_nearest += np.where((to_after <= to_before) & (to_after > 0), counts[after], 0)
    return np.minimum(to_before, to_after).astype(np.int32), n_nearest.astype(np.int32)


def _kth_nearest(counts: IntArray, starts: IntArray, ends: IntArray, *, k: int) -> IntArray:
    """The least distance within which k originals of the class lie, by halving."""
    up_to = np.concatenate([[0], np.cumsum(counts)])
    found = np.empty(len(counts), dtype=np.int32)
    for begin in range(0, len(counts), _AT_ONCE):
        entry = np.arange(begin, min(begin + _AT_ONCE, len(counts)))
        first, last = starts[entry], ends[entry]
        least, most = np.zeros(len(entry), dtype=np.int64), last - first - 1
        while (least < most).any():
            middle = (least + most) // 2
            n_within = up_to[np.minimum(entry + middle + 1, last)] - up_to[np.maximum(entry - middle, first)]
            enough = n_within >= k
            most = np.where(enough, middle, most)
            least = np.where(enough, least, middle + 1)
        found[entry] = least
    return found


def in_units(values: FloatArray, precision: float) -> IntArray:
    """Decimals as whole numbers of units."""
    units: IntArray = np.rint(values / precision).astype(np.int64)
    return units

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
        """Distances for published values; one outside its class is as much further from all originals as from the nearest end."""
        low = self.low[class_ids]
        moved = np.clip(published, low, self.high[class_ids])
        entry = self.starts[class_ids] + (moved - low)
        outside = np.abs(published - moved)
        return Neighbours(
            nearest=self.nearest[entry] + outside, n_nearest=self.n_nearest[entry], kth=self.kth[entry] + outside
        )


def neighbour_tables(units: IntArray, class_ids: IntArray, *, n_classes: int, k: int) -> NeighbourTables:
    """Tables for the originals `units`, of which every class has at least k."""
    low, high = np.full(n_classes, np.iinfo(np.int64).max), np.full(n_classes, np.iinfo(np.int64).min)
    np.minimum.at(low, class_ids, units)
    np.maximum.at(high, class_ids, units)
    starts = np.concatenate([[0], np.cumsum(high - low + 1)[:-1]])
    counts = np.bincount(units - (low - starts)[class_ids], minlength=int((high - low + 1).sum()))
    nearest, n_nearest = _nearest(counts)
    kth = _kth_nearest(units, class_ids, low, high, starts, k=k)
    return NeighbourTables(starts=starts, low=low, high=high, nearest=nearest, n_nearest=n_nearest, kth=kth)


def _nearest(counts: IntArray) -> tuple[IntArray, IntArray]:
    """Distance to the nearest original of every entry, and how many are that near.

    A class's table begins and ends at an original, so that the next one to either side is of the same class.
    """
    entries = np.arange(len(counts))
    before = np.maximum.accumulate(np.where(counts > 0, entries, 0))
    after = np.minimum.accumulate(np.where(counts > 0, entries, len(counts))[::-1])[::-1]
    to_before, to_after = entries - before, after - entries
    n_nearest = np.where(to_before <= to_after, counts[before], 0)
    n_nearest += np.where((to_after <= to_before) & (to_after > 0), counts[after], 0)
    return np.minimum(to_before, to_after).astype(np.int32), n_nearest.astype(np.int32)


def _kth_nearest(
    units: IntArray, class_ids: IntArray, low: IntArray, high: IntArray, starts: IntArray, *, k: int
) -> IntArray:
    """Distance to the k-th nearest original of every entry.

    The k nearest are neighbours in the order of values: v_j to v_{j+k−1}, and from halfway between v_j and v_{j+k} on,
    the next k. Counting those halfway points up to an entry tells which k they are.
    """
    order = np.lexsort((units, class_ids))
    values, ids = units[order], class_ids[order]
    first = np.flatnonzero(ids[:-k] == ids[k:])
    halfway = (values[first] + values[first + k]) // 2 + 1
    inside = halfway <= high[ids[first]]
    lengths, shift = high - low + 1, low - starts  # what an entry's position lacks to its value
    n_moves = np.cumsum(np.bincount((halfway - shift[ids[first]])[inside], minlength=int(lengths.sum())))
    sizes = np.bincount(class_ids, minlength=len(starts))
    begins = np.cumsum(sizes) - sizes
    before = n_moves[starts]  # no halfway point is at a table's first entry
    window = n_moves + np.repeat(begins - before, lengths)
    at = np.arange(len(n_moves)) + np.repeat(shift, lengths)
    kth: IntArray = np.maximum(at - values[window], values[window + k - 1] - at)
    return kth.astype(np.int32)


def in_units(values: FloatArray, precision: float) -> IntArray:
    """Values as whole numbers of units of their precision."""
    units: IntArray = np.rint(values / precision).astype(np.int64)
    return units

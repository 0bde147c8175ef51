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
        """What is published outside a class's originals is as much further from all of them as from its nearest end."""
        low = self.low[class_ids]
        moved = np.clip(published, low, self.high[class_ids])
        entry = self.starts[class_ids] + (moved - low)
        outside = np.abs(published - moved)
        return Neighbours(
            nearest=self.nearest[entry] + outside, n_nearest=self.n_nearest[entry], kth=self.kth[entry] + outside
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Where the tables stand, by class."""

    low: IntArray
    high: IntArray
    starts: IntArray

    @property
    def lengths(self) -> IntArray:
        return self.high - self.low + 1

    @property
    def shift(self) -> IntArray:
        """What an entry's position lacks to its value."""
        return self.low - self.starts

    @property
    def n_entries(self) -> int:
        return int(self.lengths.sum())


def neighbour_tables(units: IntArray, class_ids: IntArray, *, n_classes: int, k: int) -> NeighbourTables:
    """`units` are the originals; every class has at least k of them."""
    low, high = np.full(n_classes, np.iinfo(np.int64).max), np.full(n_classes, np.iinfo(np.int64).min)
    np.minimum.at(low, class_ids, units)
    np.maximum.at(high, class_ids, units)
    layout = _Layout(low=low, high=high, starts=np.concatenate([[0], np.cumsum(high - low + 1)[:-1]]))
    counts = np.bincount(units - layout.shift[class_ids], minlength=layout.n_entries)
    nearest, n_nearest = _nearest(counts)
    kth = _kth_nearest(units, class_ids, layout, k=k)
    return NeighbourTables(starts=layout.starts, low=low, high=high, nearest=nearest, n_nearest=n_nearest, kth=kth)


def _nearest(counts: IntArray) -> tuple[IntArray, IntArray]:
    """A class's table begins and ends at an original, so that the next one to either side is of the same class."""
    entries = np.arange(len(counts))
    before = np.maximum.accumulate(np.where(counts > 0, entries, 0))
    after = np.minimum.accumulate(np.where(counts > 0, entries, len(counts))[::-1])[::-1]
    to_before, to_after = entries - before, after - entries
    n_nearest = np.where(to_before <= to_after, counts[before], 0)
    n_nearest += np.where((to_after <= to_before) & (to_after > 0), counts[after], 0)
    return np.minimum(to_before, to_after).astype(np.int32), n_nearest.astype(np.int32)


def _kth_nearest(units: IntArray, class_ids: IntArray, tables: _Layout, *, k: int) -> IntArray:
    """The k nearest are neighbours in the order of values: v_j to v_{j+k−1}, and from halfway between v_j and v_{j+k} on,
    the next k. Counting those halfway points up to an entry tells which k they are.
    """
    order = np.lexsort((units, class_ids))
    values, ids = units[order], class_ids[order]
    first = np.flatnonzero(ids[:-k] == ids[k:])
    halfway = (values[first] + values[first + k]) // 2 + 1
    inside = halfway <= tables.high[ids[first]]
    moves = np.bincount((halfway - tables.shift[ids[first]])[inside], minlength=tables.n_entries)
    n_moves = np.cumsum(moves)
    sizes = np.bincount(class_ids, minlength=len(tables.starts))
    begins = np.cumsum(sizes) - sizes
    before = n_moves[tables.starts]  # no halfway point is at a table's first entry
    window = n_moves + np.repeat(begins - before, tables.lengths)
    at = np.arange(tables.n_entries) + np.repeat(tables.shift, tables.lengths)
    kth: IntArray = np.maximum(at - values[window], values[window + k - 1] - at)
    return kth.astype(np.int32)


def in_units(values: FloatArray, precision: float) -> IntArray:
    """Decimals as whole numbers of units."""
    units: IntArray = np.rint(values / precision).astype(np.int64)
    return units

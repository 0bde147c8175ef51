# SPDX-License-Identifier: Apache-2.0
"""The originals of some classes as rings, so that every record meets those of its class one after the other.

With several ε-quasis there is no sorted order to search. Instead each record is compared with a few originals of its
class, starting at its own; most records are settled by those, the rest is compared with twice as many, and so on. Within
a class the order is random, for the sake of speed alone: whatever is counted does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

WIDEST = 512
"""Originals met at a time, at most."""

_NARROWEST = 8
_TILE = 1 << 14
"""Comparisons at a time: few enough for their arrays to stay in a processor's cache."""

_SEED = 0
"""Of the order within classes, which is no secret and decides nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CyclicClasses:
    """Records by class, and the coordinates of their originals as rings. A position is a place in `records`."""

    records: IntArray
    """Records by class, in random order within a class, shape (n_records,); the others follow this order."""
    class_ids: IntArray
    place: IntArray
    """How many records of the class come before."""
    sizes: IntArray
    """Records of the class."""
    originals: FloatArray
    """Coordinates in that order, shape (n_attributes, n_records)."""
    rings: FloatArray
    """The same, each class followed by its own beginning, so that it can be read on past its end."""
    ring_starts: IntArray
    """Where the ring of each record's class begins, shape (n_records,)."""

    def apart(self, positions: IntArray, centres: FloatArray, *, first: int, width: int) -> list[FloatArray]:
        """How far the originals numbered first … first + width − 1 lie from the centres: by attribute, (n_positions, width).

        Numbers count from each position on, 0 being the record's own original. `centres` has the shape (n_attributes,
        n_positions). Where a class has fewer, what follows is of no meaning; see `beyond`.
        """
        begin = self.ring_starts[positions] + (self.place[positions] + first) % self.sizes[positions]
        steps = [sliding_window_view(ring, width)[begin] for ring in self.rings]
        for step, centre in zip(steps, centres, strict=True):
            np.subtract(step, centre[:, np.newaxis], out=step)
            np.abs(step, out=step)
        return steps

    def distances(self, positions: IntArray, centres: FloatArray, *, first: int, width: int) -> FloatArray:
        """The same as one distance, the largest of all attributes; infinite beyond the class."""
        far, *others = self.apart(positions, centres, first=first, width=width)
        for step in others:
            np.maximum(far, step, out=far)
        beyond = self.beyond(positions, first=first, width=width)
        if beyond is not None:
            far[beyond] = np.inf
        return far

    def beyond(self, positions: IntArray, *, first: int, width: int) -> BoolArray | None:
        """Which of those are not in the class, or None if all are."""
        sizes = self.sizes[positions]
        if not sizes.size or first + width <= sizes.min():
            return None
        outside: BoolArray = first + np.arange(width) >= sizes[:, np.newaxis]
        return outside

    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest coordinates of each record's class, shape (n_attributes, n_records) each."""
        firsts = np.flatnonzero(self.place == 0)
        sizes = self.sizes[firsts]
        low, high = (extreme.reduceat(self.originals, firsts, axis=1) for extreme in (np.minimum, np.maximum))
        return np.repeat(low, sizes, axis=1), np.repeat(high, sizes, axis=1)

    def meet(
        self,
        positions: IntArray,
        look: Callable[[IntArray, int, int], BoolArray],
        *,
        first: int,
        width: int = _NARROWEST,
    ) -> None:
        """Lets each position meet its class until `look` has seen enough, or the whole class.

        `look` is told which of the positions (numbered as they were given, since one may be given twice), from which
        original on and how many, and says which of them it wants to follow further.
        """
        sizes = self.sizes[positions]
        pending = np.flatnonzero(sizes > first)
        while pending.size:
            # A class smaller than the window is seen whole; wider windows would only show what is beyond it.
            reach = min(width, WIDEST, int(sizes[pending].max()) - first)
            step = max(1, _TILE // reach)
            tiles = [pending[start : start + step] for start in range(0, len(pending), step)]
            pending = np.concatenate([tile[look(tile, first, reach)] for tile in tiles])
            first += reach
            pending = pending[sizes[pending] > first]
            width = 2 * width


def lay_out(coordinates: FloatArray, class_ids: IntArray, *, n_classes: int) -> CyclicClasses:
    """Rings of the given classes; `coordinates` has shape (n_records, n_attributes)."""
    records = np.random.default_rng(_SEED).permutation(len(class_ids))
    ids = class_ids[records]
    by_class = np.argsort(ids.astype(np.uint16) if n_classes <= 1 << 16 else ids, kind="stable")
    records, ids = records[by_class], ids[by_class]
    counts = np.bincount(ids, minlength=n_classes)
    firsts = np.cumsum(counts) - counts
    laps = counts + np.minimum(np.maximum(counts - 1, 0), WIDEST - 1)
    ring_firsts = np.cumsum(laps) - laps
    # Positions along each ring, taken modulo the class; a window at the very end may read on into nothing.
    along = np.arange(laps.sum()) - np.repeat(ring_firsts, laps)
    source = np.repeat(firsts, laps) + along % np.repeat(counts, laps)
    originals = np.ascontiguousarray(coordinates[records].T)
    rings = np.zeros((len(originals), len(source) + WIDEST))
    rings[:, : len(source)] = originals[:, source]
    return CyclicClasses(
        records=records,
        class_ids=ids,
        place=np.arange(len(ids)) - firsts[ids],
        sizes=counts[ids],
        originals=originals,
        rings=rings,
        ring_starts=ring_firsts[ids],
    )

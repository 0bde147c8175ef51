# SPDX-License-Identifier: Apache-2.0
"""The originals of some classes as rings, so that every record meets those of its class one after the other.

With several ε-quasis there is no sorted order to search. Instead each record is compared with a few originals of its
class, starting at its own; most records are settled by those, the rest is compared with twice as many, and so on.
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
    """Records in order of classes, known by their positions in it, and the coordinates of their originals as rings."""

    class_ids: IntArray
    """Rising, shape (n_records,)."""
    place: IntArray
    """How many records of the class come before."""
    sizes: IntArray
    """Records of the class."""
    originals: FloatArray
    """Coordinates, shape (n_attributes, n_records)."""
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


def mixed_within_classes(class_ids: IntArray, *, n_classes: int) -> IntArray:
    """Positions in an order that mixes the records of each class, and leaves the classes where they are.

    In the order of a table, neighbours may be alike, and a record would meet those that settle it last.
    """
    order = np.random.default_rng(_SEED).permutation(len(class_ids))
    ids = class_ids[order]
    by_class = np.argsort(ids.astype(np.uint16) if n_classes <= 1 << 16 else ids, kind="stable")
    mixed: IntArray = order[by_class]
    return mixed


def lay_out(originals: FloatArray, class_ids: IntArray, *, n_classes: int) -> CyclicClasses:
    """Rings of the given classes; records are in order of classes, and `originals` has shape (n_attributes, n_records)."""
    counts = np.bincount(class_ids, minlength=n_classes)
    firsts = np.cumsum(counts) - counts
    laps = counts + np.minimum(np.maximum(counts - 1, 0), WIDEST - 1)
    ring_firsts = np.cumsum(laps) - laps
    # Positions along each ring, the class and then its beginning again; a window at the very end may read on into nothing.
    source = np.arange(laps.sum()) - np.repeat(ring_firsts - firsts, laps)
    source -= np.where(source >= np.repeat(firsts + counts, laps), np.repeat(counts, laps), 0)
    rings = np.zeros((len(originals), len(source) + WIDEST))
    for ring, coordinates in zip(rings, originals, strict=True):
        ring[: len(source)] = coordinates.take(source)
    return CyclicClasses(
        class_ids=class_ids,
        place=np.arange(len(class_ids)) - np.repeat(firsts, counts),
        sizes=np.repeat(counts, counts),
        originals=originals,
        rings=rings,
        ring_starts=np.repeat(ring_firsts, counts),
    )

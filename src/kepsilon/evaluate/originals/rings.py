# SPDX-License-Identifier: Apache-2.0
"""Rings of originals: each record is compared with all originals of its class, a few at a time, beginning with its own.

With one ε-quasi the originals of a class are sorted, and the nearest is found by a search. With several ε-quasis there is
no such order, so a record has to be compared with ("meets") the originals one after the other. The first few answer the
question for most records; the others meet twice as many, then four times as many, and so on.

Each record begins at its own original, which may stand anywhere in its class. The coordinates of a class are therefore
stored as a ring: the class, and then its beginning again, so that a record reads on past the end without a jump.
Originals with the same coordinates are one point with a count: otherwise, where values are few, ties would never end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from kepsilon.evaluate.originals.regions import Halves, cut_in_halves
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

WIDEST = 512
"""Points that a record meets at a time, at most."""

_NARROWEST = 8
_TILE = 1 << 14
"""Comparisons at a time: few enough for their arrays to stay in a processor's cache."""

_MIXERS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
"""Odd numbers whose products spread the bits of coordinates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rings:
    """The distinct originals ("points") of some classes, one class after the other, and the rings of their coordinates.

    A position is the number of a point, from 0 to n_points − 1. Arrays have shape (n_points,) unless another is stated.
    """

    class_ids: IntArray
    """The class of each point, rising."""
    place: IntArray
    """How many points of its class stand before each point."""
    sizes: IntArray
    """How many points the class of each point has."""
    points: FloatArray
    """Coordinates, shape (n_attributes, n_points)."""
    counts: IntArray
    """How many originals each point stands for."""
    n_originals: IntArray
    """How many originals the class of each point has."""
    point_of: IntArray
    """The position of each record's own original, shape (n_records,), in the order in which records were given."""
    rings: FloatArray
    """Coordinates along all rings, shape (n_attributes, n_ring_places): each class, followed by its own beginning."""
    ring_counts: FloatArray | None
    """Originals at each place of the rings; None where every point stands for one original."""
    ring_starts: IntArray
    """Where the ring of each point's class begins."""
    halves: dict[int, Halves] = field(default_factory=dict)
    """Boxes of the points of large classes, by class, made when first asked for."""

    def coordinate_distances(
        self, positions: IntArray, centres: FloatArray, *, first: int, width: int
    ) -> list[FloatArray]:
        """|point − centre| in each attribute, for `width` points along the ring: one array (n_positions, width) each.

        Along the ring from a position, number 0 is the point there, number 1 the next; the points returned are those
        numbered first … first + width − 1. `centres` has the shape (n_attributes, n_positions). Numbers from the size of
        the class on have no meaning; `beyond` tells which these are.
        """
        begin = self.ring_places(positions, first)
        steps = [_windows(ring, width)[begin] for ring in self.rings]
        for step, centre in zip(steps, centres, strict=True):
            np.subtract(step, centre[:, np.newaxis], out=step)
            np.abs(step, out=step)
        return steps

    def distances(self, positions: IntArray, centres: FloatArray, *, first: int, width: int) -> FloatArray:
        """The largest coordinate distance to points first … first + width − 1, (n_positions, width); infinite beyond the class."""
        far, *others = self.coordinate_distances(positions, centres, first=first, width=width)
        for step in others:
            np.maximum(far, step, out=far)
        beyond = self.beyond(positions, first=first, width=width)
        if beyond is not None:
            far[beyond] = np.inf
        return far

    def beyond(self, positions: IntArray, *, first: int, width: int) -> BoolArray | None:
        """Which of the numbers first … first + width − 1 a class does not have, (n_positions, width); None if it has all."""
        sizes = self.sizes[positions]
        if not sizes.size or first + width <= sizes.min():
            return None
        outside: BoolArray = first + np.arange(width) >= sizes[:, np.newaxis]
        return outside

    def n_met(self, positions: IntArray, *, first: int, width: int) -> FloatArray | None:
        """Originals at the points met, (n_positions, width); None if there is one at each. See `sum_over_originals`."""
        if self.ring_counts is None:
            return None
        return _windows(self.ring_counts, width)[self.ring_places(positions, first)]

    def ring_places(self, positions: IntArray, numbers: IntArray | int) -> IntArray:
        """Where in the rings the point stands that has this number, counted along the ring from each position."""
        places: IntArray = self.ring_starts[positions] + (self.place[positions] + numbers) % self.sizes[positions]
        return places

    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest coordinates of each point's class, shape (n_attributes, n_points) each."""
        firsts = np.flatnonzero(self.place == 0)
        sizes = self.sizes[firsts]
        low, high = (extreme.reduceat(self.points, firsts, axis=1) for extreme in (np.minimum, np.maximum))
        return np.repeat(low, sizes, axis=1), np.repeat(high, sizes, axis=1)

    def members(self, class_id: int) -> slice:
        """Positions of the points of one class."""
        return slice(*np.searchsorted(self.class_ids, [class_id, class_id + 1]))

    def halves_of(self, class_id: int) -> Halves:
        """The points of one class in a tree of boxes, made when first asked for."""
        if class_id not in self.halves:
            members = self.members(class_id)
            self.halves[class_id] = cut_in_halves(self.points[:, members], self.counts[members])
        return self.halves[class_id]

    def meet(
        self,
        positions: IntArray,
        compare: Callable[[IntArray, int, int], BoolArray],
        *,
        first: int,
        width: int = _NARROWEST,
    ) -> int:
        """Calls `compare` on ever more points of each position's class until it has enough; returns the comparisons made.

        `compare(rows, first, width)` compares `positions[rows]` with the points numbered first … first + width − 1, and
        returns which of the rows have to meet more points. A row goes on no further than the end of its class.
        """
        n_compared = 0
        sizes = self.sizes[positions]
        pending = np.flatnonzero(sizes > first)
        while pending.size:
            # A class smaller than the window is seen whole; wider windows would only show what is beyond it.
            reach = min(width, WIDEST, int(sizes[pending].max()) - first)
            n_compared += reach * len(pending)
            step = max(1, _TILE // reach)
            tiles = [pending[start : start + step] for start in range(0, len(pending), step)]
            pending = np.concatenate([tile[compare(tile, first, reach)] for tile in tiles])
            first += reach
            pending = pending[sizes[pending] > first]
            width = 2 * width
        return n_compared


def _windows(ring: FloatArray, width: int) -> FloatArray:
    """A view with `width` neighbours from every place on; NumPy's `sliding_window_view` takes twenty times as long."""
    (step,) = ring.strides
    return np.ndarray((len(ring) - width + 1, width), ring.dtype, ring, 0, (step, step))


def sum_over_originals(figures: FloatArray | BoolArray, n_met: FloatArray | None) -> FloatArray:
    """Sums of figures over the originals at the points met: from (n_positions, width) to (n_positions,).

    `n_met` says how many originals are at each point, as `Rings.n_met` returns it.
    """
    sums: FloatArray
    if n_met is not None:
        sums = np.einsum("pw,pw->p", figures, n_met)
    else:
        sums = np.count_nonzero(figures, axis=1) if figures.dtype == np.bool_ else figures.sum(axis=1)
    return sums


def lay_out_rings(originals: FloatArray, class_ids: IntArray, *, n_classes: int) -> Rings:
    """The rings of some classes; records are in order of classes, and `originals` has shape (n_attributes, n_records)."""
    order, is_first = _alike(originals, class_ids, n_classes=n_classes)
    firsts = np.flatnonzero(is_first)
    counts = np.diff(firsts, append=len(order))
    point_of = np.empty(len(order), dtype=np.int64)
    point_of[order] = np.cumsum(is_first) - 1
    chosen = order[firsts]
    points, point_ids = originals[:, chosen], class_ids[chosen]
    sizes = np.bincount(point_ids, minlength=n_classes)
    source, ring_firsts = _rings(sizes)
    rings = np.zeros((len(originals), len(source) + WIDEST))
    for ring, coordinates in zip(rings, points, strict=True):
        ring[: len(source)] = coordinates.take(source)
    ring_counts = None
    if len(firsts) < len(order):
        ring_counts = np.zeros(len(source) + WIDEST)
        ring_counts[: len(source)] = counts.take(source)
    return Rings(
        class_ids=point_ids,
        place=np.arange(len(point_ids)) - np.repeat(np.cumsum(sizes) - sizes, sizes),
        sizes=np.repeat(sizes, sizes),
        points=points,
        counts=counts,
        n_originals=np.bincount(class_ids, minlength=n_classes)[point_ids],
        point_of=point_of,
        rings=rings,
        ring_counts=ring_counts,
        ring_starts=np.repeat(ring_firsts, sizes),
    )


def _alike(originals: FloatArray, class_ids: IntArray, *, n_classes: int) -> tuple[IntArray, BoolArray]:
    """An order of records by class in which equal originals follow each other, and which records are the first of equals.

    Records are sorted by class and by scrambled bits of the coordinates, which mixes the points of a class: neighbours in a
    table may be similar, and a record might meet the originals that answer its question last. If two different points
    have the same scrambled bits, equal originals may become two points; that changes no sum.
    """
    bits = np.uint64(max(1, (n_classes - 1).bit_length()))
    scrambled = np.zeros(len(class_ids), dtype=np.uint64)
    for coordinates in originals:
        scrambled ^= (coordinates + 0.0).view(np.uint64)  # −0.0 is where 0.0 is
        for mixer in _MIXERS:
            scrambled *= mixer
            scrambled ^= scrambled >> np.uint64(31)
    keys = (class_ids.astype(np.uint64) << (np.uint64(64) - bits)) | (scrambled >> bits)
    order = np.argsort(keys)
    ordered = keys[order]
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    for coordinates in originals:
        in_order = coordinates[order]
        is_first[1:] |= in_order[1:] != in_order[:-1]
    return order, is_first


def _rings(sizes: IntArray) -> tuple[IntArray, IntArray]:
    """The position of the point at every place of the rings, and where each ring begins; `sizes` are points by class.

    A ring is a class and then its beginning again. `lay_out_rings` adds WIDEST unused places at the very end, because a
    window there may read on past the last ring.
    """
    firsts = np.cumsum(sizes) - sizes
    laps = sizes + np.minimum(np.maximum(sizes - 1, 0), WIDEST - 1)
    ring_firsts = np.cumsum(laps) - laps
    source = np.arange(laps.sum()) - np.repeat(ring_firsts - firsts, laps)
    source -= np.where(source >= np.repeat(firsts + sizes, laps), np.repeat(sizes, laps), 0)
    return source, ring_firsts

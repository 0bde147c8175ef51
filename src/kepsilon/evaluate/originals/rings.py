# SPDX-License-Identifier: Apache-2.0
"""The originals of some classes as rings, so that every record meets those of its class one after the other.

With several ε-quasis there is no sorted order to search. Instead each record is compared with a few originals of its
class, starting at its own; most records are settled by those, the rest is compared with twice as many, and so on.
Originals in one place are met as one point that counts as often: otherwise, where values are few, ties would never end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from kepsilon.evaluate.originals.regions import Halves, halve
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

WIDEST = 512
"""Points met at a time, at most."""

_NARROWEST = 8
_TILE = 1 << 14
"""Comparisons at a time: few enough for their arrays to stay in a processor's cache."""

_MIXERS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
"""Odd numbers whose products spread the bits of coordinates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rings:
    """The distinct points of classes, known by their positions in the order of classes, and their coordinates as rings."""

    class_ids: IntArray
    """Rising, shape (n_points,)."""
    place: IntArray
    """How many points of the class come before."""
    sizes: IntArray
    """Points of the class."""
    points: FloatArray
    """Coordinates, shape (n_attributes, n_points)."""
    counts: IntArray
    """Originals at each point."""
    n_originals: IntArray
    """Originals of the class of each point."""
    point_of: IntArray
    """The point of each record's own original, shape (n_records,), records being in the order in which they were given."""
    rings: FloatArray
    """Coordinates again, each class followed by its own beginning, so that it can be read on past its end."""
    ring_counts: FloatArray | None
    """Originals at each point of the rings; None where all are distinct."""
    ring_starts: IntArray
    """Where the ring of each point's class begins, shape (n_points,)."""
    halves: dict[int, Halves] = field(default_factory=dict)
    """Of large classes, made when first asked for."""

    def apart(self, positions: IntArray, centres: FloatArray, *, first: int, width: int) -> list[FloatArray]:
        """How far the points numbered first … first + width − 1 lie from the centres: by attribute, (n_positions, width).

        Numbers count from each position on, 0 being the point there. `centres` has the shape (n_attributes, n_positions).
        Where a class has fewer, what follows is of no meaning; see `beyond`.
        """
        begin = self.ring_places(positions, first)
        steps = [_windows(ring, width)[begin] for ring in self.rings]
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

    def n_met(self, positions: IntArray, *, first: int, width: int) -> FloatArray | None:
        """Originals at those points, (n_positions, width), or None if there is one at each; see `total`."""
        if self.ring_counts is None:
            return None
        return _windows(self.ring_counts, width)[self.ring_places(positions, first)]

    def ring_places(self, positions: IntArray, numbers: IntArray | int) -> IntArray:
        """Where the point of that number is found in the rings."""
        places: IntArray = self.ring_starts[positions] + (self.place[positions] + numbers) % self.sizes[positions]
        return places

    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest coordinates of each point's class, shape (n_attributes, n_points) each."""
        firsts = np.flatnonzero(self.place == 0)
        sizes = self.sizes[firsts]
        low, high = (extreme.reduceat(self.points, firsts, axis=1) for extreme in (np.minimum, np.maximum))
        return np.repeat(low, sizes, axis=1), np.repeat(high, sizes, axis=1)

    def members(self, class_id: int) -> slice:
        """Positions of the class's points."""
        return slice(*np.searchsorted(self.class_ids, [class_id, class_id + 1]))

    def halves_of(self, class_id: int) -> Halves:
        if class_id not in self.halves:
            members = self.members(class_id)
            self.halves[class_id] = halve(self.points[:, members], self.counts[members])
        return self.halves[class_id]

    def meet(
        self,
        positions: IntArray,
        look: Callable[[IntArray, int, int], BoolArray],
        *,
        first: int,
        width: int = _NARROWEST,
    ) -> int:
        """Lets each position meet its class until `look` has seen enough, or the whole class; the number of comparisons.

        `look` is told which of the positions (numbered as they were given, since one may be given twice), from which
        point on and how many, and says which of them it wants to follow further.
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
            pending = np.concatenate([tile[look(tile, first, reach)] for tile in tiles])
            first += reach
            pending = pending[sizes[pending] > first]
            width = 2 * width
        return n_compared


def _windows(ring: FloatArray, width: int) -> FloatArray:
    """So many that follow each other, from every place on; NumPy's own way to say so takes twenty times as long."""
    (step,) = ring.strides
    return np.ndarray((len(ring) - width + 1, width), ring.dtype, ring, 0, (step, step))


def total(figures: FloatArray | BoolArray, n_met: FloatArray | None) -> FloatArray:
    """Sums over originals, of figures of the points they are at: from (n_positions, width) to (n_positions,)."""
    sums: FloatArray
    if n_met is not None:
        sums = np.einsum("pw,pw->p", figures, n_met)
    else:
        sums = np.count_nonzero(figures, axis=1) if figures.dtype == np.bool_ else figures.sum(axis=1)
    return sums


def lay_out(originals: FloatArray, class_ids: IntArray, *, n_classes: int) -> Rings:
    """Rings of the given classes; records are in order of classes, and `originals` has shape (n_attributes, n_records)."""
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
    """An order by class in which originals in one place follow each other, and who is the first of its place.

    By class and scrambled bits of the coordinates, which mixes the points of a class: in the order of a table neighbours
    may be similar, and a record would meet those that settle it last. If two places have the same bits, originals of one
    may count as two points; that changes no sum.
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
    """The points along all rings, a class and then its beginning again, and where each ring begins.

    A window at the very end may read on into nothing.
    """
    firsts = np.cumsum(sizes) - sizes
    laps = sizes + np.minimum(np.maximum(sizes - 1, 0), WIDEST - 1)
    ring_firsts = np.cumsum(laps) - laps
    source = np.arange(laps.sum()) - np.repeat(ring_firsts - firsts, laps)
    source -= np.where(source >= np.repeat(firsts + sizes, laps), np.repeat(sizes, laps), 0)
    return source, ring_firsts

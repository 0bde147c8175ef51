# SPDX-License-Identifier: Apache-2.0
"""Boxes around neighbouring originals of one large class, so that a record is compared with boxes, not with each original.

For links and confident k with several ε-quasis: `Regions` bound sums over all originals from below; `Halves` count the
originals near a record.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import FloatArray, IntArray

_TILE = 1 << 14
"""Comparisons of a record with a box at a time: few enough for their arrays to stay in a processor's cache."""

_FEW = 32
"""Points in the smallest boxes of `Halves`, at least."""

_CENTRES = 1 << 11
"""Records that `Halves` counts for together, so that pairs of record and box stay in a processor's cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regions:
    """A division of all originals of one class into boxes, of which the extremes and the counts are known.

    No original of a box is farther from a record than the farthest corner of the box, which bounds its weight from below.
    """

    counts: FloatArray
    """Originals in each region, shape (n_regions,)."""
    low: FloatArray
    """Smallest coordinates in each region, shape (n_attributes, n_regions)."""
    high: FloatArray
    """Largest coordinates in each region."""
    region_of: IntArray
    """The region of every point, shape (n_points,)."""

    def least_sums(self, published: FloatArray, own: FloatArray, *, epsilon: float) -> FloatArray:
        """Lower bounds of Σ exp(−ε·(distance − own)) over all originals, one for each record, shape (n_records,).

        `own` is the distance of each record to its own original; `published` has shape (n_attributes, n_records).
        """
        sums = np.empty(len(own))
        step = max(1, _TILE // len(self.counts))
        for start in range(0, len(own), step):
            part = slice(start, start + step)
            far = np.zeros((len(own[part]), len(self.counts)))
            for x, low, high in zip(published[:, part], self.low, self.high, strict=True):
                np.maximum(far, np.abs(x[:, np.newaxis] - low), out=far)
                np.maximum(far, np.abs(x[:, np.newaxis] - high), out=far)
            far -= own[part, np.newaxis]
            far *= -epsilon
            sums[part] = np.exp(far, out=far) @ self.counts
        return sums

    def least_sums_by_region(self, *, epsilon: float) -> tuple[FloatArray, FloatArray]:
        """Lower bounds of Σ exp(−ε·distance) over all originals, for any point of each region; shape (n_regions,).

        They take two points of two regions to be as far apart as the farthest corners of these. The second array is the
        weight that the bound gives to an original of the region itself, as far away as the region is wide: the point
        itself was counted with it, though its distance is 0.
        """
        far = np.zeros((len(self.counts), len(self.counts)))
        for low, high in zip(self.low, self.high, strict=True):
            np.maximum(far, high[:, np.newaxis] - low, out=far)
            np.maximum(far, high - low[:, np.newaxis], out=far)
        weights = np.exp(-epsilon * far)
        return weights @ self.counts, np.diag(weights)

    def least_sums_of_members(self, points: FloatArray, region: int, *, epsilon: float) -> FloatArray:
        """Lower bounds of Σ exp(−ε·distance) over all originals, for some points of one region, shape (n_points,)."""
        corner = np.zeros(points.shape[1])
        for x, low, high in zip(points, self.low, self.high, strict=True):
            np.maximum(corner, np.maximum(x - low[region], high[region] - x), out=corner)
        sums = self.least_sums(points, np.zeros(len(corner)), epsilon=epsilon)
        sums -= np.expm1(-epsilon * corner)  # the point itself is not as far away as the corner
        return sums


@dataclass(frozen=True, slots=True, kw_only=True)
class Halves:
    """The points of one class in a tree of boxes: level 0 is one box with all points, each level halves the boxes before."""

    points: FloatArray
    """Shape (n_attributes, n_points), in an order in which the points of a box follow each other."""
    counts: IntArray
    """Originals at each point."""
    low: tuple[FloatArray, ...]
    """Smallest coordinates in each box, by level, shape (n_attributes, n_boxes): 1, 2, 4, … boxes."""
    high: tuple[FloatArray, ...]
    """Largest coordinates in each box, by level."""
    in_boxes: tuple[IntArray, ...]
    """Originals in each box, by level."""
    ends: IntArray
    """Where the boxes of the last level begin and end, shape (n_boxes + 1,)."""

    def count(self, centres: FloatArray, reach: FloatArray, *, cap: int) -> tuple[IntArray, int]:
        """Originals with |v_j − centre_j| ≤ reach_j, exact below `cap`, and how many comparisons that took.

        `centres` and `reach` have shape (n_attributes, n_centres). A box that lies inside or outside altogether is not
        opened: rounding keeps the order of differences, so what holds for its corners holds for all points in it.
        """
        n = centres.shape[1]
        counts = np.zeros(n, dtype=np.int64)
        n_compared = 0
        for start in range(0, n, _CENTRES):
            part = slice(start, start + _CENTRES)
            counts[part], n_here = self._count(centres[:, part], reach[:, part], cap=cap)
            n_compared += n_here
        return counts, n_compared

    def _count(self, centres: FloatArray, reach: FloatArray, *, cap: int) -> tuple[IntArray, int]:
        """What `count` returns, for a few centres at a time."""
        counts = np.zeros(centres.shape[1], dtype=np.int64)
        rows = np.arange(len(counts))
        boxes = np.zeros(len(counts), dtype=np.int64)
        n_compared = 0
        for low, high, in_boxes in zip(self.low, self.high, self.in_boxes, strict=True):
            n_compared += len(rows)
            touches, holds = np.ones(len(rows), dtype=np.bool_), np.ones(len(rows), dtype=np.bool_)
            for centre, limit, least, most in zip(centres, reach, low, high, strict=True):
                below, above, far = least[boxes] - centre[rows], most[boxes] - centre[rows], limit[rows]
                touches &= (below <= far) & (above >= -far)
                holds &= (below >= -far) & (above <= far)
            np.add.at(counts, rows[holds], in_boxes[boxes[holds]])
            is_open = touches & ~holds & (counts[rows] < cap)
            rows, boxes = np.repeat(rows[is_open], 2), np.repeat(2 * boxes[is_open], 2)
            boxes[1::2] += 1
        rows, boxes = rows[::2], boxes[::2] // 2
        width = int(np.diff(self.ends).max())
        step = max(1, _TILE // width)
        for start in range(0, len(rows), step):
            own, box = rows[start : start + step], boxes[start : start + step]
            met = self.ends[box, np.newaxis] + np.arange(width)
            inside = met < self.ends[box + 1, np.newaxis]
            np.minimum(met, len(self.counts) - 1, out=met)
            for centre, limit, coordinates in zip(centres, reach, self.points, strict=True):
                inside &= np.abs(coordinates[met] - centre[own, np.newaxis]) <= limit[own, np.newaxis]
            np.add.at(counts, own, np.sum(self.counts[met], axis=1, where=inside))
        return counts, n_compared + len(rows) * width


def cut_in_halves(points: FloatArray, counts: IntArray) -> Halves:
    """The points of one class, cut in half along one varying attribute after the other until boxes hold a few points.

    `points` has shape (n_attributes, n_points), and `counts` says how many originals are at each.
    """
    n = points.shape[1]
    varies = np.flatnonzero(np.ptp(points, axis=1) > 0)
    n_levels = max(0, (n // _FEW).bit_length() - 1) if varies.size else 0
    order = np.arange(n)
    for level in range(n_levels):
        bounds = np.arange((1 << level) + 1) * n >> level
        box = np.repeat(np.arange(1 << level), np.diff(bounds))
        order = order[np.lexsort((points[varies[level % len(varies)], order], box))]
    ends = np.arange((1 << n_levels) + 1) * n >> n_levels
    ordered, counts = points[:, order], counts[order]
    low, high = (extreme.reduceat(ordered, ends[:-1], axis=1) for extreme in (np.minimum, np.maximum))
    levels = [(low, high, np.add.reduceat(counts, ends[:-1]))]
    while len(levels) <= n_levels:
        low, high, in_boxes = levels[-1]
        levels.append(
            (
                np.minimum(low[:, ::2], low[:, 1::2]),
                np.maximum(high[:, ::2], high[:, 1::2]),
                in_boxes[::2] + in_boxes[1::2],
            )
        )
    lows, highs, numbers = zip(*reversed(levels), strict=True)
    return Halves(points=ordered, counts=counts, low=lows, high=highs, in_boxes=numbers, ends=ends)


def put_in_regions(originals: FloatArray, counts: IntArray, *, n_regions: int) -> Regions:
    """About `n_regions` regions: every attribute that varies is cut into slices that hold equally many points.

    `originals` has shape (n_attributes, n_points), and `counts` says how many originals are at each point.
    """
    n = originals.shape[1]
    varies = np.flatnonzero(np.ptp(originals, axis=1) > 0)
    n_slices = max(1, int(n_regions ** (1 / max(1, len(varies))) + 1e-9))
    codes: IntArray = np.zeros(n, dtype=np.int64)
    for coordinates in originals[varies]:
        rank = np.empty(n, dtype=np.int64)
        rank[np.argsort(coordinates, kind="stable")] = np.arange(n)
        codes = codes * n_slices + rank * n_slices // n
    order = np.argsort(codes, kind="stable")
    is_first = np.diff(codes[order], prepend=-1) != 0
    firsts = np.flatnonzero(is_first)
    ordered = originals[:, order]
    region_of = np.empty(n, dtype=np.int64)
    region_of[order] = np.cumsum(is_first) - 1
    return Regions(
        counts=np.add.reduceat(counts[order], firsts).astype(np.float64),
        low=np.minimum.reduceat(ordered, firsts, axis=1),
        high=np.maximum.reduceat(ordered, firsts, axis=1),
        region_of=region_of,
    )

# SPDX-License-Identifier: Apache-2.0
"""Links, and originals in reach, of records with several ε-quasis.

The attacker of Paper §V-B, which has no formula for this case. Departure D3: the distance is the norm of exponential noise,
the largest of |x_j − v_j|/R_j, so that the nearest original is the most likely one. An attribute without a range in a class
(R = 0, or NaN where values are missing) has one value for all of the class, and tells nothing. Ties are common in this
norm, also between different originals: when the largest coordinate is one that they share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kepsilon.evaluate.linking.linking_risk import ABOVE, LinkSums
from kepsilon.evaluate.originals.regions import put_in_regions
from kepsilon.evaluate.originals.rings import Rings, lay_out_rings, sum_over_originals
from kepsilon.evaluate.originals.sorted_classes import ROUNDING, runs_of_classes
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

_FARTHEST = 1e16
"""Distances are clipped to so many ranges: beyond, doubles cannot tell the originals of a class apart."""

_LARGE = 1 << 10
"""Classes of more points are cut in halves for records that _MET_OF_LARGE points leave undecided."""
_MET_OF_LARGE = 1 << 7

_FEWEST_REGIONS = 256
"""Regions that a large class is put in first, about; then 16 times as many, and so on."""
_SUREST = 32
"""Records that are worked out first, at a time: those with the largest bounds. The others have to exceed them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestOriginals:
    """Links of the attacker who picks the nearest original, and how probable his guesses are by Bayes' rule."""

    n_nearest: IntArray
    """Originals as near as the record's own, itself included; 0 where another is nearer. Shape (n_records,)."""
    largest: float
    """The largest posterior of a record's true original."""
    n_over_half: int
    """Records whose true original has a posterior above 0.5."""
    n_over_nine_tenths: int
    """Records whose true original has a posterior above 0.9."""

    @property
    def fair(self) -> FloatArray:
        """The links of each record, a tie of t being worth 1/t."""
        return np.where(self.n_nearest > 0, 1 / np.maximum(self.n_nearest, 1), 0.0)

    @property
    def paper(self) -> FloatArray:
        """The links of each record by the paper's rule: every tie is a link."""
        return (self.n_nearest > 0).astype(np.float64)

    def sums(self) -> LinkSums:
        """Links and posteriors, summed over the records."""
        return LinkSums(
            fair=float(self.fair.sum()),
            paper=float(np.count_nonzero(self.n_nearest)),
            largest=self.largest,
            n_over_half=self.n_over_half,
            n_over_nine_tenths=self.n_over_nine_tenths,
        )


def nearest_originals(
    values: FloatArray,
    published: FloatArray,
    class_ids: IntArray,
    *,
    ranges: FloatArray,
    epsilon: float,
    stays: BoolArray | None = None,
    largest_elsewhere: float = 0.0,
) -> NearestOriginals:
    """The attack on every released record, among all originals of its class, released or not.

    `values` (what received noise) and `published` have shape (n_records, n_attributes), `ranges` (R) the shape (n_classes,
    n_attributes). Records that do not stay have `n_nearest` 0; only their originals count. Posteriors are compared with
    `largest_elsewhere`, the largest of other classes; the `largest` returned is never below it.
    """
    released = np.ones(len(class_ids), dtype=np.bool_) if stays is None else stays
    n_nearest = np.zeros(len(class_ids), dtype=np.int64)
    largest, over_half, over_nine_tenths = largest_elsewhere, 0, 0
    for block in _blocks(values, published, class_ids, ranges=ranges):
        asked = np.flatnonzero(released[block.records])
        found, posterior = _nearest(block, asked, epsilon=epsilon)
        n_nearest[block.records[asked]] = found
        largest = float(posterior.max(initial=largest))
        over_half += int(np.count_nonzero(posterior > 0.5 * ABOVE))
        over_nine_tenths += int(np.count_nonzero(posterior > 0.9 * ABOVE))
    if largest <= 0.5:  # a record that is nearer to another original than to its own has a posterior below one half
        for block in _blocks(values, published, class_ids, ranges=ranges):
            asked = np.flatnonzero(released[block.records] & (n_nearest[block.records] == 0))
            largest = _largest_of_others(block, asked, epsilon=epsilon, largest=largest)
    return NearestOriginals(
        n_nearest=n_nearest, largest=largest, n_over_half=over_half, n_over_nine_tenths=over_nine_tenths
    )


def originals_in_reach(
    values: FloatArray,
    published: FloatArray,
    class_ids: IntArray,
    *,
    linking_ranges: FloatArray,
    cap: int,
    precisions: Sequence[Fraction] | None = None,
) -> IntArray:
    """ℓ_i of every record: how many originals of its class lie in |x_j − v_j| ≤ r_j, ends included, but never above `cap`.

    Whether ℓ_i is below k is all that is asked, so counting stops there. `linking_ranges` has shape (n_classes,
    n_attributes); where values are missing, or r is NaN, all of a class are in reach. Ends are given the width of a
    double's rounding, as for one ε-quasi, but no more than a quarter of the precision, if that is known.
    """
    counts = np.zeros(len(class_ids), dtype=np.int64)
    for records, ids, chosen in runs_of_classes(class_ids, n_classes=len(linking_ranges)):
        if not records.size:
            continue
        r = by_record(linking_ranges[chosen], ids)
        x, v = published.take(records, axis=0).T, values.take(records, axis=0).T
        tells = ~np.isnan(r) & ~np.isnan(v)
        classes = lay_out_rings(np.where(tells, v, 0.0), ids, n_classes=chosen.stop - chosen.start)
        reach = np.where(tells, with_slack(r, x, precisions), np.inf)
        centres = np.where(tells, x, 0.0)
        counts[records], _ = count_in_boxes(classes, classes.point_of, centres, reach, cap=cap)
    return counts


def with_slack(reach: FloatArray, centres: FloatArray, precisions: Sequence[Fraction] | None) -> FloatArray:
    """The reach, widened by the rounding of a double; all have the shape (n_attributes, n_records).

    It is never widened by more than a quarter of the precision: multiples of the precision that lie outside in decimals
    must stay outside where values are so large that doubles can hardly tell them apart.
    """
    slack = ROUNDING * (np.abs(centres) + reach)
    if precisions is not None:
        slack = np.minimum(slack, np.array([float(precision / 4) for precision in precisions])[:, np.newaxis])
    return reach + slack


def count_in_boxes(
    classes: Rings, positions: IntArray, centres: FloatArray, reach: FloatArray, *, cap: int
) -> tuple[IntArray, int]:
    """How many originals lie within reach of each centre, up to `cap`, and how many comparisons that took.

    `centres` and `reach` have shape (n_attributes, n_positions); a centre is compared with the class of its position, from
    this position on. Most have `cap` originals in reach soon. The others would have to meet the whole class; where that is
    large, its points are cut in halves instead.
    """
    counts = np.zeros(len(positions), dtype=np.int64)
    low, high = classes.extremes()
    misses = (centres - reach > high[:, positions]) | (centres + reach < low[:, positions])
    asked = np.flatnonzero(~misses.any(axis=0))  # a centre that is out of reach of the whole class has none
    is_large = classes.sizes[positions] > _LARGE

    def compare(numbers: IntArray, first: int, width: int) -> BoolArray:
        """Counts originals in reach; rows go on until they have `cap`, or are left to the halves of a large class."""
        rows = asked[numbers]
        steps = classes.coordinate_distances(positions[rows], centres[:, rows], first=first, width=width)
        inside = np.ones((len(rows), width), dtype=np.bool_)
        for step, limit in zip(steps, reach[:, rows], strict=True):
            inside &= step <= limit[:, np.newaxis]
        beyond = classes.beyond(positions[rows], first=first, width=width)
        if beyond is not None:
            inside &= ~beyond
        n_met = classes.n_met(positions[rows], first=first, width=width)
        counts[rows] += sum_over_originals(inside, n_met).astype(np.int64)
        goes_on: BoolArray = counts[rows] < cap
        if first + width >= _MET_OF_LARGE:
            goes_on &= ~is_large[rows]
        return goes_on

    n_compared = classes.meet(positions[asked], compare, first=0, width=max(8, min(2 * cap, 64)))
    left = asked[is_large[asked] & (counts[asked] < cap)]
    class_ids = classes.class_ids[positions[left]]
    for class_id in np.unique(class_ids):
        rows = left[class_ids == class_id]
        counts[rows], n_more = classes.halves_of(int(class_id)).count(centres[:, rows], reach[:, rows], cap=cap)
        n_compared += n_more
    return np.minimum(counts, cap), n_compared


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """Some whole classes in units of their ranges; other arrays are by record, in the order of `records`."""

    records: IntArray
    """Positions of the records among all records, shape (n_records,)."""
    classes: Rings
    """The originals of these classes; `point_of` gives the point of each record's own original."""
    published: FloatArray
    """Shape (n_attributes, n_records)."""
    own: FloatArray
    """Distance of each record to its own original."""
    tolerance: FloatArray
    """Distances of a record that differ by no more than this may be equal in decimals."""

    @property
    def points(self) -> IntArray:
        """The point of each record's own original."""
        return self.classes.point_of

    def margins(self, members: IntArray, *, first: int, width: int) -> FloatArray:
        """Distances of some records to the points met, less the distance to their own original, (n_members, width)."""
        margins = self.classes.distances(self.points[members], self.published[:, members], first=first, width=width)
        margins -= self.own[members, np.newaxis]
        return margins


def in_units_of_ranges(values: FloatArray, lows: FloatArray, ranges: FloatArray) -> FloatArray:
    """(v − lo)/R, and 0 where there is no range; all arrays have one shape."""
    places = np.zeros(values.shape)
    with np.errstate(over="ignore"):  # a range next to nothing
        np.divide(values - lows, ranges, out=places, where=ranges > 0)
    if np.isnan(places).any():
        raise ValueError("some values are missing in a class that has a range")
    return np.clip(places, -_FARTHEST, _FARTHEST)


def class_extremes(values: FloatArray, class_ids: IntArray, *, n_classes: int) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest values of every class, (n_classes, n_attributes) each, for records in order of classes.

    `values` has shape (n_attributes, n_records). 0 where a class has no record here; NaN where values are missing.
    """
    low, high = np.zeros((n_classes, len(values))), np.zeros((n_classes, len(values)))
    counts = np.bincount(class_ids, minlength=n_classes)
    here = counts > 0
    firsts = (np.cumsum(counts) - counts)[here]
    if firsts.size:
        low[here] = np.minimum.reduceat(values, firsts, axis=1).T
        high[here] = np.maximum.reduceat(values, firsts, axis=1).T
    return low, high


def by_record(figures: FloatArray, class_ids: IntArray) -> FloatArray:
    """The figures of each record's class, from shape (n_classes, n_attributes) to (n_attributes, n_records)."""
    return np.ascontiguousarray(figures.T).take(class_ids, axis=1)


def _blocks(values: FloatArray, published: FloatArray, class_ids: IntArray, *, ranges: FloatArray) -> Iterator[_Block]:
    """A few whole classes at a time, laid out in rings, in units of their ranges."""
    if values.shape != published.shape or values.shape != (len(class_ids), ranges.shape[1]):
        raise ValueError("every record needs a class, and every ε-quasi a value, what was published of it and a range")
    for records, ids, chosen in runs_of_classes(class_ids, n_classes=len(ranges)):
        if not records.size:
            continue
        n_classes = chosen.stop - chosen.start
        v, x = (np.ascontiguousarray(array.take(records, axis=0).T) for array in (values, published))
        low, high = class_extremes(v, ids, n_classes=n_classes)
        lows, widths = by_record(low, ids), by_record(ranges[chosen], ids)
        places, moved = in_units_of_ranges(v, lows, widths), in_units_of_ranges(x, lows, widths)
        classes = lay_out_rings(places, ids, n_classes=n_classes)
        own = np.abs(moved - places).max(axis=0)
        # Decimals are off by their rounding, and so are ranges, which are differences of decimals.
        magnitude = np.maximum(np.abs(x), by_record(np.maximum(np.abs(low), np.abs(high)), ids))
        off = in_units_of_ranges(magnitude, np.zeros_like(magnitude), widths).max(axis=0)
        tolerance = 2 * ROUNDING * off * (1 + own)
        yield _Block(records=records, classes=classes, published=moved, own=own, tolerance=tolerance)


def _nearest(block: _Block, asked: IntArray, *, epsilon: float) -> tuple[IntArray, FloatArray]:
    """How many originals are as near as each asked record's own, shape (n_asked,); 0 where another is nearer.

    Also returns the posteriors of the own originals, of those asked records only for which the number is not 0. `asked`
    are positions in the block.
    """
    ties = block.classes.counts[block.points[asked]]
    weights = ties.astype(np.float64)

    def compare(rows: IntArray, first: int, width: int) -> BoolArray:
        """Counts ties and adds weights; rows go on until an original is nearer than their own."""
        members = asked[rows]
        margin = block.margins(members, first=first, width=width)
        tolerance = block.tolerance[members, np.newaxis]
        doubtful = (margin <= tolerance) & (margin >= -tolerance) & (margin != 0)
        if doubtful.any():
            _settle(block, members, margin, doubtful, first=first)
        wins: BoolArray = margin.min(axis=1) >= 0
        ties[rows[~wins]] = 0
        margin, rows = margin[wins], rows[wins]
        n_met = block.classes.n_met(block.points[asked[rows]], first=first, width=width)
        ties[rows] += sum_over_originals(margin == 0, n_met).astype(np.int64)
        margin *= -epsilon
        weights[rows] += sum_over_originals(np.exp(margin, out=margin), n_met)
        return wins

    block.classes.meet(block.points[asked], compare, first=1)
    return ties, 1 / weights[ties > 0]


def _settle(block: _Block, members: IntArray, margin: FloatArray, doubtful: BoolArray, *, first: int) -> None:
    """Sets margins to 0, in place, where they are rounding: within the tolerance, and small beside the originals' distance.

    `margin` and `doubtful` have shape (n_members, width), and are of the points numbered `first` and on along the ring.
    """
    rows, columns = np.nonzero(doubtful)
    chosen = members[rows]
    classes, points = block.classes, block.points[chosen]
    met = classes.ring_places(points, first + columns)
    apart = np.abs(classes.rings[:, met] - classes.points[:, points]).max(axis=0)
    is_tie = np.abs(margin[rows, columns]) <= np.minimum(block.tolerance[chosen], apart / 4)
    margin[rows[is_tie], columns[is_tie]] = 0.0


def _largest_of_others(block: _Block, asked: IntArray, *, epsilon: float, largest: float) -> float:
    """The largest posterior of the asked records, or `largest` if none exceeds it.

    No original is farther from a published value than the farthest corner of its class, which bounds a posterior from
    above; records whose bound is below `largest` are left out. In large classes finer and finer regions sharpen the bound,
    and after each step the records with the largest bounds are worked out, which raises `largest` for the others.
    """
    classes, points = block.classes, block.points
    low, high = (extreme[:, points] for extreme in classes.extremes())
    corner = np.maximum(np.abs(block.published - low), np.abs(block.published - high)).max(axis=0)
    least = np.exp(-epsilon * (corner - block.own))
    together = classes.counts[points]
    bound = 1 / (together + (classes.n_originals[points] - together) * least)
    asked = asked[bound[asked] > largest]
    is_large = classes.sizes[points[asked]] >= 4 * _FEWEST_REGIONS
    largest = _largest(block, asked[~is_large], bound, least, epsilon=epsilon, largest=largest)
    class_ids = classes.class_ids[points[asked]]
    for class_id in np.unique(class_ids[is_large]):
        members = classes.members(int(class_id))
        pending = asked[class_ids == class_id]
        n_regions = _FEWEST_REGIONS
        while pending.size > _SUREST and 4 * n_regions <= members.stop - members.start:
            regions = put_in_regions(classes.points[:, members], classes.counts[members], n_regions=n_regions)
            bound[pending] = 1 / regions.least_sums(block.published[:, pending], block.own[pending], epsilon=epsilon)
            surest = pending[np.argpartition(-bound[pending], _SUREST)[:_SUREST]]
            largest = _largest(block, surest, bound, least, epsilon=epsilon, largest=largest)
            pending = np.setdiff1d(pending[bound[pending] > largest], surest, assume_unique=True)
            n_regions *= 16
        largest = _largest(block, pending, bound, least, epsilon=epsilon, largest=largest)
    return largest


def _largest(
    block: _Block, asked: IntArray, bound: FloatArray, least: FloatArray, *, epsilon: float, largest: float
) -> float:
    """The largest posterior of the asked records, or `largest` if none exceeds it, by comparing them with originals.

    `bound` is an upper bound of the posterior of every record of the block, and `least` the least weight that an original
    of its class can have. Originals not met yet add at least their number times that weight to the sum, which bounds a
    posterior from above.
    """
    asked = asked[np.argsort(-bound[asked], kind="stable")]
    classes, points = block.classes, block.points[asked]
    left = classes.n_originals[points] - classes.counts[points]
    weights = classes.counts[points].astype(np.float64)

    def compare(rows: IntArray, first: int, width: int) -> BoolArray:
        """Adds weights and raises `largest`; rows go on while their posterior may exceed it."""
        nonlocal largest
        margin = block.margins(asked[rows], first=first, width=width)
        n_met = classes.n_met(points[rows], first=first, width=width)
        left[rows] -= sum_over_originals(np.isfinite(margin), n_met).astype(np.int64)
        margin *= -epsilon
        weights[rows] += sum_over_originals(np.exp(margin, out=margin), n_met)
        at_most = 1 / (weights[rows] + left[rows] * least[asked[rows]])
        largest = max(largest, float(at_most[left[rows] == 0].max(initial=0.0)))
        may_exceed: BoolArray = at_most > largest
        return may_exceed

    classes.meet(points, compare, first=1)
    return largest

# SPDX-License-Identifier: Apache-2.0
"""The most that any published value can make a record's own original probable, known before noise is drawn.

For exponential noise. If x is published of record i, with value v_i in a class of range R, the posterior of its own
original is 1/Σ_j exp(−ε(‖x − v_j‖ − ‖x − v_i‖)/R) over the originals j of the class. By the triangle inequality the
difference is at most ‖v_i − v_j‖, and just that for x = v_i: so the posterior is largest if exactly its own value is
published, and then is 1/Σ_j exp(−ε‖v_i − v_j‖/R). The exponential is convex, so that among m originals whose distances to
v_i add up to D the sum is at least 1 + (m − 1)·exp(−εD/(m − 1)). This bound rules out most records, and sums are formed
only for the others.

An attacker who matches all records of a class to its originals at once, one to one, is bounded by the same figure at 2ε. Let
record a come from original i in some matching; exchange i for another original j, so that a comes from j, and whichever
record came from j comes from i. Each of both likelihoods falls by a factor of exp(−ε‖v_i − v_j‖/R) at most, and different
matchings stay different. So j is at least exp(−2ε‖v_i − v_j‖/R) times as probable as i to be the original of a; added up
over j that is 1, and the bound follows. It is reached where all other originals of a class are alike. If confident k left
out the record that came from j, its likelihood is that of being left out, which falls by no more either.

Both figures are bounds for what is published too: rounding to the precision and clamping to a domain change no ratio of
likelihoods by more than noise itself does. Only noise that is not rounded can reach them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.linking.linking_risk import largest_posteriors
from kepsilon.evaluate.linking.several_attributes import by_record, class_extremes, in_units_of_ranges
from kepsilon.evaluate.originals.class_values import ClassValues
from kepsilon.evaluate.originals.regions import Regions, put_in_regions
from kepsilon.evaluate.originals.sorted_classes import by_class
from kepsilon.table.arrays import FloatArray, IntArray

_FIRST = 64
"""Classes or records that are worked out first, about: those with the largest bounds. The others have to exceed them."""

_MORE = 1 + 1e-12
"""A posterior exceeds another only if it does so by more than this factor, which is rounding."""

_MET = 1 << 10
"""In classes of more records, records are not compared one by one; regions of them bound the posterior from above."""

_NARROWEST, _WIDEST = 8, 512
"""Originals that a record meets at a time."""

_TILE = 1 << 14
"""Comparisons at a time: few enough for their arrays to stay in a processor's cache."""

_REGIONS = 128
"""Regions of a large class, about."""
_ROUNDS = 64
"""Times that the bound of a large class is sharpened, at most."""
_NEAR = 1.01
"""The bound of a large class may exceed its largest posterior by this factor."""


def largest_of_one(classes: ClassValues, *, ranges: FloatArray, epsilons: Sequence[float]) -> list[float]:
    """The largest posterior that any record of any class can have, exactly, for each ε. `ranges` (R): (n_classes,)."""
    sizes = classes.sizes
    low, high = classes.extremes()
    above = classes.sums(classes.counts * (classes.values - low[classes.class_ids]))
    # The sum of distances to all originals is largest for one of both ends, because it is convex.
    total = np.maximum(above, sizes * (high - low) - above)
    farthest = np.divide(total, ranges, out=np.zeros(len(ranges)), where=ranges > 0)
    found = []
    for epsilon in epsilons:
        bound = np.where(sizes > 0, _at_most(sizes, farthest, epsilon=epsilon), 0.0)
        n_first = min(_FIRST, len(bound))
        first = np.partition(bound, -n_first)[-n_first] if n_first else 0.0
        largest = 0.0
        for is_asked in (bound >= first, bound < first):
            chosen = np.flatnonzero(is_asked & (bound > largest))
            if chosen.size:
                own = largest_posteriors(classes.of(chosen), ranges=ranges[chosen], epsilon=epsilon)
                largest = max(largest, float(own.max()))
        found.append(min(largest, 1.0))
    return found


def largest_of_several(
    values: FloatArray, class_ids: IntArray, *, ranges: FloatArray, epsilons: Sequence[float]
) -> list[float]:
    """The largest posterior for several ε-quasis, for each ε: exact for classes of up to 1,024 records, a bound for larger.

    `values` has shape (n_records, n_attributes), `ranges` (R) the shape (n_classes, n_attributes).
    """
    records = _in_classes(values, class_ids, ranges)
    # Where all originals of a class are equal, all are equally likely.
    constant = float(np.max(1 / records.sizes[records.farthest == 0], initial=0.0))
    is_large = records.sizes > _MET
    regions: dict[int, tuple[FloatArray, Regions]] = {}
    found = []
    for epsilon in epsilons:
        bound = _at_most(records.sizes, records.farthest, epsilon=epsilon)
        largest = constant
        left = np.flatnonzero((bound > largest * _MORE) & ~is_large)
        if left.size > _FIRST:
            first = left[np.argpartition(-bound[left], _FIRST)[:_FIRST]]
            largest = _largest_by_meeting(records, first, epsilon=epsilon, largest=largest)
        left = left[bound[left] > largest * _MORE]
        left = left[np.argsort(-bound[left], kind="stable")]
        largest = _largest_by_meeting(records, left, epsilon=epsilon, largest=largest)
        for start in np.unique(records.starts[is_large & (bound > largest)]).tolist():
            if start not in regions:
                regions[start] = _regions_of(records, start)
            # Capped by the first bound, so that the result does not depend on which classes were worked out before.
            own = _bound_of_large(*regions[start], epsilon=epsilon, largest=largest)
            size = int(records.sizes[start])
            largest = max(largest, min(own, float(bound[start : start + size].max())))
        found.append(min(largest, 1.0))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _InClasses:
    """Records in the order of their classes; every array but `places` has shape (n_records,)."""

    places: FloatArray
    """Values in units of R, shape (n_attributes, n_records)."""
    starts: IntArray
    """The first record of its class."""
    sizes: IntArray
    """Records of its class."""
    farthest: FloatArray
    """An upper bound of the sum of its distances to all originals of its class."""


def _in_classes(values: FloatArray, class_ids: IntArray, ranges: FloatArray) -> _InClasses:
    """Records put in the order of their classes, with values in units of R."""
    order = by_class(class_ids, n_classes=len(ranges))
    ids = class_ids[order]
    v = np.ascontiguousarray(values[order].T)
    sizes = np.bincount(ids, minlength=len(ranges))
    low, _ = class_extremes(v, ids, n_classes=len(ranges))
    places = in_units_of_ranges(v, by_record(low, ids), by_record(ranges, ids))
    # The bound goes through the mean p of the class: ‖v_i − v_j‖ ≤ ‖v_i − p‖ + ‖p − v_j‖, and 0 for j = i.
    away = np.zeros(len(ids))
    for own in places:
        mean = np.bincount(ids, weights=own, minlength=len(ranges)) / np.maximum(sizes, 1)
        np.maximum(away, np.abs(own - mean[ids]), out=away)
    total = np.bincount(ids, weights=away, minlength=len(ranges))
    return _InClasses(
        places=places,
        starts=(np.cumsum(sizes) - sizes)[ids],
        sizes=sizes[ids],
        farthest=np.maximum((sizes[ids] - 2) * away + total[ids], 0.0),
    )


def _at_most(sizes: IntArray, farthest: FloatArray, *, epsilon: float) -> FloatArray:
    """Upper bounds of posteriors, with a little room for rounding.

    `sizes` are the m originals of a class; `farthest` bounds the sum of distances to them, in units of R, from above.
    """
    others = np.maximum(sizes - 1, 0)
    mean = np.minimum(farthest / np.maximum(others, 1), 1.0)
    bound: FloatArray = (1 + 1e-9) / (1 + others * np.exp(-epsilon * mean))
    return bound


def _largest_by_meeting(records: _InClasses, asked: IntArray, *, epsilon: float, largest: float) -> float:
    """The largest posterior of the asked records, or `largest` if none exceeds it; `asked` are positions of records.

    Each record is compared with the originals of its class, a few at a time, until those that are left cannot leave its
    posterior above `largest`.
    """
    sums, met = np.ones(len(asked)), np.zeros(len(asked))
    rows = np.arange(len(asked))
    first, width = 1, _NARROWEST
    while rows.size:
        reach = min(width, int(records.sizes[asked[rows]].max()) - first)
        staying = []
        for tile in _tiles(rows, max(1, _TILE // max(reach, 1))):
            own = asked[tile]
            starts, sizes = records.starts[own, np.newaxis], records.sizes[own, np.newaxis]
            numbers = first + np.arange(reach)
            others = starts + (own[:, np.newaxis] - starts + numbers) % sizes
            far = np.zeros(others.shape)
            for places in records.places:
                np.maximum(far, np.abs(places[others] - places[own, np.newaxis]), out=far)
            inside = numbers < sizes
            met[tile] += np.sum(far, axis=1, where=inside)
            sums[tile] += np.sum(np.exp(-epsilon * far), axis=1, where=inside)
            left = np.maximum(records.sizes[own] - first - reach, 0)
            largest = float(np.max(1 / sums[tile][left == 0], initial=largest))
            mean = np.clip((records.farthest[own] - met[tile]) / np.maximum(left, 1), 0.0, 1.0)
            may_exceed = 1 / (sums[tile] + left * np.exp(-epsilon * mean)) > largest * _MORE
            staying.append(tile[may_exceed & (left > 0)])
        rows = np.concatenate(staying)
        first, width = first + reach, min(2 * width, _WIDEST)
    return largest


def _tiles(rows: IntArray, length: int) -> Iterator[IntArray]:
    """The rows in pieces of a length."""
    return (rows[start : start + length] for start in range(0, len(rows), length))


def _regions_of(records: _InClasses, start: int) -> tuple[FloatArray, Regions]:
    """The points of the class that begins at `start`, sorted, so that the order of records is without effect; and their regions."""
    points = records.places[:, start : start + int(records.sizes[start])]
    points = np.ascontiguousarray(points[:, np.lexsort(points)])
    return points, put_in_regions(points, np.ones(points.shape[1], dtype=np.int64), n_regions=_REGIONS)


def _bound_of_large(points: FloatArray, regions: Regions, *, epsilon: float, largest: float) -> float:
    """An upper bound of all posteriors of a class; nearly exact where it is above `largest`.

    The first bound comes from regions and their farthest corners. Then the point with the largest bound is worked out more
    closely, first with all of its region against every region, then against every original, and so on. `points` has shape
    (n_attributes, n_points).
    """
    by_region, own = regions.least_sums_by_region(epsilon=epsilon)
    sums = (by_region + 1 - own)[regions.region_of]
    is_open = np.zeros(len(by_region), dtype=np.bool_)
    found = 0.0
    for _ in range(_ROUNDS):
        loneliest = int(np.argmin(sums))
        if 1 / sums[loneliest] <= max(largest, found * _NEAR):
            break
        region = regions.region_of[loneliest]
        if not is_open[region]:
            is_open[region] = True
            chosen = np.flatnonzero(regions.region_of == region)
            finer = regions.least_sums_of_members(points[:, chosen], region, epsilon=epsilon)
            sums[chosen] = np.maximum(sums[chosen], finer)
        else:
            far = np.abs(points - points[:, loneliest, np.newaxis]).max(axis=0)
            sums[loneliest] = np.sum(np.exp(-epsilon * far))
            found = max(found, float(1 / sums[loneliest]))
    return float(1 / sums.min())

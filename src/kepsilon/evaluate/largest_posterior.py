# SPDX-License-Identifier: Apache-2.0
"""The most that any published value can make a record's own original probable, known before noise is drawn.

For exponential noise: record i is surest to be found if exactly its value is published, because no original is farther
from there than from anywhere else by more than its distance to v_i; the posterior then is 1/Σ_j exp(−ε‖v_i − v_j‖/R) over
the originals of the class. Classes are looked at in the order of what their size and width allow, until none can exceed
what was found.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from kepsilon.evaluate.cells import put_in_cells
from kepsilon.evaluate.class_values import ClassValues
from kepsilon.evaluate.cyclic_classes import CyclicClasses, lay_out
from kepsilon.evaluate.linking_risk import largest_posteriors
from kepsilon.evaluate.several_attributes import (
    SUREST,
    Block,
    by_record,
    class_extremes,
    in_units_of_ranges,
    largest_by_meeting,
)
from kepsilon.evaluate.sorted_classes import by_class
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

_FIRST = 1 << 10
"""Distinct values of one ε-quasi that are looked at first, about, to raise what the others have to exceed."""

_AT_ONCE = 1 << 15
"""Records looked at together: few enough to stay in a processor's cache."""

_MET = 1 << 10
"""Classes of more points of several ε-quasis are not met, but put in cells, which bound the posterior from above."""

_CELLS = 128
_OPENED = 4


def largest_of_one(classes: ClassValues, *, ranges: FloatArray, epsilon: float) -> float:
    """The largest posterior that any record of any class can have, exactly. `ranges` (R) has shape (n_classes,)."""
    low, high = classes.extremes()
    bound = _bounds(classes.sizes, _in_ranges(high - low, ranges), epsilon=epsilon)
    order = np.argsort(-bound, kind="stable")
    order = order[bound[order] > 0]
    n_first = int(np.searchsorted(np.cumsum(classes.n_distinct[order]), _FIRST)) + 1
    largest = 0.0
    for chosen in (order[:n_first], order[n_first:]):
        left = chosen[bound[chosen] > largest]
        if left.size:
            own = largest_posteriors(classes.of(np.sort(left)), ranges=ranges[np.sort(left)], epsilon=epsilon)
            largest = max(largest, float(own.max()))
    return min(largest, 1.0)


def largest_of_several(
    values: FloatArray, class_ids: IntArray, *, ranges: FloatArray, epsilons: Sequence[float]
) -> list[float]:
    """The same for several ε-quasis, for each ε: exact for classes of up to 1,024 points, and no less for larger ones.

    `values` has shape (n_records, n_attributes), `ranges` (R) the shape (n_classes, n_attributes).
    """
    largest = [0.0] * len(epsilons)
    sizes = np.bincount(class_ids, minlength=len(ranges))
    order = by_class(class_ids, n_classes=len(ranges))
    ends = np.cumsum(sizes)
    low, high = class_extremes(values[order].T, class_ids[order], n_classes=len(ranges))
    widths = _in_ranges(high - low, ranges).max(axis=1, initial=0.0)
    bounds = [_bounds(sizes, widths, epsilon=epsilon) for epsilon in epsilons]
    ranked = np.argsort(-bounds[-1], kind="stable")
    ranked = ranked[sizes[ranked] > 0]
    first, n_records = 0, np.cumsum(sizes[ranked])
    while first < len(ranked):
        done = int(n_records[first]) - int(sizes[ranked[first]])
        last = max(first + 1, int(np.searchsorted(n_records, done + _AT_ONCE, side="right")))
        chosen = np.sort(ranked[first:last])
        first = last
        may_exceed = np.array([own[chosen] > found for own, found in zip(bounds, largest, strict=True)])
        chosen, may_exceed = chosen[may_exceed.any(axis=0)], may_exceed[:, may_exceed.any(axis=0)]
        if not chosen.size:
            continue
        own_sizes = sizes[chosen]
        ids = np.repeat(np.arange(len(chosen)), own_sizes)
        starts = np.repeat(ends[chosen] - own_sizes - (np.cumsum(own_sizes) - own_sizes), own_sizes)
        v = np.ascontiguousarray(values[order[np.arange(len(ids)) + starts]].T)
        places = in_units_of_ranges(v, by_record(low[chosen], ids), by_record(ranges[chosen], ids))
        classes = lay_out(places, ids, n_classes=len(chosen))
        for i, epsilon in enumerate(epsilons):
            largest[i] = _largest_of(classes, may_exceed[i], epsilon=epsilon, largest=largest[i])
    return [min(found, 1.0) for found in largest]


def _largest_of(classes: CyclicClasses, asked: BoolArray, *, epsilon: float, largest: float) -> float:
    """That of the asked classes, or `largest` if they do not exceed it; `asked` has shape (n_classes,)."""
    points = np.flatnonzero(asked[classes.class_ids])
    is_large = classes.sizes[points] > _MET
    largest = _largest_by_meeting(classes, points[~is_large], epsilon=epsilon, largest=largest)
    for class_id in np.unique(classes.class_ids[points[is_large]]).tolist():
        members = classes.members(class_id)
        own, counts = classes.points[:, members], classes.counts[members]
        cells = put_in_cells(own, counts, n_cells=_CELLS)
        sums = cells.least_sums_of_own(own, counts, epsilon=epsilon, n_opened=_OPENED)
        largest = max(largest, float(1 / sums.min()))
    return largest


def _largest_by_meeting(classes: CyclicClasses, points: IntArray, *, epsilon: float, largest: float) -> float:
    if not points.size:
        return largest
    low, high = (extreme[:, points] for extreme in classes.extremes())
    places = classes.points[:, points]
    corner = np.maximum(places - low, high - places).max(axis=0, initial=0.0)
    n = classes.points.shape[1]
    least, bound = np.ones(n), np.zeros(n)
    least[points] = np.exp(-epsilon * corner)
    together = classes.counts[points]
    bound[points] = 1 / (together + (classes.n_originals[points] - together) * least[points])
    # Each point stands for itself: exactly its place is published.
    block = Block(
        records=np.arange(n),
        classes=dataclasses.replace(classes, point_of=np.arange(n)),
        published=classes.points,
        own=np.zeros(n),
        tolerance=np.zeros(n),
    )
    if points.size > SUREST:
        surest = points[np.argpartition(-bound[points], SUREST)[:SUREST]]
        largest = largest_by_meeting(block, surest, bound, least, epsilon=epsilon, largest=largest)
    left = points[bound[points] > largest]
    return largest_by_meeting(block, left, bound, least, epsilon=epsilon, largest=largest)


def _bounds(sizes: IntArray, widths: FloatArray, *, epsilon: float) -> FloatArray:
    """What no posterior of a class exceeds, (n_classes,): all its originals are no farther apart than it is wide.

    `widths` are in units of R. With room for rounding, so that a class which may hold the largest is never left out.
    """
    bounds = np.zeros(len(sizes))
    has_records = sizes > 0
    bounds[has_records] = 1 / (1 + (sizes[has_records] - 1) * np.exp(-epsilon * widths[has_records]))
    bounds *= 1 + 1e-12
    return bounds


def _in_ranges(widths: FloatArray, ranges: FloatArray) -> FloatArray:
    """Widths of classes in units of R; 0 where there is no range."""
    scaled = np.zeros(widths.shape)
    np.divide(widths, ranges, out=scaled, where=(ranges > 0) & ~np.isnan(widths))
    return np.minimum(scaled, 1.0)

# SPDX-License-Identifier: Apache-2.0
"""Stronger attackers on small classes: one assigns records to originals in order, one weighs every assignment.

The nearest original is the best guess for a record on its own. An attacker who considers all records of a class at once
does a little better, because no two of them come from the same original. Suppressed records are not seen, but their
originals are still candidates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.linking.several_attributes import by_record, class_extremes, in_units_of_ranges
from kepsilon.evaluate.originals.sorted_classes import ROUNDING, runs_of_classes
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

MOST = 8
"""Originals of a small class, at most: there are 8! assignments, and 2^8 sets of originals to sum them over."""

_AT_ONCE = 1 << 10
"""Classes at a time, so that the sums over sets stay in a processor's cache."""

_AS_PROBABLE = 1 - 1e-9
"""An original is among the most probable if it falls short by no more than rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallClasses:
    """Links of two attackers in small classes; a tie of t is worth 1/t. All arrays have the shape of `records`."""

    records: IntArray
    """The released records of classes of at most eight originals, in rising order."""
    bayes: FloatArray
    """Links of the attacker who picks the most probable original of every record, all assignments considered."""
    own_posterior: FloatArray
    """How probable the true original of every record is to this attacker."""
    rank: FloatArray
    """Links of the attacker who assigns records to originals in order; NaN where several attributes are active."""


def attack_small_classes(
    values: FloatArray,
    published: FloatArray,
    class_ids: IntArray,
    *,
    ranges: FloatArray,
    epsilon: float,
    stays: BoolArray | None = None,
) -> SmallClasses:
    """The links of both attackers in every class of at most eight originals.

    `values` (what received noise) and `published` have shape (n_records, n_attributes), `ranges` (R) the shape (n_classes,
    n_attributes). `stays` says which records are released, shape (n_records,); None where all are. An
    attribute without a range has one value for all of a class, and tells nothing.
    """
    n_originals = np.bincount(class_ids, minlength=len(ranges))[class_ids]
    released = np.ones(len(class_ids), dtype=np.bool_) if stays is None else stays
    bayes, own_posterior, rank = (np.full(len(class_ids), np.nan) for _ in range(3))
    small = np.flatnonzero(n_originals <= MOST)
    for shape in _shapes(values[small], published[small], class_ids[small], released[small], ranges=ranges):
        links, posterior = _bayes_links(shape, epsilon=epsilon)
        records = small[shape.records]
        bayes[records], own_posterior[records] = links, posterior
        rank[records] = _rank_links(shape)
    records = small[released[small]]
    return SmallClasses(records=records, bayes=bayes[records], own_posterior=own_posterior[records], rank=rank[records])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """Classes that have the same number of released records and the same number of originals."""

    records: IntArray
    """Released records, shape (n_classes, n_released)."""
    published: FloatArray
    """Published values in units of the range, shape (n_classes, n_released, n_attributes)."""
    originals: FloatArray
    """In units of the range, shape (n_classes, n_originals, n_attributes); record i of a class comes from original i."""
    n_active: IntArray
    """Attributes with a range, shape (n_classes,)."""
    rounding: FloatArray
    """How far rounding may move one distance, relative to 1 + the largest published value; shape (n_classes,)."""


def _shapes(
    values: FloatArray, published: FloatArray, class_ids: IntArray, released: BoolArray, *, ranges: FloatArray
) -> Iterator[_Shape]:
    """The classes by number of released records and of originals, a few at a time."""
    for records, ids, chosen in runs_of_classes(class_ids, n_classes=len(ranges)):
        if not records.size:
            continue
        r = ranges[chosen]
        v, x = values[records].T, published[records].T
        low, high = class_extremes(v, ids, n_classes=len(r))
        lows, widths = by_record(low, ids), by_record(r, ids)
        originals, moved = in_units_of_ranges(v, lows, widths).T, in_units_of_ranges(x, lows, widths).T
        magnitude = np.maximum(np.abs(x), by_record(np.maximum(np.abs(low), np.abs(high)), ids))
        off = in_units_of_ranges(magnitude, np.zeros_like(magnitude), widths).max(axis=0)
        # In order of classes, released records first.
        order = np.argsort(2 * ids + ~released[records], kind="stable")
        sizes = np.bincount(ids, minlength=len(r))
        n_released = np.bincount(ids[released[records]], minlength=len(r))
        firsts = np.cumsum(sizes) - sizes
        for code in np.unique(n_released * (MOST + 1) + sizes):
            p, m = divmod(int(code), MOST + 1)
            every = np.flatnonzero((n_released == p) & (sizes == m)) if p else np.empty(0, dtype=np.int64)
            for start in range(0, len(every), _AT_ONCE):
                classes = every[start : start + _AT_ONCE]
                members = order[firsts[classes, np.newaxis] + np.arange(m)]
                yield _Shape(
                    records=records[members[:, :p]],
                    published=moved[members[:, :p]],
                    originals=originals[members],
                    n_active=np.count_nonzero(r[classes] > 0, axis=1),
                    rounding=2 * ROUNDING * off[members].max(axis=1),
                )


def _bayes_links(shape: _Shape, *, epsilon: float) -> tuple[FloatArray, FloatArray]:
    """Links of the attacker who weighs every assignment, and posteriors of own originals: (n_classes, n_released) each."""
    far = np.abs(shape.published[:, :, np.newaxis] - shape.originals[:, np.newaxis]).max(axis=3)
    marginals = assignment_marginals(np.exp(-epsilon * (far - far.min(axis=2, keepdims=True))))
    n_released = far.shape[1]
    own = marginals[:, np.arange(n_released), np.arange(n_released)]
    bar = marginals.max(axis=2) * _AS_PROBABLE
    n_best = np.count_nonzero(marginals >= bar[:, :, np.newaxis], axis=2)
    return np.where(own >= bar, 1 / n_best, 0.0), own


def assignment_marginals(likelihoods: FloatArray) -> FloatArray:
    """P(record i comes from original j), if all assignments of records to different originals are equally likely before.

    `likelihoods` and the result have shape (n_classes, n_records, n_originals); the largest likelihood of a row is 1.
    This is a ratio of permanents. Sums over assignments of the first i records to a set of originals grow one record at a
    time, likewise sums over assignments of the last records to the originals outside a set; where both meet they give the
    marginals. They are sums of products of positive numbers, so nothing cancels; and for ε ≤ 100 the likeliest assignment
    is never below e^−700, because some record has its likeliest original.
    """
    n_classes, p, m = likelihoods.shape
    rows = np.ascontiguousarray(likelihoods.transpose(1, 2, 0))
    sets = np.arange(1 << m)
    sizes = np.bitwise_count(sets)
    before = np.zeros((p, len(sets), n_classes))  # before[i, S]: records 0 … i − 1 are assigned to exactly the set S
    after = np.zeros((p + 1, len(sets), n_classes))  # after[i, S]: records i … p − 1 are assigned outside S
    before[0, 0] = 1
    after[p, sizes == p] = 1
    marginals = np.empty((p, m, n_classes))
    for i in range(p - 1):
        for j in range(m):
            free = sets[(sizes == i) & (sets >> j & 1 == 0)]
            before[i + 1, free | 1 << j] += rows[i, j] * before[i, free]
    for i in reversed(range(p)):
        for j in range(m):
            free = sets[(sizes == i) & (sets >> j & 1 == 0)]
            here = rows[i, j] * after[i + 1, free | 1 << j]
            after[i, free] += here
            marginals[i, j] = np.einsum("sc,sc->c", before[i, free], here)
    marginals /= after[0, 0]
    return np.ascontiguousarray(marginals.transpose(2, 0, 1))


def _rank_links(shape: _Shape) -> FloatArray:
    """Links of the attacker who assigns in order, shape (n_classes, n_released); NaN where several attributes are active.

    If all records are released, the i-th smallest published value is assigned to the i-th smallest original; otherwise
    the assignment in order with the least total distance is chosen, by lot among several. Equal published values, and
    equal originals, are exchanged by lot too.
    """
    # Inactive attributes are 0 everywhere, so that the sum is the one active attribute.
    x, v = shape.published.sum(axis=2), shape.originals.sum(axis=2)
    by_x, by_v = np.argsort(x, axis=1), np.argsort(v, axis=1)
    sorted_x, sorted_v = np.take_along_axis(x, by_x, axis=1), np.take_along_axis(v, by_v, axis=1)
    gaps = np.diff(sorted_v, axis=1, prepend=-np.inf)
    finest = np.where(gaps > 0, gaps, np.inf).min(axis=1)
    tolerance = np.minimum(shape.rounding * x.shape[1] * (1 + np.abs(x).max(axis=1)), finest / 4)
    by_rank = _order_marginals(np.abs(sorted_x[:, :, np.newaxis] - sorted_v[:, np.newaxis]), tolerance)
    # alike[i, s]: record i was published like the s-th smallest; own_alike[i, t]: its original equals the t-th smallest.
    alike = (x[:, :, np.newaxis] == sorted_x[:, np.newaxis]).astype(np.float64)
    own_alike = (v[:, : x.shape[1], np.newaxis] == sorted_v[:, np.newaxis]).astype(np.float64)
    shared = np.einsum("cis,cst,cit->ci", alike, by_rank, own_alike)
    links: FloatArray = shared / (alike.sum(axis=2) * own_alike.sum(axis=2))
    links[shape.n_active > 1] = np.nan
    return links


def _order_marginals(costs: FloatArray, tolerance: FloatArray) -> FloatArray:
    """P(the i-th smallest record is assigned to the j-th smallest original), if one of the cheapest assignments is drawn.

    Assignments are in order: a larger record never gets a smaller original. `costs` is the distance of each record to each
    original, both sorted, shape (n_classes, n_records, n_originals), like the result. Totals that differ by no more than
    the tolerance, shape (n_classes,), are equal.
    """
    _, p, m = costs.shape
    best, ways = _cheapest(costs, tolerance)
    rest, ways_of_rest = (table[:, ::-1, ::-1] for table in _cheapest(costs[:, ::-1, ::-1], tolerance))
    totals = best[:, :p, :m] + costs + rest[:, 1:, 1:]  # of the cheapest assignment that gives record i original j
    is_cheapest = totals <= totals.min(axis=2, keepdims=True) + tolerance[:, np.newaxis, np.newaxis]
    shares: FloatArray = np.where(is_cheapest, ways[:, :p, :m] * ways_of_rest[:, 1:, 1:], 0.0)
    shares /= shares.sum(axis=2, keepdims=True)
    return shares


def _cheapest(costs: FloatArray, tolerance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Least cost of assigning the first i records in order to the first j originals, and how many ways cost no more.

    Two arrays of shape (n_classes, n_records + 1, n_originals + 1).
    """
    n_classes, p, m = costs.shape
    best, ways = np.full((n_classes, p + 1, m + 1), np.inf), np.zeros((n_classes, p + 1, m + 1))
    best[:, 0], ways[:, 0] = 0.0, 1.0
    for i in range(1, p + 1):
        for j in range(i, m + 1):
            skipped, taken = best[:, i, j - 1], best[:, i - 1, j - 1] + costs[:, i - 1, j - 1]
            best[:, i, j] = least = np.minimum(skipped, taken)
            ways[:, i, j] = np.where(skipped <= least + tolerance, ways[:, i, j - 1], 0)
            ways[:, i, j] += np.where(taken <= least + tolerance, ways[:, i - 1, j - 1], 0)
    return best, ways

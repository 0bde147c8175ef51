# SPDX-License-Identifier: Apache-2.0
"""How many records confident k is expected to suppress, exactly, before any noise is drawn.

Paper §V-C, for one ε-quasi, and noise that is not yet rounded to the precision or clamped to a domain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.class_rule import lost_with_class, may_fall, may_stand
from kepsilon.evaluate.class_values import ClassValues
from kepsilon.evaluate.confident_k import ZeroRule
from kepsilon.evaluate.reach_probabilities import Crowds, Noise, at_least, crowds_of
from kepsilon.table.arrays import FloatArray, IntArray

_BLOCK = 1 << 15
"""Distinct values looked at together: few enough to stay in a processor's cache."""


def expected_suppression(
    classes: ClassValues, *, ranges: FloatArray, reach: FloatArray, epsilon: float, k: int, rule: ZeroRule
) -> FloatArray:
    """Expected number of suppressed records of every class, shape (n_classes,).

    `ranges` is the R that set the noise of each class, at least its diameter, and `reach` its r_c. Without noise, where R
    is 0 or NaN, all records of a class hide each other.
    """
    return prepare(classes, k=k).expected(ranges=ranges, reach=reach, epsilon=epsilon, rule=rule)


def prepare(classes: ClassValues, *, k: int) -> PreparedClasses:
    """All that does not depend on the noise, for use with many ε and confidences."""
    before = np.concatenate([[0], np.cumsum(classes.counts)])
    return PreparedClasses(
        classes=classes,
        k=k,
        sizes=np.diff(before[classes.starts]),
        ones=crowds_of(classes, n=1),
        crowds=crowds_of(classes, n=k),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedClasses:
    """Classes with the crowds of one and of k originals in them."""

    classes: ClassValues
    k: int
    sizes: IntArray
    ones: Crowds
    crowds: Crowds

    def expected(self, *, ranges: FloatArray, reach: FloatArray, epsilon: float, rule: ZeroRule) -> FloatArray:
        """As `expected_suppression`."""
        scales = ranges / epsilon
        is_moved = (scales > 0) & (self.sizes >= self.k)
        scales, reach = np.where(is_moved, scales, np.inf), np.where(is_moved, reach, 0.0)
        expected = np.where(self.sizes < self.k, self.sizes, 0).astype(np.float64)
        on_edge = np.zeros(len(expected), dtype=np.bool_)
        stays: list[FloatArray] = []
        zeros: list[FloatArray] = []
        for block in _blocks(self.classes.starts):
            moved = is_moved[block]
            if not moved.any():
                continue
            chances = self._chances(block, scales=scales[block], reach=reach[block], rule=rule)
            sizes = np.maximum(self.sizes[block], self.k)
            n_goes, n_stays = chances.by_class(chances.goes), chances.by_class(chances.stays)
            stands = may_stand(n_stays, sizes, k=self.k)
            expected[block] = np.where(moved, np.where(stands, n_goes, sizes), expected[block])
            on_edge[block] = moved & stands & may_fall(n_stays, sizes, k=self.k)
            chosen = np.flatnonzero(on_edge[block][chances.ids])
            stays.append(np.repeat(chances.stays[chosen], chances.counts[chosen]))
            zeros.append(np.repeat(chances.zero[chosen], chances.counts[chosen]))
        if on_edge.any():
            zero = np.concatenate(zeros) if rule is ZeroRule.STRICT else None
            expected[on_edge] += lost_with_class(np.concatenate(stays), zero, self.sizes[on_edge], k=self.k)
        return np.clip(expected, 0, self.sizes)

    def _chances(self, block: slice, *, scales: FloatArray, reach: FloatArray, rule: ZeroRule) -> _Chances:
        starts = self.classes.starts[block.start : block.stop + 1]
        positions = slice(int(starts[0]), int(starts[-1]))
        n_distinct = np.diff(starts)
        ids = np.repeat(np.arange(len(n_distinct)), n_distinct)
        values, counts = self.classes.values[positions], self.classes.counts[positions]
        low = np.zeros(len(n_distinct))
        low[n_distinct > 0] = values[(starts[:-1] - starts[0])[n_distinct > 0]]
        with np.errstate(over="ignore"):  # a reach of infinitely many scales, where noise is next to nothing
            heights = (values - low[ids]) / scales[ids]
            noise = Noise(scales=scales, reach=reach, ids=ids, heights=heights, powers=np.exp(heights))
            many = at_least(self.crowds.of(block, positions), noise)
            takes_zero = rule is ZeroRule.SUPPRESS_ZERO
            some = np.ones_like(many) if takes_zero else at_least(self.ones.of(block, positions), noise)
        goes = some - many
        stays = 1 - goes if rule is ZeroRule.TEXT else many
        return _Chances(n_classes=len(low), ids=ids, counts=counts, goes=goes, stays=stays, zero=1 - some)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chances:
    """What becomes of a record, class rule apart, by distinct value of some classes."""

    n_classes: int
    ids: IntArray
    """The class of every distinct value, counted from 0 among these."""
    counts: IntArray
    goes: FloatArray
    stays: FloatArray
    """That it stays, and counts as staying."""
    zero: FloatArray
    """That it is out of reach of every original and does not go for that."""

    def by_class(self, chances: FloatArray) -> FloatArray:
        weights = chances * self.counts
        sums: FloatArray = np.bincount(self.ids, weights=weights, minlength=self.n_classes).astype(np.float64)
        return sums


def _blocks(starts: IntArray) -> Iterator[slice]:
    """Some whole classes at a time."""
    first, n_classes = 0, len(starts) - 1
    while first < n_classes:
        last = int(np.searchsorted(starts, starts[first] + _BLOCK, side="right")) - 1
        last = min(max(first + 1, last), n_classes)
        yield slice(first, last)
        first = last

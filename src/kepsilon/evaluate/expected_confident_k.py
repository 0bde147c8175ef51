# SPDX-License-Identifier: Apache-2.0
"""How many records confident k is expected to suppress, exactly, before any noise is drawn.

Paper §V-C, for one ε-quasi, and noise that is not yet rounded to the precision or clamped to a domain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.class_rule import lost_with_class, may_fall, may_stand
from kepsilon.evaluate.confident_k import ZeroRule
from kepsilon.evaluate.reach_probabilities import Crowds, Noise, at_least, crowds_of
from kepsilon.evaluate.sorted_classes import SortedClasses
from kepsilon.table.arrays import FloatArray, IntArray

_BLOCK = 1 << 15
"""Distinct values looked at together: few enough to stay in a processor's cache."""


def expected_suppression(
    classes: SortedClasses, *, ranges: FloatArray, reach: FloatArray, epsilon: float, k: int, rule: ZeroRule
) -> FloatArray:
    """Expected number of suppressed records of every class, shape (n_classes,).

    `ranges` is the R that set the noise of each class, at least its diameter, and `reach` its r_c. Without noise, where R
    is 0 or NaN, all records of a class hide each other.
    """
    return prepare(classes, k=k).expected(ranges=ranges, reach=reach, epsilon=epsilon, rule=rule)


def prepare(classes: SortedClasses, *, k: int) -> PreparedClasses:
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

    classes: SortedClasses
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
        stays: list[FloatArray] = []
        zeros: list[FloatArray] = []
        edge: list[IntArray] = []
        for block in _blocks(self.classes.starts):
            moved = np.flatnonzero(is_moved[block])
            if not len(moved):
                continue
            ids, counts, many, some = self._probabilities(block, scales=scales[block], reach=reach[block], rule=rule)
            stay = many if rule is ZeroRule.STRICT else 1 - some + many
            goes, stay_at_all = (
                np.bincount(ids, weights=chance * counts, minlength=block.stop - block.start)[moved]
                for chance in (some - many, stay)
            )
            sizes = self.sizes[block][moved]
            stands = may_stand(stay_at_all, sizes, k=self.k)
            expected[block.start + moved] = np.where(stands, goes, sizes)
            moved = moved[stands & may_fall(stay_at_all, sizes, k=self.k)]
            edge.append(block.start + moved)
            is_on_edge = np.zeros(block.stop - block.start, dtype=np.bool_)
            is_on_edge[moved] = True
            chosen = np.flatnonzero(is_on_edge[ids])
            stays.append(np.repeat(stay[chosen], counts[chosen]))
            zeros.append(np.repeat(1 - some[chosen], counts[chosen]))
        if edge:
            classes = np.concatenate(edge)
            zero = np.concatenate(zeros) if rule is ZeroRule.STRICT else None
            expected[classes] += lost_with_class(np.concatenate(stays), zero, self.sizes[classes], k=self.k)
        return np.clip(expected, 0, self.sizes)

    def _probabilities(
        self, block: slice, *, scales: FloatArray, reach: FloatArray, rule: ZeroRule
    ) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
        """By distinct value of some classes: the class among these, records, P(ℓ ≥ k), and P(ℓ ≥ 1).

        The last is 1 where a record with ℓ = 0 goes like others with ℓ < k.
        """
        starts = self.classes.starts[block.start : block.stop + 1]
        positions = slice(int(starts[0]), int(starts[-1]))
        n_distinct = np.diff(starts)
        ids = np.repeat(np.arange(len(n_distinct)), n_distinct)
        values, counts = self.classes.values[positions], self.classes.counts[positions]
        low = np.zeros(len(n_distinct))
        low[n_distinct > 0] = values[(starts[:-1] - starts[0])[n_distinct > 0]]
        with np.errstate(over="ignore"):  # noise next to nothing beside the reach: infinitely many scales, and rightly
            heights = (values - low[ids]) / scales[ids]
            noise = Noise(scales=scales, reach=reach, ids=ids, heights=heights, powers=np.exp(heights))
            many = at_least(self.crowds.of(block, positions), noise)
            if rule is ZeroRule.SUPPRESS_ZERO:
                return ids, counts, many, np.ones_like(many)
            return ids, counts, many, at_least(self.ones.of(block, positions), noise)


def _blocks(starts: IntArray) -> Iterator[slice]:
    """Some whole classes at a time."""
    first, n_classes = 0, len(starts) - 1
    while first < n_classes:
        last = int(np.searchsorted(starts, starts[first] + _BLOCK, side="right")) - 1
        last = min(max(first + 1, last), n_classes)
        yield slice(first, last)
        first = last

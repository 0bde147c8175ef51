# SPDX-License-Identifier: Apache-2.0
"""How many records confident k is expected to suppress, exactly, before any noise is drawn.

Paper §V-C, for one ε-quasi with exponential noise. ℓ is the number of originals of its class in reach of a record's
published value. First the probabilities of ℓ ≥ 1 and of ℓ ≥ k give the records that are suppressed by themselves
(`reach_probabilities`); then come those that are suppressed with their class, because fewer than k of it stay
(`class_rule`). With `steps` the figure is for published values, rounded to the precision and clamped to the domain;
without, for values that are not rounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.confident_k.class_rule import lost_with_class, may_fall, may_stand
from kepsilon.evaluate.confident_k.confident_k import ZeroRule
from kepsilon.evaluate.confident_k.reach_probabilities import Crowds, Noise, chance_at_least, crowds_of, outer_ends
from kepsilon.evaluate.noise_law import ExponentialLaw
from kepsilon.evaluate.originals.class_values import ClassValues
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.steps import Steps

_IN_CACHE = 1 << 15
"""Distinct values worked on together: few enough to stay in a processor's cache."""


def prepare_classes(classes: ClassValues, *, k: int) -> PreparedClasses:
    """The classes with all that does not depend on the noise, worked out once for many ε and confidences."""
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
    """Classes, with the distances across neighbouring originals that decide which values are in reach of them."""

    classes: ClassValues
    k: int
    sizes: IntArray
    """Records of every class, shape (n_classes,)."""
    ones: Crowds
    """Single originals: they decide where ℓ ≥ 1."""
    crowds: Crowds
    """Crowds of k originals: they decide where ℓ ≥ k."""

    def expected(
        self,
        *,
        ranges: FloatArray,
        reach: FloatArray,
        epsilon: float,
        rule: ZeroRule,
        law: ExponentialLaw,
        steps: Steps | None = None,
    ) -> FloatArray:
        """Expected number of suppressed records of every class, shape (n_classes,).

        `ranges` is the R that set the noise of each class, at least its diameter, and `reach` its r_c, both of shape
        (n_classes,). Without noise, where R is 0 or NaN, all records of a class hide each other.
        """
        scales = ranges / epsilon
        is_moved = (scales > 0) & (self.sizes >= self.k)
        scales, reach = np.where(is_moved, scales, np.inf), np.where(is_moved, reach, 0.0)
        expected = np.where(self.sizes < self.k, self.sizes, 0).astype(np.float64)
        on_edge = np.zeros(len(expected), dtype=np.bool_)
        counted: list[FloatArray] = []
        uncounted: list[FloatArray] = []
        for run in _runs(self.classes.starts):
            if not is_moved[run].any():
                continue
            noise = self._noise(run, scales=scales[run], reach=reach[run], law=law, steps=steps)
            chances = self._chances(run, noise, is_moved[run], rule)
            expected[run] = np.where(is_moved[run], chances.expected, expected[run])
            on_edge[run] = chances.on_edge
            counted.append(chances.counted)
            uncounted.append(chances.uncounted)
        if on_edge.any():
            others = np.concatenate(uncounted) if rule is ZeroRule.STRICT else None
            expected[on_edge] += lost_with_class(np.concatenate(counted), others, self.sizes[on_edge], k=self.k)
        return np.clip(expected, 0, self.sizes)

    def _noise(
        self, run: slice, *, scales: FloatArray, reach: FloatArray, law: ExponentialLaw, steps: Steps | None
    ) -> Noise:
        """The noise of the classes of a run; `scales` and `reach` are of these classes only."""
        starts = self.classes.starts[run.start : run.stop + 1]
        positions = slice(int(starts[0]), int(starts[-1]))
        n_distinct = np.diff(starts)
        ids = np.repeat(np.arange(len(n_distinct)), n_distinct)
        values = self.classes.values[positions]
        low, widths = np.zeros((2, len(n_distinct)))
        has_values = n_distinct > 0
        low[has_values] = values[(starts[:-1] - starts[0])[has_values]]
        widths[has_values] = values[(starts[1:] - starts[0])[has_values] - 1] - low[has_values]
        with np.errstate(over="ignore"):  # a height of infinitely many scales, where noise is next to nothing
            heights = (values - low[ids]) / scales[ids]
            return Noise(
                scales=scales,
                reach=reach,
                ids=ids,
                heights=heights,
                powers=np.exp(heights),
                low=low,
                widths=widths,
                law=law,
                steps=steps,
            )

    def _chances(self, run: slice, noise: Noise, is_moved: BoolArray, rule: ZeroRule) -> _Chances:
        """What becomes of the records of a run of classes; `is_moved`: which of them have noise and k records.

        A class is on the edge if it may be left with at least k records and with fewer, both often enough to matter.
        A class whose values all lie in one interval with ℓ ≥ n needs two sums only. Probabilities of each value are
        worked out where there are several intervals, or the class may fall below k.

        `n_many` and `n_some` are the expected records with ℓ ≥ k and with ℓ ≥ 1, by class; `many` and `some` the
        probabilities of these, by chosen distinct value. Under SUPPRESS_ZERO ℓ = 0 is as bad as other ℓ < k, so `some` is 1.
        """
        positions = slice(int(self.classes.starts[run.start]), int(self.classes.starts[run.stop]))
        counts, sizes = self.classes.counts[positions], np.maximum(self.sizes[run], self.k)
        ones, crowds = self.ones.of(run, positions), self.crowds.of(run, positions)
        with np.errstate(over="ignore", invalid="ignore"):
            of_k, of_one = outer_ends(crowds, noise), outer_ends(ones, noise)
            is_open = is_moved & (of_k.is_open | of_one.is_open)
            growing = _sums(noise.ids, counts * noise.powers, len(sizes))
            falling = _sums(noise.ids, counts / noise.powers, len(sizes))
            n_many = sizes - of_k.n_outside(growing, falling)
            n_some = sizes if rule is ZeroRule.SUPPRESS_ZERO else sizes - of_one.n_outside(growing, falling)
            n_goes = n_some - n_many
            n_stays = sizes - n_goes if rule is ZeroRule.TEXT else n_many
            stands, falls = may_stand(n_stays, sizes, k=self.k), may_fall(n_stays, sizes, k=self.k)
            is_near = is_moved & ~is_open & stands & falls
            chosen = np.flatnonzero((is_open | is_near)[noise.ids])
            ids = noise.ids[chosen]
            many = chance_at_least(crowds, noise, of_k, chosen)
            some = (
                np.ones_like(many) if rule is ZeroRule.SUPPRESS_ZERO else chance_at_least(ones, noise, of_one, chosen)
            )
        goes = some - many
        counted = 1 - goes if rule is ZeroRule.TEXT else many
        own_counts = counts[chosen]
        for total, share in ((n_goes, goes), (n_stays, counted)):
            sums = _sums(ids, share * own_counts, len(sizes))
            total[is_open] = sums[is_open]
        opened = np.flatnonzero(is_open)
        stands[opened] = may_stand(n_stays[opened], sizes[opened], k=self.k)
        falls[opened] = may_fall(n_stays[opened], sizes[opened], k=self.k)
        on_edge = (is_near | is_open) & stands & falls
        edge = on_edge[ids]
        return _Chances(
            expected=np.where(stands, n_goes, sizes),
            on_edge=on_edge,
            counted=np.repeat(counted[edge], own_counts[edge]),
            uncounted=np.repeat(1 - some[edge], own_counts[edge]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chances:
    """What becomes of the records of some classes; of classes on the edge, before the class rule."""

    expected: FloatArray
    """Expected records that go by themselves; all records where the class surely falls below k. Shape (n_classes,)."""
    on_edge: BoolArray
    """Which classes may fall below k or not, so that the class rule has to be worked out, shape (n_classes,)."""
    counted: FloatArray
    """Of every record of these classes, one class after the other: P(it stays and counts among the k of its class)."""
    uncounted: FloatArray
    """Likewise P(ℓ = 0); needed under STRICT, where such a record stays but does not count among the k."""


def _sums(ids: IntArray, weights: FloatArray, n_classes: int) -> FloatArray:
    """Sums of weights by class."""
    sums: FloatArray = np.bincount(ids, weights=weights, minlength=n_classes).astype(np.float64, copy=False)
    return sums


def _runs(starts: IntArray) -> Iterator[slice]:
    """Ranges of whole classes with about _IN_CACHE distinct values each."""
    first, n_classes = 0, len(starts) - 1
    while first < n_classes:
        last = int(np.searchsorted(starts, starts[first] + _IN_CACHE, side="right")) - 1
        last = min(max(first + 1, last), n_classes)
        yield slice(first, last)
        first = last

# SPDX-License-Identifier: Apache-2.0
"""The claimed law of the noise, and the range that sets it.

In units of R/ε the noise of d attributes has the density ∝ exp(−max_j|z_j|). One coordinate then exceeds t > 0 with
probability ½·e^(−t)·Σ_{i<d} (1 − i/d)·t^i/i!, which is Laplace's ½·e^(−t) for d = 1. The largest coordinate exceeds r
with probability e^(−r)·Σ_{i<d} r^i/i!.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kepsilon.auditing.classes import NOWHERE, ReconstructedClasses
from kepsilon.auditing.tables import Original
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import Bounds, CoarseSpecification, EpsilonQuasi, fraction
from kepsilon.table.arrays import FloatArray, IntArray

FARTHEST = 700.0
"""Largest t worked with: e^(−t) is nothing beyond it, and powers of t would overflow."""

LATTICE = 2.0**-31
"""Noise is drawn in steps of R/2³²; per unit of ε this adds at most so much to the probability of one published value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedNoise:
    """What the policy claims about the noise of each class, worked out from the originals of the class."""

    values: FloatArray
    """Values that noise is added to, or that are averaged: originals, clipped; shape (n_originals, n_epsilon_quasis)."""
    low: FloatArray
    """Smallest value of each class, NaN where none is known, shape (n_classes, n_epsilon_quasis)."""
    high: FloatArray
    """Largest value of each class, shaped like `low`."""
    ranges: FloatArray
    """R of each class, NaN where its originals are not known, shaped like `low`."""
    starts: FloatArray
    """Lower end of the range of each class, NaN where none is known, shaped like `low`."""
    n_active: IntArray
    """ε-quasis with noise in each class, shape (n_classes,)."""
    n_clipped: dict[str, int]
    """Values outside declared bounds, by ε-quasi, counted over the originals of released classes."""


def claimed_noise(original: Original, classes: ReconstructedClasses, policy: Policy) -> ClaimedNoise:
    """The noise that the policy claims for these classes."""
    names = list(policy.epsilon_quasis)
    shape = (classes.n_classes, len(names))
    low, high, ranges, starts = (np.full(shape, np.nan) for _ in range(4))
    values = np.empty((original.n_records, len(names)))
    n_clipped = {}
    belongs = np.flatnonzero(classes.of_original != NOWHERE)
    ids = classes.of_original[belongs]
    for j, (name, attribute) in enumerate(policy.epsilon_quasis.items()):
        own = original.numbers[name]
        bounds = clipped_to(attribute, policy)
        if bounds is not None:
            lowest, highest = (float(fraction(bound)) for bound in bounds)
            clipped = np.clip(own, lowest, highest)
            n_clipped[name] = int(np.count_nonzero((clipped != own)[belongs] & ~np.isnan(own[belongs])))
            own = clipped
        values[:, j] = own
        low[:, j], high[:, j] = extremes(own[belongs], ids, n_classes=classes.n_classes)
        ranges[:, j] = range_of(low[:, j], high[:, j], attribute if policy.draws_noise else without_range(attribute))
        starts[:, j] = start_of(low[:, j], attribute)
    ranges[~classes.is_known] = np.nan
    n_active = np.count_nonzero(np.nan_to_num(ranges) > 0, axis=1)
    return ClaimedNoise(
        values=values, low=low, high=high, ranges=ranges, starts=starts, n_active=n_active, n_clipped=n_clipped
    )


def clipped_to(attribute: EpsilonQuasi, policy: Policy) -> Bounds | None:
    """What values are clipped to before anything else: declared bounds, or the domain of averages without noise."""
    if not policy.draws_noise:
        return attribute.domain
    return attribute.range if isinstance(attribute.range, tuple) else None


def without_range(attribute: EpsilonQuasi) -> EpsilonQuasi:
    """An ε-quasi for which no noise is drawn: a range that it states sets nothing, and R is that of the class."""
    return attribute.model_copy(update={"range": None})


def extremes(values: FloatArray, ids: IntArray, *, n_classes: int) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest value of each class, NaN where all are missing, each of shape (n_classes,)."""
    present = ~np.isnan(values)
    low, high = np.full(n_classes, np.inf), np.full(n_classes, -np.inf)
    np.minimum.at(low, ids[present], values[present])
    np.maximum.at(high, ids[present], values[present])
    empty = low > high
    low[empty] = high[empty] = np.nan
    return low, high


def range_of(low: FloatArray, high: FloatArray, attribute: EpsilonQuasi) -> FloatArray:
    """R of classes with these smallest and largest values, shape (n_classes,)."""
    if isinstance(attribute.range, tuple):
        width = float(fraction(attribute.range[1])) - float(fraction(attribute.range[0]))
        return np.where(np.isnan(low), np.nan, width)
    if isinstance(attribute.range, CoarseSpecification):
        precision, step = fraction(attribute.precision), fraction(attribute.range.coarse)
        per_step = int(step / precision)
        n_steps = (
            np.floor(whole_units(high, precision) / per_step) + 1 - np.floor(whole_units(low, precision) / per_step)
        )
        return n_steps * float(step)
    return high - low


def start_of(low: FloatArray, attribute: EpsilonQuasi) -> FloatArray:
    """Lower end of the range of classes with these smallest values, shape (n_classes,)."""
    if isinstance(attribute.range, tuple):
        return np.where(np.isnan(low), np.nan, float(fraction(attribute.range[0])))
    if isinstance(attribute.range, CoarseSpecification):
        precision, step = fraction(attribute.precision), fraction(attribute.range.coarse)
        return np.floor(whole_units(low, precision) / int(step / precision)) * float(step)
    return low


def whole_units(values: FloatArray, precision: Fraction) -> FloatArray:
    """Each value in units of the precision, rounded down; a value that misses a multiple by binary rounding counts as it."""
    units = values * precision.denominator / precision.numerator
    nearest = np.rint(units)
    return np.where(np.abs(units - nearest) <= np.maximum(1e-6, np.abs(nearest) * 1e-15), nearest, np.floor(units))


def coordinate_beyond(t: FloatArray, d: int) -> FloatArray:
    """Probability that one of d coordinates of the noise exceeds t ≥ 0."""
    t = np.minimum(t, FARTHEST)
    term, total = np.ones_like(t), np.zeros_like(t)
    for i in range(d):
        total += (1 - i / d) * term
        term = term * t / (i + 1)
    tail: FloatArray = 0.5 * np.exp(-t) * total
    return tail


def marginal_cdf(t: FloatArray, d: int) -> FloatArray:
    """Distribution function of one of d coordinates of the noise."""
    tail = coordinate_beyond(np.abs(t), d)
    return np.where(t > 0, 1 - tail, tail)


def radius_beyond(r: FloatArray, d: int) -> FloatArray:
    """Probability that the largest of d coordinates of the noise exceeds r ≥ 0, in absolute value."""
    r = np.minimum(r, FARTHEST)
    term, total = np.ones_like(r), np.zeros_like(r)
    for i in range(d):
        total += term
        term = term * r / (i + 1)
    tail: FloatArray = np.exp(-r) * total
    return tail


@functools.cache
def radius_quantile(d: int, confidence: float) -> float:
    """Radius that the largest of d coordinates stays within, with probability `confidence`; found by bisection."""
    low, high = 0.0, FARTHEST
    for _ in range(200):
        middle = (low + high) / 2
        is_below = float(radius_beyond(np.array([middle]), d)[0]) > 1 - confidence
        low, high = (middle, high) if is_below else (low, middle)
    return high


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounding:
    """How values of one ε-quasi are published: rounded to multiples of `step`, then clamped to [low, high]."""

    step: float
    low: float
    high: float

    @classmethod
    def of(cls, attribute: EpsilonQuasi) -> Rounding:
        """The rounding that the policy states; bounds are infinite where it declares no domain."""
        bounds = (
            (-math.inf, math.inf) if attribute.domain is None else tuple(map(float, map(fraction, attribute.domain)))
        )
        return cls(step=float(fraction(attribute.precision)), low=bounds[0], high=bounds[1])

    def bounds_before(self, published: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bounds that each published value lay between before it was rounded and clamped."""
        below = np.where(published <= self.low, -np.inf, published - self.step / 2)
        above = np.where(published >= self.high, np.inf, published + self.step / 2)
        return below, above

    def clamp(self, bounds: FloatArray) -> FloatArray:
        """Bounds between published values, made infinite where clamping leaves no published value beyond them."""
        return np.where(bounds > self.high, np.inf, np.where(bounds < self.low, -np.inf, bounds))

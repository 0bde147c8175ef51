# SPDX-License-Identifier: Apache-2.0
"""The claimed law of the noise, the range that sets it, and bounds on how far chance can stray from it.

In units of R/ε the noise of d attributes has the density ∝ exp(−max_j|z_j|). One coordinate of it then lies beyond t > 0
with probability ½·e^(−t)·Σ_{i<d} (1 − i/d)·t^i/i!, which is Laplace's ½·e^(−t) for d = 1, and the largest coordinate
beyond r with probability e^(−r)·Σ_{i<d} r^i/i!.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kepsilon.auditing.classes import NOWHERE, Classes
from kepsilon.auditing.tables import Original
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import CoarseSpecification, EpsilonQuasi, fraction
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

FARTHEST = 700.0
"""Beyond this e^(−t) is nothing, and powers of t would overflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedNoise:
    """What the policy says about the noise of every class, from the originals of the class."""

    values: FloatArray
    """What received noise: the originals, clipped where bounds were declared, shape (n_originals, n_epsilon_quasis)."""
    low: FloatArray
    """Smallest value of every class, NaN where it is not known or missing, shape (n_classes, n_epsilon_quasis)."""
    high: FloatArray
    ranges: FloatArray
    """R of every class, shaped alike."""
    n_active: IntArray
    """Attributes with noise, shape (n_classes,)."""
    n_clipped: dict[str, int]
    """Values of originals in released classes that lay outside declared bounds."""


def claimed_noise(original: Original, classes: Classes, policy: Policy) -> ClaimedNoise:
    names = list(policy.epsilon_quasis)
    shape = (classes.n_classes, len(names))
    low, high, ranges = np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, np.nan)
    values = np.empty((original.n_records, len(names)))
    n_clipped = {}
    belongs = np.flatnonzero(classes.of_original != NOWHERE)
    ids = classes.of_original[belongs]
    for j, (name, attribute) in enumerate(policy.epsilon_quasis.items()):
        own = original.numbers[name]
        if isinstance(attribute.range, tuple):
            lowest, highest = (float(fraction(bound)) for bound in attribute.range)
            clipped = np.clip(own, lowest, highest)
            n_clipped[name] = int(np.count_nonzero((clipped != own)[belongs] & ~np.isnan(own[belongs])))
            own = clipped
        values[:, j] = own
        low[:, j], high[:, j] = _extremes(own[belongs], ids, n_classes=classes.n_classes)
        ranges[:, j] = range_of(low[:, j], high[:, j], attribute)
    ranges[~classes.is_known] = np.nan
    n_active = np.count_nonzero(np.nan_to_num(ranges) > 0, axis=1)
    return ClaimedNoise(values=values, low=low, high=high, ranges=ranges, n_active=n_active, n_clipped=n_clipped)


def _extremes(values: FloatArray, ids: IntArray, *, n_classes: int) -> tuple[FloatArray, FloatArray]:
    present = ~np.isnan(values)
    low, high = np.full(n_classes, np.inf), np.full(n_classes, -np.inf)
    np.minimum.at(low, ids[present], values[present])
    np.maximum.at(high, ids[present], values[present])
    empty = low > high
    low[empty] = high[empty] = np.nan
    return low, high


def range_of(low: FloatArray, high: FloatArray, attribute: EpsilonQuasi) -> FloatArray:
    """R of classes with these extremes."""
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


def whole_units(values: FloatArray, precision: Fraction) -> FloatArray:
    """Units of the precision not above a value; one that is a multiple but for binary rounding counts as one."""
    units = values * precision.denominator / precision.numerator
    nearest = np.rint(units)
    return np.where(np.abs(units - nearest) <= np.maximum(1e-6, np.abs(nearest) * 1e-15), nearest, np.floor(units))


def beyond(t: FloatArray, d: int) -> FloatArray:
    """Probability that one coordinate of the noise exceeds t ≥ 0."""
    t = np.minimum(t, FARTHEST)
    term, total = np.ones_like(t), np.zeros_like(t)
    for i in range(d):
        total += (1 - i / d) * term
        term = term * t / (i + 1)
    tail: FloatArray = 0.5 * np.exp(-t) * total
    return tail


def marginal_cdf(t: FloatArray, d: int) -> FloatArray:
    """Distribution function of one coordinate."""
    tail = beyond(np.abs(t), d)
    return np.where(t > 0, 1 - tail, tail)


def radius_beyond(r: FloatArray, d: int) -> FloatArray:
    """Probability that the largest coordinate exceeds r ≥ 0."""
    r = np.minimum(r, FARTHEST)
    term, total = np.ones_like(r), np.zeros_like(r)
    for i in range(d):
        total += term
        term = term * r / (i + 1)
    tail: FloatArray = np.exp(-r) * total
    return tail


def radius_quantile(d: int, confidence: float) -> float:
    """The radius that the largest coordinate stays within with this probability."""
    low, high = 0.0, FARTHEST
    for _ in range(200):
        middle = (low + high) / 2
        is_below = float(radius_beyond(np.array([middle]), d)[0]) > 1 - confidence
        low, high = (middle, high) if is_below else (low, middle)
    return high


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """How one ε-quasi is published: in steps, and between public bounds."""

    step: float
    low: float
    high: float

    @classmethod
    def of(cls, attribute: EpsilonQuasi) -> Grid:
        bounds = (
            (-math.inf, math.inf) if attribute.domain is None else tuple(map(float, map(fraction, attribute.domain)))
        )
        return cls(step=float(fraction(attribute.precision)), low=bounds[0], high=bounds[1])

    def cell(self, published: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Between which bounds a value lay before it was rounded and clamped."""
        below = np.where(published <= self.low, -np.inf, published - self.step / 2)
        above = np.where(published >= self.high, np.inf, published + self.step / 2)
        return below, above

    def clamp(self, bounds: FloatArray) -> FloatArray:
        """Bounds between cells, infinite where clamping leaves nothing beyond them."""
        return np.where(bounds > self.high, np.inf, np.where(bounds < self.low, -np.inf, bounds))


# Each bound below holds for every sample size; none relies on a limit theorem.


def gamma_tail(total: float, n: int, *, above: bool) -> float:
    """Chernoff: how probable it is, at most, that n standard exponential variables sum to this much (or this little)."""
    ratio = total / n if n else 1.0
    if ratio <= 0:
        return 0.0 if not above and n else 1.0
    if (ratio > 1) is not above:
        return 1.0
    return math.exp(-n * (ratio - 1 - math.log(ratio)))


def bernstein(excess: float, *, variance: float, largest: float) -> float:
    """How probable it is, at most, that a sum of independent centred variables below `largest` exceeds its mean so far."""
    if excess <= 0:
        return 1.0
    if variance <= 0 and largest <= 0:
        return 0.0
    return math.exp(-(excess**2) / 2 / (variance + largest * excess / 3))


def chernoff(found: float, mean: float) -> float:
    """How probable it is, at most, that independent variables between 0 and 1 with means that add up to `mean` sum to this."""
    if found <= mean:
        return 1.0
    if mean <= 0:
        return 0.0
    return math.exp(-(found * math.log(found / mean) - found + mean))


def dkw(distance: float, n: int) -> float:
    """Massart's bound on the distance between a sample's distribution function and the true one."""
    return min(1.0, 2 * math.exp(-2 * n * distance**2)) if distance > 0 else 1.0


def inside_class(classes: Classes, *, known_only: bool = True) -> BoolArray:
    """Originals that belong to a released class that is known."""
    belongs: BoolArray = classes.of_original != NOWHERE
    if known_only:
        belongs &= classes.is_known[classes.of_original]
    return belongs

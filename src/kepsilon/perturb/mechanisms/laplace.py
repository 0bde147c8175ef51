# SPDX-License-Identifier: Apache-2.0
"""The mechanism `laplace`: its law, and exact noise, class by class. Its promise is worded in `policy.promises`.

In units of R_j/ε the noise of the d ε-quasis that are active in a class has the density ∝ exp(−max_j|z_j|): Laplace for
d = 1. A record's values are placed on a grid of 2^32 steps across the range of its class, integer noise moves them along the
grid, and the result is rounded to the declared precision. What leaves is a function of the noisy grid points and the
range alone, so two values of one class are told apart with a ratio of at most e^ε, exactly, not up to floating point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from kepsilon.perturb.mechanisms.grid import (
    finest_precision_ok,
    n_active_of,
    places_of,
    refuse_misfits,
    values_at,
)
from kepsilon.perturb.precision import PublicDomain, doubles, nearest_units, unit_limits
from kepsilon.perturb.sampler import record_noise
from kepsilon.randomness import ByteSource
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.steps import Steps

_CHUNK = 1 << 16
"""Records at a time, so that memory in flight does not grow with the table."""

_GRID_EXCESS = Fraction(1, 2**60)
"""Noise is drawn on a grid of 2³² steps. With several ε-quasis the sum over the grid is larger than the integral, by less
than this share of it."""

_FARTHEST = 1e16
"""Beyond so many ranges, doubles cannot tell the originals of a class apart."""

_NO_CHANCE = 750.0
"""e to minus this is 0 in doubles."""


@dataclass(frozen=True, slots=True)
class Laplace:
    """Noise of scale R/ε on every active ε-quasi, drawn for a record as one unit."""

    @property
    def exponential(self) -> Laplace:
        return self

    def coarse_enough(self, low: FloatArray, high: FloatArray, precision: Fraction) -> BoolArray:
        return finest_precision_ok(low, high, precision)

    def draw(
        self,
        values: FloatArray,
        class_ids: IntArray,
        low: FloatArray,
        high: FloatArray,
        *,
        epsilon: Fraction,
        steps: Sequence[Steps],
        source: ByteSource,
    ) -> FloatArray:
        return perturb(
            values,
            class_ids,
            low,
            high,
            epsilon=epsilon,
            precisions=[own.precision for own in steps],
            domains=[own.domain for own in steps],
            source=source,
        )

    def log_likelihoods(
        self,
        published: FloatArray,
        originals: FloatArray,
        low: FloatArray,
        high: FloatArray,
        *,
        epsilon: float,
        steps: Sequence[Steps],
    ) -> FloatArray:
        """−ε·max_j|x_j − v_j|/R_j: rounding and clamping are post-processing, which makes nobody surer."""
        del steps
        ranges = high - low
        distances = np.abs(published - originals)
        places = np.zeros(np.broadcast_shapes(distances.shape, ranges.shape))
        with np.errstate(over="ignore"):  # a range next to nothing
            np.divide(distances, ranges, out=places, where=ranges > 0)
        farthest: FloatArray = -epsilon * np.minimum(places.max(axis=-1, initial=0.0), _FARTHEST)
        return farthest

    def expected_distances(
        self,
        values: FloatArray,
        originals: FloatArray,
        low: FloatArray,
        high: FloatArray,
        *,
        epsilon: float,
        steps: Sequence[Steps],
    ) -> FloatArray:
        """E|clamp(w + Z_j) − v|, w being the value and v the original; what rounding adds shows in the realised errors."""
        ranges = high - low
        n_active = n_active_of(ranges)
        distances = np.empty(values.shape)
        for j, own in enumerate(steps):
            distances[:, j] = _clamped_distances(
                values[:, j], originals[:, j], ranges[:, j] / epsilon, n_active, domain=own.domain
            )
        return distances

    def reach(self, low: FloatArray, high: FloatArray, *, epsilon: float, confidence: float) -> FloatArray:
        """Paper Eq. (9) for d = 1. The noise of d attributes, in units of R_j/ε, has a largest coordinate that is the d-th
        arrival of a Poisson process, so the range is a gamma quantile, for all attributes at once."""
        ranges = high - low
        by_count = np.array([confidence_radius(d, confidence=confidence) for d in range(ranges.shape[1] + 1)])
        radii: FloatArray = by_count[n_active_of(ranges)] / epsilon
        reach: FloatArray = ranges * radii[:, np.newaxis]
        return reach

    def most_links(self, d: int, *, epsilon: Fraction) -> Fraction:
        """Σ_{j≤d} (ε/2)^j/j!. For a density ∝ exp(−ε‖x − v‖) in the largest norm, with all v in a cube of side 1, the sum over
        x is an integral over the distance from that cube. Attributes whose range is 0, or whose values are missing, have
        no noise to sum over: then d is smaller, and so is the sum."""
        integral = sum(((epsilon / 2) ** j / math.factorial(j) for j in range(d + 1)), Fraction(0))
        return integral if d == 1 else integral * (1 + _GRID_EXCESS)

    def most_noise(self, d: int, *, epsilon: Fraction) -> Fraction:
        return Fraction(d + 1, 2) / epsilon

    def expected_noise(self, ranges: FloatArray, *, epsilon: float) -> FloatArray:
        """E|Z_j| before rounding, (d + 1)/2 · R_j/ε, with d the attributes active in the class; shaped like `ranges`.

        For d = 1 it is the scale R/ε itself, as in the paper. NaN where the class has no value.
        """
        factors: FloatArray = (n_active_of(ranges) + 1) / (2 * epsilon)
        return ranges * factors[:, np.newaxis]

    def within(self, distances: FloatArray) -> FloatArray:
        inside: FloatArray = -np.expm1(-distances)
        return inside

    def below(self, places: FloatArray) -> FloatArray:
        tail = np.exp(-np.abs(places))
        tail /= 2
        return np.where(places < 0, tail, 1 - tail)

    def exceeding_factor(self, distances: FloatArray, *, d: int) -> FloatArray:
        """|Z_j| is uniform on [0, M] with M of a Gamma(d + 1) distribution, so the chance is Q_{d+1}(t) − (t/d)·Q_d(t) with
        Q_d(t) = e^(−t)·Σ_{i<d} t^i/i!, which is e^(−t)·Σ_{i<d} (1 − i/d)·t^i/i!; for d = 1 it is e^(−t), Laplace."""
        total = np.zeros_like(distances)
        for i in reversed(range(d)):  # Horner: what is multiplied by t at every turn gets its 1/i! on the way
            total = total * distances / (i + 1) + (1 - i / d)
        return total

    def unit_noise(self, active: BoolArray, rng: np.random.Generator) -> FloatArray:
        """A point of a cube whose radius is the sum of d + 1 exponential variables, d being the number of active attributes."""
        n, n_attributes = active.shape
        radii = np.cumsum(rng.standard_exponential((n, n_attributes + 1)), axis=1)
        radii = radii[np.arange(n), np.count_nonzero(active, axis=1)]
        noise: FloatArray = np.where(active, rng.uniform(-1, 1, (n, n_attributes)) * radii[:, np.newaxis], 0.0)
        return noise


LAPLACE = MECHANISM = Laplace()


@cache
def confidence_radius(d: int, *, confidence: float) -> float:
    """The r with P(max_j|Z_j| ≤ r) = c for noise of density ∝ exp(−max_j|z_j|) in d dimensions: a gamma quantile.

    For a whole d the distribution function is 1 − e^(−r)·Σ_{i<d} r^i/i!, found by bisection; −ln(1 − c) for d = 1.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence must lie between 0 and 1, and is {confidence}")
    if d == 0:
        return 0.0
    low, high = 0.0, 1.0
    while _beyond(high, d) > 1 - confidence:
        high *= 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _beyond(middle, d) > 1 - confidence else (low, middle)
    return high


def _beyond(r: float, d: int) -> float:
    """P(max_j|Z_j| > r) in d dimensions."""
    return math.exp(-r) * math.fsum(r**i / math.factorial(i) for i in range(d))


def _clamped_distances(
    values: FloatArray, originals: FloatArray, scales: FloatArray, n_active: IntArray, *, domain: PublicDomain | None
) -> FloatArray:
    """E|Y − v| by record for Y = w + Z clamped to [a, b]; `values` are w, `originals` are v, `scales` are R/ε.

    It is the integral of P(Y > y) over all y above v, plus that of P(Y < y) over all y below v. Between a and b these are
    the chances of w + Z, below and above they are 0 or 1. NaN stays NaN.
    """
    bottom, top = (-math.inf, math.inf) if domain is None else (float(domain[0]), float(domain[1]))

    def beyond(distances: FloatArray) -> FloatArray:
        """The integral of P(Z > z) over all z above each distance, which may be negative."""
        steps_of_scale = np.zeros(len(scales))
        with np.errstate(over="ignore"):
            np.divide(np.abs(distances), scales, out=steps_of_scale, where=scales > 0)
        return np.maximum(-distances, 0) + scales * _mean_excess(steps_of_scale, n_active)

    above, below = np.maximum(originals, bottom), np.minimum(originals, top)
    upwards = beyond(above - values) - beyond(np.maximum(top, above) - values)
    downwards = beyond(values - below) - beyond(values - np.minimum(bottom, below))
    return upwards + downwards + np.maximum(bottom - originals, 0) + np.maximum(originals - top, 0)


def _mean_excess(distances: FloatArray, n_active: IntArray) -> FloatArray:
    """The integral of P(Z_j > z) over all z above t ≥ 0, in units of R_j/ε: e^(−t)/4d · Σ_{i<d} (d − i)(d − i + 1)·t^i/i!.

    It is what is left of ∫P(|Z_j| > z)dz/2 with the chance of `Laplace.exceeding_factor`; (d + 1)/4 at t = 0, half of E|Z_j|.
    """
    near = np.minimum(distances, _NO_CHANCE)
    excess = np.zeros(len(near))
    for d in range(1, int(n_active.max(initial=0)) + 1):
        own = n_active == d
        t = near[own]
        total = np.zeros(len(t))
        for i in reversed(range(d)):  # Horner, as in `exceeding_factor`
            total = total * t / (i + 1) + (d - i) * (d - i + 1)
        excess[own] = np.exp(-t) * total / (4 * d)
    return excess


def perturb(
    values: FloatArray,
    class_ids: IntArray,
    lo: FloatArray,
    hi: FloatArray,
    *,
    epsilon: Fraction,
    precisions: Sequence[Fraction],
    domains: Sequence[PublicDomain | None],
    source: ByteSource,
) -> FloatArray:
    """What is published of the ε-quasis, shaped like `values`: each record is one unit and spends ε once.

    Algorithm 1, lines 6 and 7. `values` has shape (n_records, n_attributes), `lo` and `hi` (n_classes, n_attributes).
    An attribute is active in a class if its range there is positive; noise is drawn for the active ones together. Where
    the range is 0 the exact value is published; where it is NaN every value of the class has to be missing, and stays
    so. Every number that leaves is the double nearest to a multiple of its attribute's precision. A domain is public
    and clamps what is published; it never changes the noise.
    """
    refuse_misfits(values, class_ids, lo, hi, precisions=precisions, domains=domains)
    ranges = hi - lo
    active = ranges > 0
    n_active = None if active.all() else n_active_of(ranges)
    limits = [unit_limits(*pair) for pair in zip(precisions, domains, strict=True)]
    published = np.empty(values.shape)
    lows, widths = np.ascontiguousarray(lo.T), np.ascontiguousarray(ranges.T)  # one gather reads one attribute
    for start in range(0, len(values), _CHUNK):
        part = slice(start, start + _CHUNK)
        ids = class_ids[part]
        noise = _noise_of_classes(active, n_active, ids, epsilon=epsilon, source=source)
        for j, precision in enumerate(precisions):
            moved = _move(values[part, j], lows[j].take(ids), widths[j].take(ids), noise[:, j])
            units = nearest_units(moved, precision)
            np.clip(units, *limits[j], out=units)
            published[part, j] = doubles(units, precision)
    return published


def _noise_of_classes(
    active: BoolArray, n_active: IntArray | None, ids: IntArray, *, epsilon: Fraction, source: ByteSource
) -> NDArray[np.int64]:
    """Noise of every record for the attributes active in its class and 0 elsewhere, shape (n_records, n_attributes).

    `n_active` counts the active attributes of every class, or is None where all are active in all. Records are drawn
    together by that number: the noise does not depend on which attributes they are.
    """
    n_attributes = active.shape[1]
    if n_active is None:
        return record_noise(len(ids), n_attributes, epsilon=epsilon, source=source)
    noise = np.zeros((len(ids), n_attributes), dtype=np.int64)
    for d in range(1, n_attributes + 1):
        records = np.flatnonzero(n_active[ids] == d)
        spread = np.zeros((records.size, n_attributes), dtype=np.int64)
        spread[active[ids[records]]] = record_noise(records.size, d, epsilon=epsilon, source=source).reshape(-1)
        noise[records] = spread
    return noise


def _move(values: FloatArray, lo: FloatArray, ranges: FloatArray, noise: NDArray[np.int64]) -> FloatArray:
    """lo + (n + Z)·R/2^32 with n the value's place on the grid; all arguments by record.

    A range of 0 gives lo, which is the value of every record of such a class; a range of NaN gives NaN.
    """
    # The sum is formed in integers: in doubles it could round, and then depend on more than n + Z.
    return values_at(places_of(values, lo, ranges) + noise, lo, ranges)

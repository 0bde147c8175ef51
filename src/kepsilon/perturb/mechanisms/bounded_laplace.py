# SPDX-License-Identifier: Apache-2.0
"""The mechanism `bounded-laplace`: its law, and exact draws. Its promise is worded in `policy.promises`.

A published value has the density ∝ exp(−ε|x − v|/R) on the range [lo, hi] of its class and none outside, R = hi − lo. Because
the range is as wide as two values can be apart, the scale stays R/ε although the density is scaled up to be one
(`bounded_sampler` has the proof, on the grid). The d active ε-quasis of a record are drawn one by one, each with ε/d: in the
largest norm, in which `laplace` draws them together, a restricted density would tell values apart by more than e^ε.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import EllipsisType

import numpy as np

from kepsilon.perturb.bounded_sampler import bounded_points
from kepsilon.perturb.mechanisms.grid import (
    GRID,
    finest_precision_ok,
    n_active_of,
    places_of,
    refuse_misfits,
    values_at,
)
from kepsilon.perturb.precision import doubles, nearest_units, unit_limits
from kepsilon.randomness import ByteSource
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.steps import Steps

_CHUNK = 1 << 16
"""Records at a time, so that memory in flight does not grow with the table."""


@dataclass(frozen=True, slots=True)
class BoundedLaplace:
    """A value of the range, likelier the nearer it is to the true one; every active ε-quasi spends an equal part of ε."""

    @property
    def exponential(self) -> None:
        return None

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
        """Every number that leaves is the double nearest to a multiple of its attribute's precision.

        Where the range is 0 the exact value is published; where it is NaN every value of the class has to be missing, and
        stays so. A domain is public and clamps what is published.
        """
        precisions = [own.precision for own in steps]
        refuse_misfits(values, class_ids, low, high, precisions=precisions, domains=[own.domain for own in steps])
        n_active = n_active_of(high - low)
        published = np.empty(values.shape)
        for j, own in enumerate(steps):
            lowest, highest = unit_limits(own.precision, own.domain)
            lo, ranges = np.ascontiguousarray(low[:, j]), high[:, j] - low[:, j]
            shares = np.where(ranges > 0, n_active, 0)
            distinct = np.unique(shares).tolist()
            for start in range(0, len(values), _CHUNK):
                part = slice(start, start + _CHUNK)
                ids = class_ids[part]
                starts, widths = lo.take(ids), ranges.take(ids)
                places = places_of(values[part, j], starts, widths)
                for d in distinct:
                    chosen = slice(None) if len(distinct) == 1 else np.flatnonzero(shares[ids] == d)
                    if d:
                        places[chosen] = bounded_points(places[chosen], epsilon=epsilon / d, source=source)
                units = nearest_units(values_at(places, starts, widths), own.precision)
                published[part, j] = doubles(np.clip(units, lowest, highest), own.precision)
        return published

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
        """The mass of all values that are rounded and clamped to the published one, of the density of each original."""
        active = high > low
        n_active = np.count_nonzero(active, axis=-1)
        total = np.zeros(np.broadcast_shapes(published.shape, originals.shape, low.shape)[:-1])
        for j, own in enumerate(steps):
            at = np.nonzero(active[..., j])
            if not at[0].size:
                continue
            # Where all have noise nothing is picked out, and each array keeps its own shape.
            where: tuple[IntArray, ...] | EllipsisType = ... if active[..., j].all() else at
            lo, lengths = low[..., j][where], epsilon / n_active[where]
            per_unit = lengths / (high[..., j][where] - lo)
            begins, ends = _rounded_to(published[..., j][where], own)
            begins, ends, centres = ((x - lo) * per_unit for x in (begins, ends, originals[..., j][where]))
            total[where] += _log_masses(begins, ends, centres, lengths)
        return total

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
        """E|clamp(X) − v|, v being the original; what rounding adds shows in the realised errors."""
        n_active = n_active_of(high - low)
        distances = np.abs(values - originals)
        for j, own in enumerate(steps):
            bottom, top = (-np.inf, np.inf) if own.domain is None else (float(own.domain[0]), float(own.domain[1]))
            distances[:, j] = np.abs(np.clip(values[:, j], bottom, top) - originals[:, j])
            at = np.flatnonzero(high[:, j] > low[:, j])
            lo = low[at, j]
            per_unit = epsilon / n_active[at] / (high[at, j] - lo)
            # A range that is no more than a rounding error has units too small for doubles; nothing is moved there.
            with np.errstate(over="ignore", invalid="ignore"):
                ends = ((bottom - lo) * per_unit, (top - lo) * per_unit)
                places = ((values[at, j] - lo) * per_unit, (originals[at, j] - lo) * per_unit)
                found = _mean_distances(*places, epsilon / n_active[at], *ends) / per_unit
            distances[at, j] = np.where(np.isfinite(found), found, distances[at, j])
        return distances

    def reach(self, low: FloatArray, high: FloatArray, *, epsilon: float, confidence: float) -> FloatArray:
        """R·(d/ε)·−ln(1 − c^(1/d)·(1 − e^(−ε/d))) for all values, which is the range of a value at an end of [lo, hi].

        From there noise goes one way and farthest: with a value inside, the chance to be farther than r away is a mean
        of the chances of two shorter ranges. The d coordinates are independent, so that each has c^(1/d).
        """
        ranges = high - low
        d = np.maximum(n_active_of(ranges), 1)[:, np.newaxis]
        reach: FloatArray = -ranges * np.log1p(confidence ** (1 / d) * np.expm1(-epsilon / d)) * d / epsilon
        return reach

    def most_links(self, d: int, *, epsilon: Fraction) -> Fraction:
        """f(ε/d)^d, as each of d independent ε-quasis has f(ε/d) links, where f(x) = ∫dy/C(y) over a range of length x.

        A published y is likeliest from the original at y itself, where its density is 1/C(y), C(y) = 2 − e^(−y) − e^(y − x);
        see `_links_of_one`. On the grid, 1/C(y) is convex, so that the sum is at most the integral over a range that is
        half a step longer at both ends, times sinh(t/2)/(t/2) for steps of t = x/2^32: less than 2^−30 more.
        """
        links = max(_links_of_one(float(epsilon) / active) ** active for active in range(1, d + 1))
        return Fraction(links) * (1 + Fraction(d, 2**30))

    def most_noise(self, d: int, *, epsilon: Fraction) -> Fraction:
        """1/x − 1/(e^x − 1) for x = ε/d, that of a value at an end of its range, from where noise goes one way and farthest."""
        share = float(epsilon) / d
        return Fraction(1 / share - 1 / math.expm1(share))


MECHANISM = BOUNDED_LAPLACE = BoundedLaplace()


def _links_of_one(epsilon: float) -> float:
    """∫_0^ε dy/(2 − e^(−y) − e^(y − ε)), which is 2·artanh(s)/√(1 − e^(−ε)) with s² = tanh(ε/4).

    The denominator is 2 − 2A·cosh(y − ε/2), A = e^(−ε/2), and tanh of half of y − ε/2 makes the integrand rational.
    """
    s = math.sqrt(math.tanh(epsilon / 4))
    # artanh(s) is ln(1 + s) − ½·ln(1 − s²), and 1 − s² = 2A/(1 + A) is too near 0 to be had from s.
    artanh = math.log1p(s) + epsilon / 4 - math.log(2) / 2 + math.log1p(math.exp(-epsilon / 2)) / 2
    return 2 * artanh / math.sqrt(-math.expm1(-epsilon))


def _rounded_to(published: FloatArray, steps: Steps) -> tuple[FloatArray, FloatArray]:
    """Ends of the intervals of numbers that are rounded and clamped to each published value; infinite at a domain's ends."""
    half = float(steps.precision) / 2
    begins, ends = published - half, published + half
    if steps.domain is not None:
        bottom, top = (bound * float(steps.precision) for bound in unit_limits(steps.precision, steps.domain))
        begins = np.where(published <= bottom + half / 2, -np.inf, begins)
        ends = np.where(published >= top - half / 2, np.inf, ends)
    return begins, ends


def _log_masses(begins: FloatArray, ends: FloatArray, centres: FloatArray, lengths: FloatArray | float) -> FloatArray:
    """ln of the mass that the density ∝ exp(−|x − centre|) on 0 to `lengths` has between `begins` and `ends`.

    It is less ln(1 − e^(begins − ends)), which is the same for all centres. A point of the grid stands for the step about it,
    so that the density reaches half a step beyond 0 and `lengths`: where rounding puts an end of the range into an interval
    of its own, that interval holds a point, and its mass is not 0. An interval that no draw can lie in counts as the end
    nearest to it, for all centres alike.
    """
    half = lengths / (2 * GRID)
    begins = np.clip(begins, -half, lengths - half)
    ends = np.clip(ends, half, lengths + half)
    beside = np.maximum(begins - centres, centres - ends)
    inside = np.nonzero(beside < 0)
    begin, end, own = (np.broadcast_to(x, beside.shape)[inside] for x in (begins, ends, centres))
    masses: FloatArray = -np.maximum(beside, 0.0, out=beside)
    masses[inside] = np.log((np.expm1(begin - own) + np.expm1(own - end)) / np.expm1(begin - end))
    masses -= np.log(_whole_mass(centres, lengths))
    return masses


def _whole_mass(centres: FloatArray, lengths: FloatArray | float) -> FloatArray:
    """The integral of exp(−|x − centre|) over 0 to `lengths`."""
    whole: FloatArray = -np.expm1(-centres) - np.expm1(centres - lengths)
    return whole


def _mean_distances(
    centres: FloatArray, originals: FloatArray, lengths: FloatArray, bottom: FloatArray, top: FloatArray
) -> FloatArray:
    """E|Y − v| for Y = X clamped to [bottom, top] and X of density ∝ exp(−|x − centre|) on 0 to `lengths`.

    It is the integral of P(Y < y) over all y below v, plus that of P(Y > y) over all y above v. Y lies between the two ends
    of the range, clamped as well; there its distribution function is that of X.
    """

    def twice_integrated(x: FloatArray) -> FloatArray:
        """The integral of the integral of exp(−|x − centre|), both from 0, up to each x between 0 and `lengths`."""
        to_centre, beyond = np.minimum(x, centres), np.maximum(x - centres, 0.0)
        rising = np.exp(-centres) * (np.expm1(to_centre) - to_centre)
        falling: FloatArray = rising - beyond * np.expm1(-centres) + beyond + np.expm1(-beyond)
        return falling

    def inside(x: FloatArray) -> FloatArray:
        return np.clip(x, 0.0, lengths)

    # Where the domain lies beside the range, Y is one end of the domain for certain.
    first, last = np.clip(0.0, bottom, top), np.clip(lengths, bottom, top)
    near = np.clip(originals, first, last)
    whole = _whole_mass(centres, lengths)
    low, middle, high = (twice_integrated(inside(x)) for x in (first, near, last))
    spread = (middle - low) / whole + (last - near) - (high - middle) / whole
    return spread + np.abs(originals - near)

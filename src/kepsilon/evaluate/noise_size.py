# SPDX-License-Identifier: Apache-2.0
"""How large the claimed noise is: its expected size, and the range that holds it with a given confidence.

Noise of density ∝ exp(−ε·max_j|z_j|/R_j) over the d attributes that are active in a class: Laplace where d = 1. `ranges` is R,
shape (n_classes, n_epsilon_quasis), 0 where all records of a class agree and NaN where all are missing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np

from kepsilon.table.arrays import FloatArray, IntArray


def expected_noise(ranges: FloatArray, *, epsilon: float) -> FloatArray:
    """E|Z_j| before rounding, (d + 1)/2 · R_j/ε, with d the attributes active in the class; shaped like `ranges`.

    For d = 1 it is the scale R/ε itself, as in the paper. NaN where the class has no value.
    """
    factors: FloatArray = (n_active(ranges) + 1) / (2 * epsilon)
    return ranges * factors[:, np.newaxis]


def linking_ranges(
    ranges: FloatArray, *, epsilon: float, confidence: float, precisions: Sequence[Fraction]
) -> FloatArray:
    """r_c: how far a record's published values lie from its own with probability c, at most; shaped like `ranges`.

    Paper Eq. (9) for d = 1. The noise of d attributes, in units of R_j/ε, has a largest coordinate that is the d-th
    arrival of a Poisson process, so the range is a gamma quantile, for all attributes at once. Half a unit of the
    precision is added because rounding moves values too: without it 0.99 can be 0.93.
    """
    by_count = np.array([confidence_radius(d, confidence=confidence) for d in range(ranges.shape[1] + 1)])
    radii: FloatArray = by_count[n_active(ranges)] / epsilon
    half_units = np.array([float(precision / 2) for precision in precisions])
    reach: FloatArray = ranges * radii[:, np.newaxis] + half_units
    return reach


def n_active(ranges: FloatArray) -> IntArray:
    """How many attributes have noise in each class, shape (n_classes,)."""
    active: IntArray = np.count_nonzero(ranges > 0, axis=1)
    return active


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
    return math.exp(-r) * math.fsum(r**i / math.factorial(i) for i in range(d))

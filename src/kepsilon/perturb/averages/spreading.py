# SPDX-License-Identifier: Apache-2.0
"""Draws of records around the average of their group, so that variances and correlations are about right.

The draws are normal, with the mean products of distances W of all groups together: never distances of records themselves,
which are real values. They protect nobody, and nothing is promised of them.
"""

from __future__ import annotations

import math

import numpy as np

from kepsilon.randomness import ByteSource, uniform_uint64
from kepsilon.table.arrays import FloatArray


def normal_draws(n: int, within: FloatArray, *, source: ByteSource) -> FloatArray:
    """Normal draws with mean 0 and these mean products, shape (n, n_attributes)."""
    d = len(within)
    half = (d + 1) // 2
    uniform = (uniform_uint64(2 * n * half, source) >> np.uint64(11)).astype(np.float64).reshape(2, n, half)
    uniform += 0.5
    uniform *= 2.0**-53
    radii, angles = np.sqrt(-2 * np.log(uniform[0])), 2 * math.pi * uniform[1]
    standard = np.concatenate([radii * np.cos(angles), radii * np.sin(angles)], axis=1)[:, :d]
    return standard @ _root(within).T


def _root(within: FloatArray) -> FloatArray:
    """A matrix that, times its own transpose, is W; W may have no full rank."""
    values, vectors = np.linalg.eigh(within)
    root: FloatArray = vectors * np.sqrt(np.maximum(values, 0))
    return root


def folded_normal_mean(distances: FloatArray, deviation: float) -> FloatArray:
    """E|a + Z| for distances a ≥ 0 and normal Z of this standard deviation σ: σ√(2/π)·e^(−a²/2σ²) + a·erf(a/(σ√2))."""
    if not deviation > 0:
        return distances
    t = distances / (deviation * math.sqrt(2))
    mean: FloatArray = deviation * math.sqrt(2 / math.pi) * np.exp(-t * t) + distances * _erf(t)
    return mean


def _erf(t: FloatArray) -> FloatArray:
    """The error function for t ≥ 0; NaN stays NaN."""
    found: FloatArray = np.array([math.erf(own) for own in t.tolist()])
    return found

# SPDX-License-Identifier: Apache-2.0
"""Draws of records around the average of their group, so that variances and correlations are about right.

The draws are normal, with the mean products of distances W of all groups together: never distances of records themselves,
which are real values. They protect nobody, and nothing is promised of them.
"""

from __future__ import annotations

import math

import numpy as np

from kepsilon.perturb.precision import PublicDomain
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


def clamped_normal_distances(
    averages: FloatArray, originals: FloatArray, deviation: float, *, domain: PublicDomain | None
) -> FloatArray:
    """E|clamp(w + Z) − v| for averages w, originals v and normal Z of this standard deviation σ; all have shape (n,).

    Y = clamp(w + Z) is never outside the domain, so that E|Y − v| is the integral of P(Y < y) over y from the lower end to v,
    plus that of P(Y > y) from v to the upper end, plus how far v is outside. The integral of the normal distribution
    function Φ up to u is uΦ(u) + φ(u).
    """
    bottom, top = (-math.inf, math.inf) if domain is None else (float(domain[0]), float(domain[1]))
    near = np.clip(originals, bottom, top)
    if not deviation > 0:
        return np.abs(np.clip(averages, bottom, top) - originals)
    own = (near - averages) / deviation
    mean = _integral(own) + _integral(-own)
    if domain is not None:
        mean -= _integral((bottom - averages) / deviation) + _integral((averages - top) / deviation)
    return deviation * mean + np.abs(originals - near)


def _integral(u: FloatArray) -> FloatArray:
    """The integral of the normal distribution function up to each u; NaN stays NaN."""
    density = np.exp(-u * u / 2) / math.sqrt(2 * math.pi)
    below = np.array([math.erfc(own) for own in (-u / math.sqrt(2)).tolist()]) / 2
    integral: FloatArray = u * below + density
    return integral

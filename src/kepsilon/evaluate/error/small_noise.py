# SPDX-License-Identifier: Apache-2.0
"""Where noise is so small beside the precision that rounding takes it away, and values are published as they are."""

from __future__ import annotations

import numpy as np

from kepsilon.evaluate.noise_law import ExponentialLaw
from kepsilon.table.arrays import FloatArray, IntArray

OFTEN = 0.5
"""The probability from which on a class counts as one that often publishes values as they are."""


def unmoved(
    ranges: FloatArray, n_active: IntArray, *, epsilon: float, precision: float, law: ExponentialLaw
) -> FloatArray:
    """P(|Z| < precision/2) in every class: how often a multiple of the precision is published as it is.

    `ranges` are those of one ε-quasi and `n_active` counts the ε-quasis with noise, both of shape (n_classes,). For one
    ε-quasi it is 1 − exp(−ε·precision/2R). It is 0 where a class has no noise: such a class is constant, and counted apart.
    """
    chances = np.zeros(len(ranges))
    for d in np.unique(n_active[ranges > 0]).tolist():
        own = (ranges > 0) & (n_active == d)
        with np.errstate(over="ignore"):
            distances = np.minimum(epsilon * precision / 2 / ranges[own], _FAR)
        chances[own] = 1 - np.exp(-distances) * law.exceeding_factor(distances, d=d)
    return chances


_FAR = 700.0
"""Farther than this, in units of R/ε, noise never goes."""

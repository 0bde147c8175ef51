# SPDX-License-Identifier: Apache-2.0
"""The claimed law of `bounded-laplace`, stated a second time: the density ∝ e^(−|x − v|) on a range, and none outside it.

Everywhere numbers are in units of the scale R/ε, counted from the lower end of the range; `length` is that of the range, which
is ε, or a d-th of it where d ε-quasis share ε. The integral up to x is e^(x − v) − e^(−v) for x ≤ v, and for x ≥ v it is
1 − e^(−v) + 1 − e^(v − x).
"""

from __future__ import annotations

import math

import numpy as np

from kepsilon.table.arrays import FloatArray


def below(x: FloatArray, own: FloatArray, length: FloatArray) -> FloatArray:
    """Probability that what is drawn for the value `own` lies below x; arrays of one shape."""
    x = np.clip(x, 0.0, length)
    left, whole = _masses(own, length)
    up_to = np.where(x < own, np.exp(x - own) - np.exp(-own), left - np.expm1(own - np.maximum(x, own)))
    share: FloatArray = np.clip(up_to / whole, 0.0, 1.0)
    return share


def quantile(share: FloatArray, own: FloatArray, length: FloatArray) -> FloatArray:
    """The x that what is drawn lies below with probability `share`."""
    left, whole = _masses(own, length)
    mass = share * whole
    on_left = own + np.log(np.maximum(mass + np.exp(-own), 1e-300))
    on_right = own - np.log1p(-np.minimum(np.maximum(mass - left, 0.0), 1 - 1e-16))
    x: FloatArray = np.clip(np.where(mass <= left, on_left, on_right), 0.0, length)
    return x


def folded(x: FloatArray, own: FloatArray, length: FloatArray, coins: FloatArray) -> FloatArray:
    """A number that is uniform on 0 to 1 if x was drawn for `own`: ½ where x is at it, 0 and 1 farthest below and above.

    Twice its distance from the nearer end is P(farther away than x). Two points as far away on either side are equally
    likely. Where only one of them is inside the range the side tells nothing, and `coins`, uniform on 0 to 1, decide.
    """
    distance = np.abs(x - own)
    _, whole = _masses(own, length)
    beyond = sum(np.maximum(0.0, np.exp(-distance) - np.exp(-side)) for side in (own, length - own)) / whole
    tail = np.clip(beyond, 0.0, 1.0) / 2
    is_above = np.where(distance < np.minimum(own, length - own), x > own, coins < 0.5)
    uniform: FloatArray = np.where(is_above, 1 - tail, tail)
    return uniform


def reach(length: float, confidence: float) -> float:
    """The distance that a draw stays within, with probability `confidence`, from a value at an end, which is the worst one."""
    return -math.log(1 - confidence * -math.expm1(-length))


def largest_density(length: FloatArray) -> FloatArray:
    """The largest density that any value has anywhere, in units of one over the length: that of an end at itself."""
    density: FloatArray = length / -np.expm1(-length)
    return density


def most_links(epsilon: float, d: int) -> float:
    """The sum over all outputs of the largest probability that any value gives them, at most; d ε-quasis share ε.

    A point is likeliest from the value there, so that one ε-quasi has the integral of one over the whole mass, found by
    Simpson's rule. Fewer than d ε-quasis have noise where some are missing.
    """
    found = 1.0
    for active in range(1, d + 1):
        length = epsilon / active
        n_parts = 2 * max(1000, math.ceil(100 * length))
        x = np.linspace(0.0, length, n_parts + 1)
        weights = np.ones(n_parts + 1)
        weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
        _, whole = _masses(x, np.full(len(x), length))
        found = max(found, float((weights / whole).sum() * length / n_parts / 3) ** active)
    return found


def mean_distance_at_end(length: float) -> float:
    """E|x − v| for a value at an end of the range, which is the largest, in units of the range."""
    return (1 - length * math.exp(-length) / -math.expm1(-length)) / length


def _masses(own: FloatArray, length: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Integral of e^(−|x − own|) over the range below `own`, and over the whole range."""
    left: FloatArray = -np.expm1(-own)
    return left, left - np.expm1(own - length)

# SPDX-License-Identifier: Apache-2.0
"""A mechanism that the package does not have: randomised response on a grid, which may draw by another law than it claims."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from kepsilon.randomness import uniform_below, uniform_uint64


@dataclass(frozen=True)
class Toy:
    """Publishes the value with a chance e^ε times that of any other step of the range: randomised response on a grid."""

    factor: float = 1.0
    """It draws as if for this many times ε: anything but 1 is not what it claims."""
    knows_its_size: bool = False
    name: ClassVar[str] = "toy"
    range_kinds: ClassVar[tuple[str, ...]] = ("declared",)
    most_attributes: ClassVar[int] = 1
    nearest_is_likeliest: ClassVar[bool] = False
    exponential: ClassVar[None] = None

    def promise(self, name, attribute, policy):
        return f"{name}: any two values in {list(attribute.range)} are ε-indistinguishable (ε = {policy.epsilon})."

    def coarse_enough(self, low, high, precision):
        return np.ones(low.shape, dtype=np.bool_)

    def draw(self, values, class_ids, low, high, *, epsilon, steps, source):
        units, n_steps = self._units(values, low[class_ids], high[class_ids], steps)
        weight = math.exp(self.factor * float(epsilon))
        keeps = uniform_uint64(units.size, source).reshape(units.shape) * 2.0**-64 < weight / (weight + n_steps - 1)
        others = uniform_below(np.maximum(n_steps - 1, 1).astype(np.int64), source).astype(np.float64)
        drawn = np.where(keeps | (n_steps == 1), units, others + (others >= units))
        return np.round(np.where(np.isnan(values), np.nan, low[class_ids] + drawn * float(steps[0].precision)), 6)

    def log_likelihoods(self, published, originals, low, high, *, epsilon, steps):
        (x, _), (v, _) = (self._units(values, low, high, steps) for values in (published, originals))
        return np.where((x == v) & (high > low), epsilon, 0.0)[..., 0]

    def expected_distances(self, values, originals, low, high, *, epsilon, steps):
        if not self.knows_its_size:
            return None
        units, n_steps = self._units(values, low, high, steps)
        beyond = n_steps - 1 - units
        others = (units * (units + 1) + beyond * (beyond + 1)) / 2 / (math.exp(epsilon) + n_steps - 1)
        rounded = np.abs(low + units * float(steps[0].precision) - values)
        return np.where(others > 0, others * float(steps[0].precision), rounded)

    def reach(self, low, high, *, epsilon, confidence):
        """Whoever is not kept is spread evenly over the range, and an end of it is the worst place to be."""
        kept = math.exp(epsilon) / (math.exp(epsilon) + high - low)
        return np.maximum(0.0, (confidence - kept) / (1 - kept)) * (high - low)

    def most_links(self, d, *, epsilon):
        return Fraction(math.exp(epsilon))

    def most_noise(self, d, *, epsilon):
        return None

    def _units(self, values, low, high, steps):
        step = float(steps[0].precision)
        return np.rint((np.clip(values, low, high) - low) / step), np.rint((high - low) / step) + 1

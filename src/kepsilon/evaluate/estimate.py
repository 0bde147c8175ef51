# SPDX-License-Identifier: Apache-2.0
"""A figure that is exact, or was simulated and knows how far off it may be."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A sum over records; it adds up across partitions that were simulated with streams of their own."""

    total: float = 0.0
    variance: float = 0.0
    """Of the figure itself: 0 where it is exact."""

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(total=self.total + other.total, variance=self.variance + other.variance)

    def per(self, n: int) -> Estimate:
        """As a share of so many."""
        return Estimate(total=self.total / n, variance=self.variance / n**2)

    @property
    def standard_error(self) -> float:
        return math.sqrt(self.variance)

    @property
    def at_most(self) -> float:
        """What limits are held against: three standard errors more, where it was simulated."""
        return self.total + 3 * self.standard_error

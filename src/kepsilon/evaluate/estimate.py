# SPDX-License-Identifier: Apache-2.0
"""A figure with its variance: 0 where it is exact, more where it was simulated."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A sum over records, with its variance. Estimates add up if they were simulated with independent random streams."""

    total: float = 0.0
    variance: float = 0.0
    """Variance of the total: 0 where it is exact."""

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(total=self.total + other.total, variance=self.variance + other.variance)

    def per(self, n: float) -> Estimate:
        """The estimate divided by n."""
        return Estimate(total=self.total / n, variance=self.variance / n**2)

    @property
    def standard_error(self) -> float:
        return math.sqrt(self.variance)

    @property
    def at_most(self) -> float:
        """The total plus three standard errors: the figure that the curator's limits are compared with."""
        return self.total + 3 * self.standard_error

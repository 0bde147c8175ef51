# SPDX-License-Identifier: Apache-2.0
"""From what the policy says about an ε-quasi's range to the low and high end of every class.

The choice decides what is promised: `class` hides a value among those of its class from somebody who knows the class's
extremes, `coarse` hides the extremes too, and declared bounds do not depend on the data at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from kepsilon.perturb.precision import doubles, floor_units
from kepsilon.table.arrays import FloatArray


class Range(Protocol):
    """A rule that sets the range of one ε-quasi in every class."""

    def of_classes(self, low: FloatArray, high: FloatArray, *, precision: Fraction) -> tuple[FloatArray, FloatArray]:
        """The low and high end of every class, from the smallest and largest value of its records; all shape (n_classes,).

        A class without any value has NaN for both ends, before and after: it receives no noise and takes no share of ε.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassRange:
    """The range of the class's own records, as in the paper (§IV); 0 where they all agree."""

    def of_classes(self, low: FloatArray, high: FloatArray, *, precision: Fraction) -> tuple[FloatArray, FloatArray]:
        del precision
        return low, high


@dataclass(frozen=True, slots=True, kw_only=True)
class CoarseRange:
    """The range of the class's records, widened to multiples of a public step; never empty."""

    step: Fraction

    def __post_init__(self) -> None:
        if self.step <= 0:
            raise ValueError(f"the step of a coarse range must be positive, and is {self.step}")

    def of_classes(self, low: FloatArray, high: FloatArray, *, precision: Fraction) -> tuple[FloatArray, FloatArray]:
        """step·⌊low/step⌋ and step·(⌊high/step⌋ + 1), in whole units of the precision: floats floor 0.3/0.1 to 2."""
        units_per_step = self.step / precision
        if units_per_step.denominator != 1:
            raise ValueError(
                f"the step of a coarse range, {self.step}, must be a multiple of the precision, {precision}"
            )
        step = units_per_step.numerator
        # Whole doubles below 2^53 divide and floor without error.
        first = np.floor(floor_units(low, precision) / step)
        last = np.floor(floor_units(high, precision) / step)
        return doubles(first * step, precision), doubles((last + 1) * step, precision)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredRange:
    """Bounds the curator states, the same for every class and whatever the data; values outside are clipped."""

    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        if not float(self.low) < float(self.high):
            raise ValueError(f"a declared range must rise, and goes from {self.low} to {self.high}")

    def of_classes(self, low: FloatArray, high: FloatArray, *, precision: Fraction) -> tuple[FloatArray, FloatArray]:
        del high, precision
        missing = np.isnan(low)
        return np.where(missing, np.nan, float(self.low)), np.where(missing, np.nan, float(self.high))


def clip_to_range(values: FloatArray, lo: FloatArray | float, hi: FloatArray | float) -> tuple[FloatArray, int]:
    """Values moved into [lo, hi], and how many had to be; missing values stay missing and are not counted.

    `lo` and `hi` are numbers, or arrays that go with the values.
    """
    n_clipped = int(np.count_nonzero(values < lo)) + int(np.count_nonzero(values > hi))
    return np.clip(values, lo, hi), n_clipped

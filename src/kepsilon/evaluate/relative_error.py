# SPDX-License-Identifier: Apache-2.0
"""What noise cost: relative and range-relative error of one ε-quasi, expected before any draw and realised after it.

Paper §V-A. Departure: |v| as in the derivation of Eq. (6), not the signed mean as printed; v = 0 has no relative error,
so such records are left out and counted, and the error relative to the data's range, which is always defined, stands
beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSums:
    """Sums over records, and the ends of the data, from which every error is read; they add up across partitions."""

    n_values: int = 0
    """Records that hold a value."""
    n_zeros: int = 0
    """Records whose value is 0: they have no relative error."""
    expected_relative_sum: float = 0.0
    realised_relative_sum: float = 0.0
    expected_noise_sum: float = 0.0
    realised_noise_sum: float = 0.0
    low: float = math.inf
    high: float = -math.inf

    def __add__(self, other: ErrorSums) -> ErrorSums:
        return ErrorSums(
            n_values=self.n_values + other.n_values,
            n_zeros=self.n_zeros + other.n_zeros,
            expected_relative_sum=self.expected_relative_sum + other.expected_relative_sum,
            realised_relative_sum=self.realised_relative_sum + other.realised_relative_sum,
            expected_noise_sum=self.expected_noise_sum + other.expected_noise_sum,
            realised_noise_sum=self.realised_noise_sum + other.realised_noise_sum,
            low=min(self.low, other.low),
            high=max(self.high, other.high),
        )

    @property
    def expected_relative(self) -> float | None:
        """Paper Eq. (8); None where no record has a relative error."""
        return self._per_nonzero(self.expected_relative_sum)

    @property
    def realised_relative(self) -> float | None:
        return self._per_nonzero(self.realised_relative_sum)

    @property
    def expected_range_relative(self) -> float | None:
        """Mean of E|Z| over the range of the data; None where the data has no range."""
        return self._per_range(self.expected_noise_sum)

    @property
    def realised_range_relative(self) -> float | None:
        return self._per_range(self.realised_noise_sum)

    def _per_nonzero(self, total: float) -> float | None:
        n_defined = self.n_values - self.n_zeros
        # A value next to nothing makes the sum overflow: an error that is no number is not a figure.
        return total / n_defined if n_defined and not math.isinf(total) else None

    def _per_range(self, total: float) -> float | None:
        return total / self.n_values / (self.high - self.low) if self.high > self.low else None


def error_sums(
    values: FloatArray, class_ids: IntArray, *, expected_noise: FloatArray, published: FloatArray | None = None
) -> ErrorSums:
    """The errors of one ε-quasi over whole classes, expected and, where something was published, realised.

    `expected_noise` is E|Z| per class, shape (n_classes,); for Laplace that is the scale R/ε. Written per record, which
    is the same sum as the paper's over classes and harmonic means: a record's share is its class's E|Z| over |v|. The
    closed form is of noise alone; rounding, clamping and clipping show in what is realised. Missing values are left out.
    """
    present = ~np.isnan(values)
    if not present.all():
        values, class_ids = values[present], class_ids[present]
        published = None if published is None else published[present]
    if not values.size:
        return ErrorSums()
    sizes = np.abs(values)
    has_error = sizes > 0
    all_defined = bool(has_error.all())
    noise = expected_noise[class_ids]
    realised = None if published is None else np.abs(published - values)

    def relative_sum(distances: FloatArray) -> float:
        chosen = slice(None) if all_defined else has_error
        with np.errstate(over="ignore"):  # an infinite sum is told apart where it is read
            return float(np.sum(distances[chosen] / sizes[chosen]))

    return ErrorSums(
        n_values=values.size,
        n_zeros=0 if all_defined else int(values.size - np.count_nonzero(has_error)),
        expected_relative_sum=relative_sum(noise),
        realised_relative_sum=math.nan if realised is None else relative_sum(realised),
        expected_noise_sum=float(np.sum(noise)),
        realised_noise_sum=math.nan if realised is None else float(np.sum(realised)),
        low=float(values.min()),
        high=float(values.max()),
    )


def epsilon_for_error(target: float, *, error: float, epsilon: float) -> float:
    """The ε whose expected error is `target`, given the error at one ε: for Laplace their product is constant.

    Paper §V-A: Eq. (8) solved for ε. It holds for relative and range-relative error, and for any number of ε-quasis.
    """
    if not target > 0 or not math.isfinite(target):
        raise ValueError(f"a target error must be a number above 0, and is {target}")
    if not error > 0:
        raise ValueError("without noise there is no error to solve for: every class is constant")
    return error * epsilon / target


def uniform_equivalent(error: float) -> float:
    """The u for which uniform noise of ±u of the value costs the same: an error of x is what uniform ±2x would cost."""
    return 2 * error

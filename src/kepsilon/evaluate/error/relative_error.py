# SPDX-License-Identifier: Apache-2.0
"""Errors of one ε-quasi, relative to its values and in its own units, expected before noise is drawn and realised after.

Paper §V-A. Departure D10: |v| as in the derivation of Eq. (6), not the signed mean as printed; v = 0 has no relative error,
so such records are left out and counted. The error relative to the data's range, which is always defined, is given too.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from kepsilon.evaluate.error.value_cells import ValueCells
from kepsilon.table.arrays import FloatArray, IntArray

_PART = 1 << 15
"""Records at a time, so that arrays stay small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSums:
    """Sums over records, and the smallest and largest value, from which errors follow; those of different batches are added."""

    n_values: int = 0
    """Records that hold a value."""
    n_zeros: int = 0
    """Records whose value is 0: they have no relative error."""
    relative_sum: float = 0.0
    """Sum of |published − v|/|v|."""
    largest_relative: float = 0.0
    """The largest term of that sum."""
    distance_sum: float = 0.0
    """Sum of |published − v|."""
    low: float = math.inf
    """Smallest and largest value; (inf, −inf) where there is none."""
    high: float = -math.inf
    relative_errors: ValueCells = field(default_factory=ValueCells)
    """The terms of `relative_sum` in cells, where they were asked for: their median hardly depends on values near 0."""

    def __add__(self, other: ErrorSums) -> ErrorSums:
        return ErrorSums(
            n_values=self.n_values + other.n_values,
            n_zeros=self.n_zeros + other.n_zeros,
            relative_sum=self.relative_sum + other.relative_sum,
            largest_relative=max(self.largest_relative, other.largest_relative),
            distance_sum=self.distance_sum + other.distance_sum,
            low=min(self.low, other.low),
            high=max(self.high, other.high),
            relative_errors=self.relative_errors + other.relative_errors,
        )

    def over(self, epsilon: float) -> ErrorSums:
        """The sums at ε, if these are sums for exponential noise at ε = 1: error times ε is constant."""
        return dataclasses.replace(
            self,
            relative_sum=self.relative_sum / epsilon,
            largest_relative=self.largest_relative / epsilon,
            distance_sum=self.distance_sum / epsilon,
            relative_errors=self.relative_errors.over(epsilon),
        )

    def with_relative_errors(
        self, values: FloatArray, distances: FloatArray, *, counts: IntArray | None = None, epsilon: float = 1.0
    ) -> ErrorSums:
        """These sums with the relative errors of all records in cells.

        `values` (NaN where missing) and `distances` have shape (n_rows,); `counts` says how many records each row stands
        for. Cells are told apart by error times ε, which for noise alone is the same at every ε: so those that were found
        at ε = 1 and divided by it, and those that were found at ε, add up.
        """
        sizes = np.abs(values)
        defined = sizes > 0
        with np.errstate(over="ignore"):
            relative = epsilon * (distances[defined] / sizes[defined])
        cells = ValueCells.of(relative, None if counts is None else counts[defined])
        return dataclasses.replace(self, relative_errors=cells.over(epsilon))

    @property
    def relative(self) -> float | None:
        """Mean of distance over |v|, Paper Eq. (8); None where no record has a relative error."""
        n_defined = self.n_values - self.n_zeros
        # A value next to nothing makes the sum overflow: an error that is no number is not a figure.
        return self.relative_sum / n_defined if n_defined and not math.isinf(self.relative_sum) else None

    @property
    def mean_distance(self) -> float | None:
        """Mean distance, in the units of the attribute; None where no record holds a value, or the sum overflows."""
        return self.distance_sum / self.n_values if self.n_values and math.isfinite(self.distance_sum) else None

    @property
    def largest_share(self) -> float | None:
        """The share of the relative error that is due to a single record, at most; None where there is no relative error."""
        return self.largest_relative / self.relative_sum if self.relative_sum and self.relative is not None else None

    def relative_of(self, k: int) -> float | None:
        """`relative`, or None where it is a mean of fewer than k records: the error of a single record gives its value away."""
        return self.relative if self.n_values - self.n_zeros >= k else None

    def median_relative_of(self, k: int) -> float | None:
        """The median over records of the relative error, or None where fewer than k records have one."""
        return self.relative_errors.median if self.n_values - self.n_zeros >= k else None

    @property
    def range_relative(self) -> float | None:
        """Mean distance over the range of the data; None where the data has no range."""
        return self.relative_to(self.low, self.high)

    def relative_to(self, low: float, high: float) -> float | None:
        """Mean distance over the range from `low` to `high`; None where that is empty or no record holds a value.

        Over a range that is next to nothing the quotient overflows: an error that is no number is not a figure.
        """
        if not self.n_values or not high > low:
            return None
        share = self.distance_sum / self.n_values / (high - low)
        return share if math.isfinite(share) else None


def expected_errors(values: FloatArray, class_ids: IntArray, *, expected_noise: FloatArray) -> ErrorSums:
    """The expected error of one ε-quasi; `values` (NaN where missing) and `class_ids` have shape (n_records,).

    `expected_noise` is E|Z| of the noise Z of each class, shape (n_classes,): for Laplace R/ε, R being the class's range.

    Written per record, which is the same sum as the paper's over classes and harmonic means: a record's share is its
    class's E|Z| over |v|. This is for noise alone; `expected_errors.ExpectedErrors` is for values that are clamped to a domain.
    """
    parts = _parts(len(values))
    return sum((_error_sums(values[p], expected_noise[class_ids[p]]) for p in parts), start=ErrorSums())


def errors_of_counts(values: FloatArray, counts: IntArray, *, distances: FloatArray) -> ErrorSums:
    """Errors of distinct values, from their mean distances to what is published and how many records hold each."""
    present = ~np.isnan(values)
    values, counts, distances = values[present], counts[present], distances[present]
    sizes = np.abs(values)
    defined = sizes > 0
    with np.errstate(over="ignore"):
        relative_sum = float(np.sum(counts[defined] * (distances[defined] / sizes[defined])))
    return dataclasses.replace(
        _error_sums(values, distances),
        n_values=int(counts.sum()),
        n_zeros=int(counts[~defined].sum()),
        relative_sum=relative_sum,
        distance_sum=float(np.sum(counts * distances)),
    )


def errors_of(values: FloatArray, distances: FloatArray) -> ErrorSums:
    """Errors of records, from the distances, realised or expected, of published to true values."""
    parts = _parts(len(values))
    return sum((_error_sums(values[p], distances[p]) for p in parts), start=ErrorSums())


def realised_errors(values: FloatArray, published: FloatArray) -> ErrorSums:
    """Errors of published values."""
    parts = _parts(len(values))
    return sum((_error_sums(values[p], np.abs(published[p] - values[p])) for p in parts), start=ErrorSums())


def _parts(n_records: int) -> Iterator[slice]:
    """Slices that together hold all records."""
    return (slice(start, start + _PART) for start in range(0, n_records, _PART))


def _error_sums(values: FloatArray, distances: FloatArray) -> ErrorSums:
    """Errors of records from their distances; missing values are left out."""
    present = ~np.isnan(values)
    if not present.all():
        values, distances = values[present], distances[present]
    if not values.size:
        return ErrorSums()
    sizes = np.abs(values)
    has_error = sizes > 0
    all_defined = bool(has_error.all())
    chosen = slice(None) if all_defined else has_error
    with np.errstate(over="ignore"):  # `relative` is None for an infinite sum
        relative = distances[chosen] / sizes[chosen]
        relative_sum = float(np.sum(relative))
    return ErrorSums(
        n_values=values.size,
        n_zeros=0 if all_defined else int(values.size - np.count_nonzero(has_error)),
        relative_sum=relative_sum,
        largest_relative=float(relative.max(initial=0.0)),
        distance_sum=float(np.sum(distances)),
        low=float(values.min()),
        high=float(values.max()),
    )


def epsilon_for_error(target: float, *, error: float, epsilon: float) -> float:
    """The ε whose expected error is `target`, given the error at one ε: for exponential noise their product is constant.

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

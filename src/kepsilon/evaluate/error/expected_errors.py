# SPDX-License-Identifier: Apache-2.0
"""The expected errors of exponential noise at any ε, also where what is published is clamped to a domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.error.relative_error import ErrorSums, errors_of, errors_of_counts, expected_errors
from kepsilon.evaluate.noise_law import ExponentialLaw, NoiseLaw
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.steps import Steps

_PART = 1 << 15
"""Rows at a time, so that arrays stay small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyRows:
    """The values of some classes: one row for each record, or one for all records of a class that hold the same value."""

    values: FloatArray
    """The values that get noise, shape (n_rows, n_attributes); NaN where missing."""
    originals: FloatArray
    """The values before clipping, which errors are relative to, shaped like `values`."""
    class_ids: IntArray
    """The class of each row, shape (n_rows,)."""
    counts: IntArray | None = None
    """How many records each row stands for, shape (n_rows,); None where it is one."""

    def of(self, part: slice) -> NoisyRows:
        """Some of the rows."""
        return NoisyRows(
            values=self.values[part],
            originals=self.originals[part],
            class_ids=self.class_ids[part],
            counts=None if self.counts is None else self.counts[part],
        )

    def is_clipped(self, attribute: int) -> bool:
        """Whether some values of an ε-quasi were clipped; a missing value was not."""
        if self.values is self.originals:
            return False
        before, after = self.originals[:, attribute], self.values[:, attribute]
        return bool(np.any((after < before) | (after > before)))

    def errors(self, attribute: int, distances: FloatArray, *, epsilon: float) -> ErrorSums:
        """The errors of one ε-quasi, from the distance of every row, expected at this ε."""
        values = self.originals[:, attribute]
        found = (
            errors_of(values, distances)
            if self.counts is None
            else errors_of_counts(values, self.counts, distances=distances)
        )
        return found.with_relative_errors(values, distances, counts=self.counts, epsilon=epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedErrors:
    """The expected error of every ε-quasi, at any ε.

    Error times ε is constant for noise alone. It is not where noisy values are clamped to a domain, nor where originals
    were clipped: then every row is gone through for each ε.
    """

    unit: tuple[ErrorSums | None, ...]
    """Expected errors at ε = 1, by ε-quasi; None for an ε-quasi whose rows have to be gone through."""
    rows: NoisyRows
    mechanism: NoiseLaw
    low: FloatArray
    """Lower ends of the ranges that set the noise, shape (n_classes, n_attributes)."""
    high: FloatArray
    """Upper ends of the ranges, shaped like `low`."""
    steps: Sequence[Steps]

    def at(self, epsilon: float) -> tuple[ErrorSums, ...]:
        """The expected error of every ε-quasi at one ε."""
        found = [ErrorSums() if own is None else own.over(epsilon) for own in self.unit]
        apart = [j for j, own in enumerate(self.unit) if own is None]
        for start in range(0, len(self.rows.class_ids) if apart else 0, _PART):
            rows = self.rows.of(slice(start, start + _PART))
            distances = self.mechanism.expected_distances(
                rows.values,
                rows.originals,
                self.low[rows.class_ids],
                self.high[rows.class_ids],
                epsilon=epsilon,
                steps=self.steps,
            )
            if distances is None:
                raise ValueError("exponential noise has to know how far it moves values")
            for j in apart:
                found[j] += rows.errors(j, distances[:, j], epsilon=epsilon)
        return tuple(found)


def expect_errors(
    rows: NoisyRows,
    *,
    mechanism: NoiseLaw,
    law: ExponentialLaw,
    low: FloatArray,
    high: FloatArray,
    steps: Sequence[Steps],
) -> ExpectedErrors:
    """The expected errors of some classes; `low` and `high` have shape (n_classes, n_attributes)."""
    noise = law.expected_noise(high - low, epsilon=1.0)
    unit = tuple(
        None if own.domain is not None or rows.is_clipped(j) else _unit_errors(rows, j, noise[:, j])
        for j, own in enumerate(steps)
    )
    return ExpectedErrors(unit=unit, rows=rows, mechanism=mechanism, low=low, high=high, steps=steps)


def _unit_errors(rows: NoisyRows, attribute: int, noise: FloatArray) -> ErrorSums:
    """Expected errors of one ε-quasi at ε = 1; `noise` is E|Z| at ε = 1 of each class, shape (n_classes,)."""
    distances = noise[rows.class_ids]
    if rows.counts is not None:
        return rows.errors(attribute, distances, epsilon=1.0)
    values = rows.originals[:, attribute]
    return expected_errors(values, rows.class_ids, expected_noise=noise).with_relative_errors(values, distances)

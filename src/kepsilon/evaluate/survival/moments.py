# SPDX-License-Identifier: Apache-2.0
"""Means, squares and products of pairs of columns; those of different records are added.

Sums are about the means of the records summed so far (Chan, Golub and LeVeque 1983), never about 0: for values that are
large beside their spread, the difference of two large sums would have no digits left.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import BoolArray, FloatArray

_PART = 1 << 15
"""Records at a time, so that arrays stay small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairMoments:
    """Moments of every pair of a column x and a column y, over the records that hold both; all have the shape (n_x, n_y)."""

    n: FloatArray
    """Records that hold both values; not whole where records stand for others that were not measured."""
    mean_x: FloatArray
    mean_y: FloatArray
    square_x: FloatArray
    """Sum of squared distances of x from its mean."""
    square_y: FloatArray
    product: FloatArray
    """Sum of products of the distances of x and y from their means."""

    @classmethod
    def none(cls, n_x: int, n_y: int) -> PairMoments:
        """The moments of no records."""
        return cls(**{field.name: np.zeros((n_x, n_y)) for field in dataclasses.fields(cls)})

    def __add__(self, other: PairMoments) -> PairMoments:
        n = self.n + other.n
        share = other.n / np.maximum(n, 1e-300)  # 0/0 where neither has a record is 0
        between = self.n * share
        with np.errstate(over="ignore", invalid="ignore"):
            x, y = other.mean_x - self.mean_x, other.mean_y - self.mean_y
            return PairMoments(
                n=n,
                mean_x=self.mean_x + x * share,
                mean_y=self.mean_y + y * share,
                square_x=self.square_x + other.square_x + x * x * between,
                square_y=self.square_y + other.square_y + y * y * between,
                product=self.product + other.product + x * y * between,
            )

    def times(self, factor: float) -> PairMoments:
        """The moments if each record stood for `factor` records like it."""
        return PairMoments(
            n=self.n * factor,
            mean_x=self.mean_x,
            mean_y=self.mean_y,
            square_x=self.square_x * factor,
            square_y=self.square_y * factor,
            product=self.product * factor,
        )

    def pair(self, i: int, j: int) -> Pair:
        """The figures of the i-th column x and the j-th column y."""
        return Pair(
            n=float(self.n[i, j]),
            mean=float(self.mean_x[i, j]),
            square_x=float(self.square_x[i, j]),
            square_y=float(self.square_y[i, j]),
            product=float(self.product[i, j]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Statistics of two columns, x and y, over the records that hold both; None where one is undefined."""

    n: float
    mean: float
    """Of x."""
    square_x: float
    square_y: float
    product: float

    @property
    def mean_of_x(self) -> float | None:
        return _finite(self.mean) if self.n > 0 else None

    @property
    def spread_of_x(self) -> float | None:
        """The standard deviation of x, with n − 1."""
        return _finite(math.sqrt(self.square_x / (self.n - 1))) if self.n > 1 and self.square_x >= 0 else None

    @property
    def correlation(self) -> float | None:
        """None where x or y does not vary."""
        of_both = math.sqrt(self.square_x) * math.sqrt(self.square_y) if self._varies else 0.0
        found = _finite(self.product / of_both) if of_both > 0 else None
        return None if found is None else max(-1.0, min(1.0, found))

    @property
    def slope(self) -> float | None:
        """The slope of y on x by least squares; None where x or y does not vary."""
        return _finite(self.product / self.square_x) if self._varies else None

    @property
    def standard_error_of_slope(self) -> float:
        """By how much the slope would vary between samples of as many records; 0 where that is undefined."""
        correlation = self.correlation
        if correlation is None or self.n <= 2:
            return 0.0
        rest = (1 - correlation**2) * (self.square_y / self.square_x) / (self.n - 2)
        return _finite(math.sqrt(max(0.0, rest))) or 0.0

    @property
    def _varies(self) -> bool:
        return self.n > 1 and 0 < self.square_x < math.inf and 0 < self.square_y < math.inf


def moments_of(x: FloatArray, y: FloatArray | None = None, *, chosen: BoolArray | None = None) -> PairMoments:
    """The moments of columns x (n_records, n_x) and y (n_records, n_y), NaN where missing; y is x where it is not given.

    `chosen` says which records are meant, shape (n_records,); None where all are.
    """
    found = PairMoments.none(x.shape[1], x.shape[1] if y is None else y.shape[1])
    for first in range(0, len(x), _PART):
        rows = slice(first, first + _PART)
        own_x = x[rows]
        own_y = own_x if y is None else y[rows]
        if chosen is not None and not chosen[rows].all():
            own_x = own_x[chosen[rows]]
            own_y = own_x if y is None else own_y[chosen[rows]]
        found += _of_part(own_x, own_y)
    return found


def _of_part(x: FloatArray, y: FloatArray) -> PairMoments:
    """The moments of a few records."""
    holds_x = ~np.isnan(x)
    holds_y = holds_x if y is x else ~np.isnan(y)
    if holds_x.all() and holds_y.all():
        return _of_present(x, y)
    found = PairMoments.none(x.shape[1], y.shape[1])
    for i, j in np.ndindex(x.shape[1], y.shape[1]):
        both = holds_x[:, i] & holds_y[:, j]
        own = _of_present(x[both, i : i + 1], y[both, j : j + 1])
        for field in dataclasses.fields(PairMoments):
            getattr(found, field.name)[i, j] = getattr(own, field.name)[0, 0]
    return found


def _of_present(x: FloatArray, y: FloatArray) -> PairMoments:
    """The moments of a few records without a missing value."""
    found = PairMoments.none(x.shape[1], y.shape[1])
    if not len(x):
        return found
    with np.errstate(over="ignore", invalid="ignore"):  # a figure that is no number is not shown
        mean_x, distance_x = _centred(x)
        mean_y, distance_y = (mean_x, distance_x) if y is x else _centred(y)
        # Not `@`: of a few columns, that takes ten times as long.
        product = np.einsum("ij,ik->jk", distance_x, distance_y)
        square_x = np.diagonal(product) if y is x else np.einsum("ij,ij->j", distance_x, distance_x)
        square_y = square_x if y is x else np.einsum("ij,ij->j", distance_y, distance_y)
        return PairMoments(
            n=found.n + len(x),
            mean_x=found.n + mean_x[:, np.newaxis],
            mean_y=found.n + mean_y,
            square_x=found.n + square_x[:, np.newaxis],
            square_y=found.n + square_y,
            product=product,
        )


def _centred(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The mean of each column, and distances from it: exactly 0 in a column whose values agree, however a mean is rounded."""
    from_first = values - values[0]
    more = np.mean(from_first, axis=0)
    return values[0] + more, from_first - more


def _finite(figure: float) -> float | None:
    """The figure, or None if it is infinite or no number."""
    return figure if math.isfinite(figure) else None

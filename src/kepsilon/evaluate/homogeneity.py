# SPDX-License-Identifier: Apache-2.0
"""How many records are in classes whose records agree on a sensitive value, beside what chance would give.

Whoever knows the class of a person then knows the value, whatever k is. A value that most records hold fills some
classes by chance alone; so the share that chance would give, with the same class sizes and the same frequencies of
values, stands beside each figure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kepsilon.json_values import JsonValue
from kepsilon.rounding import percent
from kepsilon.table.arrays import FloatArray, IntArray

NEARLY = 0.9
"""A class nearly agrees on a value if at least this share of its records hold it."""

_MOST_FREQUENT = 1_000
"""Values that are looked at for what chance gives, the most frequent ones; the rest have at most this share each."""
_SMALL, _RARE = 50, 0.3
"""In classes of more than _SMALL records, a value rarer than _RARE reaches 90 % with a chance below 1e-15."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Homogeneity(JsonValue):
    """Shares of the records with a value of one sensitive column, by how far their class agrees on it."""

    one_value: float
    """Share of the records in classes all of whose records hold one value."""
    one_value_by_chance: float
    """The same, if values were dealt out to the classes at random."""
    nearly_one_value: float
    """Share of the records in classes in which at least nine tenths hold one value."""
    nearly_one_value_by_chance: float
    measured_on: str | None = None
    """Which records the figures were found on, in words; None where on all."""

    @property
    def is_notable(self) -> bool:
        """Whether classes agree on values far more than chance would let them."""
        return self.one_value >= 0.01 and self.one_value > 2 * self.one_value_by_chance

    def in_words(self, name: str, *, of: str = "class") -> str:
        """The figures in a sentence without its full stop, about an attacker who knows the class of a person.

        `of` is what the figures are about: classes, or groups that are averaged.
        """
        return (
            f"whoever knows the {of} of a person knows {name} too for {percent(self.one_value)} of the records "
            f"({percent(self.one_value_by_chance)} by chance), and with at least nine tenths certainty for "
            f"{percent(self.nearly_one_value)} ({percent(self.nearly_one_value_by_chance)} by chance)"
        )


def homogeneity(class_ids: IntArray, codes: IntArray, *, measured_on: str | None = None) -> Homogeneity:
    """How far classes agree on the values of a column; both arguments have shape (n_records,), and −1 means missing.

    Records without a value are left out: a class is as large as the number of its records that have one.
    """
    has_value = codes >= 0
    class_ids, codes = class_ids[has_value], codes[has_value]
    n = len(codes)
    if not n:
        return Homogeneity(
            one_value=0.0,
            one_value_by_chance=0.0,
            nearly_one_value=0.0,
            nearly_one_value_by_chance=0.0,
            measured_on=measured_on,
        )
    n_values = int(codes.max()) + 1
    sizes = np.bincount(class_ids)
    pairs, counts = np.unique(class_ids * np.int64(n_values) + codes, return_counts=True)
    most: IntArray = np.zeros(len(sizes), dtype=np.int64)
    np.maximum.at(most, pairs // n_values, counts)
    held = np.bincount(codes)
    shares = np.sort(held[held > 0] / n)[::-1][:_MOST_FREQUENT]
    occurring, n_classes = np.unique(sizes[sizes > 0], return_counts=True)
    records: IntArray = occurring * n_classes
    return Homogeneity(
        one_value=float(sizes[most == sizes].sum()) / n,
        one_value_by_chance=float(np.dot(records, [_all_one(shares, m) for m in occurring.tolist()])) / n,
        nearly_one_value=float(sizes[most >= _enough(sizes)].sum()) / n,
        nearly_one_value_by_chance=float(np.dot(records, [_nearly_one(shares, m) for m in occurring.tolist()])) / n,
        measured_on=measured_on,
    )


def _enough(sizes: IntArray) -> IntArray:
    """The smallest whole number that is at least nine tenths of each size, exactly."""
    found: IntArray = -(-9 * sizes // 10)
    return found


def _all_one(shares: FloatArray, m: int) -> float:
    """The chance that m records hold one value: Σ p^m."""
    return float(np.sum(shares**m))


def _nearly_one(shares: FloatArray, m: int) -> float:
    """The chance that one value has at least nine tenths of m records: no two values can, so binomial tails add up."""
    least = int(_enough(np.array([m]))[0])
    if m > _SMALL:
        shares = shares[shares >= _RARE]
    certain = float(np.count_nonzero(shares >= 1))
    p = shares[shares < 1]
    hits = np.arange(least, m + 1)
    ways = np.array([math.lgamma(m + 1) - math.lgamma(j + 1) - math.lgamma(m - j + 1) for j in hits.tolist()])
    exponents = ways + hits * np.log(p)[:, np.newaxis] + (m - hits) * np.log1p(-p)[:, np.newaxis]
    return certain + float(np.exp(exponents).sum())

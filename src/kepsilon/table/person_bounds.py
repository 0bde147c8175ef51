# SPDX-License-Identifier: Apache-2.0
"""Which classes have k distinct persons, counted only where two bounds do not tell.

Numbers of distinct persons do not add up, but bounds of them do. A class has no more persons than pairs of a combination
and a person. And if each of a person's n combinations carries 1/n of the person, a class has no fewer persons than its
combinations carry. Only where k lies between the bounds are persons counted, and then only those with several
combinations, because nobody else can be counted twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

SHARES = 5040
"""Shares that a person is divided into. 1 to 10 combinations carry a whole number of shares each; more carry too few
together, which leaves the bound a bound."""


class PersonBounds:
    """What the combinations of a table add to the bounds of a class."""

    def __init__(self, *, single: IntArray, combinations: IntArray, persons: IntArray) -> None:
        """The parameters are the fields of `PersonCounts`."""
        n_combinations = len(single)
        if (combinations[1:] < combinations[:-1]).any():
            order = np.argsort(combinations, kind="stable")
            combinations, persons = combinations[order], persons[order]
        self.persons = persons
        """Person of each pair, combination by combination, shape (n_pairs,)."""
        self.n_pairs: IntArray = np.bincount(combinations, minlength=n_combinations)
        """Pairs of each combination, shape (n_combinations,)."""
        self.first_pair: IntArray = np.cumsum(self.n_pairs) - self.n_pairs
        """Position of the first pair of each combination, shape (n_combinations,)."""
        n_of_person = np.bincount(persons, minlength=1)
        self.n_several = len(n_of_person)
        """A number above all of `persons`."""
        # Sums are exact below 2**53. `bincount` adds up doubles, and these need not be converted for every node.
        self.most: FloatArray = np.asarray(single + self.n_pairs, dtype=np.float64)
        """Persons of each combination, shape (n_combinations,)."""
        carried = (SHARES // np.maximum(n_of_person, 1)).astype(np.float64).take(persons)
        several = np.bincount(combinations, weights=carried, minlength=n_combinations)
        self.shares: FloatArray = np.asarray(SHARES * single + several, dtype=np.float64)
        """Shares of persons that each combination carries, shape (n_combinations,)."""

    def of_classes(self, class_of: IntArray, *, n_classes: int) -> ClassBounds:
        """The bounds of classes, from the class of every combination, none of which is SUPPRESSED; a class may be empty."""
        return ClassBounds(
            most=sums_of(self.most, class_of, n_classes=n_classes),
            shares=sums_of(self.shares, class_of, n_classes=n_classes),
        )

    def have(self, ks: Sequence[int], bounds: ClassBounds, class_of: IntArray) -> dict[int, BoolArray]:
        """By k: whether each class has k persons, shape (n_classes,); `bounds` are those of the classes in `class_of`."""
        surely = {k: surely_have(k, bounds.shares) for k in ks}
        is_open = np.zeros(len(bounds.most), dtype=np.bool_)
        for k in ks:
            is_open |= (bounds.most >= k) & ~surely[k]
        n_persons = bounds.most - self._counted_again(is_open, class_of)
        return {k: surely[k] | (is_open & (n_persons >= k)) for k in ks}

    def _counted_again(self, is_open: BoolArray, class_of: IntArray) -> IntArray:
        """How many pairs of each open class are of a person whom another pair of the class counted, shape (n_classes,)."""
        rows = np.flatnonzero(is_open[class_of] & (self.n_pairs > 0))
        n_pairs = self.n_pairs[rows]
        before = np.cumsum(n_pairs) - n_pairs
        pairs = np.arange(int(n_pairs.sum())) + np.repeat(self.first_pair[rows] - before, n_pairs)
        # A class and a person in one number: there are fewer than 2**62 pairs of them in every table that fits memory.
        keys = np.repeat(class_of[rows].astype(np.int64) * self.n_several, n_pairs) + self.persons[pairs]
        keys.sort()
        again = keys[1:][keys[1:] == keys[:-1]]
        return np.bincount(again // self.n_several, minlength=len(is_open))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassBounds:
    """Bounds of the number of persons in each of some classes."""

    most: FloatArray
    """Pairs of a combination and a person in each class, shape (n_classes,): no class has more persons."""
    shares: FloatArray
    """Shares of persons that each class carries, shape (n_classes,)."""


def surely_have(k: int, shares: FloatArray) -> BoolArray:
    """Classes that have k persons by the lower bound: they carry more than k − 1, and persons are whole."""
    return shares > (k - 1) * SHARES


def sums_of(statistic: FloatArray, class_of: IntArray, *, n_classes: int) -> FloatArray:
    """Sum of a statistic over each class, shape (n_classes,)."""
    return np.asarray(np.bincount(class_of, weights=statistic, minlength=n_classes), dtype=np.float64)

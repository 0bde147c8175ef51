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
from kepsilon.table.persons import PersonCounts

SHARES = 5040
"""Shares that a person is divided into. 1 to 10 combinations carry a whole number of shares each; more carry too few
together, which leaves the bound a bound."""


class PersonBounds:
    """What the combinations of a table add to the bounds of a class."""

    def __init__(self, persons: PersonCounts) -> None:
        n_combinations = len(persons.single)
        combinations, numbers = persons.combinations, persons.persons
        if (np.diff(combinations) < 0).any():
            order = np.argsort(combinations, kind="stable")
            combinations, numbers = combinations[order], numbers[order]
        self.persons: IntArray = numbers
        """Person of each pair, combination by combination, shape (n_pairs,)."""
        self.n_pairs: IntArray = np.bincount(combinations, minlength=n_combinations)
        """Pairs of each combination, shape (n_combinations,)."""
        self.n_several = max(1, persons.n_several)
        # Sums are exact below 2**53. `bincount` adds up doubles, and these need not be converted for every node.
        self.most: FloatArray = (persons.single + self.n_pairs).astype(np.float64)
        """Persons of each combination, shape (n_combinations,)."""
        carried = SHARES // np.bincount(numbers, minlength=1)[numbers]
        several = np.bincount(combinations, weights=carried, minlength=n_combinations)
        self.shares: FloatArray = SHARES * persons.single + several
        """Shares of persons that each combination carries, shape (n_combinations,)."""

    def of_classes(self, class_of: IntArray, *, n_classes: int) -> ClassBounds:
        """The bounds of classes, from the class of every combination; each has one."""
        return ClassBounds(
            of_table=self,
            class_of=class_of,
            most=np.bincount(class_of, weights=self.most, minlength=n_classes),
            shares=np.bincount(class_of, weights=self.shares, minlength=n_classes),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassBounds:
    """Bounds of the number of persons in each of some classes; a class may be empty."""

    of_table: PersonBounds
    class_of: IntArray
    """Class of every combination, shape (n_combinations,)."""
    most: FloatArray
    """Pairs of a combination and a person in each class, shape (n_classes,): no class has more persons."""
    shares: FloatArray
    """Shares of persons that each class carries, shape (n_classes,)."""

    def surely_have(self, k: int) -> BoolArray:
        """Classes that have k persons by the lower bound: they carry more than k − 1, and persons are whole."""
        return self.shares > (k - 1) * SHARES

    def may_have(self, k: int) -> BoolArray:
        """Classes that have k persons if none of them was counted twice; the others have fewer."""
        return self.most >= k

    def have(self, ks: Sequence[int]) -> dict[int, BoolArray]:
        """By k: whether each class has k persons, shape (n_classes,)."""
        surely = {k: self.surely_have(k) for k in ks}
        is_open = np.zeros(len(self.most), dtype=np.bool_)
        for k in ks:
            is_open |= self.may_have(k) & ~surely[k]
        n_persons = self.most - self._counted_again(is_open)
        return {k: surely[k] | (is_open & (n_persons >= k)) for k in ks}

    def _counted_again(self, is_open: BoolArray) -> IntArray:
        """How many pairs of each open class are of a person whom another pair of the class counted, shape (n_classes,)."""
        of_table = self.of_table
        rows = np.flatnonzero(is_open[self.class_of] & (of_table.n_pairs > 0))
        n_pairs = of_table.n_pairs[rows]
        first = (np.cumsum(of_table.n_pairs) - of_table.n_pairs)[rows]
        ends = np.cumsum(n_pairs)
        pairs = np.arange(int(n_pairs.sum())) + np.repeat(first - (ends - n_pairs), n_pairs)
        keys = np.repeat(self.class_of[rows].astype(np.int64) * of_table.n_several, n_pairs) + of_table.persons[pairs]
        keys.sort()
        again = keys[1:][keys[1:] == keys[:-1]]
        return np.bincount(again // of_table.n_several, minlength=len(is_open))

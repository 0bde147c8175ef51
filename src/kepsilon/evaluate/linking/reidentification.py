# SPDX-License-Identifier: Apache-2.0
"""Standard re-identification risks from the k-quasis alone: prosecutor, journalist and marketer, as in ARX.

A prosecutor knows that the person is in the release, a journalist only that they are in the original table, and a marketer
wants as many links as possible. They differ where records of a class were suppressed for confidence: the class then has
fewer records in the release than in the original table.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kepsilon.evaluate.released_persons import LargestShare, ReleasedPersons
from kepsilon.json_values import JsonValue, left_out_if_none
from kepsilon.table.arrays import IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Smallest:
    """The size of the smallest class, and how many released records are in classes of that size."""

    size: int
    n_records: int

    def __add__(self, other: Smallest) -> Smallest:
        """The smallest class of both, with the records of both where the sizes are equal."""
        if self.size == other.size:
            return Smallest(size=self.size, n_records=self.n_records + other.n_records)
        return min(self, other, key=lambda smallest: smallest.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSizes:
    """Sizes of released classes as sums and extremes; those of different batches are added."""

    n_records: int = 0
    n_classes: int = 0
    largest: int = 0
    smallest: Smallest | None = None
    """By the size that classes have in the release."""
    smallest_original: Smallest | None = None
    """By the size that classes have in the original table."""
    shares_sum: float = 0.0
    """Released over original size, summed over classes."""

    def __add__(self, other: ClassSizes) -> ClassSizes:
        return ClassSizes(
            n_records=self.n_records + other.n_records,
            n_classes=self.n_classes + other.n_classes,
            largest=max(self.largest, other.largest),
            smallest=_smaller(self.smallest, other.smallest),
            smallest_original=_smaller(self.smallest_original, other.smallest_original),
            shares_sum=self.shares_sum + other.shares_sum,
        )


def class_sizes(released: IntArray, original: IntArray) -> ClassSizes:
    """Sizes of released classes, from their released and original records, (n_classes,) each.

    A class without any released record does not count.
    """
    has_records = released > 0
    released, original = released[has_records], original[has_records]
    if not released.size:
        return ClassSizes()
    return ClassSizes(
        n_records=int(released.sum()),
        n_classes=len(released),
        largest=int(released.max()),
        smallest=_smallest(released, released),
        smallest_original=_smallest(original, released),
        shares_sum=float(np.sum(released / original)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChanceOfFinding(JsonValue):
    """The chance that an attacker finds a person by guessing within a class."""

    highest: float
    average: float
    share_at_highest: float
    """The share of released records that have the highest chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reidentification(JsonValue):
    """Risks from 0 to 1, per released record; None for those that cannot be known without all originals."""

    prosecutor: ChanceOfFinding
    journalist: ChanceOfFinding | None = field(metadata=left_out_if_none())
    marketer: float | None = field(metadata=left_out_if_none())


def reidentification(sizes: ClassSizes, persons: ReleasedPersons | None = None) -> Reidentification:
    """The risks from the three standard attackers; with `persons`, who name in each class the person with most records."""
    if sizes.smallest is None or sizes.smallest_original is None:
        raise ValueError("there is no record whose risk could be stated")
    if persons is not None:
        marketer = persons.original_sum / sizes.n_records
        return Reidentification(
            prosecutor=_chance_of_person(persons.largest, persons.n_most / sizes.n_records, sizes.n_records),
            journalist=_chance_of_person(persons.largest_original, marketer, sizes.n_records),
            marketer=marketer,
        )
    marketer = sizes.shares_sum / sizes.n_records
    return Reidentification(
        prosecutor=_chance(sizes.smallest, average=sizes.n_classes / sizes.n_records, n_records=sizes.n_records),
        journalist=_chance(sizes.smallest_original, average=marketer, n_records=sizes.n_records),
        marketer=marketer,
    )


def _chance(smallest: Smallest, *, average: float, n_records: int) -> ChanceOfFinding:
    """The chance of an attacker whose best guess is in the smallest class."""
    return ChanceOfFinding(highest=1 / smallest.size, average=average, share_at_highest=smallest.n_records / n_records)


def _chance_of_person(largest: LargestShare, average: float, n_records: int) -> ChanceOfFinding:
    """The chance of an attacker whose best guess is in the class of which one person has the largest share."""
    return ChanceOfFinding(highest=largest.share, average=average, share_at_highest=largest.n_records / n_records)


def _smallest(sizes: IntArray, released: IntArray) -> Smallest:
    """The smallest of some sizes, and the released records of classes that have it."""
    size = int(sizes.min())
    return Smallest(size=size, n_records=int(released[sizes == size].sum()))


def _smaller(one: Smallest | None, other: Smallest | None) -> Smallest | None:
    """The sum of both; the other where one is None."""
    return other if one is None else one if other is None else one + other

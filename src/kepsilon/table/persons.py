# SPDX-License-Identifier: Apache-2.0
"""How many distinct persons the combinations of a frequency table are about.

Numbers of distinct persons do not add up: a person with records in two combinations is one person of their union. But
persons all of whose records have one combination do add up, as records do, and most persons are like that. So only the
others are listed, one pair of combination and person after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kepsilon.table.arrays import IntArray
from kepsilon.table.keys import LARGEST_KEY, distinct
from kepsilon.table.person_bounds import PersonBounds


@dataclass(frozen=True, kw_only=True)
class PersonCounts:
    """The persons of a frequency table."""

    single: IntArray
    """Persons all of whose records have the combination, by combination, shape (n_combinations,)."""
    combinations: IntArray
    """Rows of the table, shape (n_pairs,): with `persons`, each pair of a combination and a person who has it among others."""
    persons: IntArray
    """Numbers from 0 of the persons with several combinations, shape (n_pairs,)."""
    most_records: int
    """The largest number of records that one person has."""
    n_records: int
    """Records of the table."""

    @property
    def n_several(self) -> int:
        """Persons with several combinations."""
        return int(self.persons.max(initial=-1)) + 1

    @property
    def n_persons(self) -> int:
        """Distinct persons of the table."""
        return int(self.single.sum()) + self.n_several

    @cached_property
    def bounds(self) -> PersonBounds:
        """What tells which classes have k persons; made once, because every search asks several times."""
        return PersonBounds(single=self.single, combinations=self.combinations, persons=self.persons)

    def in_classes(self, class_of: IntArray, *, n_classes: int) -> IntArray:
        """Distinct persons of each class, shape (n_classes,), from the class of every combination, or SUPPRESSED (−1)."""
        of_single = np.bincount(class_of + 1, weights=self.single, minlength=n_classes + 1)[1:].astype(np.int64)
        return of_single + persons_in_classes(class_of[self.combinations], self.persons, n_classes=n_classes)


def joined(parts: Sequence[PersonCounts], *, n_combinations: int) -> PersonCounts:
    """The persons of several parts of a table; nobody may be in two of them."""
    starts = np.cumsum([0, *(own.n_several for own in parts)]).tolist()
    none: list[IntArray] = [np.zeros(0, dtype=np.int64)]
    return PersonCounts(
        single=sum((own.single for own in parts), np.zeros(n_combinations, dtype=np.int64)),
        combinations=np.concatenate([*none, *(own.combinations for own in parts)]),
        persons=np.concatenate([*none, *(own.persons + first for own, first in zip(parts, starts[:-1], strict=True))]),
        most_records=max((own.most_records for own in parts), default=0),
        n_records=sum(own.n_records for own in parts),
    )


def regrouped(counts: PersonCounts, row_of: IntArray, *, n_rows: int) -> PersonCounts:
    """The persons of a table whose rows each stand for some combinations; `row_of` is the row of every combination.

    A person whose combinations are all in one row has a single one there.
    """
    several = count_persons(row_of[counts.combinations], counts.persons, n_combinations=n_rows)
    occurring = np.flatnonzero(counts.single)
    single = np.bincount(row_of[occurring], weights=counts.single[occurring], minlength=n_rows)
    return replace(
        counts,
        single=single.astype(np.int64) + several.single,
        combinations=several.combinations,
        persons=several.persons,
    )


def count_persons(
    combinations: IntArray, persons: IntArray, *, n_combinations: int, counts: IntArray | None = None
) -> PersonCounts:
    """The persons of a table, from the combination and the person of every record; both have shape (n_records,).

    Two records are about one person if their entries of `persons` are equal; which numbers these are does not matter. With
    `counts`, each entry stands for so many records.
    """
    numbers, person = np.unique(persons, return_inverse=True)
    n_of_person = np.bincount(person, weights=counts, minlength=len(numbers)).astype(np.int64)
    pairs = distinct(combinations * np.int64(max(1, len(numbers))) + person)
    pair_combination, pair_person = np.divmod(pairs, max(1, len(numbers)))
    has_several = np.bincount(pair_person, minlength=len(numbers)) > 1
    is_several = has_several[pair_person]
    number = np.cumsum(has_several) - 1
    return PersonCounts(
        single=np.bincount(pair_combination[~is_several], minlength=n_combinations),
        combinations=pair_combination[is_several],
        persons=number[pair_person[is_several]],
        most_records=int(n_of_person.max(initial=0)),
        n_records=int(n_of_person.sum()),
    )


def persons_in_classes(class_ids: IntArray, persons: IntArray, *, n_classes: int) -> IntArray:
    """Distinct persons of each class, shape (n_classes,), from the class and the person of every record.

    Both have one shape; records of the class SUPPRESSED (−1) are in none. `persons` may be any numbers: two records are
    about one person if theirs are equal.
    """
    is_counted = class_ids >= 0
    if not is_counted.all():
        class_ids, persons = class_ids[is_counted], persons[is_counted]
    if len(persons) and (persons.min() < 0 or int(persons.max()) >= LARGEST_KEY // max(1, n_classes)):
        persons = np.unique(persons, return_inverse=True)[1]
    n_persons = int(persons.max(initial=-1)) + 1
    pairs = distinct(class_ids.astype(np.int64) * n_persons + persons)
    return np.bincount(pairs // max(1, n_persons), minlength=n_classes)

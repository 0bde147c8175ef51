# SPDX-License-Identifier: Apache-2.0
"""Whom the records of a partition are about: how many persons there are, and how few share a class."""

from __future__ import annotations

from kepsilon.count import Counted
from kepsilon.predict.prediction import Persons, RecordsPerPerson
from kepsilon.table.classes import Recoding


def persons_of(recoding: Recoding, counted: Counted) -> Persons | None:
    """The persons of the counted records, and of the class that has fewest; None where the policy names no persons."""
    found = counted.table.persons
    if found is None:
        return None
    by_class = found.in_classes(recoding.class_of, n_classes=recoding.n_classes)
    return Persons(
        count=found.n_persons,
        fewest_in_a_class=int(by_class.min(initial=found.n_persons)),
        records_per_person=RecordsPerPerson(
            mean=round(counted.n_staying / max(1, found.n_persons), 2), largest=found.most_records
        ),
    )

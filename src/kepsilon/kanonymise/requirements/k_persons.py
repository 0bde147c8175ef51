# SPDX-License-Identifier: Apache-2.0
"""k-anonymity of persons: every class has records of at least k persons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kepsilon.kanonymise.requirements.protocol import lacking
from kepsilon.policy.policy import Policy
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.class_members import ClassMembers
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.persons import persons_in_classes


@dataclass(frozen=True, slots=True, kw_only=True)
class KPersons:
    """A class has records of at least k distinct persons; asked for by a policy that names the column `person`.

    A union of classes has no fewer persons than each of them, even if all its persons are in both.
    """

    name: ClassVar[str] = "k persons"
    is_monotone_under_suppression: ClassVar[bool] = True
    holds_for_unions: ClassVar[bool] = True
    remedy: ClassVar[str] = "choose a smaller k"

    k: int

    @classmethod
    def asked_by(cls, policy: Policy, *, k: int) -> tuple[KPersons, ...]:
        return () if policy.person is None else (cls(k=k),)

    @property
    def claim(self) -> str:
        return f"{self.k} persons in every class"

    @property
    def unmet(self) -> str:
        return f"classes of fewer than {self.k} persons"

    def bound_to(self, table: FrequencyTable) -> KPersons:  # noqa: ARG002 -- a number of persons needs no reference
        return self

    def met_by(self, table: FrequencyTable, class_of: IntArray, *, n_classes: int) -> BoolArray:
        if table.persons is None:
            raise lacking("persons")
        shifted = class_of + 1  # because SUPPRESSED is −1
        bounds = table.persons.bounds.of_classes(shifted, n_classes=n_classes + 1)
        return table.persons.bounds.have([self.k], bounds, shifted)[self.k][1:]

    def met_by_records(self, members: ClassMembers) -> BoolArray:
        if members.persons is None:
            raise lacking("persons")
        found = persons_in_classes(members.class_ids, members.persons, n_classes=members.n_classes)
        return found >= self.k

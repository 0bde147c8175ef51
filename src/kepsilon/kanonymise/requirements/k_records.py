# SPDX-License-Identifier: Apache-2.0
"""k-anonymity itself: every class has at least k records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kepsilon.kanonymise.requirements.protocol import class_sums
from kepsilon.policy.policy import Policy
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.class_members import ClassMembers
from kepsilon.table.frequency import FrequencyTable


@dataclass(frozen=True, slots=True, kw_only=True)
class KRecords:
    """A class has at least k records; every policy asks for it. A union of classes has no fewer records than each."""

    name: ClassVar[str] = "k records"
    is_monotone_under_suppression: ClassVar[bool] = True
    holds_for_unions: ClassVar[bool] = True
    remedy: ClassVar[str] = "choose a smaller k"

    k: int

    @classmethod
    def asked_by(cls, policy: Policy, *, k: int) -> tuple[KRecords, ...]:  # noqa: ARG003 -- every policy asks for it
        return (cls(k=k),)

    @property
    def claim(self) -> str:
        return f"k = {self.k}"

    @property
    def unmet(self) -> str:
        return f"classes below {self.k}"

    def bound_to(self, table: FrequencyTable) -> KRecords:  # noqa: ARG002 -- a number of records needs no reference
        return self

    def met_by(self, table: FrequencyTable, class_of: IntArray, *, n_classes: int) -> BoolArray:
        return class_sums(table.counts, class_of, n_classes=n_classes) >= self.k

    def met_by_records(self, members: ClassMembers) -> BoolArray:
        return np.bincount(members.class_ids + 1, minlength=members.n_classes + 1)[1:] >= self.k

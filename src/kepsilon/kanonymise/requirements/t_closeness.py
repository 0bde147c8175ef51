# SPDX-License-Identifier: Apache-2.0
"""t-closeness: the values of a sensitive column are distributed in every class nearly as they are in all records."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import ClassVar

from kepsilon.kanonymise.requirements.protocol import lacking
from kepsilon.kanonymise.requirements.sensitive_values import asked_of, counted, of_records, of_table
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction, written
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.class_members import ClassMembers
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.value_distances import Reference, reference_of


@dataclass(frozen=True, slots=True, kw_only=True)
class TCloseness:
    """The earth mover's distance between the values of a class and those of all counted records is at most t.

    Li, Li and Venkatasubramanian 2007. The distance is convex: that of a union is no larger than the larger one of two
    classes. But a class that fails pulls one that meets it away. Records without a value are not looked at, and a class
    without any value tells nothing, so it meets every t.
    """

    name: ClassVar[str] = "t-closeness"
    is_monotone_under_suppression: ClassVar[bool] = False
    holds_for_unions: ClassVar[bool] = True

    column: str
    t: float
    reference: Reference | None = field(default=None, compare=False)
    """The values of all counted records, before any was left out; None until it is bound to a table."""

    @classmethod
    def asked_by(cls, policy: Policy, *, k: int) -> tuple[TCloseness, ...]:  # noqa: ARG003 -- it does not depend on k
        return tuple(
            cls(column=column, t=attribute.t_closeness)
            for column, attribute in asked_of(policy)
            if attribute.t_closeness is not None
        )

    @property
    def claim(self) -> str:
        return f't-closeness {written(self.t)} of "{self.column}"'

    @property
    def unmet(self) -> str:
        return f'classes whose values of "{self.column}" are further than {written(self.t)} from those of all records'

    @property
    def remedy(self) -> str:
        return f'allow a larger t_closeness of "{self.column}"'

    def bound_to(self, table: FrequencyTable) -> TCloseness:
        """This requirement with the values of the table's records to compare with."""
        return dataclasses.replace(self, reference=reference_of(counted(self.column, table)))

    def met_by(self, table: FrequencyTable, class_of: IntArray, *, n_classes: int) -> BoolArray:
        reference = reference_of(counted(self.column, table))
        return reference.are_within(of_table(self.column, table, class_of, n_classes=n_classes), fraction(self.t))

    def met_by_records(self, members: ClassMembers) -> BoolArray:
        if self.reference is None:
            raise lacking(f"values of “{self.column}” in all records")
        return self.reference.are_within(of_records(self.column, members), fraction(self.t))

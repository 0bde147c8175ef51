# SPDX-License-Identifier: Apache-2.0
"""What all requirements on sensitive columns share: where they are asked for, and the values that they look at."""

from __future__ import annotations

from collections.abc import Iterator

from kepsilon.kanonymise.requirements.protocol import lacking
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import Kept
from kepsilon.table.arrays import IntArray
from kepsilon.table.class_members import ClassMembers
from kepsilon.table.class_values import ClassValues, values_in_classes, values_of_table
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.sensitive import SensitiveCounts


def asked_of(policy: Policy) -> Iterator[tuple[str, Kept]]:
    """The sensitive columns that the policy asks something of, with their settings."""
    for column in policy.diverse:
        attribute = policy.attributes[column]
        if isinstance(attribute, Kept):
            yield column, attribute


def counted(column: str, table: FrequencyTable) -> SensitiveCounts:
    """The counted values of a column of the table."""
    if column not in table.sensitive:
        raise lacking(f"values of “{column}”")
    return table.sensitive[column]


def of_table(column: str, table: FrequencyTable, class_of: IntArray, *, n_classes: int) -> ClassValues:
    """The values of a column in each class, from the class of every combination, as `Requirement.met_by` gets it."""
    return values_of_table(counted(column, table), class_of, n_classes=n_classes)


def of_records(column: str, members: ClassMembers) -> ClassValues:
    """The values of a column in each class, from the records."""
    if column not in members.sensitive:
        raise lacking(f"values of “{column}”")
    codes = members.sensitive[column]
    n_values = int(codes.max(initial=-1)) + 1
    return values_in_classes(members.class_ids, codes, n_classes=members.n_classes, n_values=n_values)

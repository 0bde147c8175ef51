# SPDX-License-Identifier: Apache-2.0
"""The records of some classes, with what requirements look at in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kepsilon.table.arrays import IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassMembers:
    """Records that are in classes now, perhaps after some of those that the frequency table counted were left out."""

    class_ids: IntArray
    """Class of every record, or SUPPRESSED (−1), shape (n_records,)."""
    n_classes: int
    persons: IntArray | None = None
    """Number of the person of every record, shape (n_records,): any numbers, equal for records of one person."""
    sensitive: Mapping[str, IntArray] = field(default_factory=dict)
    """By column, the code of the value of every record, or MISSING (−1), shape (n_records,); the codes are the table's."""

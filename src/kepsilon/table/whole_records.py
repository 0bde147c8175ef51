# SPDX-License-Identifier: Apache-2.0
"""Whole records: all columns of the records of some classes, to see what kept columns tell about the quasis.

An engine hands them over as `WholeRecords`; once a partition is known they are `RecordsInClasses`. They hold values of
records and never leave the machine: only figures made from them do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kepsilon.table.arrays import FloatArray, IntArray

MISSING = -1
"""The code of a missing value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeColumn:
    """One column of some whole records: which of its values are equal, and what they are as numbers and as text."""

    codes: IntArray
    """Rank of each value among the distinct values of the column, or MISSING, shape (n_records,); equal values share a code."""
    numbers: FloatArray | None
    """The value of each code as a number, shape (n_distinct,), days since 1970 for dates; None for a column of texts.
    Text that is all numbers, as in a CSV file, is numbers."""
    texts: tuple[str, ...]
    """The value of each code as text; empty for a column that is not text."""
    is_date: bool = False
    """Whether the values are dates or moments, as such or as text."""

    @property
    def n_distinct(self) -> int:
        """Distinct values, missing ones left out."""
        return int(self.codes.max(initial=MISSING)) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRecords:
    """Records with every column, as an engine hands them over, in an order that does not depend on the engine."""

    combinations: IntArray
    """Row of the frequency table of each record, shape (n_records,)."""
    values: FloatArray
    """ε-quasis as they are in the data, NaN where missing, shape (n_records, n_epsilon_quasis)."""
    kept: Mapping[str, WholeColumn]
    identifiers: Mapping[str, WholeColumn]
    rows: IntArray | None
    """Position of each record in the input, counted from 0; None where the input has no order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsInClasses:
    """All records of some classes, with the true values of their quasis and all kept columns."""

    class_ids: IntArray
    """Class of each record, 0 … n_classes − 1, shape (n_records,)."""
    k_quasis: Mapping[str, WholeColumn]
    """True values, before they were generalised."""
    epsilon_quasis: Mapping[str, WholeColumn]
    """True values, before noise; always numbers."""
    kept: Mapping[str, WholeColumn]
    identifiers: Mapping[str, WholeColumn]
    rows: IntArray | None
    """As in `WholeRecords`."""

    @property
    def n_classes(self) -> int:
        return int(self.class_ids.max(initial=-1)) + 1

# SPDX-License-Identifier: Apache-2.0
"""Whole records: all columns of the records of some classes, to see what kept columns tell about the quasis.

An engine hands them over as `WholeRecords`; once a partition is known they are `RecordsInClasses`. They hold values of
records and never leave the machine: only figures made from them do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.record_hashes import xxhash64

MISSING = -1
"""The code of a missing value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeColumn:
    """One column of some whole records: which of its values are equal, and what they are as numbers and as text."""

    codes: IntArray
    """Rank of each value among the distinct values of the column, or MISSING, shape (n_records,); equal values share a code."""
    numbers: FloatArray | None
    """The value of each code as a number, non-decreasing with NaN at the end, shape (n_distinct,); None for texts.

    Dates are days since 1970. Text that is nearly all numbers or dates, as in a CSV file, or many of them beside a few
    words, is numbers; other texts among them, and infinities, are NaN. Different values may have the same number, such as
    the texts 1 and 1.0.
    """
    texts: tuple[str, ...]
    """The value of each code as text, also where text is numbers; empty for a column that is not text."""
    is_date: bool = False
    """Whether the values are dates or moments, as such or as text."""

    @property
    def n_distinct(self) -> int:
        """Distinct values, missing ones left out."""
        return int(self.codes.max(initial=MISSING)) + 1

    def of(self, records: IntArray) -> WholeColumn:
        """The column of the records at some positions, with the values that these hold."""
        codes = self.codes[records]
        held = np.unique(codes[codes != MISSING])
        if len(held) == self.n_distinct:
            return replace(self, codes=codes)
        rank: IntArray = np.full(self.n_distinct + 1, MISSING, dtype=np.int32)
        rank[held] = np.arange(len(held))  # the last entry, which the code MISSING finds, stays MISSING
        return WholeColumn(
            codes=rank[codes],
            numbers=None if self.numbers is None else self.numbers[held],
            texts=tuple(self.texts[i] for i in held.tolist()) if self.texts else (),
            is_date=self.is_date,
        )


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

    def of(self, records: IntArray) -> WholeRecords:
        """The records at some positions, in their order."""
        return WholeRecords(
            combinations=self.combinations[records],
            values=self.values[records],
            kept={name: column.of(records) for name, column in self.kept.items()},
            identifiers={name: column.of(records) for name, column in self.identifiers.items()},
            rows=None if self.rows is None else self.rows[records],
        )


def in_canonical_order(whole: WholeRecords) -> WholeRecords:
    """The records in an order that depends on their values alone: by a hash of all columns, then by position.

    So every engine hands over the same table in the same order, whatever the order of its records.
    """
    columns = [whole.combinations, *(_bits(own) for own in whole.values.T)]
    columns += [own.codes for own in (*whole.kept.values(), *whole.identifiers.values())]
    hashes = np.zeros(len(whole.combinations), dtype=np.uint64)
    for column in columns:
        hashes = xxhash64(column, hashes)
    rows = np.zeros(len(hashes), dtype=np.int64) if whole.rows is None else whole.rows
    return whole.of(np.lexsort((rows, hashes)))


def _bits(values: FloatArray) -> IntArray:
    """Doubles as integers: equal ones for equal values, and one for all NaN."""
    return np.where(np.isnan(values), np.nan, values + 0.0).view(np.int64)


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
    persons: IntArray | None = None
    """Whom each record is about, as a number, or MISSING, shape (n_records,); None where that is not known."""

    @property
    def n_classes(self) -> int:
        return int(self.class_ids.max(initial=-1)) + 1

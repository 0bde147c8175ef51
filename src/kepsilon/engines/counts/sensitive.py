# SPDX-License-Identifier: Apache-2.0
"""Sensitive values of records that are read part by part: counted by combination, and coded when they are read again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kepsilon.engines.arrow.coding import encode
from kepsilon.engines.counts.growing import GrowingCodes, GrowingCounts
from kepsilon.engines.room import Room
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.codes import Label
from kepsilon.table.sensitive import MISSING, SensitiveCounts, code_values_in_order, count_sensitive


class GrowingSensitive:
    """Counts of the values of one sensitive column, which is read part by part."""

    def __init__(self, name: str, source: str, *, n_rows: int, room: Room) -> None:
        """`n_rows` is the number of rows of the frequency table; `source` is the name of the table, for error messages."""
        self.name = name
        self._source, self._n_rows, self._room = source, n_rows, room
        self._values = GrowingCodes(name, source)
        self._pairs = GrowingCounts(2)

    def add(self, rows: IntArray, column: pa.ChunkedArray) -> None:
        """Counts the records of one part; `rows` says which row of the frequency table each is in, shape (n_records,)."""
        codes = self._values.learn(column)
        self._pairs.add([rows, codes], [self._n_rows, max(1, len(self._values))], n_records=len(rows))
        self._room.refuse_sensitive_values(len(self._values), self.name, self._source)
        self._room.refuse_pairs(self._pairs.n_combinations, f'a value of "{self.name}"', self._source)

    def total(self) -> tuple[SensitiveCodes, SensitiveCounts]:
        """The codes of all values, and how often each came up in each row."""
        (rows, places), counts = self._pairs.total()
        self._room.refuse_pairs(len(counts), f'a value of "{self.name}"', self._source)
        values = self._values.values
        codes = SensitiveCodes.of(values, name=self.name, source=self._source)
        return codes, codes.count(rows.astype(np.int64), [values[i] for i in places.tolist()], counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitiveCodes:
    """The codes of the values of a sensitive column."""

    name: str
    source: str
    """The name of the table, for error messages."""
    codes: dict[Label, int]
    """The code of each text that a record which is not left out holds."""
    n_values: int
    is_ordered: bool

    @classmethod
    def of(cls, values: Sequence[Label], *, name: str, source: str) -> SensitiveCodes:
        """The codes of distinct texts; each is as `encode` gives it."""
        codes, n_values, is_ordered = code_values_in_order(values)
        by_text = dict(zip(values, codes.tolist(), strict=True))
        return cls(name=name, source=source, codes=by_text, n_values=n_values, is_ordered=is_ordered)

    def count(self, combinations: IntArray, values: Sequence[Label], counts: IntArray) -> SensitiveCounts:
        """The values by combination; the entries of the arrays and of `values` belong together."""
        codes = np.array([self.codes[value] for value in values], dtype=np.int64)
        return count_sensitive(combinations, codes, n_values=self.n_values, is_ordered=self.is_ordered, counts=counts)

    def look_up(self, column: pa.ChunkedArray, stays: BoolArray) -> IntArray | None:
        """The code of every record's value, shape (n_records,); None if a record that stays holds one that was not counted.

        Records that do not stay may have any code.
        """
        values, places = encode(column, self.name, self.source)
        is_known = np.array([value in self.codes for value in values], dtype=np.bool_)
        if not is_known[places[stays]].all():
            return None
        codes = np.array([self.codes.get(value, MISSING) for value in values], dtype=np.int64)
        return codes[places]

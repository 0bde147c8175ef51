# SPDX-License-Identifier: Apache-2.0
"""Counts combinations of a table that is read part by part, and later looks up the combination of each record.

For the spilling engine. In the first reading `GrowingCodes` gives each new value of a k-quasi the next code, and
`GrowingCounts` counts the combinations of codes. In the second reading `CombinationIndex` finds, by the codes of a record,
what was worked out for its combination, such as its class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from kepsilon.engines.arrow.coding import encode, rank_by_hash
from kepsilon.table.arrays import IntArray
from kepsilon.table.codes import Label
from kepsilon.table.keys import LARGEST_KEY, number, pack, unpack

_SLOTS_PER_RECORD = 4
"""Up to this many slots for each record of a part, counting in slots takes less time than sorting."""

_FOLD_AT = 1 << 22
"""Combinations, with repetitions, that wait at most before they are added to the totals; more if the totals are large."""

UNKNOWN = -1
"""The code of a value that never came up."""


class GrowingCodes:
    """Codes of the values of one k-quasi, as text, numbered as they come up."""

    def __init__(self, name: str, source: str) -> None:
        """`name` is the k-quasi, `source` the name of the table; both are for error messages."""
        self._name, self._source = name, source
        self._codes: dict[Label, int] = {}

    @property
    def values(self) -> tuple[Label, ...]:
        """All values so far; the code of a value is its position."""
        return tuple(self._codes)

    def __len__(self) -> int:
        return len(self._codes)

    def learn(self, column: pa.ChunkedArray) -> IntArray:
        """The code of every record's value; new values get the next codes."""
        values, codes = encode(column, self._name, self._source)
        return np.array([self._codes.setdefault(value, len(self._codes)) for value in values], dtype=np.int32)[codes]

    def look_up(self, column: pa.ChunkedArray) -> IntArray:
        """The code of every record's value, UNKNOWN where it never came up."""
        values, codes = encode(column, self._name, self._source)
        return np.array([self._codes.get(value, UNKNOWN) for value in values], dtype=np.int32)[codes]


class GrowingCounts:
    """How often each combination of codes has come up; from part to part there may be more codes.

    A part is counted by position, in an array with one slot for every possible combination, where these are few; else its
    combinations are found by hashing. Combinations so found wait until there are enough to be added to the totals.
    """

    def __init__(self, n_columns: int) -> None:
        """`n_columns` codes make a combination."""
        self._columns: tuple[IntArray, ...] = tuple(np.zeros(0, dtype=np.int32) for _ in range(n_columns))
        """Codes of the combinations in the totals, one array per column."""
        self._counts: IntArray = np.zeros(0, dtype=np.int64)
        self._waiting: list[tuple[tuple[IntArray, ...], IntArray]] = []
        """Codes and counts that are not yet in the totals; a combination may be here several times."""
        self._n_waiting = 0
        self._sizes: tuple[int, ...] = ()
        """Number of codes of each column when `_slots` were counted."""
        self._slots: IntArray | None = None
        """Count of every possible combination, by packed codes; moved to `_waiting` when a column gets more codes."""

    def add(self, columns: Sequence[IntArray], sizes: Sequence[int], *, n_records: int) -> None:
        """Counts the records of one part; `columns` are their codes, each below the size of its column."""
        sizes = tuple(sizes)
        n_slots = math.prod(sizes)
        if n_slots <= max(_SLOTS_PER_RECORD * n_records, 1 << 16):
            if sizes != self._sizes:
                self._empty_slots()
            key, _ = pack(columns, sizes=sizes, length=n_records)
            counted = np.bincount(key, minlength=n_slots)
            self._slots = counted if self._slots is None else self._slots + counted
            self._sizes = sizes
            return
        self._empty_slots()
        self._sizes = sizes
        key, _ = pack(columns, sizes=sizes, length=n_records, rank=rank_by_hash)
        distinct, places = rank_by_hash(key)
        example = np.empty(len(distinct), dtype=np.int64)
        example[places] = np.arange(n_records)  # any record of the combination will do
        self._wait(
            tuple(np.asarray(column)[example] for column in columns), np.bincount(places, minlength=len(distinct))
        )

    def total(self) -> tuple[tuple[IntArray, ...], IntArray]:
        """Codes of all combinations, one array per column, and how often each came up."""
        self._empty_slots()
        self._fold()
        return self._columns, self._counts

    @property
    def n_combinations(self) -> int:
        """How many combinations the totals have; there may be more among those that wait."""
        return len(self._counts)

    def _empty_slots(self) -> None:
        """Moves what was counted in slots to the combinations that wait."""
        if self._slots is None:
            return
        occurring = np.flatnonzero(self._slots)
        codes = unpack(occurring, sizes=self._sizes)
        self._wait(tuple(column.astype(np.int32) for column in codes), self._slots[occurring])
        self._slots = None

    def _wait(self, columns: tuple[IntArray, ...], counts: IntArray) -> None:
        """Lets combinations wait, and adds all that wait to the totals once they are many."""
        self._waiting.append((columns, counts))
        self._n_waiting += len(counts)
        if self._n_waiting > max(_FOLD_AT, 2 * len(self._counts)):
            self._fold()

    def _fold(self) -> None:
        """Adds the combinations that wait to the totals."""
        if not self._waiting:
            return
        parts = [(self._columns, self._counts), *self._waiting]
        self._waiting, self._n_waiting = [], 0
        columns = tuple(np.concatenate([own[i] for own, _ in parts]) for i in range(len(self._columns)))
        counts = np.concatenate([own for _, own in parts])
        sizes = [int(column.max(initial=0)) + 1 for column in columns]
        numbers, n_distinct = number(columns, sizes=sizes, length=len(counts))
        example = np.empty(n_distinct, dtype=np.int64)
        example[numbers] = np.arange(len(counts))
        self._columns = tuple(column[example] for column in columns)
        self._counts = np.bincount(numbers, weights=counts, minlength=n_distinct).astype(np.int64)


class CombinationIndex:
    """Finds the number that belongs to a combination of codes, such as its class.

    The codes of a combination are packed into one key, as by `table.keys.pack`. Answers are found by position where there
    is room for one slot per possible key, else by binary search.
    """

    def __init__(
        self, columns: Sequence[IntArray], sizes: Sequence[int], answers: IntArray, *, most_slots: int
    ) -> None:
        """`columns` are the codes of all combinations, each below the size of its column.

        `answers`, shape (n_combinations,), is the number of each combination, at least −1.
        """
        self._sizes = tuple(sizes)
        self._ranked: dict[int, IntArray] = {}
        """By column, the sorted keys of the columns before it; there the key becomes its rank, so that none overflows."""
        key: IntArray = np.zeros(len(answers), dtype=np.int64)
        bound = 1
        for i, (column, size) in enumerate(zip(columns, self._sizes, strict=True)):
            if bound * size >= LARGEST_KEY:
                self._ranked[i] = np.unique(key)
                key = np.searchsorted(self._ranked[i], key)
                bound = len(self._ranked[i])
            key = key * size + column
            bound *= size
        self._slots: IntArray | None = None
        if bound <= most_slots:
            self._slots = np.full(bound, UNKNOWN - 1, dtype=np.int32)  # below every answer: no such combination
            self._slots[key] = answers
        else:
            order = np.argsort(key)
            self._keys, self._answers = key[order], answers[order].astype(np.int32)

    def find(self, columns: Sequence[IntArray], *, n_records: int) -> IntArray | None:
        """The answer for every record's combination, shape (n_records,); None if one of them is not in the index."""
        pairs = zip(columns, self._sizes, strict=True)
        if any(column.min(initial=0) < 0 or column.max(initial=0) >= size for column, size in pairs):
            return None
        # A key that is going to be replaced by its rank may need 64 bits before.
        is_small = self._slots is not None and not self._ranked and len(self._slots) < 1 << 31
        key: IntArray = np.zeros(n_records, dtype=np.int32 if is_small else np.int64)
        for i, (column, size) in enumerate(zip(columns, self._sizes, strict=True)):
            if i in self._ranked:
                places = _search(self._ranked[i], key)
                if places is None:
                    return None
                key = places
            key *= key.dtype.type(size)
            key += column.astype(key.dtype, copy=False)
        if self._slots is not None:
            found: IntArray = self._slots[key]
            return None if found.min(initial=0) < UNKNOWN else found
        distinct, places_of_records = rank_by_hash(key)
        places = _search(self._keys, distinct)
        return None if places is None else self._answers[places][places_of_records]


def _search(rising: IntArray, keys: IntArray) -> IntArray | None:
    """The position of each key among rising keys; None if one is not among them."""
    places: IntArray = np.minimum(np.searchsorted(rising, keys), max(0, len(rising) - 1))
    return places if len(rising) and bool(np.array_equal(rising[places], keys)) else None if len(keys) else places

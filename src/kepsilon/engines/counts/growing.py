# SPDX-License-Identifier: Apache-2.0
"""Counts combinations part by part: new values get new codes as they come up, and the table of counts grows."""

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
"""Combinations, with repetitions, that wait before they are added up."""

UNKNOWN = -1
"""The code of a value that never came up."""


class GrowingCodes:
    """Codes of the values of one k-quasi, as text, numbered as they come up."""

    def __init__(self, name: str, source: str) -> None:
        self._name, self._source = name, source
        self._codes: dict[Label, int] = {}

    @property
    def values(self) -> tuple[Label, ...]:
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
    """How often each combination of codes has come up; codes may grow from part to part."""

    def __init__(self, n_columns: int) -> None:
        self._columns: tuple[IntArray, ...] = tuple(np.zeros(0, dtype=np.int32) for _ in range(n_columns))
        self._counts: IntArray = np.zeros(0, dtype=np.int64)
        self._waiting: list[tuple[tuple[IntArray, ...], IntArray]] = []
        self._n_waiting = 0
        self._sizes: tuple[int, ...] = ()
        self._slots: IntArray | None = None
        """Counts of all slots; moved to `_waiting` when the sizes grow."""

    def add(self, columns: Sequence[IntArray], sizes: Sequence[int], *, n_records: int) -> None:
        """Counts the records of one part; codes of each column are below its size."""
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
        first = np.empty(len(distinct), dtype=np.int64)
        first[places] = np.arange(n_records)  # any record of the combination will do
        self._wait(tuple(np.asarray(column)[first] for column in columns), np.bincount(places, minlength=len(distinct)))

    def total(self) -> tuple[tuple[IntArray, ...], IntArray]:
        """Codes of all combinations, one array per column, and how often each came up."""
        self._empty_slots()
        self._fold()
        return self._columns, self._counts

    @property
    def n_combinations(self) -> int:
        """How many combinations there are at least; those that wait may be new or not."""
        return len(self._counts)

    def _empty_slots(self) -> None:
        if self._slots is None:
            return
        occurring = np.flatnonzero(self._slots)
        codes = unpack(occurring, sizes=self._sizes)
        self._wait(tuple(column.astype(np.int32) for column in codes), self._slots[occurring])
        self._slots = None

    def _wait(self, columns: tuple[IntArray, ...], counts: IntArray) -> None:
        self._waiting.append((columns, counts))
        self._n_waiting += len(counts)
        if self._n_waiting > max(_FOLD_AT, 2 * len(self._counts)):
            self._fold()

    def _fold(self) -> None:
        if not self._waiting:
            return
        parts = [(self._columns, self._counts), *self._waiting]
        self._waiting, self._n_waiting = [], 0
        columns = tuple(np.concatenate([own[i] for own, _ in parts]) for i in range(len(self._columns)))
        counts = np.concatenate([own for _, own in parts])
        sizes = [int(column.max(initial=0)) + 1 for column in columns]
        numbers, n_distinct = number(columns, sizes=sizes, length=len(counts))
        first = np.empty(n_distinct, dtype=np.int64)
        first[numbers] = np.arange(len(counts))
        self._columns = tuple(column[first] for column in columns)
        self._counts = np.bincount(numbers, weights=counts, minlength=n_distinct).astype(np.int64)


class CombinationIndex:
    """Looks up combinations of codes; `answers`, shape (n_combinations,), is what each combination is looked up for.

    Answers are at least −1. The codes of a combination are packed into one key, as by `table.keys.pack`.
    """

    def __init__(
        self, columns: Sequence[IntArray], sizes: Sequence[int], answers: IntArray, *, most_slots: int
    ) -> None:
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
            self._slots = np.full(bound, UNKNOWN - 1, dtype=np.int32)
            self._slots[key] = answers
        else:
            order = np.argsort(key)
            self._keys, self._answers = key[order], answers[order].astype(np.int32)

    def find(self, columns: Sequence[IntArray], *, n_records: int) -> IntArray | None:
        """The answer for every record's combination, shape (n_records,); None if one of them is not in the index."""
        pairs = zip(columns, self._sizes, strict=True)
        if any(column.min(initial=0) < 0 or column.max(initial=0) >= size for column, size in pairs):
            return None
        # Before it is ranked, a key may need all of 64 bits.
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

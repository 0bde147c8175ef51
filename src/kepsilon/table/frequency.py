# SPDX-License-Identifier: Apache-2.0
"""Distinct combinations of k-quasi values and how often each occurs.

Neither OLA nor strict Mondrian looks at a record: both need only this table, so the cost of a search grows with the
number of distinct combinations, not with the number of records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import IntArray
from kepsilon.table.codes import Domain

DENSE_CELLS = 1 << 26
"""Largest product of domain sizes counted by one `bincount` over all cells (512 MB of counters at most)."""

LARGEST_KEY = 1 << 62
"""Keys are ranked before their bound reaches this."""

Rank = Callable[[IntArray], tuple[IntArray, IntArray]]
"""Distinct keys in rising order, and the position of each given key among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequencyTable:
    """Which combinations occur, and how often; combinations are in rising lexicographic order of their codes."""

    domains: tuple[Domain, ...]
    codes: tuple[IntArray, ...]
    """One array per attribute, each of shape (n_combinations,)."""
    counts: IntArray

    @property
    def n_combinations(self) -> int:
        return len(self.counts)

    @property
    def n_records(self) -> int:
        return int(self.counts.sum())


def rank(keys: IntArray) -> tuple[IntArray, IntArray]:
    distinct, positions = np.unique(keys, return_inverse=True)
    return distinct, positions


def count_combinations(
    code_columns: Sequence[IntArray], domains: Sequence[Domain], *, n_records: int, rank: Rank = rank
) -> tuple[FrequencyTable, IntArray]:
    """The frequency table, and the combination of every record, shape (n_records,).

    Codes are packed into one mixed-radix integer per record. Where that integer could overflow, or the cells would
    be too many for `bincount`, the key packed so far is replaced by its rank first, so that no product ever exceeds
    (number of records) × (one domain).
    """
    sizes = [domain.n_values for domain in domains]
    cells = math.prod(sizes)
    # A rank is below n_records, so ranking keeps every later product below n_records × size, far from overflow.
    key = _pack(code_columns, sizes, n_records=n_records, rank=rank)
    if cells <= DENSE_CELLS:
        counts = np.bincount(key, minlength=1)
        occurring = np.flatnonzero(counts)
        positions = np.cumsum(counts > 0, dtype=np.int32)
        positions -= 1
        combination_of_record: IntArray = positions[key]
        codes = _unpack(occurring, sizes)
        counts = counts[occurring]
    else:
        distinct, combination_of_record = rank(key)
        counts = np.bincount(combination_of_record, minlength=len(distinct))
        first = np.empty(len(counts), dtype=np.int64)
        first[combination_of_record] = np.arange(n_records)  # any record of the combination will do
        codes = tuple(np.asarray(column)[first] for column in code_columns)
    return FrequencyTable(domains=tuple(domains), codes=codes, counts=counts), combination_of_record


def _unpack(keys: IntArray, sizes: Sequence[int]) -> tuple[IntArray, ...]:
    """The codes that were packed, one array per attribute."""
    codes: list[IntArray] = []
    for size in reversed(sizes):
        keys, code = np.divmod(keys, size)
        codes.append(code)
    return tuple(reversed(codes))


def _pack(code_columns: Sequence[IntArray], sizes: Sequence[int], *, n_records: int, rank: Rank) -> IntArray:
    """One integer per record that orders like its codes, shape (n_records,)."""
    key: IntArray = np.zeros(n_records, dtype=np.int32 if math.prod(sizes) < 1 << 31 else np.int64)
    bound = 1
    for column, size in zip(code_columns, sizes, strict=True):
        if bound * size >= LARGEST_KEY:
            distinct, key = rank(key)
            bound = len(distinct)
        key *= key.dtype.type(size)
        key += column.astype(key.dtype, copy=False)
        bound *= size
    return key

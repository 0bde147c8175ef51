# SPDX-License-Identifier: Apache-2.0
"""The frequency table: distinct combinations of k-quasi values, and how often each occurs.

Algorithms need only this table and no record, so the cost of a search grows with the number of distinct
combinations, not with the number of records.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kepsilon.table.arrays import IntArray
from kepsilon.table.codes import Domain
from kepsilon.table.keys import Rank, count_codes, looked_up, pack, rank, unpack
from kepsilon.table.persons import PersonCounts
from kepsilon.table.sensitive import SensitiveCounts

DENSE_SLOTS = 1 << 26
"""Up to this product of domain sizes, combinations are counted by one `bincount` (512 MB of counts at most)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequencyTable:
    """The combinations that occur and their counts, in rising lexicographic order of their codes."""

    domains: tuple[Domain, ...]
    codes: tuple[IntArray, ...]
    """Codes of the combinations, one array per attribute, each of shape (n_combinations,)."""
    counts: IntArray
    """Records of every combination, shape (n_combinations,)."""
    persons: PersonCounts | None = None
    """The persons of the combinations; None where the policy names no column that says whom a record is about."""
    sensitive: Mapping[str, SensitiveCounts] = field(default_factory=dict)
    """Values of the sensitive columns that the policy asks something of, by name."""

    @property
    def n_combinations(self) -> int:
        return len(self.counts)

    @property
    def n_records(self) -> int:
        return int(self.counts.sum())


def count_combinations(
    code_columns: Sequence[IntArray], domains: Sequence[Domain], *, n_records: int, rank: Rank = rank
) -> tuple[FrequencyTable, IntArray]:
    """The frequency table, and the position of every record's combination in it, shape (n_records,).

    `code_columns` are the codes of the records, one array of shape (n_records,) for each of `domains`.
    Codes are packed into one integer per record, and counted by `bincount` where there are few enough slots, else by
    rank. An engine may pass a faster `rank` of its own.
    """
    sizes = [domain.n_values for domain in domains]
    slots = math.prod(sizes)
    combination_of_record: IntArray
    key, _ = pack(code_columns, sizes=sizes, length=n_records, rank=rank)
    if slots <= DENSE_SLOTS:
        counts = count_codes(key, n_values=slots)
        occurring = np.flatnonzero(counts)
        positions = np.cumsum(counts > 0, dtype=np.int32)
        positions -= 1
        combination_of_record = looked_up(positions, key)
        codes = unpack(occurring, sizes=sizes)
        counts = counts[occurring]
    else:
        distinct, combination_of_record = rank(key)
        counts = np.bincount(combination_of_record, minlength=len(distinct))
        example = np.empty(len(counts), dtype=np.int64)
        example[combination_of_record] = np.arange(n_records)  # any record of the combination will do
        codes = tuple(np.asarray(column)[example] for column in code_columns)
    return FrequencyTable(domains=tuple(domains), codes=codes, counts=counts), combination_of_record

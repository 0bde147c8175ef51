# SPDX-License-Identifier: Apache-2.0
"""Which records stay where one person may have only so many."""

from __future__ import annotations

import numpy as np

from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.record_hashes import xxhash64


def are_beyond_cap(persons: IntArray, rows: IntArray, *, most: int) -> BoolArray:
    """Which records are left out, where at most `most` records of each person stay, shape (n_records,).

    `persons` and `rows`, shape (n_records,), are the number of the person and the position in the input of each record. The
    records with the smallest hashes of their positions stay. No two positions have one hash, so the same input gives the
    same records, in whatever order they come; and which ones these are does not depend on what they say.
    """
    hashes = xxhash64(rows).view(np.int64)
    beyond: BoolArray = n_within_cap(persons, hashes, np.ones(len(rows), dtype=np.int64), most=most) == 0
    return beyond


def n_within_cap(persons: IntArray, hashes: IntArray, counts: IntArray, *, most: int) -> IntArray:
    """How many records of each entry stay, where at most `most` records of each person do, shape (n_entries,).

    An entry stands for `counts` records of one person that have one hash; those with the smallest hashes stay.
    """
    order = np.lexsort((hashes, persons))
    in_order = persons[order]
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = in_order[1:] != in_order[:-1]
    before = np.cumsum(counts[order]) - counts[order]
    of_person = before - np.maximum.accumulate(np.where(is_first, before, 0))
    staying: IntArray = np.empty(len(order), dtype=np.int64)
    staying[order] = np.clip(most - of_person, 0, counts[order])
    return staying

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
    order = np.lexsort((hashes, persons))
    in_order = persons[order]
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = in_order[1:] != in_order[:-1]
    places = np.arange(len(order))
    first = np.maximum.accumulate(np.where(is_first, places, 0))
    beyond: BoolArray = np.zeros(len(order), dtype=np.bool_)
    beyond[order] = places - first >= most
    return beyond

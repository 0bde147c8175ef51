# SPDX-License-Identifier: Apache-2.0
"""Groups and ranks found by counting, where sorting would take many times as long."""

from __future__ import annotations

import numpy as np

from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.keys import number


def numbered_groups(ids: IntArray) -> tuple[IntArray, IntArray]:
    """The number of each record's group, from 0 in rising order of ids, and the records of each group.

    What `np.unique` returns as inverse and counts; ids are at least 0, so that small ones need no sorting.
    """
    if not len(ids):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    numbers, n_groups = number([ids], sizes=[int(ids.max()) + 1], length=len(ids))
    return numbers, np.bincount(numbers, minlength=n_groups)


def order_of(ids: IntArray) -> IntArray:
    """Positions in rising order of ids, which are at least 0; equal ids keep their order.

    By 16 bits at a time, for which NumPy has a sort that counts.
    """
    order: IntArray = np.argsort((ids & 0xFFFF).astype(np.uint16), kind="stable")
    for shift in range(16, int(ids.max(initial=0)).bit_length(), 16):
        order = order[np.argsort(((ids[order] >> shift) & 0xFFFF).astype(np.uint16), kind="stable")]
    return order


def mean_ranks(values: FloatArray) -> FloatArray:
    """Rank of each value from 0; equal values share the mean of their ranks."""
    distinct = np.sort(values)
    is_new = np.ones(len(distinct), dtype=np.bool_)
    is_new[1:] = distinct[1:] != distinct[:-1]
    firsts = np.flatnonzero(is_new)
    counts = np.diff(firsts, append=len(distinct))
    middle = np.cumsum(counts) - (counts + 1) / 2
    if len(firsts) > len(values) // 8:  # then a search takes longer than sorting positions too
        order = np.argsort(values)
        ranks = np.empty(len(values))
        ranks[order] = np.repeat(middle, counts)
        return ranks
    found: FloatArray = middle[np.searchsorted(distinct[firsts], values)]
    return found

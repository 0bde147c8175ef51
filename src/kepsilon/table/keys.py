# SPDX-License-Identifier: Apache-2.0
"""One integer for a whole combination of codes, and consecutive numbers for those that are equal."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from kepsilon.table.arrays import IntArray

LARGEST_KEY = 1 << 62
"""Keys are ranked before their bound reaches this."""

_SLOTS_PER_COMBINATION = 16
"""Marking this many slots takes as long as sorting one combination; measured."""

Rank = Callable[[IntArray], tuple[IntArray, IntArray]]
"""Distinct keys in rising order, and the position of each given key among them."""


def rank(keys: IntArray) -> tuple[IntArray, IntArray]:
    distinct, positions = np.unique(keys, return_inverse=True)
    return distinct, positions


def pack(columns: Sequence[IntArray], *, sizes: Sequence[int], length: int, rank: Rank = rank) -> tuple[IntArray, int]:
    """One integer per record or combination that orders like its codes, shape (length,), and a bound that all are below.

    Where the next product could overflow, the key so far is replaced by its rank, which is below `length`; so no
    product ever exceeds `length` times one domain. Small keys are 32 bits wide, which halves the time and the memory.
    """
    key: IntArray = np.zeros(length, dtype=np.int32 if math.prod(sizes) < 1 << 31 else np.int64)
    bound = 1
    for column, size in zip(columns, sizes, strict=True):
        if bound * size >= LARGEST_KEY:
            distinct, key = rank(key)
            bound = len(distinct)
        key *= key.dtype.type(size)
        key += column.astype(key.dtype, copy=False)
        bound *= size
    return key, bound


def unpack(keys: IntArray, *, sizes: Sequence[int]) -> tuple[IntArray, ...]:
    """The codes that were packed without ranking, one array per attribute."""
    codes: list[IntArray] = []
    for size in reversed(sizes):
        keys, code = np.divmod(keys, size)
        codes.append(code)
    return tuple(reversed(codes))


def number(columns: Sequence[IntArray], *, sizes: Sequence[int], length: int) -> tuple[IntArray, int]:
    """Numbers 0 … n − 1 for the distinct combinations in lexicographic order, shape (length,), and n."""
    key, bound = pack(columns, sizes=sizes, length=length)
    if bound > _SLOTS_PER_COMBINATION * length:
        distinct, numbers = rank(key)
        return numbers, len(distinct)
    occurs = np.zeros(bound, dtype=np.bool_)
    occurs[key] = True
    number_of_key = np.cumsum(occurs) - 1
    return number_of_key[key], int(occurs.sum())


def number_by_first(numbers: IntArray, *, n_distinct: int) -> IntArray:
    """New numbers for 0 … n_distinct − 1, each of which occurs, by where they occur first; shape (n_distinct,)."""
    first = np.empty(n_distinct, dtype=np.int64)
    first[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)  # the last assignment, from the front, stays
    new = np.empty(n_distinct, dtype=np.int64)
    new[np.argsort(first)] = np.arange(n_distinct)
    return new

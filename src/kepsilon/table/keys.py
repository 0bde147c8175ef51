# SPDX-License-Identifier: Apache-2.0
"""Packs a combination of codes into one integer, and numbers distinct combinations; for all that count combinations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.threads import in_pieces

LARGEST_KEY = 1 << 62
"""A key is replaced by its rank before the bound of all keys reaches this."""

_SLOTS_PER_COMBINATION = 6
"""Marking this many slots takes as long as sorting one combination; measured."""

_MAX_BITS = 62
"""Most bits of a key and its position together, so that both fit into one integer."""

_PART = 1 << 16
"""Codes worked on together."""

_Numbers = TypeVar("_Numbers", IntArray, FloatArray)

Rank = Callable[[IntArray], tuple[IntArray, IntArray]]
"""Returns the distinct keys in rising order, and the position of each given key among them."""


def rank(keys: IntArray) -> tuple[IntArray, IntArray]:
    """A `Rank` by sorting."""
    occurring, positions = np.unique(keys, return_inverse=True)
    return occurring, positions


def sorted_keys(keys: IntArray, *, bound: int) -> tuple[IntArray, IntArray]:
    """The order that sorts the keys, and the sorted keys; all keys are below `bound`, and equal ones keep their order."""
    shift = len(keys).bit_length()
    if bound.bit_length() + shift > _MAX_BITS:
        order = np.argsort(keys, kind="stable")
        return order, keys[order]
    # Sorting integers that carry their position in their last bits is several times as fast as argsort.
    carried = keys.astype(np.int64)
    carried <<= shift
    carried |= np.arange(len(keys))
    carried.sort()
    order = carried & ((1 << shift) - 1)
    carried >>= shift
    return order, carried


def distinct(keys: IntArray) -> IntArray:
    """The distinct keys in rising order.

    Sorting them is several times, and for large keys a hundred times, as fast as `np.unique`, which hashes whole numbers.
    """
    keys = np.sort(keys)
    is_new = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_new[1:])
    return keys[is_new]


def count_codes(codes: IntArray, *, n_values: int) -> IntArray:
    """How often each of 0 … n_values − 1 occurs, shape (n_values,).

    `np.bincount` first makes numbers of 64 bits of all codes; a part at a time, these stay in a processor's cache.
    """
    counts = np.zeros(n_values, dtype=np.int64)
    part_size = max(_PART, n_values)
    for first in range(0, len(codes), part_size):
        counts += np.bincount(codes[first : first + part_size], minlength=n_values)
    return counts


def looked_up(values: _Numbers, places: IntArray) -> _Numbers:
    """The values at some places."""
    found: _Numbers = np.empty(len(places), dtype=values.dtype)

    def fill(part: slice) -> None:
        own = places[part]
        if own.min() < 0 or own.max() >= len(values):
            raise IndexError("there is no value at some place")
        np.take(values, own, out=found[part], mode="clip")  # with its own check NumPy would copy first

    in_pieces(len(places), fill)
    return found


def pack(columns: Sequence[IntArray], *, sizes: Sequence[int], length: int, rank: Rank = rank) -> tuple[IntArray, int]:
    """A key for each combination, in the lexicographic order of its codes, shape (length,), and a bound above all keys.

    Each of `columns` holds the codes of one attribute, of records or combinations, shape (length,), below its entry of
    `sizes`. Where the next product could overflow,
    the key so far is replaced by its rank, which is below `length`; so no product exceeds `length` times one size. Small
    keys have 32 bits, which halves time and memory.
    """
    slots = math.prod(sizes)
    if slots < LARGEST_KEY:
        return _pack_in_pieces(columns, sizes, length), slots
    key: IntArray = np.zeros(length, dtype=np.int64)
    bound = 1
    for column, size in zip(columns, sizes, strict=True):
        if bound * size >= LARGEST_KEY:
            occurring, key = rank(key)
            bound = len(occurring)
        key *= key.dtype.type(size)
        key += column.astype(key.dtype, copy=False)
        bound *= size
    return key, bound


def _pack_in_pieces(columns: Sequence[IntArray], sizes: Sequence[int], length: int) -> IntArray:
    """The keys of combinations where none of them can overflow."""
    key: IntArray = np.zeros(length, dtype=np.int32 if math.prod(sizes) < 1 << 31 else np.int64)

    def fill(part: slice) -> None:
        own = key[part]
        for column, size in zip(columns, sizes, strict=True):
            own *= own.dtype.type(size)
            own += column[part].astype(own.dtype, copy=False)

    in_pieces(length, fill)
    return key


def unpack(keys: IntArray, *, sizes: Sequence[int]) -> tuple[IntArray, ...]:
    """The codes of keys that were packed without ranking, one array per attribute."""
    codes: list[IntArray] = []
    for size in reversed(sizes):
        keys, code = np.divmod(keys, size)
        codes.append(code)
    return tuple(reversed(codes))


def number(columns: Sequence[IntArray], *, sizes: Sequence[int], length: int) -> tuple[IntArray, int]:
    """The number of each combination among the n distinct ones in lexicographic order, shape (length,), and n.

    Parameters are those of `pack`.
    """
    key, bound = pack(columns, sizes=sizes, length=length)
    if bound > _SLOTS_PER_COMBINATION * length:
        order, in_order = sorted_keys(key, bound=bound)
        is_new = np.ones(length, dtype=np.bool_)
        np.not_equal(in_order[1:], in_order[:-1], out=is_new[1:])
        rising = np.cumsum(is_new)
        numbers: IntArray = np.empty(length, dtype=np.int64)
        numbers[order] = rising - 1
        return numbers, int(rising[-1]) if length else 0
    occurs = np.zeros(bound, dtype=np.bool_)
    occurs[key] = True
    number_of_key: IntArray = np.cumsum(occurs, dtype=np.int32 if length < 1 << 31 else np.int64)
    n_distinct = int(number_of_key[-1]) if bound else 0
    numbers = number_of_key[key]
    numbers -= 1
    return numbers, n_distinct


def number_by_first(numbers: IntArray, *, n_distinct: int) -> IntArray:
    """The new number of each of 0 … n_distinct − 1, in the order in which they first occur, shape (n_distinct,).

    Each of them has to occur in `numbers`.
    """
    first = np.empty(n_distinct, dtype=np.int64)
    first[numbers[::-1]] = np.arange(
        len(numbers) - 1, -1, -1
    )  # of several assignments the last one, of the first, holds
    is_first = np.zeros(len(numbers), dtype=np.bool_)
    is_first[first] = True
    new: IntArray = (np.cumsum(is_first) - 1)[first]
    return new

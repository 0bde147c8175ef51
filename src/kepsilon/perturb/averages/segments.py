# SPDX-License-Identifier: Apache-2.0
"""Sorts many short stretches of an array at once: what cutting all classes in one go spends most of its time on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kepsilon.table.arrays import FloatArray, IntArray

_KEY_BITS = 24
"""Bits of a number that decide its place: sign, exponent and 15 binary places. Closer numbers keep the order they have."""
_POSITION_BITS = 64 - _KEY_BITS
_SHORT = 1 << 20
"""Stretches are sorted together up to so many numbers: number of the stretch and position then fit beside the key."""


def starts_of(sizes: IntArray) -> IntArray:
    """Where each of some stretches begins that follow one another, shaped like `sizes`."""
    starts: IntArray = np.cumsum(sizes) - sizes
    return starts


def sort_within(numbers: FloatArray, sizes: IntArray) -> IntArray:
    """Positions of the numbers, those of each stretch in rising order; stretches follow one another and stay in place.

    Numbers that agree to about one part in 30,000 keep their order: it is enough for cutting a stretch in two near its
    middle, and a whole number of 64 bits then holds all that has to be sorted, which is ten times faster.
    """
    keys = _rising_keys(numbers)
    order = np.empty(len(numbers), dtype=np.int64)
    ends = np.cumsum(sizes)
    first = start = 0
    while first < len(sizes):
        last = max(first + 1, int(np.searchsorted(ends, start + _SHORT, side="right")))
        part = slice(start, int(ends[last - 1]))
        order[part] = _sort_some(keys[part], sizes[first:last]) + part.start
        first, start = last, part.stop
    return order


def _sort_some(keys: NDArray[np.uint64], sizes: IntArray) -> IntArray:
    """Positions in sorted order for a few stretches that fit together, or for a single one of any length."""
    n = len(keys)
    position_bits = max(1, (n - 1).bit_length())
    if len(sizes) > 1:
        stretch_bits = (len(sizes) - 1).bit_length()
        if stretch_bits + position_bits > _POSITION_BITS:
            raise ValueError("too many stretches to be sorted together")
        keys = keys | (np.repeat(np.arange(len(sizes), dtype=np.uint64), sizes) << np.uint64(_KEY_BITS))
    together = keys << np.uint64(position_bits)
    together |= np.arange(n, dtype=np.uint64)
    together.sort()
    together &= np.uint64((1 << position_bits) - 1)
    return together.astype(np.int64)


def _rising_keys(numbers: FloatArray) -> NDArray[np.uint64]:
    """Whole numbers of 24 bits that rise with the numbers."""
    single = numbers.astype(np.float32) + np.float32(0)  # −0.0 is 0.0
    bits = single.view(np.int32)
    # Negative numbers have the sign bit set, and their other bits rise the wrong way.
    flipped = np.where(bits < 0, ~bits, bits | np.int32(-(1 << 31))).view(np.uint32)
    return (flipped >> np.uint32(32 - _KEY_BITS)).astype(np.uint64)

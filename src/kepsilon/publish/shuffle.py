# SPDX-License-Identifier: Apache-2.0
"""The last reordering: an order nobody can guess. Algorithm 1, line 10."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kepsilon.table.arrays import IntArray

RandomBytes = Callable[[int], bytes]


def shuffled_positions(n: int, *, random_bytes: RandomBytes) -> IntArray:
    """A permutation of 0 … n − 1, each equally likely, by sorting random keys.

    A key is random in its upper bits and carries its position in the lower ones, because sorting integers in place is
    ten times faster than `argsort`. Where upper bits are equal the position would decide, so those few are put in an
    order drawn afresh.
    """
    position_bits = np.uint64(max(1, n - 1).bit_length())
    positions_only = np.uint64((1 << int(position_bits)) - 1)
    keys = np.frombuffer(random_bytes(8 * n), dtype="<u8").astype(np.uint64)
    keys &= ~positions_only
    keys |= np.arange(n, dtype=np.uint64)
    keys.sort()
    order = (keys & positions_only).astype(np.int64)
    keys >>= position_bits
    equal = np.flatnonzero(keys[1:] == keys[:-1])
    if len(equal):
        tied = np.union1d(equal, equal + 1)
        within = shuffled_positions(len(tied), random_bytes=random_bytes)
        # `within` orders all tied records at random; a stable sort by key keeps that order inside each tie.
        drawn = within[np.argsort(keys[tied][within], kind="stable")]
        order[tied] = order[tied][drawn]
    return order

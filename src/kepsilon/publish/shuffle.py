# SPDX-License-Identifier: Apache-2.0
"""The last reordering: an order nobody can guess. Algorithm 1, line 10."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kepsilon.table.arrays import IntArray

RandomBytes = Callable[[int], bytes]


def shuffled_positions(n: int, *, random_bytes: RandomBytes) -> IntArray:
    """A permutation of 0 … n − 1, each equally likely, by sorting random 64-bit keys.

    Equal keys would keep their original order, so they are drawn anew; at ten million records that happens once in
    some 370,000 releases.
    """
    while True:
        keys = np.frombuffer(random_bytes(8 * n), dtype=np.uint64)
        order = np.argsort(keys)
        if not np.any(keys[order[1:]] == keys[order[:-1]]):
            return order

# SPDX-License-Identifier: Apache-2.0
"""Blocks of neighbouring classes, which are simulated together in the step that predicts.

Simulated figures must not depend on how many records an engine holds at a time. So blocks are cut by the sizes of the
classes alone, every block is simulated by itself, and a batch of classes is made of whole blocks. Only where memory has
no room for a block (65,536 records, for which 200 MB are enough with up to eleven ε-quasis) is a block cut; figures then
agree within their standard errors.
"""

from __future__ import annotations

import numpy as np

from kepsilon.table.arrays import IntArray

_N_BLOCKS = 32
"""About how many blocks are cut, if their size allows it."""
_SMALLEST = 1 << 14
_LARGEST = 1 << 15
"""Records of a block at the least and at the most; one of several classes may have twice as many."""


def block_bounds(sizes: IntArray) -> IntArray:
    """The first class of every block, and the number of classes at the end, shape (n_blocks + 1,).

    `sizes` are the records of every class. A class as large as a block is a block by itself; a block of several classes
    has at most twice the records that it should have.
    """
    length = min(max(int(sizes.sum()) // _N_BLOCKS, _SMALLEST), _LARGEST)
    window = (np.cumsum(sizes) - sizes) // length
    is_large = sizes >= length
    is_first = np.ones(len(sizes), dtype=np.bool_)
    is_first[1:] = (window[1:] != window[:-1]) | is_large[1:]
    return np.append(np.flatnonzero(is_first), len(sizes))

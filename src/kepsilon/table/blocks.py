# SPDX-License-Identifier: Apache-2.0
"""Blocks of neighbouring classes, which are simulated together.

What is simulated must not depend on how much of a table an engine looks at at a time. So classes are cut into blocks by
their sizes alone, every block is simulated by itself, and a batch of classes is made of whole blocks. Only where memory
has no room for a block (of 65,536 records: 200 MB has it with up to eleven ε-quasis) is one cut, and figures then agree
within their standard errors.
"""

from __future__ import annotations

import numpy as np

from kepsilon.table.arrays import IntArray

_N_BLOCKS = 32
"""About so many, if their size is within these limits, in records:"""
_SMALLEST = 1 << 14
_LARGEST = 1 << 15


def block_bounds(sizes: IntArray) -> IntArray:
    """The first class of every block, and at last the number of classes.

    `sizes` are the records of every class. A class as large as a block is one; a block of several has at most twice as
    many records as a block should.
    """
    length = min(max(int(sizes.sum()) // _N_BLOCKS, _SMALLEST), _LARGEST)
    window = (np.cumsum(sizes) - sizes) // length
    is_large = sizes >= length
    is_first = np.ones(len(sizes), dtype=np.bool_)
    is_first[1:] = (window[1:] != window[:-1]) | is_large[1:]
    return np.append(np.flatnonzero(is_first), len(sizes))

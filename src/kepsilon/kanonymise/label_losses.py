# SPDX-License-Identifier: Apache-2.0
"""What is lost of a value that is published as a label, as a share of what there is to lose.

*ncp* (normalised certainty penalty) of a label of categories is (values covered − 1)/(values − 1), and of one of numbers the
largest minus the smallest value covered over the range; only values that occur in the data count. Null counts as the
smallest number. *Entropy* is counted in bits: a label that covers c of n records keeps log2(n/c) bits.

Shares and bits are whole numbers of a small unit, so that sums of them are exact: two nodes that lose equally much tie,
whatever the order of records and attributes.
"""

from __future__ import annotations

import numpy as np

from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.codes import Domain

UNIT = 1 << 32
"""How many units the whole range of numbers has, and how many a bit."""


def most_to_lose(domain: Domain) -> int:
    """The ncp of a label that covers everything, in the units of `lost_by_label`; at least 1."""
    return UNIT if domain.numbers is not None else max(1, domain.n_values - 1)


def lost_by_label(domain: Domain, level: int) -> IntArray:
    """The ncp of every label at a level, in units of which `most_to_lose` are a loss of 1, shape (n_labels,)."""
    codes = domain.at_level(level)
    n_labels = len(domain.levels[level])
    if domain.numbers is None:
        covered: IntArray = np.bincount(codes, minlength=n_labels)
        covered -= 1
        return covered
    low, high = np.full(n_labels, np.inf), np.full(n_labels, -np.inf)
    numbers = with_null_lowest(domain.numbers)
    np.minimum.at(low, codes, numbers)
    np.maximum.at(high, codes, numbers)
    whole = numbers.max(initial=-np.inf) - numbers.min(initial=np.inf)
    lost: IntArray = np.rint((high - low) / (whole if whole > 0 else 1.0) * UNIT).astype(np.int64)
    return lost


def with_null_lowest(numbers: FloatArray) -> FloatArray:
    """The numbers, with that of null, which is NaN, as small as the smallest; 0 where all are null."""
    is_null = np.isnan(numbers)
    return np.where(is_null, numbers[~is_null].min(initial=np.inf) if not is_null.all() else 0.0, numbers)

# SPDX-License-Identifier: Apache-2.0
"""What is lost of a value that is published as a label, and what is kept of it.

*ncp* (normalised certainty penalty) of a label of categories is (values covered − 1)/(values − 1), and of one of numbers the
largest minus the smallest value covered over the range; only values that occur in the data count. Null counts as the
smallest number. It is a whole number of units here, so that sums over records are exact, and nodes that lose equally much
tie whatever the order of records and attributes.

*Entropy* is counted in bits: a label that covers c of n records keeps log2(n/c) bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.codes import Domain

UNITS_OF_RANGE = 1 << 32
"""The number of units that the range of numbers is divided into."""


def most_to_lose(domain: Domain) -> int:
    """The ncp of a label that covers everything, in the units of `lost_by_label`; at least 1."""
    return UNITS_OF_RANGE if domain.numbers is not None else max(1, domain.n_values - 1)


def lost_by_label(domain: Domain, level: int) -> IntArray:
    """The ncp of every label at a level, in units of which `most_to_lose` are a loss of 1, shape (n_labels,)."""
    codes = domain.at_level(level)
    n_labels = len(domain.levels[level])
    if domain.numbers is None:
        n_others: IntArray = np.bincount(codes, minlength=n_labels)
        n_others -= 1
        return n_others
    numbers = with_null_lowest(domain.numbers)
    low, high = np.full(n_labels, np.inf), np.full(n_labels, -np.inf)
    np.minimum.at(low, codes, numbers)
    np.maximum.at(high, codes, numbers)
    whole = numbers.max(initial=-np.inf) - numbers.min(initial=np.inf)
    lost: IntArray = np.rint((high - low) / (whole if whole > 0 else 1.0) * UNITS_OF_RANGE).astype(np.int64)
    return lost


def with_null_lowest(numbers: FloatArray) -> FloatArray:
    """The numbers, with that of null, which is NaN, as small as the smallest; 0 where all are null."""
    is_null = np.isnan(numbers)
    return np.where(is_null, 0.0 if is_null.all() else np.nanmin(numbers), numbers)


def covered_by_label(domain: Domain, level: int, counts: IntArray) -> IntArray:
    """Records that every label at a level covers, shape (n_labels,); `counts` are the records of every value."""
    covered: IntArray = np.bincount(domain.at_level(level), weights=counts, minlength=len(domain.levels[level]))
    return covered.astype(np.int64)


@dataclass(frozen=True, slots=True)
class Covered:
    """What labels cover."""

    ncp: FloatArray
    """Shape (n_labels,)."""
    n_records: IntArray
    """Shape (n_labels,)."""


class Coverage:
    """What labels that stand for ranges of codes of one attribute cover."""

    def __init__(self, domain: Domain, counts: IntArray) -> None:
        """`counts` are the records of every value, shape (n_values,)."""
        self._up_to = np.append(0, np.cumsum(counts))
        self._numbers = None if domain.numbers is None else with_null_lowest(domain.numbers)
        self._most = max(1, domain.n_values - 1)

    def of(self, starts: IntArray, ends: IntArray) -> Covered:
        """What labels cover that stand for all codes from each start up to, not including, its end.

        Both have the shape (n_ranges, n_labels); a range that ends where it starts is empty, and the first of a label is not.
        """
        n_records = (self._up_to[ends] - self._up_to[starts]).sum(axis=0)
        if self._numbers is None:
            return Covered(((ends - starts).sum(axis=0) - 1) / self._most, n_records)
        extremes = np.empty((2, *starts.shape))
        extremes[0], extremes[1] = np.inf, -np.inf
        for at in zip(*np.nonzero(starts < ends), strict=True):
            own = self._numbers[starts[at] : ends[at]]
            extremes[0][at], extremes[1][at] = own.min(), own.max()
        width = extremes[1].max(axis=0) - extremes[0].min(axis=0)
        return Covered(width / (float(np.ptp(self._numbers)) or 1.0), n_records)


def bits_kept(covered: IntArray, *, n_records: int) -> FloatArray:
    """What labels that cover so many of the records keep of the value of each, in bits; 0 for a label that covers none."""
    bits: FloatArray = np.log2(n_records / np.maximum(1, covered)) if n_records else np.zeros(len(covered))
    return bits

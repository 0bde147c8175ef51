# SPDX-License-Identifier: Apache-2.0
"""An ε-quasi coded as positions among its distinct values, so that one sort serves all recodings.

`explore` works out figures for many recodings of one table; the engine in memory codes each ε-quasi once for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kepsilon.policy.exact_bounds import EXACT
from kepsilon.table.arrays import FloatArray, IntArray

SLOTS_PER_RECORD = 8
"""With this many slots for each record, counting takes as long as sorting; measured."""

_PART = 1 << 16
"""Records worked on together: few enough to stay in a processor's cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedValues:
    """One ε-quasi of some records, coded as positions among its distinct values."""

    distinct: FloatArray
    """The distinct values in rising order."""
    codes: IntArray
    """Position in `distinct` of every record's value, shape (n_records,)."""

    def of(self, records: IntArray) -> CodedValues:
        """The coded values of the records at some positions."""
        return CodedValues(distinct=self.distinct, codes=self.codes[records])

    def clipped(self, low: float, high: float) -> CodedValues:
        """The values clipped to [low, high]; those beyond an end become that end."""
        moved = np.clip(self.distinct, low, high)
        is_new = np.ones(len(moved), dtype=np.bool_)
        is_new[1:] = moved[1:] != moved[:-1]
        return CodedValues(distinct=moved[is_new], codes=(np.cumsum(is_new, dtype=np.int32) - np.int32(1))[self.codes])


def code_values(values: FloatArray, *, precision: Fraction) -> CodedValues:
    """One ε-quasi, shape (n_records,), coded; missing values become 0.

    Values that are multiples of the precision, as nearly all are, are numbered by counting instead of sorting.
    """
    values = without_missing(values)
    by_counting = _coded_by_counting(values, precision) if len(values) else None
    if by_counting is not None:
        return by_counting
    distinct, codes = np.unique(values, return_inverse=True)
    return CodedValues(distinct=distinct, codes=codes)


def _coded_by_counting(values: FloatArray, precision: Fraction) -> CodedValues | None:
    """The values coded by counting multiples of the precision; None where some are no multiples, or too far apart."""
    factor = precision.denominator / precision.numerator
    low, high = np.rint(np.min(values) * factor), np.rint(np.max(values) * factor)
    if max(abs(low), abs(high)) * precision.numerator >= EXACT or high - low >= SLOTS_PER_RECORD * len(values):
        return None
    span = int(high - low) + 1
    counts = np.zeros(span, dtype=np.int64)
    places: IntArray = np.empty(len(values), dtype=np.int32 if span < 1 << 31 else np.int64)
    part_size = max(_PART, span)  # each part adds to the counts of all multiples
    for first in range(0, len(values), part_size):
        part = slice(first, first + part_size)
        units = np.rint(values[part] * factor)
        # Multiplied before it is divided, a value is rounded once, so that 1753 tenths are 175.3 again.
        if not np.array_equal(units * precision.numerator / precision.denominator, values[part]):
            return None
        places[part] = units - low
        counts += np.bincount(places[part], minlength=span)
    occurs = counts > 0
    distinct = (np.flatnonzero(occurs) + low) * precision.numerator / precision.denominator
    if occurs.all():
        return CodedValues(distinct=distinct, codes=places)
    return CodedValues(distinct=distinct, codes=(np.cumsum(occurs, dtype=np.int32) - np.int32(1))[places])


def without_missing(values: FloatArray) -> FloatArray:
    """The values with 0 for missing ones. A class has all values missing or none, so 0 makes a class of equal values."""
    missing = np.isnan(values)
    return np.where(missing, 0.0, values) if missing.any() else values

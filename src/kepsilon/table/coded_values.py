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
    units = np.rint(values * (precision.denominator / precision.numerator))
    # Multiplied before it is divided, a value is rounded once, so that 1753 tenths are 175.3 again.
    if len(values) and np.abs(units).max() * precision.numerator < EXACT:
        low = units.min()
        span = int(units.max() - low) + 1
        if span <= SLOTS_PER_RECORD * len(values) and np.array_equal(
            units * precision.numerator / precision.denominator, values
        ):
            places = (units - low).astype(np.int64)
            occurs = np.bincount(places, minlength=span) > 0
            distinct = (np.flatnonzero(occurs) + low) * precision.numerator / precision.denominator
            return CodedValues(distinct=distinct, codes=(np.cumsum(occurs, dtype=np.int32) - np.int32(1))[places])
    distinct, codes = np.unique(values, return_inverse=True)
    return CodedValues(distinct=distinct, codes=codes)


def without_missing(values: FloatArray) -> FloatArray:
    """The values with 0 for missing ones. A class has all values missing or none, so 0 makes a class of equal values."""
    missing = np.isnan(values)
    return np.where(missing, 0.0, values) if missing.any() else values

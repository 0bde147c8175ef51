# SPDX-License-Identifier: Apache-2.0
"""Values of records as whole numbers, in fine steps inside each class, so that their sums are exact in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kepsilon.table.arrays import FloatArray, IntArray

FINEST_STEPS = 20
"""A unit of the precision is divided into 2 to this power steps, at most: rounding is left to the average."""
_ROOM = 61
"""Bits that the sum of a class may have."""


class TooWideError(Exception):
    """The values of a class are too far apart, beside the precision, for their sum to be a whole number of 64 bits."""

    def __init__(self, attribute: int) -> None:
        super().__init__("the values of a class are too far apart beside the precision")
        self.attribute = attribute


@dataclass(frozen=True, slots=True, kw_only=True)
class FineSteps:
    """Values of one ε-quasi as base + steps/2^bits units of its precision, base and bits being those of the class."""

    steps: IntArray
    """Shape (n_records,); 0 where a class has no values."""
    bases: FloatArray
    """Whole units, shape (n_classes,); NaN where a class has no values."""
    bits: IntArray
    """Shape (n_classes,)."""

    def taken(self, order: IntArray) -> FineSteps:
        """The records in another order, in which those of a class still stand where those of that class stood."""
        return FineSteps(steps=self.steps[order], bases=self.bases, bits=self.bits)


def fine_steps(
    values: FloatArray, class_ids: IntArray, sizes: IntArray, *, precision: Fraction, attribute: int = 0
) -> FineSteps:
    """One ε-quasi in fine steps; records are in the order of their classes, and `sizes` are those of the classes.

    Raises TooWideError where even whole units could not be summed.
    """
    if len(values) != len(class_ids) or not sizes.all():
        raise ValueError("every record needs a value and a class, and every class a record")
    units = values * (precision.denominator / precision.numerator)
    starts = np.cumsum(sizes) - sizes
    bases = np.rint(np.minimum.reduceat(units, starts))
    units -= bases[class_ids]
    widest = np.nan_to_num(np.maximum.reduceat(units, starts))
    bits = _ROOM - _bits(widest + 1) - _bits(sizes.astype(np.float64))
    if (bits < 0).any():
        raise TooWideError(attribute)
    bits = np.minimum(bits, FINEST_STEPS)
    np.nan_to_num(units, copy=False)
    return FineSteps(steps=np.rint(np.ldexp(units, bits[class_ids])).astype(np.int64), bases=bases, bits=bits)


def spread_coordinates(columns: Sequence[FineSteps], class_ids: IntArray, sizes: IntArray) -> FloatArray:
    """The records as points, each ε-quasi in units of its standard deviation in the class, shape (n_columns, n_records).

    An ε-quasi that does not vary in a class is 0 there. Records have to be in an order that depends on their values
    alone, because sums of doubles depend on the order.
    """
    starts = np.cumsum(sizes) - sizes
    points = np.zeros((len(columns), len(class_ids)))
    for j, column in enumerate(columns):
        means = np.add.reduceat(column.steps, starts) / sizes
        own = column.steps - means[class_ids]
        deviations = np.sqrt(np.add.reduceat(own * own, starts) / sizes)
        np.divide(own, deviations[class_ids], out=points[j], where=deviations[class_ids] > 0)
    return points


def _bits(numbers: FloatArray) -> IntArray:
    """How many binary digits whole numbers up to these have."""
    bits: IntArray = np.frexp(np.ceil(numbers))[1].astype(np.int64)
    return bits

# SPDX-License-Identifier: Apache-2.0
"""Whole units of a declared precision, and the doubles that stand for them.

A published value is j·precision for a whole j, written as the one double nearest to it: bits that are left over from an
addition in floating point would tell from which value they came.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from kepsilon.policy.exact_bounds import EXACT
from kepsilon.table.arrays import FloatArray

PublicDomain = tuple[Fraction, Fraction]


def largest_unit(precision: Fraction) -> int:
    """The largest j for which the double nearest to j·precision is known without error.

    With precision = p/q the double is float(j·p) / float(q): one rounding of exact numbers, if both are exact.
    """
    if precision <= 0:
        raise ValueError(f"a precision must be positive, and is {precision}")
    p, q = precision.numerator, precision.denominator
    if p >= EXACT or int(float(q)) != q:
        raise ValueError(f"a precision of {precision} has more digits than a double")
    return (EXACT - 1) // p


def doubles(units: FloatArray, precision: Fraction) -> FloatArray:
    """The doubles nearest to units·precision, for whole units; ValueError where one would not be certain. NaN stays NaN."""
    if np.any(np.abs(units) > largest_unit(precision)):
        raise ValueError(f"some values are too large to be written exactly in steps of {precision}")
    values = units * float(precision.numerator)
    values /= float(precision.denominator)
    values += 0.0  # makes −0.0, which would show on which side of zero a value was rounded, the one zero
    return values


def nearest_units(values: FloatArray, precision: Fraction) -> FloatArray:
    """The whole units nearest to the values, as doubles. NaN stays NaN."""
    units = _in_units(values, precision)
    return np.rint(units, out=units)


def floor_units(values: FloatArray, precision: Fraction) -> FloatArray:
    """The largest whole units not above the values, as doubles. NaN stays NaN.

    A value that was meant to be a multiple of the precision is one: 0.3 is 3 units of 0.1, and so is 0.1 + 0.2, though
    the one double is a little below and the other a little above. A millionth of a unit and four rounding errors count
    as the same value.
    """
    units = _in_units(values, precision)
    if np.any(np.abs(units) > largest_unit(precision)):
        raise ValueError(f"some values are too large to be counted in steps of {precision}")
    nearest = np.rint(units)
    slack = np.maximum(2.0**-20, np.abs(nearest) * 2.0**-50)
    return np.where(np.abs(units - nearest) <= slack, nearest, np.floor(units))


def _in_units(values: FloatArray, precision: Fraction) -> FloatArray:
    """Values divided by the precision, not yet rounded."""
    units = values * float(precision.denominator)
    if precision.numerator != 1:
        units /= float(precision.numerator)
    return units


def unit_limits(precision: Fraction, domain: PublicDomain | None) -> tuple[float, float]:
    """The smallest and largest whole unit inside the domain; without a domain, no limits (`doubles` refuses the absurd)."""
    limit = largest_unit(precision)
    if domain is None:
        return -math.inf, math.inf
    low, high = math.ceil(domain[0] / precision), math.floor(domain[1] / precision)
    if low > high:
        raise ValueError(f"a domain from {domain[0]} to {domain[1]} holds no multiple of the precision {precision}")
    return float(max(low, -limit)), float(min(high, limit))


def rounded(values: FloatArray, precision: Fraction, domain: PublicDomain | None) -> FloatArray:
    """What is published of values: the nearest multiples of the precision inside the domain. NaN stays NaN."""
    return doubles(np.clip(nearest_units(values, precision), *unit_limits(precision, domain)), precision)

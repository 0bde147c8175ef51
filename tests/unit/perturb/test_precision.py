# SPDX-License-Identifier: Apache-2.0
"""Whole units of a precision against exact fractions."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kepsilon.perturb.precision import doubles, floor_units, largest_unit, nearest_units

PRECISIONS = [Fraction(text) for text in ("0.1", "0.01", "0.001", "1", "0.5", "0.25", "5", "10", "2.5", "0.3", "1e-6")]
precisions = st.sampled_from(PRECISIONS)


@settings(deadline=None)
@given(precisions, st.data())
def test_a_published_double_is_the_one_nearest_to_the_decimal(precision, data):
    """Any other double would show how it was computed."""
    limit = largest_unit(precision)
    unit = data.draw(st.integers(-limit, limit) | st.integers(-10_000, 10_000))
    value = doubles(np.array([float(unit)]), precision)[0]
    assert value == float(unit * precision)
    decimal = Decimal(unit) * Decimal(precision.numerator) / Decimal(precision.denominator)
    assert value == float(decimal)


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
def test_beyond_what_is_certain_it_is_refused(precision):
    """A rounding in float(j·p) would be a second one, after which the nearest double is not certain."""
    limit = float(largest_unit(precision))
    doubles(np.array([limit, -limit]), precision)
    for unit in (limit * 1.001, -limit * 1.001, math.inf):
        with pytest.raises(ValueError, match="too large"):
            doubles(np.array([0.0, unit]), precision)


@pytest.mark.parametrize("precision", [Fraction(0), Fraction(-1, 10), Fraction(2**53), Fraction(1, 2**53 + 1)])
def test_an_impossible_precision_is_refused(precision):
    """Neither of these has multiples that doubles can stand for."""
    with pytest.raises(ValueError, match="precision"):
        largest_unit(precision)


def test_there_is_one_zero():
    """−0.0 would show that the value was rounded from below."""
    values = doubles(nearest_units(np.array([-0.04, 0.04, -0.0]), Fraction(1, 10)), Fraction(1, 10))
    assert [math.copysign(1, value) for value in values] == [1, 1, 1]


def test_missing_stays_missing():
    """NaN is a value of its own and must not become a number."""
    missing = np.array([np.nan, 1.0])
    for function in (doubles, nearest_units, floor_units):
        assert np.isnan(function(missing, Fraction(1, 10))).tolist() == [True, False]


@settings(deadline=None)
@given(precisions, st.data())
def test_the_nearest_unit_is_the_nearest(precision, data):
    """Against fractions, away from ties: a tie is broken one way or the other by the last bit of the double."""
    unit = data.draw(st.integers(-(10**9), 10**9))
    offset = data.draw(st.fractions(Fraction(-499, 1000), Fraction(499, 1000), max_denominator=1000))
    value = float((unit + offset) * precision)
    assert nearest_units(np.array([value]), precision)[0] == unit


@settings(deadline=None)
@given(precisions, st.data())
def test_a_multiple_of_the_precision_is_floored_to_itself(precision, data):
    """0.3 is 3 units of 0.1, though 0.3 / 0.1 is 2.9999999999999996."""
    unit = data.draw(st.integers(-(10**12), 10**12))
    value = float(unit * precision)
    for near in (value, np.nextafter(value, math.inf), np.nextafter(value, -math.inf)):
        assert floor_units(np.array([near]), precision)[0] == unit


@settings(deadline=None)
@given(precisions, st.data())
def test_other_values_are_floored(precision, data):
    """A value between two units belongs to the lower one."""
    unit = data.draw(st.integers(-(10**9), 10**9))
    offset = data.draw(st.fractions(Fraction(1, 10_000), Fraction(9999, 10_000), max_denominator=10_000))
    value = float((unit + offset) * precision)
    assert floor_units(np.array([value]), precision)[0] == unit


def test_sums_of_decimals_count_as_decimals():
    """0.1 + 0.2 is above 0.3, and 0.3 − 0.1 − 0.2 is below 0."""
    values = np.array([0.1 + 0.2, 0.3 - 0.1 - 0.2, 1.1 - 1.0, 0.7 + 0.1])
    assert floor_units(values, Fraction(1, 10)).tolist() == [3, 0, 1, 8]

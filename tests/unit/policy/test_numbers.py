# SPDX-License-Identifier: Apache-2.0
"""One rule says which texts are numbers; Python's and Arrow's way to read them agree on it."""

from __future__ import annotations

import math
import string
from fractions import Fraction

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.engines.arrow.coding import numbers_among, read_doubles
from kepsilon.policy.numbers import parse_double, parse_number

NUMBER_LIKE = st.text("0123456789+-.eE", min_size=1, max_size=9)
ANYTHING = st.text(max_size=6) | NUMBER_LIKE | st.floats().map(repr) | st.integers().map(str)


def plainly_a_number(text: str) -> bool:
    """The rule, taken apart letter by letter."""
    mantissa, exponent, power = text.partition("e") if "e" in text else text.partition("E")
    if exponent:
        digits = power[1:] if power[:1] in ("+", "-") else power
        if not digits or len(digits) > 3 or set(digits) - set(string.digits) or int(digits) > 399:
            return False
    unsigned = mantissa[1:] if mantissa[:1] in ("+", "-") else mantissa
    digits = unsigned.replace(".", "", 1)
    return len(digits) > 0 and len(text) <= 300 and not set(digits) - set(string.digits) and math.isfinite(float(text))


@given(ANYTHING)
def test_python_and_arrow_agree_with_the_rule_on_what_is_a_number(text):
    """A text that is a number for one step and not for the next would be placed here and lost there."""
    text = text.strip()
    is_number = plainly_a_number(text)
    assert (parse_double(text) is not None) is is_number
    assert numbers_among(pa.chunked_array([[text]], pa.string())).to_pylist() == [is_number]


@given(NUMBER_LIKE.filter(plainly_a_number))
def test_numbers_have_the_value_that_they_state(text):
    """The exact number, the double nearest to it, and the double that Arrow reads are the same number."""
    double = parse_double(f" {text}\t")
    values, wrong = read_doubles(pa.chunked_array([[text]]), "column", "table")
    assert wrong.n_texts == 0
    assert values.tolist() == [double]
    exact = parse_number(text)
    assert exact == (Fraction(text) if abs(double) < 2**53 else None)
    assert exact is None or float(exact) == double


def test_numbers_that_doubles_do_not_tell_apart_are_codes_for_a_k_quasi():
    """Two card numbers of 20 digits would share a place on the number line."""
    assert parse_number(str(2**53 - 1)) == 2**53 - 1
    assert parse_number(str(2**53)) is None
    assert parse_number("-12345678901234567890") is None

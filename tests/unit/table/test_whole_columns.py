# SPDX-License-Identifier: Apache-2.0
"""Texts and numbers become columns whose codes are ranks, and text is read as numbers or dates only where nearly all is."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from kepsilon.table.whole_columns import number_column, text_column
from kepsilon.table.whole_records import MISSING, WholeColumn


def of_texts(*texts: str | None, are_read: bool = True) -> WholeColumn:
    """The column of some records' texts, coded in the order in which they come up."""
    place: dict[str, int] = {}
    codes = [MISSING if text is None else place.setdefault(text, len(place)) for text in texts]
    return text_column(list(place), np.array(codes), are_read=are_read)


def days(*parts: int) -> float:
    return float((date(*parts) - date(1970, 1, 1)).days)


def numbers_of(column: WholeColumn) -> list[float] | None:
    return None if column.numbers is None else column.numbers.tolist()


def test_texts_are_ranked_as_text():
    """Whatever order values come up in, the same values have the same codes."""
    column = of_texts("b", None, "a", "", "b", "  ", "é")
    assert column.codes.tolist() == [1, MISSING, 0, MISSING, 1, MISSING, 2]
    assert column.texts == ("a", "b", "é")
    assert column.numbers is None
    assert column.n_distinct == 3


def test_texts_that_are_numbers_are_ranked_as_numbers():
    """10 comes after 9; 1 and 1.0 are one number in two spellings, so they stay two values."""
    column = of_texts("10", "9", "1.0", "1", "-3", "2,5", " 4 ", "1e2")
    assert column.texts == ("-3", "1", "1.0", "2,5", " 4 ", "9", "10", "1e2")
    assert numbers_of(column) == [-3, 1, 1, 2.5, 4, 9, 10, 100]
    assert column.codes.tolist() == [6, 5, 2, 1, 0, 3, 4, 7]


@pytest.mark.parametrize(("n_words", "are_numbers"), [(15, True), (16, False)])
def test_one_record_in_twenty_may_hold_a_word_among_numbers(n_words, are_numbers):
    """Some files have a remark here and there; such a value has a code, and no number."""
    column = of_texts(*(str(i) for i in range(300 - n_words)), *(f"x{i:02}" for i in range(n_words)))
    assert (column.numbers is not None) is are_numbers
    if column.numbers is not None:
        assert column.texts[-1] == "x14"
        assert np.isnan(column.numbers[-n_words:]).all()
        assert not np.isnan(column.numbers[:-n_words]).any()


@pytest.mark.parametrize(
    ("words", "n_different", "are_numbers"),
    [
        pytest.param([">60"] * 80, 20, True, id="one word in most records"),
        pytest.param([">60"] * 81, 19, False, id="one word in nearly all records"),
        pytest.param([f"not {i % 10}" for i in range(50)], 50, True, id="ten words"),
        pytest.param([f"not {i % 11}" for i in range(50)], 50, False, id="eleven words"),
        pytest.param(["A", "B"] * 10, 16, False, id="few numbers, as of wards"),
    ],
)
def test_a_few_words_may_stand_beside_many_numbers(words, n_different, are_numbers):
    """A laboratory writes “not done”, or “>60”, in as many records as it wants; the others are numbers all the same."""
    column = of_texts(*words, *(f"{i}.5" for i in range(n_different)))
    assert (column.numbers is not None) is are_numbers


def test_a_few_words_may_stand_beside_many_dates():
    """As where a date is not known of half of the records."""
    assert of_texts(*["not known"] * 30, *(f"2020-01-{1 + i:02}" for i in range(30))).is_date


def test_words_for_missing_values_do_not_turn_numbers_into_text():
    """A laboratory value is a number also where a third of the records say NA."""
    column = of_texts(*["NA"] * 10, *["n/a"] * 10, *(f"{i}.5" for i in range(30)))
    assert column.numbers is not None
    assert np.isnan(column.numbers).sum() == 2
    assert of_texts("NA", "?", "-").numbers is None


@pytest.mark.parametrize("text", ["1_000", "0x10", "nan", "inf", "1e999", "٣", "3e41592653", "1,23,567"])
def test_what_is_no_plain_number_stays_text(text):
    """Codes that Python would take for numbers must not be worked out."""
    assert of_texts(text, "a").numbers is None
    assert of_texts(text).numbers is None


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param(["950", "40,247", "1,052,310"], id="thousands"),
        pytest.param(["$950", "$40,247", "$1,052,310"], id="currency"),
        pytest.param(["950 EUR", "40247 EUR", "1052310.00 EUR"], id="unit"),
        pytest.param(["950", "40 247", "1 052 310"], id="blanks"),
        pytest.param(["950", "40\u202f247", "1\u202f052\u202f310"], id="narrow blanks"),
        pytest.param(["950", "40'247", "1'052'310"], id="Swiss"),
        pytest.param(["950,00", "40.247,00", "1.052.310,00"], id="German"),
        pytest.param(["P950", "P40247", "P1052310"], id="codes"),
    ],
)
def test_numbers_are_read_as_people_write_them(texts):
    """A copy of an income is one with a currency too."""
    assert numbers_of(of_texts(*texts)) == [950, 40_247, 1_052_310]


def test_a_comma_before_three_digits_is_a_decimal_sign_where_all_have_one():
    """1,234 may be either; which of the two does not matter, if it is the same everywhere."""
    assert numbers_of(of_texts("1,234", "20,500")) == [1.234, 20.5]
    assert numbers_of(of_texts("1,234", "20,5", "3")) == [1.234, 3, 20.5]


@pytest.mark.parametrize("texts", [["E11.9", "I10", "F32"], ["12 kg", "12 lb", "3 oz"], ["1.2.3.4", "5.6.7.8"]])
def test_different_letters_around_numbers_make_texts(texts):
    """Codes of diseases are no numbers."""
    assert of_texts(*texts).numbers is None


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["2020-02-29", "0001-01-01", "9999-12-31"], [(1, 1, 1), (2020, 2, 29), (9999, 12, 31)]),
        (["29.02.2020", "1.3.1950"], [(1950, 3, 1), (2020, 2, 29)]),
        (["02/29/2020", "03/04/2020"], [(2020, 2, 29), (2020, 3, 4)]),
        (["29/02/2020", "03/04/2020"], [(2020, 2, 29), (2020, 4, 3)]),
        (["03/04/2020"], [(2020, 3, 4)]),
        (["03.04.2020"], [(2020, 4, 3)]),
        (["2020/02/29"], [(2020, 2, 29)]),
        (["28FEB1977", "1mar2020"], [(1977, 2, 28), (2020, 3, 1)]),
        (["28-Feb-1977", "1 March 2020"], [(1977, 2, 28), (2020, 3, 1)]),
        (["February 28, 1977", "Mar. 1, 2020"], [(1977, 2, 28), (2020, 3, 1)]),
        (["28. Februar 1977", "1. März 2020"], [(1977, 2, 28), (2020, 3, 1)]),
        (["28/02/77", "29/01/20"], [(1977, 2, 28), (2020, 1, 29)]),
        (["28.02.77", "29.01.20"], [(1977, 2, 28), (2020, 1, 29)]),
        (["1977-02", "2020-3"], [(1977, 2, 1), (2020, 3, 1)]),
        (["02/1977", "3/2020"], [(1977, 2, 1), (2020, 3, 1)]),
    ],
    ids=[
        "iso",
        "dots",
        "american",
        "day first",
        "either way",
        "dots either way",
        "year first",
        "SAS",
        "name of month",
        "month first",
        "German",
        "two digits",
        "two digits with dots",
        "months",
        "months before years",
    ],
)
def test_dates_as_text_are_dates(texts, expected):
    """A birthday in a CSV file gives an age away as well as one in a column of dates."""
    column = of_texts(*texts)
    assert column.is_date
    assert numbers_of(column) == [days(*own) for own in expected]


def test_moments_as_text_are_dates_with_a_part_of_a_day():
    """The time of day counts, whatever the zone is written as."""
    column = of_texts("1970-01-02T06:00:00Z", "1970-01-01 12:00", "1970-01-03 00:00:43.2+01:00")
    assert column.is_date
    assert numbers_of(column) == [0.5, 1.25, pytest.approx(2.0005)]


@pytest.mark.parametrize("text", ["2020-02-30", "99.12.2020.", "31-12-99", "2020-13-01", "0000-01-01", "12:30"])
def test_what_is_no_date_stays_text(text):
    """A day that no calendar has is text, and raises nothing."""
    column = of_texts(text)
    assert not column.is_date
    assert column.numbers is None
    assert column.texts == (text,)


def test_numbers_are_told_apart_exactly():
    """Doubles cannot tell neighbours above 2^53 apart; codes do."""
    column = number_column(np.array([2**53 + 1, 2**53, 7, 7]), is_missing=np.array([False, False, True, False]))
    assert column.codes.tolist() == [2, 1, MISSING, 0]
    assert numbers_of(column) == [7, 2.0**53, 2.0**53]


def test_nan_is_missing_and_minus_zero_is_zero():
    """Both are one value for whoever compares records; an infinity is a value without a number."""
    values = np.array([-0.0, 0.0, np.nan, np.inf, -np.inf, 1.5])
    column = number_column(values, is_missing=np.zeros(6, dtype=bool))
    assert column.codes.tolist() == [1, 1, MISSING, 3, 0, 2]
    np.testing.assert_array_equal(column.numbers, [np.nan, 0.0, 1.5, np.nan])


def test_a_column_of_some_records_holds_their_values_only():
    """Ranks are those among the records that are left."""
    column = of_texts("30", "20", None, "10", "20").of(np.array([0, 2, 4, 4]))
    assert column.codes.tolist() == [1, MISSING, 0, 0]
    assert column.texts == ("20", "30")
    assert numbers_of(column) == [20, 30]
    assert of_texts("b", None).of(np.array([1])).codes.tolist() == [MISSING]

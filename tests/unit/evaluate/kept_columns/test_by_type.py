# SPDX-License-Identifier: Apache-2.0
"""Dates, free text and serial numbers are known by what they look like."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from kepsilon.evaluate.kept_columns.by_type import is_exact_date, is_free_text, is_serial
from kepsilon.table.whole_records import WholeColumn
from material.whole_columns import whole_column

RNG = np.random.default_rng(3)
N = 400


def test_dates_are_exact_unless_all_are_first_days():
    """A month or a year is coarser than what others remember."""
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=int(own)) for own in RNG.integers(0, 900, N)]
    assert is_exact_date(whole_column(days))
    assert not is_exact_date(whole_column([own.replace(day=1) for own in days]))
    assert not is_exact_date(whole_column([None, *(own.replace(day=1, month=1) for own in days)]))
    assert not is_exact_date(whole_column([float(own) for own in range(N)]))
    assert not is_exact_date(whole_column([days[0], None, *[days[0]] * N]))
    as_text = whole_column([str(own) for own in days])
    assert is_exact_date(WholeColumn(codes=as_text.codes, numbers=None, texts=as_text.texts, is_date=True))


def test_free_text_is_long_has_many_words_and_differs():
    """Names of categories are long, but few; codes are many, but short."""
    notes = [f"came at {i} o'clock and was told to wait for the doctor" for i in range(N)]
    assert is_free_text(whole_column(notes))
    assert is_free_text(whole_column([*notes, *[None] * N]))
    assert not is_free_text(whole_column([notes[i % 5] for i in range(N)]))
    assert not is_free_text(whole_column([f"ward-{i}" for i in range(N)]))
    assert not is_free_text(whole_column([f"a{i} b c d e f" for i in range(N)]))
    assert not is_free_text(whole_column([1.0, 2.0]))
    assert not is_free_text(whole_column([None]))


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(list(range(N)), id="numbers"),
        pytest.param([-3.5 * i for i in range(N)], id="falling"),
        pytest.param([f"P{i:06}" for i in range(N)], id="padded texts"),
        pytest.param([f"case {i}/b" for i in range(N)], id="texts whose last number counts"),
        pytest.param((np.arange(N) * 10 + RNG.integers(0, 40, N)).tolist(), id="nearly in order"),
        pytest.param([None if i % 3 else i for i in range(N)], id="most of them missing"),
    ],
)
def test_values_in_the_order_of_the_input_are_serial(values):
    """Also when the records come in another order, as an engine hands them over."""
    order = RNG.permutation(N)
    assert is_serial(whole_column([values[i] for i in order]), order)
    assert not is_serial(whole_column([values[i] for i in order]), RNG.permutation(N))
    assert not is_serial(whole_column([values[i] for i in order]), None)


def test_what_repeats_or_follows_the_order_loosely_is_not_serial():
    """A column that the table is sorted by, with repeats, tells its own value and nothing more."""
    rows = np.arange(N)
    assert not is_serial(whole_column((rows // 10).tolist()), rows)
    assert not is_serial(whole_column((rows + RNG.normal(0, 60, N)).tolist()), rows)
    assert not is_serial(whole_column([None] * N), rows)
    assert not is_serial(whole_column(list(range(9))), np.arange(9))
    assert not is_serial(whole_column([f"{own:08x}-zz" for own in RNG.integers(0, 2**31, N)]), rows)

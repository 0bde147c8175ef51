# SPDX-License-Identifier: Apache-2.0
"""One rule for rounding, so that a figure reads alike on the screen, in the report and in a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.rounding import number, out_of, percent, percent_above, percent_at_most, told_apart


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (0, "0 %"),
        (1, "100 %"),
        (1e-9, "under 0.001 %"),
        (0.000123, "0.012 %"),
        (0.0096, "0.96 %"),
        (0.05, "5 %"),
        (0.12345, "12.3 %"),
        (0.99996, "99.99 %"),
        (12.345, "1,234 %"),
        (-0.05, "−5 %"),
    ],
)
def test_a_share_is_rounded_in_one_way(share, words):
    """Two digits below 1 %, one decimal above, and neither nobody nor everybody by rounding."""
    assert percent(share) == words


@given(st.floats(0, 1))
def test_a_bound_is_never_rounded_down(share):
    """What is said to be at most this much is no more."""
    words = percent_at_most(share)
    assert float(words.removesuffix(" %")) >= 100 * share - 1e-7


@pytest.mark.parametrize(
    ("share", "limit", "words"),
    [
        (0.0503, 0.05, "5.03 %"),
        (0.050004, 0.05, "5.0004 %"),
        (0.3, 0.05, "30 %"),
        (0.04, 0.05, "4 %"),
        (0.05, 0.05, "5 %"),
    ],
)
def test_a_share_above_a_limit_reads_as_above_it(share, limit, words):
    """A refusal that says “5 %, above 5 %” helps nobody."""
    assert percent_above(share, limit) == words


@given(st.floats(1e-6, 1 - 1e-6))
def test_only_nothing_is_0_and_only_all_is_100_percent(share):
    """A risk that is small is not none, and a share that is large leaves somebody."""
    assert percent(share) not in {"0 %", "100 %"}


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        (0.0, "0"),
        (3.4, "3.40"),
        (170.16, "170"),
        (-12345.6, "−12,346"),
        (1234567, "1,234,567"),
        (0.00001, "1.00e−05"),
        (None, "–"),
    ],
)
def test_a_figure_has_three_digits(figure, words):
    """More digits of a quantile would be the value of a record."""
    assert number(figure) == words


def test_two_figures_have_the_digits_that_tell_them_apart():
    """“170 → 170” would say that nothing changed."""
    assert told_apart(170.01, 170.42) == ("170.0", "170.4")
    assert told_apart(170.0, 170.0) == ("170", "170")


def test_a_share_is_said_as_so_many_out_of_a_round_number():
    """An officer reads “3 in 1,000” more easily than 0.003."""
    assert [out_of(share) for share in (0, 0.12, 0.003, 1e-9)] == [
        "none",
        "12 in 100",
        "3 in 1,000",
        "fewer than 1 in 1,000,000",
    ]

# SPDX-License-Identifier: Apache-2.0
"""Which texts of a sensitive column are one value, and which are none."""

from __future__ import annotations

from kepsilon.table.sensitive import code_values_in_order


def test_nan_is_no_value_among_numbers():
    codes, n_values, is_ordered = code_values_in_order(["2", "nan", "1.0", None, "1"])
    assert (codes.tolist(), n_values, is_ordered) == ([1, -1, 0, -1, 0], 2, True)


def test_a_column_of_nothing_but_nan_has_no_value():
    codes, n_values, is_ordered = code_values_in_order(["nan", ""])
    assert (codes.tolist(), n_values, is_ordered) == ([-1, -1], 0, False)


def test_a_word_that_reads_nan_among_words_is_a_value():
    codes, n_values, is_ordered = code_values_in_order(["nan", " bread", "bread", "1"])
    assert (codes.tolist(), n_values, is_ordered) == ([2, 1, 1, 0], 3, False)

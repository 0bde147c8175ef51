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


def test_one_long_text_does_not_make_all_others_as_long() -> None:
    """An array of texts in NumPy would take the length of the longest for each: here 16 GB."""
    values = ["long " * 800_000, *(f"value {i}" for i in range(1_000)), "nul\0", "nul"]
    codes, n_values, is_ordered = code_values_in_order(values)
    assert n_values == len(values)  # and NumPy would take a NUL at the end for nothing
    assert len(set(codes.tolist())) == len(values)
    assert not is_ordered

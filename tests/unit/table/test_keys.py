# SPDX-License-Identifier: Apache-2.0
"""Packing codes into one integer, and numbering what is equal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.table.keys import count_codes, number, number_by_first, pack

tables = st.integers(0, 4).flatmap(
    lambda width: st.lists(st.tuples(*[st.integers(0, 3)] * width), max_size=20).map(lambda t: (width, t))
)


def columns_of(width, combinations):
    return [np.array([c[i] for c in combinations], dtype=np.int64) for i in range(width)]


@pytest.mark.parametrize("size", [4, 1 << 20, 1 << 40], ids=["small", "sorted", "ranked between attributes"])
@given(tables)
def test_numbers_follow_lexicographic_order_whatever_the_domain_sizes(size, width_and_combinations):
    """Equal numbers make one class: a collision of keys would merge classes, an overflow would divide them."""
    width, combinations = width_and_combinations
    columns = columns_of(width, combinations)
    numbers, n_distinct = number(columns, sizes=[size] * width, length=len(combinations))
    in_order = sorted(set(combinations))
    assert n_distinct == len(in_order)
    assert numbers.tolist() == [in_order.index(c) for c in combinations]


def test_a_key_never_overflows():
    """Eight attributes of 2**20 values each make 2**160 slots; ranks in between keep the key small."""
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, 1 << 20, 50) for _ in range(8)]
    key, bound = pack(columns, sizes=[1 << 20] * 8, length=50)
    assert bound <= 1 << 62
    assert 0 <= key.min() <= key.max() < bound
    assert np.argsort(key).tolist() == sorted(range(50), key=lambda i: tuple(c[i] for c in columns))


@given(st.lists(st.integers(0, 5), max_size=20))
def test_numbers_by_first_appearance(given_numbers):
    """Class ids must not depend on the order in which parts were finished."""
    distinct = sorted(set(given_numbers))
    numbers = np.array([distinct.index(n) for n in given_numbers], dtype=np.int64)
    new = number_by_first(numbers, n_distinct=len(distinct))
    seen = list(dict.fromkeys(numbers.tolist()))
    assert new[numbers].tolist() == [seen.index(n) for n in numbers.tolist()]


@pytest.mark.parametrize(("n_codes", "n_values"), [(0, 3), (5, 3), (200_000, 7), (200_000, 100_000)])
def test_codes_counted_in_parts_are_counted_as_a_whole(n_codes, n_values):
    """The counts decide which values a hierarchy is asked for."""
    codes = np.random.default_rng(1).integers(0, n_values, n_codes).astype(np.int32)
    np.testing.assert_array_equal(count_codes(codes, n_values=n_values), np.bincount(codes, minlength=n_values))

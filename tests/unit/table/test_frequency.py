# SPDX-License-Identifier: Apache-2.0
"""Counting combinations: the same table whatever the path, and no overflow."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.engines.arrow.coding import rank_by_hash
from kepsilon.table import frequency, keys
from kepsilon.table.codes import NotNestedError, code_domain
from kepsilon.table.frequency import count_combinations
from kepsilon.table.keys import rank


def domain_of_size(size: int):
    return code_domain("a", [[f"{i:06}" for i in range(size)]])[0]


@given(
    st.integers(1, 4).flatmap(
        lambda d: st.tuples(
            st.lists(st.integers(1, 5), min_size=d, max_size=d),
            st.lists(st.lists(st.integers(0, 4), min_size=d, max_size=d), min_size=1, max_size=40),
        )
    ),
    st.sampled_from([(1, 20), (15, 20), (1, keys.LARGEST_KEY), (frequency.DENSE_SLOTS, keys.LARGEST_KEY)]),
    st.sampled_from([rank, rank_by_hash]),
)
def test_counting_equals_a_dictionary(case, limits, ranked):
    """By `bincount`, by ranking, and by ranking half-way, against a Counter."""
    sizes, records = case
    dense_slots, largest_key = limits
    records = [tuple(code % size for code, size in zip(record, sizes, strict=True)) for record in records]
    columns = [np.array(column, dtype=np.int16) for column in zip(*records, strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frequency, "DENSE_SLOTS", dense_slots)
        patch.setattr(keys, "LARGEST_KEY", largest_key)
        table, of_record = count_combinations(
            columns, [domain_of_size(size) for size in sizes], n_records=len(records), rank=ranked
        )
    wanted = Counter(records)
    combinations = list(zip(*(column.tolist() for column in table.codes), strict=True))
    assert combinations == sorted(wanted)
    assert dict(zip(combinations, table.counts.tolist(), strict=True)) == wanted
    assert [combinations[i] for i in of_record] == records


def test_codes_are_ranked_before_they_overflow():
    """Ten attributes of 500 values make 1e27 slots, far beyond 64 bits."""
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, 500, 1000) for _ in range(10)]
    columns = [np.concatenate([column, column[:100]]) for column in columns]
    table, of_record = count_combinations(columns, [domain_of_size(500)] * 10, n_records=1100)
    assert table.n_combinations == 1000
    assert table.n_records == 1100
    assert (of_record[:100] == of_record[1000:]).all()


def test_the_domain_does_not_depend_on_the_order_of_values():
    """Deterministic whatever the record order."""
    levels = {"b1": "b", "a2": "a", "a1": "a", None: None}
    for order in (["b1", "a2", "a1", None], [None, "a1", "b1", "a2"]):
        domain, codes = code_domain("x", [order, [levels[v] for v in order], ["*"] * 4])
        assert domain.levels == ((None, "a1", "a2", "b1"), (None, "a", "b"), ("*",))
        assert [domain.levels[0][code] for code in codes] == order


def test_levels_that_divide_are_refused():
    """The caller words it; the label is the curator's."""
    with pytest.raises(NotNestedError) as caught:
        code_domain("x", [["1", "2"], ["a", "a"], ["p", "q"]])
    assert (caught.value.level, caught.value.label, caught.value.parents) == (2, "a", ("p", "q"))

# SPDX-License-Identifier: Apache-2.0
"""Combinations counted in parts are those counted at once, however many values come up and however late."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from kepsilon.engines.counts import growing as growing_counts
from kepsilon.engines.counts.growing import CombinationIndex, GrowingCodes, GrowingCounts
from oracles.noise import SEED


def counted(columns: list[np.ndarray], *, n_parts: int) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    counts = GrowingCounts(len(columns))
    seen = [0] * len(columns)
    for part in np.array_split(np.arange(len(columns[0])), n_parts):
        own = [column[part] for column in columns]
        seen = [max(before, int(codes.max(initial=-1)) + 1) for before, codes in zip(seen, own, strict=True)]
        counts.add(own, [max(1, n) for n in seen], n_records=len(part))
    return counts.total()


@pytest.mark.parametrize("n_values", [2, 30, 5_000])
@pytest.mark.parametrize("fold_at", [10, 1 << 22])
def test_counts_are_those_of_a_plain_count(n_values, fold_at, monkeypatch):
    """Few slots and many, added up often and once."""
    monkeypatch.setattr(growing_counts, "_FOLD_AT", fold_at)
    rng = np.random.default_rng(SEED)
    columns = [np.sort(rng.integers(0, n_values, 3_000)).astype(np.int32), rng.integers(0, 3, 3_000).astype(np.int32)]
    found, counts = counted(columns, n_parts=9)
    oracle = Counter(zip(*(column.tolist() for column in columns), strict=True))
    assert dict(zip(zip(*(c.tolist() for c in found), strict=True), counts.tolist(), strict=True)) == oracle


def test_no_columns_are_one_combination():
    """Everybody is in it."""
    counts = GrowingCounts(0)
    counts.add([], [], n_records=5)
    counts.add([], [], n_records=7)
    assert counts.total()[1].tolist() == [12]


@pytest.mark.parametrize("most_slots", [0, 1 << 30])
@pytest.mark.parametrize(
    "sizes",
    [(5, 7, 3), (1 << 30, 1 << 30, 1 << 30), (40,) * 12],
    ids=["few", "more than fit an integer", "so many columns that few slots are left once they are ranked"],
)
def test_combinations_are_found_again(sizes, most_slots):
    """By position or by search; where the product of the sizes overflows, ranks stand for the first columns."""
    rng = np.random.default_rng(SEED)
    table = [rng.integers(0, 5, 400) % size * (size // 5) for size in sizes]
    rows = np.unique(np.column_stack(table), axis=0)
    columns = [np.ascontiguousarray(rows[:, j]) for j in range(len(sizes))]
    answers = np.arange(len(rows)) - 1
    index = CombinationIndex(columns, sizes, answers, most_slots=most_slots)
    chosen = rng.integers(0, len(rows), 1_000)
    found = index.find([column[chosen] for column in columns], n_records=1_000)
    assert found.tolist() == answers[chosen].tolist()


@pytest.mark.parametrize("most_slots", [0, 1 << 20])
def test_a_combination_that_never_came_up_is_noticed(most_slots):
    """Also a value that never did."""
    index = CombinationIndex([np.array([0, 1]), np.array([0, 1])], [2, 2], np.array([0, -1]), most_slots=most_slots)
    assert index.find([np.array([0, 1]), np.array([0, 1])], n_records=2).tolist() == [0, -1]
    assert index.find([np.array([0]), np.array([1])], n_records=1) is None
    assert index.find([np.array([growing_counts.UNKNOWN]), np.array([1])], n_records=1) is None
    assert index.find([np.array([0]), np.array([3])], n_records=1) is None  # not the slot of (1, 1)


def test_codes_grow_and_are_looked_up():
    """Null is a value; what never came up is unknown."""
    codes = GrowingCodes("a", "table")
    assert codes.learn(pa.chunked_array([["x", None, "x"]])).tolist() == [0, 1, 0]
    assert codes.learn(pa.chunked_array([["y", "x"]])).tolist() == [2, 0]
    assert codes.values == ("x", None, "y")
    assert codes.look_up(pa.chunked_array([["z", None, "y"]])).tolist() == [growing_counts.UNKNOWN, 1, 2]

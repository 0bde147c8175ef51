# SPDX-License-Identifier: Apache-2.0
"""Quantiles, columns that are read in parts, and what stays inside classes."""

from __future__ import annotations

import numpy as np
import pytest

from kepsilon.evaluate.survival import inside_classes
from kepsilon.evaluate.survival.figures import PERCENTS
from kepsilon.evaluate.survival.inside_classes import InsideSums, inside_sums
from kepsilon.evaluate.survival.measure import quantiles_of
from kepsilon.evaluate.survival.moments import moments_of
from kepsilon.table.whole_columns import number_column, numbers_of, text_column
from oracles import survival as oracle


def test_quantiles_are_values_that_records_hold():
    """With k = 0 all of them, at every number of records, whole multiples of 20 included."""
    rng = np.random.default_rng(1)
    for n in (*range(1, 45), 100, 1_000):
        values = rng.integers(0, 30, n).astype(float)
        assert quantiles_of(values, k=0) == [oracle.quantile(values.tolist(), p, 0) for p in PERCENTS]
        assert quantiles_of(values, np.full(n, 2.5), k=0) == quantiles_of(values, k=0), "equal weights change nothing"


def test_a_weight_stands_for_copies():
    rng = np.random.default_rng(2)
    values, copies = rng.normal(0, 1, 200), rng.integers(1, 4, 200)
    assert quantiles_of(values, copies.astype(float), k=0) == quantiles_of(np.repeat(values, copies), k=0)


def test_a_quantile_that_an_extreme_record_sets_is_not_given():
    """With 100 records, five lie below the 5 % quantile: at k = 6 it would tell about fewer than k."""
    values = np.arange(100.0)
    assert quantiles_of(values, k=5)[0] == 4
    assert quantiles_of(values, k=6)[0] is None
    assert quantiles_of(values, k=6)[2] == 49
    assert quantiles_of(np.array([np.nan]), k=0) == [None] * 5


def test_texts_in_parts_are_read_as_one_column():
    """Which texts are numbers is decided for all parts together, and a part of its own may look otherwise."""
    one = text_column(["1", "2.5"], np.array([0, 1, -1, 0]))
    other = text_column(["x", "2.5"], np.array([1, 0]))
    many = text_column([str(i) for i in range(90)], np.arange(90))
    found = numbers_of([one, other, many])
    assert found is not None
    assert found[:6].tolist() == pytest.approx([1, 2.5, np.nan, 1, 2.5, np.nan], nan_ok=True)
    assert numbers_of([text_column(["x", "y"], np.array([0, 1]))]) is None


def test_numbers_in_parts_keep_their_values():
    parts = [np.array([3.0, np.nan, 1.0]), np.array([np.nan]), np.array([2.0])]
    found = numbers_of([number_column(own, is_missing=np.isnan(own)) for own in parts])
    assert found is not None
    assert found.tolist() == pytest.approx([3, np.nan, 1, np.nan, 2], nan_ok=True)


def test_a_class_in_parts_has_the_sums_of_the_class():
    rng = np.random.default_rng(3)
    true, published = rng.normal(1e6, 1, (90, 1)), rng.normal(1e6, 1, (90, 1))
    stays = rng.random(90) < 0.7
    whole = inside_sums(true, published, np.zeros(90, dtype=np.int64), stays, n_classes=1)
    both = moments_of(true[:50], published[:50], chosen=stays[:50])
    both += moments_of(true[50:], published[50:], chosen=stays[50:])
    assert InsideSums.of_one_class(both).correlation(0) == pytest.approx(whole.correlation(0), abs=1e-9)


@pytest.mark.parametrize("part", [1 << 20, 7])
def test_what_stays_inside_classes_is_what_the_oracle_finds(part, monkeypatch):
    """Some records at a time, with missing values, constant classes, and records that do not stay."""
    monkeypatch.setattr(inside_classes, "_PART", part)
    rng = np.random.default_rng(4)
    ids = rng.integers(0, 9, 300)
    true, published = np.round(rng.normal(1e5, 3, (300, 1)), 1), np.round(rng.normal(1e5, 3, (300, 1)), 1)
    published += true - 1e5
    true[ids == 3], published[ids == 3] = 99_999.3, 99_999.3
    true[ids == 5] = published[ids == 5] = np.nan
    stays = rng.random(300) < 0.8
    expected = oracle.inside_classes(true[stays, 0].tolist(), published[stays, 0].tolist(), ids[stays].tolist())
    found = inside_sums(true, published, ids, stays, n_classes=9)
    assert found.correlation(0) == pytest.approx(expected, abs=1e-9)
    only = inside_sums(true, published, ids, stays & (ids == 3), n_classes=9)
    assert (only.true[0], only.published[0], only.correlation(0)) == (0.0, 0.0, None)

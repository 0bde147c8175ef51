# SPDX-License-Identifier: Apache-2.0
"""Columns in bins and as numbers, hard values among them."""

from __future__ import annotations

import numpy as np
import pytest

from kepsilon.evaluate.kept_columns.coding import (
    bins_by_size,
    bins_by_value,
    is_measured,
    may_be_codes,
    numbers_of,
    standardised,
    standardised_logarithms,
    unique_share,
    without_codes,
)
from material.whole_columns import whole_column


def test_bins_by_size_hold_about_equally_many_records_and_missing_ones_their_own():
    """Seventeen bins, in the order of the numbers."""
    values = np.random.default_rng(1).normal(size=1_700)
    values[:100] = np.nan
    bins = bins_by_size(whole_column(values))
    assert len(set(bins[:100])) == 1
    assert set(bins[:100]).isdisjoint(bins[100:])
    counts = np.bincount(bins)
    assert len(counts) == 17
    assert set(counts) == {100}
    assert np.all(np.diff(values[100:][np.argsort(bins[100:], kind="stable")][::100]) > 0)


def test_equal_values_share_a_bin_and_few_values_keep_their_own():
    """A column with a frequent value has fewer bins, not wrong ones."""
    assert bins_by_size(whole_column([0.0] * 90 + list(range(1, 31)))).tolist()[:90] == [0] * 90
    assert len(set(bins_by_size(whole_column([1.0] * 1_000 + [2.0, 3.0])).tolist())) == 3


def test_many_categories_share_bins_in_turn():
    """Of 100 categories the eight most frequent have their own bin, and no bin of the others holds most of them."""
    texts = [f"c{i:03}" for i in range(100) for _ in range(1 + (i < 8))]
    bins = bins_by_value(whole_column(texts))
    assert bins.max() == 15
    assert [len({t for t, b in zip(texts, bins, strict=True) if b == own}) for own in range(16)] == [1] * 8 + [
        12
    ] * 4 + [11] * 4


def test_what_may_be_codes():
    """Texts, few numbers, numbers that come again; not measurements."""
    rng = np.random.default_rng(2)
    assert may_be_codes(whole_column(["a", "b"]))
    assert may_be_codes(whole_column(rng.integers(0, 100, 5_000)))
    assert not may_be_codes(whole_column(rng.normal(size=5_000)))


@pytest.mark.parametrize("scale", [1e-308, 1.0, 1e300])
def test_huge_and_tiny_numbers_are_standardised(scale):
    """No overflow, whatever the unit."""
    values = np.array([1.0, -1.0, 0.5, np.nan]) * scale
    found = standardised(values)
    assert np.nanstd(found) == pytest.approx(1.0)
    assert np.isnan(found[3])


def test_numbers_that_do_not_vary_are_none():
    """Constant, missing, or none at all."""
    for values in ([5.0] * 9, [0.0] * 9, [np.nan] * 9, []):
        assert standardised(np.array(values)) is None
        assert standardised_logarithms(np.array(values)) is None
    assert standardised_logarithms(np.array([1.0, -2.0])) is None


def test_infinite_numbers_count_as_missing_and_texts_are_no_numbers():
    """They stay values of their own for bins."""
    column = whole_column([np.inf, -np.inf, 1.0, np.nan])
    assert np.isnan(numbers_of(column)[[0, 1, 3]]).all()
    assert len(set(bins_by_size(column).tolist())) == 4
    assert numbers_of(whole_column(["a"])) is None
    assert not is_measured(whole_column(["a"] * 3))


def test_unique_values_are_counted_per_record():
    """Two of five records have a value of their own; missing values are nobody's own."""
    assert unique_share(whole_column(["a", "a", "b", "c", None])) == 0.4
    assert unique_share(whole_column([None])) == 0.0


@pytest.mark.parametrize(
    "codes",
    [
        pytest.param([999.0], id="999"),
        pytest.param([-1.0], id="minus one"),
        pytest.param([-9.0, 997.0, 998.0, 999.0], id="four codes"),
        pytest.param([0.0], id="nothing found"),
        pytest.param([1e300, -1e300], id="no overflow"),
    ],
)
def test_codes_among_numbers_are_left_out(codes):
    """Frequent numbers at an end, apart from all others or far more frequent than these."""
    others = np.random.default_rng(3).normal(5, 1, 1_000).round(2)
    values = np.concatenate([others, np.repeat(codes, 20), [np.nan]])
    found = without_codes(values)
    assert found is not None
    np.testing.assert_array_equal(found[:1_000], others)
    assert np.isnan(found[1_000:]).all()


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(np.random.default_rng(4).normal(5, 1, 1_000).round(2), id="no code"),
        pytest.param(np.append(np.random.default_rng(4).normal(5, 1, 1_000), [900.0] * 5), id="a few huge values"),
        pytest.param(np.random.default_rng(4).integers(0, 30, 1_000).astype(float), id="few values"),
        pytest.param(np.repeat([0.0, 1.0, 99.0], 50), id="nothing but codes"),
        pytest.param(np.full(5, np.nan), id="nothing"),
    ],
)
def test_numbers_without_codes_are_left_alone(values):
    """Then there is nothing to fit a second time."""
    assert without_codes(values) is None

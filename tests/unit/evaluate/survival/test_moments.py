# SPDX-License-Identifier: Apache-2.0
"""Moments add up to those of all records, however these are cut, and keep their digits."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest

from kepsilon.evaluate.survival import moments
from kepsilon.evaluate.survival.moments import PairMoments, moments_of
from oracles import survival as oracle

SEED = 7


def columns(n=400, offset=0.0):
    rng = np.random.default_rng(SEED)
    x = rng.normal(0, 3, (n, 2)) + offset
    x[rng.random((n, 2)) < 0.2] = np.nan
    y = np.column_stack(
        [np.nan_to_num(x[:, 0] - offset) * 2 + rng.normal(0, 1, n), rng.integers(0, 2, n), np.full(n, 5.3)]
    )
    y[rng.random((n, 3)) < 0.1] = np.nan
    return x, y


@pytest.mark.parametrize("part", [1 << 15, 7, 1])
@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_moments_are_those_of_the_statistics_module(part, offset, monkeypatch):
    """Also a few records at a time, with missing values, and for values far from 0."""
    monkeypatch.setattr(moments, "_PART", part)
    x, y = columns(offset=offset)
    found = moments_of(x, y)
    for i in range(2):
        own = found.pair(i, 0)
        held = [a for a, b in zip(x[:, i], y[:, 0], strict=True) if not math.isnan(a) and not math.isnan(b)]
        assert own.n == len(held)
        assert own.mean_of_x == pytest.approx(statistics.fmean(held), rel=1e-12)
        assert own.spread_of_x == pytest.approx(statistics.stdev(held), rel=1e-6)
        for j in range(2):
            correlation, slope = oracle.relation(x[:, i].tolist(), y[:, j].tolist(), 2)
            assert found.pair(i, j).correlation == pytest.approx(correlation, abs=1e-6)
            assert found.pair(i, j).slope == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize("part", [1 << 15, 3])
def test_a_column_that_does_not_vary_has_no_correlation(part, monkeypatch):
    """However its mean is rounded: 5.3 has no exact double, and sums of it are not multiples of it."""
    monkeypatch.setattr(moments, "_PART", part)
    x, y = columns()
    own = moments_of(x, y).pair(0, 2)
    assert (own.correlation, own.slope, own.square_y) == (None, None, 0.0)
    rest = moments_of(x[:50], y[:50]) + moments_of(x[50:], y[50:]).times(3)
    assert rest.pair(0, 2).correlation is None


def test_parts_add_up_in_any_order():
    """What different engines find differs by rounding alone."""
    x, y = columns(offset=1e6)
    whole = moments_of(x, y)
    cut = moments_of(x[300:], y[300:]) + PairMoments.none(2, 3) + moments_of(x[:300], y[:300])
    for name in ("n", "mean_x", "mean_y", "square_x", "square_y", "product"):
        assert getattr(cut, name) == pytest.approx(getattr(whole, name), rel=1e-9, abs=1e-9)


def test_records_can_stand_for_others():
    """Three times the moments of some records are those of three copies of each."""
    x, y = columns(60)
    assert moments_of(x, y).times(3).product == pytest.approx(
        moments_of(np.tile(x, (3, 1)), np.tile(y, (3, 1))).product
    )


def test_only_chosen_records_count():
    x, y = columns()
    chosen = np.arange(len(x)) % 3 > 0
    assert moments_of(x, y, chosen=chosen).product == pytest.approx(moments_of(x[chosen], y[chosen]).product)


@pytest.mark.parametrize("size", [1e200, 1e-200, 1e308])
def test_numbers_too_large_or_small_to_be_squared_give_no_figure_and_no_warning(size):
    """Never an infinity, which JSON cannot write."""
    x = np.array([[1.0], [2.0], [-3.0]]) / 3 * size
    own = moments_of(x).pair(0, 0)
    for figure in (own.mean_of_x, own.spread_of_x, own.correlation, own.slope, own.standard_error_of_slope):
        assert figure is None or math.isfinite(figure)


def test_no_records_have_no_statistics():
    own = moments_of(np.zeros((0, 1))).pair(0, 0)
    assert (own.mean_of_x, own.spread_of_x, own.correlation, own.slope) == (None,) * 4

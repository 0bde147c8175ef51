# SPDX-License-Identifier: Apache-2.0
"""A class in parts gives the figures of the class as a whole, and is taken back as a whole if too few are left."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.evaluate.confident_k.confident_k import ConfidentK, ZeroRule
from kepsilon.evaluate.expectations import expect, expect_of_counts
from kepsilon.evaluate.large_class import LargeClassFigures, TooManyValuesError, count_parts, merge_counts, one_class
from kepsilon.evaluate.tally import realise
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.table.coded_values import code_values
from kepsilon.table.steps import Steps
from oracles.noise import SEED

PRECISION = Fraction(1, 10)


def laplace(ranges):
    """Ranges that begin at 0: figures of this mechanism depend on their widths alone."""
    steps = [Steps(precision=PRECISION)] * ranges.shape[1]
    return {"mechanism": LAPLACE, "low": np.zeros_like(ranges), "high": ranges, "steps": steps}


@st.composite
def classes(draw):
    """Values of one class, what was published of them, and where it is cut into parts."""
    values = np.array(draw(st.lists(st.integers(0, 40), min_size=2, max_size=40))) / 10
    noise = np.array(draw(st.lists(st.integers(-60, 60), min_size=len(values), max_size=len(values)))) / 10
    cuts = sorted(draw(st.sets(st.integers(1, len(values) - 1), max_size=4)))
    return values, np.round(values + noise, 1), cuts


def confident(k: int, rule: ZeroRule) -> ConfidentK:
    return ConfidentK(k=k, confidence=0.9, rule=rule, precisions=(PRECISION,))


def in_parts(values, published, cuts, asked) -> LargeClassFigures:
    distinct = one_class(*count_parts(np.split(values, cuts), most=1_000))
    ranges = np.array([[np.ptp(values)]])
    figures = LargeClassFigures(distinct, **laplace(ranges), epsilon=2.0, confident=asked)
    figures.stays = np.concatenate(
        [
            figures.measure(own[:, np.newaxis], [noisy])
            for own, noisy in zip(np.split(values, cuts), np.split(published, cuts), strict=True)
        ]
    )
    return figures


@given(classes(), st.sampled_from([None, 2, 5]), st.sampled_from(ZeroRule))
def test_realised_figures_do_not_depend_on_the_parts(case, k, rule):
    """The kernel for whole classes is the oracle: links, errors, sizes, and who stays."""
    values, published, cuts = case
    asked = None if k is None else confident(k, rule)
    stays, whole = realise(
        values[:, np.newaxis],
        [published],
        np.zeros(len(values), dtype=np.int64),
        **laplace(np.array([[np.ptp(values)]])),
        epsilon=2.0,
        confident=asked,
    )
    figures = in_parts(values, published, cuts, asked)
    realised = figures.realised()
    if realised is None:
        assert not stays.any(), "the class keeps fewer than k, so that all of it goes"
        return
    assert np.array_equal(figures.stays, stays)
    assert realised.sizes == whole.sizes
    assert math.isclose(realised.links.fair, whole.links.fair, rel_tol=1e-12)
    assert realised.links.paper == whole.links.paper
    assert math.isclose(realised.links.largest, whole.links.largest, rel_tol=1e-12)
    assert (realised.links.n_over_half, realised.links.n_over_nine_tenths) == (
        whole.links.n_over_half,
        whole.links.n_over_nine_tenths,
    )
    for mine, theirs in zip(realised.errors, whole.errors, strict=True):
        assert mine.n_values == theirs.n_values
        assert math.isclose(mine.relative_sum, theirs.relative_sum, rel_tol=1e-12)
        assert math.isclose(mine.distance_sum, theirs.distance_sum, rel_tol=1e-12)


@given(classes(), st.sampled_from([0.5, 2.0, 16.0]))
def test_expected_figures_need_only_distinct_values_with_counts(case, epsilon):
    """Against the kernel that looks at every record."""
    values, _, cuts = case
    ids, ranges = np.zeros(len(values), dtype=np.int64), np.array([[np.ptp(values)]])
    asked = confident(3, ZeroRule.TEXT)
    whole = expect(values[:, np.newaxis], [code_values(values, precision=PRECISION)], ids, **laplace(ranges))
    distinct, counts = count_parts(np.split(values, cuts), most=1_000)
    counted = expect_of_counts(
        one_class(distinct, counts),
        **laplace(ranges),
        noisy_values=distinct,
        original_values=distinct,
        original_counts=counts,
    )
    mine, theirs = counted.at(epsilon, confident=asked), whole.at(epsilon, confident=asked)
    assert mine.n_records == theirs.n_records
    assert math.isclose(mine.links.fair.total, theirs.links.fair.total, rel_tol=1e-12)
    assert math.isclose(mine.links.paper.total, theirs.links.paper.total, rel_tol=1e-12)
    assert math.isclose(mine.suppressed.total, theirs.suppressed.total, rel_tol=1e-12, abs_tol=1e-12)
    (one,), (other,) = mine.errors, theirs.errors
    for name in ("n_values", "n_zeros", "low", "high"):
        assert getattr(one, name) == getattr(other, name)
    for name in ("relative_sum", "largest_relative", "distance_sum"):
        assert math.isclose(getattr(one, name), getattr(other, name), rel_tol=1e-12)


def test_counts_of_parts_add_up():
    """Missing values are one value, and no more are held than allowed."""
    rng = np.random.default_rng(SEED)
    values = rng.integers(0, 50, 1_000).astype(float)
    values[rng.random(1_000) < 0.1] = np.nan
    distinct, counts = count_parts(np.array_split(values, 7), most=51)
    oracle = {value: int(np.sum(values == value)) for value in range(50)}
    assert dict(zip(distinct[:-1], counts[:-1], strict=True)) == oracle
    assert np.isnan(distinct[-1])
    assert counts[-1] == np.isnan(values).sum()
    with pytest.raises(TooManyValuesError):
        count_parts(np.array_split(values, 7), most=50)


def test_values_that_clipping_made_equal_are_one():
    """Two originals clipped to one bound hide each other."""
    assert [list(own) for own in merge_counts(np.array([3.0, 5.0, 5.0]), np.array([1, 2, 4]))] == [[3.0, 5.0], [1, 6]]


def test_a_class_that_keeps_too_few_is_not_released():
    """All records far out, where nobody is in reach: with the strict rule none counts as staying."""
    values = np.linspace(0, 10, 50)
    figures = in_parts(values, values + 1_000, [20], confident(5, ZeroRule.STRICT))
    assert figures.realised() is None


def test_without_an_epsilon_quasi_all_records_look_alike():
    """A class of n links one of them, and half of them are above no bound."""
    distinct = one_class(np.zeros(1), np.array([30]))
    figures = LargeClassFigures(distinct, **laplace(np.zeros((1, 0))), epsilon=1.0, confident=None)
    for _ in range(3):
        assert figures.measure(np.zeros((10, 0)), []).all()
    realised = figures.realised()
    assert math.isclose(realised.links.fair, 1)
    assert realised.sizes.n_records == 30

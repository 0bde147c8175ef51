# SPDX-License-Identifier: Apache-2.0
"""Relative error: the closed form against an oracle, against noise, and against its own limits."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.evaluate.error import relative_error
from kepsilon.evaluate.error.relative_error import (
    ErrorSums,
    epsilon_for_error,
    expected_errors,
    realised_errors,
    uniform_equivalent,
)
from material.noisy_classes import EPSILONS, copies, diameters, fixed_classes, noisy_classes
from oracles import attacks
from oracles.noise import SEED

TIMES = 2000


@given(noisy_classes())
def test_errors_equal_the_oracle(noisy):
    """Every record's E|Z| or distance over |v|, zeros left out and counted."""
    before = expected_errors(noisy.values, noisy.class_ids, expected_noise=noisy.scales)
    after = realised_errors(noisy.values, noisy.published)
    expected, zeros = attacks.mean_relative_error(noisy.values, noisy.scales[noisy.class_ids])
    realised, _ = attacks.mean_relative_error(noisy.values, noisy.published - noisy.values)
    assert before.relative == pytest.approx(expected)
    assert after.relative == pytest.approx(realised)
    assert before.n_zeros == after.n_zeros == zeros
    spread = np.ptp(noisy.values)
    if spread == 0:
        assert before.range_relative is None
    else:
        assert before.range_relative == pytest.approx(noisy.scales[noisy.class_ids].mean() / spread)
        assert after.range_relative == pytest.approx(np.abs(noisy.published - noisy.values).mean() / spread)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_closed_form_equals_monte_carlo(epsilon):
    """|z| < 5 with the exact variance of |Z|/|v|, which is (b/v)²; the dataset's range as a mutant is far off."""
    values, ids, n_classes = fixed_classes()
    scales = diameters(values, ids, n_classes) / epsilon
    many, many_ids, _ = copies(values, ids, n_classes, TIMES)
    noise = np.random.default_rng(SEED).laplace(size=len(many)) * np.tile(scales, TIMES)[many_ids]
    expected = expected_errors(many, many_ids, expected_noise=np.tile(scales, TIMES)).relative
    realised = realised_errors(many, many + noise).relative
    deviation = np.sqrt(np.sum((scales[ids] / values) ** 2) / TIMES) / len(values)
    assert abs(realised - expected) < 5 * deviation
    mutant = np.full(n_classes, np.ptp(values) / epsilon)  # the dataset's range instead of the class's
    wrong = expected_errors(values, ids, expected_noise=mutant)
    assert abs(realised - wrong.relative) > 50 * deviation


def test_the_closed_form_is_the_papers_sum_over_harmonic_means():
    """Paper Eq. (8), with |v| as derived."""
    values, ids, n_classes = fixed_classes()
    diameter = diameters(values, ids, n_classes)
    paper = 0.0
    for c in range(n_classes):
        own = np.abs(values[ids == c])
        paper += diameter[c] / (len(own) / np.sum(1 / own)) * len(own) / len(values) / 2.0
    assert expected_errors(values, ids, expected_noise=diameter / 2.0).relative == pytest.approx(paper)


def test_error_times_epsilon_is_constant_and_solves_for_epsilon():
    """So one figure answers which ε keeps an error."""
    values, ids, n_classes = fixed_classes()
    diameter = diameters(values, ids, n_classes)
    errors = [expected_errors(values, ids, expected_noise=diameter / e).relative for e in EPSILONS]
    np.testing.assert_allclose(np.multiply(errors, EPSILONS), errors[0] * EPSILONS[0], rtol=1e-12)
    solved = epsilon_for_error(0.05, error=errors[0], epsilon=EPSILONS[0])
    assert expected_errors(values, ids, expected_noise=diameter / solved).relative == pytest.approx(0.05)


def test_uniform_noise_of_twice_the_error_costs_the_same():
    """The paper's yardstick: ±5 % costs 2.5 %."""
    u = uniform_equivalent(0.025)
    assert u == 0.05
    draws = np.random.default_rng(SEED).uniform(-u, u, 100_000)
    assert np.abs(draws).mean() == pytest.approx(0.025, rel=0.01)


def test_missing_values_are_no_part_of_the_error():
    """A class whose values are missing has no noise and nothing to compare."""
    values, ids = np.array([1.0, 2.0, np.nan, np.nan]), np.array([0, 0, 1, 1])
    noise = np.array([0.5, np.nan])
    sums = expected_errors(values, ids, expected_noise=noise)
    assert sums.n_values == 2
    assert sums.relative == pytest.approx(0.375)
    assert expected_errors(values[2:], ids[2:], expected_noise=noise) == ErrorSums()
    assert realised_errors(values, values).relative == 0


@pytest.mark.parametrize(("target", "error"), [(0.0, 0.1), (-1.0, 0.1), (float("inf"), 0.1), (0.05, 0.0)])
def test_what_cannot_be_solved_is_refused(target, error):
    """No tiny constant stands in for a missing answer."""
    with pytest.raises(ValueError, match="error"):
        epsilon_for_error(target, error=error, epsilon=1.0)


def test_values_of_zero_alone_have_no_relative_error():
    """None, with all of them counted, instead of a huge number."""
    expected = expected_errors(np.zeros(3), np.zeros(3, dtype=int), expected_noise=np.ones(1))
    for sums in (expected, realised_errors(np.zeros(3), np.ones(3))):
        assert (sums.relative, sums.n_zeros, sums.range_relative) == (None, 3, None)


@given(noisy_classes(), st.integers(1, 7))
def test_parts_add_up(noisy, length):
    """Any split of the records; sums at ε = 1 serve every ε."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relative_error, "_PART", length)
        parts = expected_errors(noisy.values, noisy.class_ids, expected_noise=noisy.ranges).over(noisy.epsilon)
    whole = expected_errors(noisy.values, noisy.class_ids, expected_noise=noisy.scales)
    names = [field.name for field in dataclasses.fields(whole) if field.name != "relative_errors"]
    sums = [[getattr(own, name) for name in names] for own in (parts, whole)]
    np.testing.assert_allclose(*sums, rtol=1e-12)

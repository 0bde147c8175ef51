# SPDX-License-Identifier: Apache-2.0
"""Relative error: the closed form against an oracle, against noise, and against its own limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from kepsilon.evaluate.relative_error import ErrorSums, epsilon_for_error, error_sums, uniform_equivalent
from noisy_classes import EPSILONS, copies, diameters, fixed_classes, noisy_classes
from oracles import attacks
from oracles.noise import SEED

TIMES = 2000


@given(noisy_classes())
def test_errors_equal_the_oracle(noisy):
    """Every record's E|Z| or distance over |v|, zeros left out and counted."""
    sums = error_sums(noisy.values, noisy.class_ids, expected_noise=noisy.scales, published=noisy.published)
    expected, zeros = attacks.mean_relative_error(noisy.values, noisy.scales[noisy.class_ids])
    realised, _ = attacks.mean_relative_error(noisy.values, noisy.published - noisy.values)
    assert sums.expected_relative == pytest.approx(expected)
    assert sums.realised_relative == pytest.approx(realised)
    assert sums.n_zeros == zeros
    spread = np.ptp(noisy.values)
    if spread == 0:
        assert sums.expected_range_relative is None
    else:
        assert sums.expected_range_relative == pytest.approx(noisy.scales[noisy.class_ids].mean() / spread)
        assert sums.realised_range_relative == pytest.approx(np.abs(noisy.published - noisy.values).mean() / spread)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_closed_form_equals_monte_carlo(epsilon):
    """|z| < 5 with the exact variance of |Z|/|v|, which is (b/v)²; the dataset's range as a mutant is far off."""
    values, ids, n_classes = fixed_classes()
    scales = diameters(values, ids, n_classes) / epsilon
    many, many_ids, _ = copies(values, ids, n_classes, TIMES)
    noise = np.random.default_rng(SEED).laplace(size=len(many)) * np.tile(scales, TIMES)[many_ids]
    sums = error_sums(many, many_ids, expected_noise=np.tile(scales, TIMES), published=many + noise)
    deviation = np.sqrt(np.sum((scales[ids] / values) ** 2) / TIMES) / len(values)
    assert abs(sums.realised_relative - sums.expected_relative) < 5 * deviation
    mutant = np.full(n_classes, np.ptp(values) / epsilon)  # the dataset's range instead of the class's
    wrong = error_sums(values, ids, expected_noise=mutant)
    assert abs(sums.realised_relative - wrong.expected_relative) > 50 * deviation


def test_the_closed_form_is_the_papers_sum_over_harmonic_means():
    """Paper Eq. (8), with |v| as derived."""
    values, ids, n_classes = fixed_classes()
    diameter = diameters(values, ids, n_classes)
    paper = 0.0
    for c in range(n_classes):
        own = np.abs(values[ids == c])
        paper += diameter[c] / (len(own) / np.sum(1 / own)) * len(own) / len(values) / 2.0
    assert error_sums(values, ids, expected_noise=diameter / 2.0).expected_relative == pytest.approx(paper)


def test_error_times_epsilon_is_constant_and_solves_for_epsilon():
    """So one figure answers which ε keeps an error."""
    values, ids, n_classes = fixed_classes()
    diameter = diameters(values, ids, n_classes)
    errors = [error_sums(values, ids, expected_noise=diameter / e).expected_relative for e in EPSILONS]
    np.testing.assert_allclose(np.multiply(errors, EPSILONS), errors[0] * EPSILONS[0], rtol=1e-12)
    solved = epsilon_for_error(0.05, error=errors[0], epsilon=EPSILONS[0])
    assert error_sums(values, ids, expected_noise=diameter / solved).expected_relative == pytest.approx(0.05)


def test_uniform_noise_of_twice_the_error_costs_the_same():
    """The paper's yardstick: ±5 % costs 2.5 %."""
    u = uniform_equivalent(0.025)
    assert u == 0.05
    draws = np.random.default_rng(SEED).uniform(-u, u, 100_000)
    assert np.abs(draws).mean() == pytest.approx(0.025, rel=0.01)


def test_missing_values_are_no_part_of_the_error():
    """A class whose values are missing has no noise and nothing to compare."""
    values, ids = np.array([1.0, 2.0, np.nan, np.nan]), np.array([0, 0, 1, 1])
    sums = error_sums(values, ids, expected_noise=np.array([0.5, np.nan]), published=values)
    assert sums.n_values == 2
    assert sums.expected_relative == pytest.approx(0.375)
    assert error_sums(values[2:], ids[2:], expected_noise=np.array([0.5, np.nan])) == ErrorSums()


@pytest.mark.parametrize(("target", "error"), [(0.0, 0.1), (-1.0, 0.1), (float("inf"), 0.1), (0.05, 0.0)])
def test_what_cannot_be_solved_is_refused(target, error):
    """No tiny constant stands in for a missing answer."""
    with pytest.raises(ValueError, match="error"):
        epsilon_for_error(target, error=error, epsilon=1.0)


def test_values_of_zero_alone_have_no_relative_error():
    """None, with all of them counted, instead of a huge number."""
    sums = error_sums(np.zeros(3), np.zeros(3, dtype=int), expected_noise=np.ones(1), published=np.ones(3))
    assert (sums.expected_relative, sums.realised_relative, sums.n_zeros) == (None, None, 3)
    assert sums.expected_range_relative is None

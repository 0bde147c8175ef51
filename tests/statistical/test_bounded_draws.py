# SPDX-License-Identifier: Apache-2.0
"""Draws of `bounded-laplace` have the law they claim and keep ε, and these tests could tell if they did not.

Every p-value is compared with ALPHA = 1e-9 (`oracles.noise`); each claim has an arm that must be rejected.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from kepsilon.perturb.bounded_sampler import bounded_points
from kepsilon.perturb.mechanisms.bounded_laplace import BOUNDED_LAPLACE
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.table.steps import Steps
from oracles.noise import ALPHA, seeded

N_DRAWS = 400_000
LO, HI = 150.0, 190.0


def chi_square_p(points, weights):
    """χ² of whole numbers against probabilities proportional to the weights; rare points are counted together."""
    expected = weights / weights.sum() * len(points)
    found = np.bincount(points, minlength=len(weights))
    is_rare = expected < 20
    found = np.append(found[~is_rare], found[is_rare].sum())
    expected = np.append(expected[~is_rare], expected[is_rare].sum())
    if expected[-1] < 20:  # too few to be compared; they are part of the smallest of the others
        found[-2], expected[-2] = found[-2] + found[-1], expected[-2] + expected[-1]
        found, expected = found[:-1], expected[:-1]
    return stats.chisquare(found, expected).pvalue


@pytest.mark.parametrize("place", [0, 1, 5, 8, 16])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2), Fraction(8)], ids=str)
def test_points_have_the_exact_probabilities(epsilon, place):
    """χ² of 400,000 points on a grid of 16 steps; an ε 30 % off either way, and clamped noise, are rejected."""
    points = bounded_points(np.full(N_DRAWS, place), epsilon=epsilon, source=seeded(201), grid_bits=4)
    distances = np.abs(np.arange(17) - place) / 16

    def fits(epsilon):
        return chi_square_p(points, np.exp(-epsilon * distances)) > ALPHA

    assert fits(float(epsilon))
    assert not fits(1.3 * float(epsilon))
    assert not fits(0.7 * float(epsilon))
    noise = np.random.default_rng(1).laplace(place, 16 / float(epsilon), N_DRAWS)
    clamped = np.clip(np.rint(noise), 0, 16).astype(np.int64)
    assert chi_square_p(clamped, np.exp(-float(epsilon) * distances)) < ALPHA


@pytest.mark.parametrize("place", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10_000), Fraction(1, 3), Fraction(5), Fraction(100)], ids=str)
def test_points_of_the_fine_grid_have_the_law_of_the_range(epsilon, place):
    """Kolmogorov and Smirnov with 50,000 draws; a law of half or twice ε is rejected where ε tells."""
    n = round(place * 2**32)
    points = bounded_points(np.full(50_000, n), epsilon=epsilon, source=seeded(202)) / 2**32

    def p_value(epsilon):
        base = stats.laplace(place, 1 / epsilon)
        low, high = base.cdf(0), base.cdf(1)
        return stats.kstest(points, lambda x: (base.cdf(x) - low) / (high - low)).pvalue

    assert p_value(float(epsilon)) > ALPHA
    if epsilon > Fraction(1, 10):
        assert p_value(2 * float(epsilon)) < ALPHA
        assert p_value(float(epsilon) / 2) < ALPHA


def published(mechanism, value, *, epsilon, stream, d=1):
    """What is published of one record of a class with the range [LO, HI], often."""
    return mechanism.draw(
        np.full((N_DRAWS, d), value),
        np.zeros(N_DRAWS, dtype=np.int64),
        np.full((1, d), LO),
        np.full((1, d), HI),
        epsilon=epsilon,
        steps=[Steps(precision=Fraction(1, 10))] * d,
        source=seeded(stream),
    )


def events(shown):
    """How often all attributes lie at or below, and at or above, each of a few places of the range."""
    places = LO + (HI - LO) * np.array([0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.0])
    smallest, largest = shown.min(axis=1), shown.max(axis=1)
    return np.array(
        [np.count_nonzero(largest <= p) for p in places] + [np.count_nonzero(smallest >= p) for p in places]
    )


def epsilon_at_least(one, other):
    """The ε that the counts of the same events under two records prove, at confidence 1 − ALPHA (Clopper and Pearson)."""
    risk = ALPHA / (4 * len(one))
    proven = 0.0
    for a, b in ((one, other), (other, one)):
        low = np.where(a > 0, stats.beta.ppf(risk, a, N_DRAWS - a + 1), 0.0)
        high = np.where(b < N_DRAWS, stats.beta.isf(risk, b + 1, N_DRAWS - b), 1.0)
        with np.errstate(divide="ignore"):
            proven = max(proven, float(np.max(np.log(low) - np.log(high))))
    return proven


def proven_epsilon(epsilon, *, d=1, stream=210):
    ends = (published(BOUNDED_LAPLACE, v, epsilon=epsilon, stream=stream + i, d=d) for i, v in enumerate((LO, HI)))
    return epsilon_at_least(*map(events, ends))


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(2)], ids=str)
def test_the_ends_of_a_range_are_told_apart_by_epsilon_and_a_larger_one_is_caught(epsilon):
    """The audit proves nearly all of ε and no more; it would prove 1.3 ε to be more."""
    assert 0.8 * float(epsilon) < proven_epsilon(epsilon) <= float(epsilon)
    assert proven_epsilon(epsilon * Fraction(13, 10), stream=212) > float(epsilon)
    assert proven_epsilon(2 * epsilon, stream=214) > 1.5 * float(epsilon)


def test_a_whole_record_spends_epsilon_once():
    """Two ε-quasis spend half of ε each; drawn with all of ε each, they would spend it twice."""
    assert 1.5 < proven_epsilon(Fraction(2), d=2, stream=216) <= 2
    assert proven_epsilon(Fraction(4), d=2, stream=218) > 2.5


def test_clamped_noise_gathers_at_the_ends():
    """Laplace noise clamped to the range is no draw of this law: the ends of the range hold a part of it."""
    value = 160.0
    ours = published(BOUNDED_LAPLACE, value, epsilon=Fraction(2), stream=220)
    clamped = np.clip(published(LAPLACE, value, epsilon=Fraction(2), stream=221), LO, HI)
    at_end = np.count_nonzero(ours <= LO), np.count_nonzero(clamped <= LO)
    assert at_end[1] > 50 * at_end[0] > 0

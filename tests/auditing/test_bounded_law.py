# SPDX-License-Identifier: Apache-2.0
"""The audit's own statement of the law of `bounded-laplace`, against scipy, the mechanism's draws and its bounds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from kepsilon.auditing import bounded_law
from kepsilon.perturb.bounded_sampler import bounded_points
from kepsilon.perturb.mechanisms.bounded_laplace import BOUNDED_LAPLACE
from oracles.noise import ALPHA, seeded

LENGTHS = [0.0001, 0.5, 4.0, 100.0]
PLACES = [0.0, 0.1, 0.5, 0.9, 1.0]


def arrays(place, length, n):
    return np.full(n, place * length), np.full(n, length)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("place", PLACES)
def test_probabilities_are_those_of_a_restricted_density_and_quantiles_undo_them(place, length):
    x = np.linspace(-0.1, 1.1, 61) * length
    own, lengths = arrays(place, length, len(x))
    base = stats.laplace(place * length)
    low, high = base.cdf(0), base.cdf(length)
    wanted = (base.cdf(np.clip(x, 0, length)) - low) / (high - low)
    found = bounded_law.below(x, own, lengths)
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    shares = np.linspace(0.001, 0.999, 500)
    own, lengths = arrays(place, length, len(shares))
    again = bounded_law.below(bounded_law.quantile(shares, own, lengths), own, lengths)
    np.testing.assert_allclose(again, shares, atol=1e-9)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(4), Fraction(30)], ids=str)
def test_folded_draws_are_uniform_under_the_claim_and_gather_at_a_half_with_a_larger_epsilon(epsilon, place):
    """Kolmogorov and Smirnov over 40,000 draws of the mechanism; three times ε is noticed, and leaves values nearer."""
    n = 40_000
    own, lengths = arrays(place, float(epsilon), n)
    coins = np.random.default_rng(3).random(n)

    def folded(factor):
        points = bounded_points(
            np.full(n, round(place * 2**32)), epsilon=epsilon * Fraction(factor), source=seeded(261)
        )
        return bounded_law.folded(points / 2**32 * float(epsilon), own, lengths, coins)

    assert stats.kstest(folded(1), "uniform").pvalue > ALPHA
    nearer = folded(3)
    assert stats.kstest(nearer, "uniform").pvalue < ALPHA
    assert np.abs(nearer - 0.5).mean() < 0.25


@pytest.mark.parametrize("confidence", [0.5, 0.99])
@pytest.mark.parametrize("length", LENGTHS)
def test_reach_and_bounds_are_those_of_the_mechanism(length, confidence):
    """Two statements of one law: to nine digits, the bound on links by Simpson's rule in place of a closed form."""
    ends = np.zeros((1, 1)), np.ones((1, 1))
    theirs = BOUNDED_LAPLACE.reach(*ends, epsilon=length, confidence=confidence)[0, 0]
    assert bounded_law.reach(length, confidence) / length == pytest.approx(theirs, rel=1e-9)
    for d in (1, 3):
        exact = Fraction(length)
        assert bounded_law.most_links(length, d) == pytest.approx(
            float(BOUNDED_LAPLACE.most_links(d, epsilon=exact)), rel=2e-8
        )
        assert bounded_law.mean_distance_at_end(length / d) == pytest.approx(
            float(BOUNDED_LAPLACE.most_noise(d, epsilon=exact)), rel=1e-7
        )


def test_no_density_is_larger_than_the_largest():
    for length in LENGTHS:
        x = np.linspace(0, 1, 2001) * length
        for place in PLACES:
            own, lengths = arrays(place, length, len(x))
            masses = np.diff(bounded_law.below(x, own, lengths)) * 2000
            assert masses.max() <= float(bounded_law.largest_density(np.array(length))) * (1 + 1e-6)

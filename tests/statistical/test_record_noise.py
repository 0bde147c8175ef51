# SPDX-License-Identifier: Apache-2.0
"""The noise of whole records: its joint distribution, its size, and that copies of an attribute give nothing away.

False alarms: ALPHA = 1e-9 for each of about thirty tests.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from kepsilon.evaluate.confident_k.confident_k import ConfidentK, ZeroRule
from kepsilon.perturb import sampler
from kepsilon.perturb.mechanisms.laplace import LAPLACE, perturb
from kepsilon.perturb.sampler import record_noise, two_sided_geometric
from kepsilon.policy.exact_bounds import GRID_BITS
from oracles.noise import ALPHA, chi_square_p, seeded, two_sided_chi_square_p

Z_LIMIT = float(stats.norm.isf(ALPHA / 2))
"""About 6.1 standard errors."""


def joint_p(noise, t, *, reach):
    """p-value of integer vectors against exp(−t·max|z_j|): one bin for every vector up to `reach`, and one beyond."""
    d = noise.shape[1]
    vectors = np.array(list(itertools.product(range(-reach, reach + 1), repeat=d)))
    # There are (2m + 1)^d − (2m − 1)^d vectors at distance m.
    total = sum(((2 * m + 1) ** d - (2 * m - 1) ** d if m else 1) * math.exp(-t * m) for m in range(int(60 / t) + 60))
    probabilities = np.exp(-t * np.max(np.abs(vectors), axis=1)) / total
    inside = np.max(np.abs(noise), axis=1) <= reach
    bins = np.ravel_multi_index(tuple((noise[inside] + reach).T), (2 * reach + 1,) * d)
    counts = np.append(np.bincount(bins, minlength=len(vectors)), np.count_nonzero(~inside))
    return chi_square_p(counts, np.append(probabilities, 1 - probabilities.sum()))


@pytest.mark.parametrize(
    ("d", "epsilon", "grid_bits", "reach"),
    [
        (1, Fraction(2), 2, 8),
        (2, Fraction(1), 0, 4),
        (2, Fraction(2), 3, 12),
        (3, Fraction(1), 0, 4),
        (3, Fraction(3, 2), 1, 4),
        (4, Fraction(1), 0, 2),
    ],
)
def test_records_have_the_exact_joint_distribution(d, epsilon, grid_bits, reach):
    """χ² over every vector of integers near zero, against exp(−t·max|z_j|); a scale 10 % off is rejected."""
    noise = record_noise(300_000, d, epsilon=epsilon, source=seeded(20 + d), grid_bits=grid_bits)
    t = float(epsilon) / 2**grid_bits
    assert joint_p(noise, t, reach=reach) > ALPHA
    assert joint_p(noise, t * 0.9, reach=reach) < ALPHA
    assert joint_p(noise, t * 1.1, reach=reach) < ALPHA


def test_independent_noise_is_not_record_noise():
    """The joint test tells noise with the right size but without the common radius."""
    sources = seeded(30)
    independent = np.stack(
        [two_sided_geometric(300_000, epsilon=Fraction(2, 3), source=sources, grid_bits=0) for _ in range(2)], axis=1
    )
    assert joint_p(independent, 1.0, reach=4) < ALPHA


def test_one_attribute_is_one_laplace_release():
    """d = 1 is the same sampler, byte for byte, and the general construction agrees with it: radius, then uniform."""
    ours = record_noise(1000, 1, epsilon=Fraction(2), source=seeded(31))
    assert np.array_equal(ours[:, 0], two_sided_geometric(1000, epsilon=Fraction(2), source=seeded(31)))
    general = sampler._in_cubes(300_000, 1, sampler._groups(Fraction(2), 3), seeded(42))
    assert two_sided_chi_square_p(general[:, 0], 2 / 8) > ALPHA


@pytest.mark.parametrize("d", [2, 3])
def test_the_first_coordinate_alone_is_not_laplace(d):
    """A record with several attributes pays with more noise on each: the marginal must not look like one release."""
    noise = record_noise(300_000, d, epsilon=Fraction(1), source=seeded(32), grid_bits=1)
    assert two_sided_chi_square_p(noise[:, 0], 0.5) < ALPHA


@pytest.mark.parametrize("d", [1, 2, 3, 5, 16])
def test_expected_size_per_attribute(d):
    """E|Z_j| = (d + 1)/2 · R/ε, with Var|Z_j| = (d + 1)(d + 2)/3 − (d + 1)²/4 in units of (R/ε)²; |z| < 6.1.

    The split budget, d · R/ε, and the sum of d instead of d + 1 variables, d/2 · R/ε, are both rejected.
    """
    n, epsilon = 100_000, Fraction(2)
    size = np.abs(record_noise(n, d, epsilon=epsilon, source=seeded(33))) / 2**GRID_BITS * float(epsilon)
    error = math.sqrt(((d + 1) * (d + 2) / 3 - (d + 1) ** 2 / 4) / n)
    for j in range(d):
        assert abs(size[:, j].mean() - (d + 1) / 2) < Z_LIMIT * error
        assert abs(size[:, j].mean() - d / 2) > Z_LIMIT * error
        assert d == 1 or abs(size[:, j].mean() - d) > Z_LIMIT * error


@pytest.mark.parametrize("d", [2, 3, 16])
def test_the_largest_coordinate_is_a_gamma_variable(d):
    """What confidence ranges rest on; KS at the fine grid, with the neighbouring shapes rejected."""
    noise = record_noise(20_000, d, epsilon=Fraction(2), source=seeded(34)) / 2**GRID_BITS * 2
    radius = np.max(np.abs(noise), axis=1)
    assert stats.kstest(radius, stats.gamma(d).cdf).pvalue > ALPHA
    assert stats.kstest(radius, stats.gamma(d + 1).cdf).pvalue < ALPHA
    assert stats.kstest(radius, stats.gamma(d - 1).cdf).pvalue < ALPHA


def test_signs_of_coordinates_are_fair_and_independent():
    """All eight orthants are equally likely."""
    noise = record_noise(200_000, 3, epsilon=Fraction(1), source=seeded(35))
    orthants = np.bincount((noise > 0) @ np.array([1, 2, 4]), minlength=8)
    assert stats.chisquare(orthants).pvalue > ALPHA
    moved = orthants + np.array([-1, 1, 0, 0, 0, 0, 0, 0]) * (orthants[0] // 20)
    assert stats.chisquare(moved).pvalue < ALPHA


VALUES = np.linspace(0, 1, 50)
EPSILON = Fraction(8)
ONE_RELEASE = 1 + 49 * (1 - math.exp(-8 / 49 / 2))
"""Expected links of a class of 50 evenly spread values, in closed form: 4.84."""


def links_per_class(estimates, *, n_repeats):
    """How many of the 50 records a nearest-value attacker links, on average, and its standard error."""
    nearest = np.rint(np.clip(estimates, 0, 1) * 49).reshape(n_repeats, 50)
    links = np.sum(nearest == np.arange(50), axis=1)
    return links.mean(), links.std() / math.sqrt(n_repeats)


def test_averaging_sixteen_copies_gains_nothing_over_one_release():
    """An attacker with 16 copies of an attribute does no better than with one: neither by the mean nor by the middle
    of the extremes, which is all the copies tell about the value. Independent ε for each copy gives links away, and
    the same figure notices. Six standard errors: a false alarm in 1e9."""
    n_repeats = 2000
    values = np.tile(VALUES, n_repeats)
    noise = record_noise(len(values), 16, epsilon=EPSILON, source=seeded(36)) / 2**GRID_BITS
    copies = values[:, np.newaxis] + noise
    middles = (copies.max(axis=1) + copies.min(axis=1)) / 2
    one = values + two_sided_geometric(len(values), epsilon=EPSILON, source=seeded(37)) / 2**GRID_BITS
    links, error = links_per_class(one, n_repeats=n_repeats)
    assert abs(links - ONE_RELEASE) < Z_LIMIT * error
    links, error = links_per_class(middles, n_repeats=n_repeats)
    assert abs(links - ONE_RELEASE) < Z_LIMIT * error
    links, error = links_per_class(copies.mean(axis=1), n_repeats=n_repeats)
    assert links < ONE_RELEASE + Z_LIMIT * error

    independent = two_sided_geometric(16 * len(values), epsilon=EPSILON, source=seeded(38)) / 2**GRID_BITS
    averaged = values + independent.reshape(-1, 16).mean(axis=1)
    links, error = links_per_class(averaged, n_repeats=n_repeats)
    assert links > 2 * ONE_RELEASE


@pytest.mark.parametrize("d", [2, 16])
def test_the_middle_of_copies_is_one_laplace_release(d):
    """(max + min)/2 of the noise is all that copies tell, and it is Laplace with scale R/ε: KS, three arms."""
    noise = record_noise(20_000, d, epsilon=Fraction(2), source=seeded(39)) / 2**GRID_BITS
    middle = (noise.max(axis=1) + noise.min(axis=1)) / 2
    for factor, fits in ((1.0, True), (0.7, False), (1.3, False)):
        p_value = stats.kstest(middle, stats.laplace(scale=factor / 2).cdf).pvalue
        assert bool(p_value > ALPHA) is fits


def mixed_classes(n):
    """Records of three classes in turn: two, one and no attribute with a positive range."""
    class_ids = np.arange(n) % 3
    lo = np.zeros((3, 2))
    hi = np.array([[10.0, 4.0], [10.0, 0.0], [0.0, 0.0]])
    values = np.where(np.arange(n)[:, np.newaxis] % 2, hi[class_ids], lo[class_ids])
    return values, class_ids, lo, hi


def test_noise_of_each_class_has_the_size_of_its_own_active_attributes():
    """d is counted class by class: an attribute that does not vary costs the others nothing. |z| < 6.1."""
    n, epsilon = 300_000, Fraction(2)
    values, class_ids, lo, hi = mixed_classes(n)
    precisions, domains = [Fraction(1, 10_000)] * 2, [None, None]
    published = perturb(
        values, class_ids, lo, hi, epsilon=epsilon, precisions=precisions, domains=domains, source=seeded(40)
    )
    expected = LAPLACE.expected_noise(hi - lo, epsilon=float(epsilon))
    for c, d in ((0, 2), (1, 1)):
        size = np.abs(published - values)[class_ids == c]
        spread = math.sqrt((d + 1) * (d + 2) / 3 - (d + 1) ** 2 / 4) / math.sqrt(len(size))
        for j in range(d):
            unit = (hi - lo)[c, j] / float(epsilon)
            assert abs(size[:, j].mean() - expected[c, j]) < Z_LIMIT * unit * spread
            assert abs(size[:, j].mean() - expected[c, j] * (3 - d) / 1.5) > Z_LIMIT * unit * spread
    assert np.array_equal(published[class_ids == 1, 1], values[class_ids == 1, 1])
    assert np.array_equal(published[class_ids == 2], values[class_ids == 2])


@pytest.mark.parametrize("confidence", [0.7, 0.99])
@pytest.mark.parametrize("precision", [Fraction(1, 1000), Fraction(1)])
def test_linking_ranges_hold_the_records_they_promise(confidence, precision):
    """At least a share c of records lies within r_c in every attribute at once; and r_c is no wider than rounding needs.

    Exact binomial against c; with the finest precision the share is c itself.
    """
    n, epsilon = 300_000, Fraction(2)
    values, class_ids, lo, hi = mixed_classes(n)
    precisions = [precision] * 2
    published = perturb(
        values, class_ids, lo, hi, epsilon=epsilon, precisions=precisions, domains=[None] * 2, source=seeded(41)
    )
    asked = ConfidentK(k=2, confidence=confidence, rule=ZeroRule.TEXT, precisions=tuple(precisions))
    reach = asked.reach(LAPLACE, lo, hi, epsilon=float(epsilon))
    held = np.all(np.abs(published - values) <= reach[class_ids] + 1e-9, axis=1)
    for c in (0, 1):
        n_held, n_class = int(held[class_ids == c].sum()), int((class_ids == c).sum())
        assert stats.binomtest(n_held, n_class, confidence, alternative="less").pvalue > ALPHA
        if precision < 1:
            assert stats.binomtest(n_held, n_class, 0.7 * confidence + 0.3, alternative="less").pvalue < ALPHA
    assert held[class_ids == 2].all()

# SPDX-License-Identifier: Apache-2.0
"""The sampler's noise has the distribution it claims, and these tests could tell if it had not.

Every p-value is compared with ALPHA = 1e-9 (`oracles.noise`): about forty tests with fresh seeds every night raise one
false alarm in some 70,000 years. Each claim has an arm, here or in a test beside it, that must be rejected.
"""

import math
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from scipy import stats

from kepsilon.perturb.sampler import geometric, two_sided_geometric
from kepsilon.policy.exact_bounds import GRID_BITS
from kepsilon.randomness import system_bytes
from oracles.noise import ALPHA, chi_square_p, seeded, two_sided_chi_square_p

COARSE = [
    pytest.param(Fraction(1, 10_000), 0, id="epsilon 0.0001, one step per unit"),
    pytest.param(Fraction(1, 10_000), 4, id="epsilon 0.0001, 16 steps"),
    pytest.param(Fraction(1, 20), 2, id="epsilon 0.05"),
    pytest.param(Fraction(1, 3), 4, id="epsilon 1/3"),
    pytest.param(Fraction(2), 0, id="epsilon 2, one step"),
    pytest.param(Fraction(2), 3, id="epsilon 2, 8 steps"),
    pytest.param(Fraction(4), 8, id="epsilon 4, 256 steps: laps of the top group are frequent"),
    pytest.param(Fraction(5), 16, id="epsilon 5, two groups: laps are frequent"),
    pytest.param(Fraction(100), 5, id="epsilon 100, 32 steps"),
    pytest.param(Fraction(100), 12, id="epsilon 100, 4096 steps"),
]


@pytest.mark.parametrize(("epsilon", "grid_bits"), COARSE)
def test_noise_on_a_coarse_grid_has_the_exact_probabilities(epsilon, grid_bits):
    """χ² of 400,000 integers against exp(−t|z|), exactly normalised; a scale 5 % off either way is rejected."""
    noise = two_sided_geometric(400_000, epsilon=epsilon, source=seeded(1), grid_bits=grid_bits)
    t = float(epsilon) / 2**grid_bits
    assert two_sided_chi_square_p(noise, t) > ALPHA
    assert two_sided_chi_square_p(noise, t * 0.95) < ALPHA
    assert two_sided_chi_square_p(noise, t * 1.05) < ALPHA


def test_at_the_largest_epsilon_on_one_step_there_is_no_noise_to_see():
    """P(Z ≠ 0) is about 2·e^−100."""
    assert not two_sided_geometric(100_000, epsilon=Fraction(100), source=seeded(2), grid_bits=0).any()


@pytest.mark.parametrize(("epsilon", "grid_bits"), COARSE[2:6] + COARSE[8:])
def test_zero_is_not_twice_as_frequent(epsilon, grid_bits):
    """The mutant that keeps "minus zero" is rejected by the same χ², wherever zero is frequent enough to tell."""
    t = float(epsilon) / 2**grid_bits
    source = seeded(3)
    magnitude = geometric(400_000, epsilon=epsilon, source=source, grid_bits=grid_bits)
    sign = np.where(np.frombuffer(source.bytes(400_000), dtype=np.uint8) & 1, -1, 1)
    assert two_sided_chi_square_p(magnitude * sign, t) < ALPHA


@pytest.mark.parametrize(("factor", "fits"), [(1.0, True), (0.7, False), (1.3, False)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10_000), Fraction(1, 20), Fraction(1, 3), Fraction(2), Fraction(100)])
def test_noise_on_the_fine_grid_has_the_scale_it_claims(epsilon, factor, fits):
    """Too little noise breaks the promise, too much breaks the data, and the test can tell.

    Kolmogorov-Smirnov with 20,000 draws: right scales give p > 1e-9 but once in 1e9, wrong ones p < 1e-36.
    """
    noise = two_sided_geometric(20_000, epsilon=epsilon, source=seeded(4)) / 2**GRID_BITS
    p_value = stats.kstest(noise, stats.laplace(scale=factor / float(epsilon)).cdf).pvalue
    assert bool(p_value > ALPHA) is fits


@pytest.mark.parametrize("epsilon", [Fraction(1, 10_000), Fraction(1, 20), Fraction(2), Fraction(100)])
def test_every_digit_has_its_probability(epsilon):
    """Digit i of a geometric variable is 1 with probability 1/(1 + exp(ε·2^(i − 32))): also the lowest ones, where a
    wrong probability would be invisible in the size of the noise. Exact binomial tests, Bonferroni over the digits."""
    n = 400_000
    drawn = geometric(n, epsilon=epsilon, source=seeded(5))
    for i in range(48):
        exponent = float(epsilon) * 2.0 ** (i - 32)
        probability = 0.0 if exponent > 700 else 1 / (1 + math.exp(exponent))
        ones = int(np.count_nonzero(drawn >> i & 1))
        assert stats.binomtest(ones, n, probability).pvalue > ALPHA / 48
        if probability > 0.01:
            assert stats.binomtest(ones, n, probability * 0.9).pvalue < ALPHA, "the test could not notice"
            assert stats.binomtest(ones, n, min(probability * 1.1, 1)).pvalue < ALPHA, "the test could not notice"


def test_digits_are_independent():
    """χ² of every pair of digits within and across the groups of eight; Bonferroni over the pairs."""
    n = 400_000
    drawn = geometric(n, epsilon=Fraction(2), source=seeded(6))
    digits = [(drawn >> i & 1).astype(np.int64) for i in range(34)]
    p_values = [
        stats.chi2_contingency(np.bincount(2 * digits[i] + digits[j], minlength=4).reshape(2, 2)).pvalue
        for i in range(34)
        for j in range(i)
    ]
    assert min(p_values) > ALPHA / len(p_values)
    linked = np.where(np.frombuffer(seeded(7).bytes(n), dtype=np.uint8) < 8, digits[3], digits[20])  # one in 32 copied
    assert stats.chi2_contingency(np.bincount(2 * digits[3] + linked, minlength=4).reshape(2, 2)).pvalue < ALPHA


def test_signs_are_fair_and_say_nothing_about_the_size():
    """Exact binomial for the sign; KS between the sizes of positive and negative noise."""
    noise = two_sided_geometric(400_000, epsilon=Fraction(1), source=seeded(8))
    positive, negative = noise[noise > 0], -noise[noise < 0]
    assert stats.binomtest(len(positive), len(positive) + len(negative)).pvalue > ALPHA
    assert stats.binomtest(len(positive) * 26 // 25, len(positive) + len(negative)).pvalue < ALPHA
    assert stats.ks_2samp(positive, negative).pvalue > ALPHA
    assert stats.ks_2samp(positive, negative * 1.1).pvalue < ALPHA


def test_one_draw_says_nothing_about_the_next():
    """Rank correlation at distances that a chunk, a byte of signs or a group of digits could tie together."""
    noise = two_sided_geometric(300_000, epsilon=Fraction(1), source=seeded(9))
    for distance in (1, 2, 7, 8, 16, 1 << 16):
        assert stats.spearmanr(noise[:-distance], noise[distance:]).pvalue > ALPHA
    smeared = noise[:-1] + noise[1:] // 50
    assert stats.spearmanr(smeared[:-1], smeared[1:]).pvalue < ALPHA


def test_noise_differs_between_records_and_between_runs():
    """Noise that is shared, or comes again, can be subtracted. The system's source: 10,000 draws from some 2^34 values
    of comparable chance have 0.003 pairs in common, and more than ten once in 1e32 runs."""
    runs = [two_sided_geometric(10_000, epsilon=Fraction(1), source=system_bytes()) for _ in range(2)]
    assert len(np.unique(runs[0])) > 10_000 - 10
    assert np.count_nonzero(runs[0] == runs[1]) < 10
    assert len(np.intersect1d(*runs)) < 10


def test_the_system_source_gives_the_same_distribution():
    """Fresh bytes each time: this one test fails once in 1e9 runs."""
    noise = two_sided_geometric(200_000, epsilon=Fraction(2), source=system_bytes(), grid_bits=3)
    assert two_sided_chi_square_p(noise, 2 / 8) > ALPHA


@pytest.mark.parametrize("scale", [1, 8])
def test_opendp_draws_from_the_same_distribution(scale):
    """An independent, vetted implementation; two-sample χ², 20,000 draws each (OpenDP needs 7 µs for one)."""
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    theirs = np.array(dp.m.make_laplace(*space, scale=float(scale))([0] * 20_000))
    grid_bits = scale.bit_length() - 1
    ours = two_sided_geometric(20_000, epsilon=Fraction(1), source=seeded(10), grid_bits=grid_bits)
    narrow = two_sided_geometric(20_000, epsilon=Fraction(5, 4), source=seeded(11), grid_bits=grid_bits)
    assert _two_sample_p(ours, theirs, reach=4 * scale) > ALPHA
    assert _two_sample_p(narrow, theirs, reach=4 * scale) < ALPHA


def _two_sample_p(ours, theirs, *, reach):
    tables = [np.bincount(np.clip(sample, -reach, reach) + reach, minlength=2 * reach + 1) for sample in (ours, theirs)]
    return stats.chi2_contingency(np.array(tables)).pvalue


def test_one_sided_noise_is_geometric():
    """The variable inside, on a grid coarse enough for single values."""
    drawn = geometric(400_000, epsilon=Fraction(1), source=seeded(12), grid_bits=2)
    q = math.exp(-1 / 4)
    probabilities = np.append((1 - q) * q ** np.arange(40), q**40)
    counts = np.bincount(np.minimum(drawn, 40), minlength=41)
    assert chi_square_p(counts, probabilities) > ALPHA
    wrong = math.exp(-1.05 / 4)
    assert chi_square_p(counts, np.append((1 - wrong) * wrong ** np.arange(40), wrong**40)) < ALPHA

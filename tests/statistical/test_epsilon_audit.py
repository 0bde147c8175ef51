# SPDX-License-Identifier: Apache-2.0
"""An attacker's view of ε: what is published about the two ends of a class differs by a factor of e^ε, and no more.

The audit takes the worst pair of records of a class, (lo, hi), publishes each a million times through the whole
mechanism, and bounds P(event | one) / P(event | other) from below with Clopper-Pearson limits, for half-lines fixed in
advance. Bonferroni over all events and both directions: a right mechanism is accused once in 1e9 audits. A mechanism
whose scale is 5 % too small is caught for ε ≤ 4; beyond, a million draws have no power, and none is claimed.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from kepsilon.perturb.mechanisms.laplace import perturb
from kepsilon.perturb.sampler import record_noise
from oracles.noise import ALPHA, seeded

N_DRAWS = 1_000_000
LO, HI = 150.0, 190.0
PRECISION = Fraction(1, 10)


def publish(values, *, epsilon, stream):
    """Records of one class with the range [LO, HI]; values of shape (n_records, n_attributes)."""
    d = values.shape[1]
    return perturb(
        values,
        np.zeros(len(values), dtype=np.int64),
        np.full((1, d), LO),
        np.full((1, d), HI),
        epsilon=epsilon,
        precisions=[PRECISION] * d,
        domains=[None] * d,
        source=seeded(stream),
    )


def publish_often(value, *, epsilon, stream, d=1):
    """What is published of one record in N_DRAWS draws."""
    return publish(np.full((N_DRAWS, d), value), epsilon=epsilon, stream=stream)


def corner_events(published):
    """How often all attributes lie at or below, and at or above, each of a few places around and beyond the range."""
    places = LO + (HI - LO) * np.array([-1.0, -0.5, -0.2, 0.0, 0.2, 0.5, 0.8, 1.0, 1.2, 1.5, 2.0])
    smallest, largest = published.min(axis=1), published.max(axis=1)
    below = [np.count_nonzero(largest <= place) for place in places]
    above = [np.count_nonzero(smallest >= place) for place in places]
    return np.array(below + above)


def epsilon_at_least(one, other):
    """The ε that the counts of the same events under two records prove, at confidence 1 − ALPHA."""
    risk = ALPHA / (4 * len(one))  # two limits, two directions, every event
    proven = 0.0
    for a, b in ((one, other), (other, one)):
        low = np.where(a > 0, stats.beta.ppf(risk, a, N_DRAWS - a + 1), 0.0)
        high = np.where(b < N_DRAWS, stats.beta.isf(risk, b + 1, N_DRAWS - b), 1.0)
        with np.errstate(divide="ignore"):
            proven = max(proven, float(np.max(np.log(low) - np.log(high))))
    return proven


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4)], ids=str)
def test_one_attribute_keeps_its_promise_and_too_small_a_scale_is_caught(epsilon):
    """The two ends of a class are told apart with a ratio of at most e^ε, and the audit could tell a 5 % breach."""
    ends = [corner_events(publish_often(value, epsilon=epsilon, stream=50 + i)) for i, value in enumerate((LO, HI))]
    assert epsilon_at_least(*ends) <= float(epsilon)
    assert epsilon_at_least(*ends) > 0.9 * float(epsilon), "the audit has no power, or the noise is too large"

    too_small = epsilon / Fraction(95, 100)  # noise of 0.95 · R/ε
    ends = [corner_events(publish_often(value, epsilon=too_small, stream=52 + i)) for i, value in enumerate((LO, HI))]
    assert epsilon_at_least(*ends) > float(epsilon)


@pytest.mark.parametrize("d", [2, 3])
def test_a_whole_record_keeps_the_promise_and_independent_noise_is_caught(d):
    """A record that differs in every attribute spends ε once; ε for each attribute would spend it d times."""
    epsilon = Fraction(1)
    ends = [
        corner_events(publish_often(value, epsilon=epsilon, stream=54 + i, d=d)) for i, value in enumerate((LO, HI))
    ]
    assert 0.8 * float(epsilon) < epsilon_at_least(*ends) <= float(epsilon)

    independent = [
        corner_events(np.hstack([publish_often(value, epsilon=epsilon, stream=56 + 10 * i + j) for j in range(d)]))
        for i, value in enumerate((LO, HI))
    ]
    assert epsilon_at_least(*independent) > float(epsilon)


def test_a_middle_value_is_no_easier_to_tell():
    """The worst pair is the worst: a value inside the range against an end proves less."""
    ends = [
        corner_events(publish_often(value, epsilon=Fraction(2), stream=80 + i)) for i, value in enumerate((LO, 170.0))
    ]
    assert epsilon_at_least(*ends) <= 1.0


# The float-bits attack (MODEL §4). Twenty candidates with one decimal, ε = 0.05: noise of 20 times the range.

CANDIDATES = np.round(np.linspace(LO, HI, 20), 1)
WEAK = Fraction(1, 20)
SCALE = (HI - LO) / float(WEAK)
UNIT = 2.0**-53


def float_laplace(values, rng):
    """The naive mechanism: v + Laplace noise by inversion of a double uniform on multiples of 2^−53."""
    uniform = rng.integers(1, 2**53, len(values)) * UNIT
    return values + np.where(uniform < 0.5, SCALE * np.log(2 * uniform), -SCALE * np.log(2 - 2 * uniform))


def could_be_float_laplace(published, candidate):
    """Whether some uniform number gives exactly these bits from this candidate: the attacker's test."""
    noise = published - candidate
    near = np.exp(-np.abs(noise) / SCALE) / 2
    nearest = np.where(noise < 0, np.rint(near / UNIT), 2.0**53 - np.rint(near / UNIT))
    found = np.zeros(len(published), dtype=bool)
    for offset in range(-8, 9):
        uniform = np.clip((nearest + offset) * UNIT, UNIT, 1 - UNIT)
        again = candidate + np.where(uniform < 0.5, SCALE * np.log(2 * uniform), -SCALE * np.log(2 - 2 * uniform))
        found |= again == published
    return found


def could_be_ours(published, candidate):
    """Whether some integer noise gives exactly these bits from this candidate: the same test for our mechanism."""
    wanted = np.rint((published - LO) / (HI - LO) * 2**32).astype(np.int64)
    place = int(np.rint((candidate - LO) / (HI - LO) * 2**32))
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(
            "kepsilon.perturb.mechanisms.laplace.record_noise", lambda n, d, **_: (wanted - place)[:, np.newaxis]
        )
        again = publish(np.full((len(published), 1), candidate), epsilon=WEAK, stream=0)
    return again[:, 0] == published


def fits(could_be, published):
    """Which candidates could have given which published values, shape (n_candidates, n_published)."""
    return np.stack([could_be(published, candidate) for candidate in CANDIDATES])


def test_the_bits_of_a_published_value_fit_every_candidate():
    """An attacker who holds the candidate values can test which of them could have given these bits. For the naive
    float Laplace most could not, and linking rises with nothing said about ε; for ours every one could. No chance is
    involved in ours: all 20 candidates fit all 1000 outputs, whatever the seed."""
    truth = np.repeat(np.arange(20), 50)
    naive = float_laplace(CANDIDATES[truth], np.random.default_rng(1))
    fit = fits(could_be_float_laplace, naive)
    assert fit[truth, np.arange(1000)].all(), "the attack must never lose the true value"
    assert fit.sum(axis=0).mean() < 10, "the naive mechanism leaks, and the attack notices"

    ours = publish(CANDIDATES[truth][:, np.newaxis], epsilon=WEAK, stream=90)[:, 0]
    assert fits(could_be_ours, ours).all()


def test_linking_by_bits_gains_nothing():
    """Links of an attacker who first discards the candidates that do not fit and then takes the nearest one left.

    The best an attacker can do without the bits is the closed form, 1 + Σ(1 − exp(−ε·g/2R)) of 20; six standard errors.
    """
    n_repeats = 500
    truth = np.tile(np.arange(20), n_repeats)
    best = (1 + float(np.sum(1 - np.exp(-float(WEAK) * np.diff(CANDIDATES) / (HI - LO) / 2)))) / 20
    error = math.sqrt(best / len(truth))

    def linked(published, could_be):
        distance = np.abs(published[np.newaxis] - CANDIDATES[:, np.newaxis])
        guess = np.argmin(np.where(fits(could_be, published), distance, np.inf), axis=0)
        return np.mean(guess == truth)

    naive = float_laplace(CANDIDATES[truth], np.random.default_rng(2))
    assert linked(naive, could_be_float_laplace) > 2 * best
    ours = publish(CANDIDATES[truth][:, np.newaxis], epsilon=WEAK, stream=91)[:, 0]
    assert linked(ours, could_be_ours) < best + 6.2 * error


def test_every_size_of_noise_is_possible():
    """What makes every candidate fit: no residue of the integers is left out, modulo 2^8 and at every size (χ²)."""
    noise = record_noise(300_000, 1, epsilon=WEAK, source=seeded(92))[:, 0]
    for shift in (0, 8, 16, 24):
        assert stats.chisquare(np.bincount(noise >> shift & 0xFF, minlength=256)).pvalue > ALPHA
    coarse = noise & ~1  # a sampler that never draws the lowest digit
    assert stats.chisquare(np.bincount(coarse & 0xFF, minlength=256)).pvalue < ALPHA

# SPDX-License-Identifier: Apache-2.0
"""Numbers for experiments: the law they follow, and that they never change."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from kepsilon.reproduce.data.draws import Draws
from oracles.noise import SEED

N = 200_000
FALSE_ALARM = 1e-6


def xsl_rr(state, increment):
    """PCG64 in Python's integers: the next state, and what it puts out."""
    state = (state * 0x2360ED051FC65DA44385DF649FCCF645 + increment) % 2**128
    folded, turn = (state >> 64) ^ (state % 2**64), state >> 122
    return state, (folded >> turn | folded << (64 - turn)) % 2**64


def test_uniform_numbers_are_the_high_bits_of_pcg64():
    """Written out by hand, so that no release of NumPy can change them unnoticed."""
    seeded = np.random.PCG64(np.random.SeedSequence([7, SEED, int.from_bytes(b"zip", "big")])).state["state"]
    state, expected = seeded["state"], []
    for _ in range(1000):
        state, put_out = xsl_rr(state, seeded["inc"])
        expected.append((2 * (put_out >> 12) + 1) / 2**53)
    assert Draws(7, SEED).uniform("zip", 1000).tolist() == expected


def test_uniform_and_normal_numbers_follow_their_laws():
    """Kolmogorov and Smirnov's test, against SciPy's laws."""
    draws = Draws(SEED)
    uniform, normal = draws.uniform("a", N), draws.normal("a", N)
    assert stats.kstest(uniform, "uniform").pvalue > FALSE_ALARM
    assert stats.kstest(normal, "norm").pvalue > FALSE_ALARM
    np.testing.assert_allclose(normal, stats.norm.ppf(uniform), rtol=1e-12, atol=1e-14)


def test_purposes_and_seeds_have_streams_of_their_own():
    """Otherwise one column would tell another."""
    columns = [Draws(SEED).uniform("a", N), Draws(SEED).uniform("b", N), Draws(SEED + 1).uniform("a", N)]
    between = np.corrcoef(columns)[np.triu_indices(3, 1)]
    assert np.abs(between).max() < 5 / np.sqrt(N)


def test_choices_are_as_likely_as_their_weights_in_every_row():
    """One search over rows laid end to end must not carry a draw into a neighbour's row."""
    weights = np.array([[1.0, 0.0, 3.0], [0.0, 0.0, 7.0], [5.0, 5.0, 0.0]])
    row = np.arange(N) % 3
    chosen = Draws(SEED).index("choice", weights, row)
    for i, weight in enumerate(weights):
        counts = np.bincount(chosen[row == i], minlength=3)
        assert not counts[weight == 0].any()
        kept = weight > 0
        expected = counts.sum() * weight[kept] / weight.sum()
        assert kept.sum() == 1 or stats.chisquare(counts[kept], expected).pvalue > FALSE_ALARM


def test_whole_numbers_and_orders_leave_nothing_out():
    """Each number below the limit comes up as often as any other, and an order holds each number once."""
    counts = np.bincount(Draws(SEED).below("n", N, 7))
    assert len(counts) == 7
    assert stats.chisquare(counts).pvalue > FALSE_ALARM
    assert sorted(Draws(SEED).order("o", 500).tolist()) == list(range(500))
    assert set(Draws(SEED).one_of("c", ("x", "y"), 100).tolist()) == {"x", "y"}


@pytest.mark.parametrize("mutant", [[[1.0, 1.0]], [[1.0, 1.2]]], ids=["even", "uneven"])
def test_a_wrong_weight_would_be_noticed(mutant):
    """So that the test of choices has power: 1 to 1.2 must not pass for 1 to 1."""
    chosen = Draws(SEED).index("choice", np.array(mutant), np.zeros(N, dtype=np.int64))
    is_even = stats.chisquare(np.bincount(chosen)).pvalue > FALSE_ALARM
    assert is_even == (mutant == [[1.0, 1.0]])

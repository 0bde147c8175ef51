# SPDX-License-Identifier: Apache-2.0
"""What simulated figures share: every block makes its share of the draws, with random numbers of its own."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from kepsilon.evaluate.confident_k.confident_k import ConfidentK, ZeroRule
from kepsilon.evaluate.expectations import expect
from kepsilon.evaluate.simulation import FEWEST_DRAWS, MOST_DRAWS, Blocks, generator, sample_records
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.table import blocks as block_module
from kepsilon.table.steps import Steps
from oracles.noise import SEED

SIZES = np.array([30, 30, 30, 150, 30, 30, 60, 0, 40])
BOUNDS = [0, 3, 4, 6, 9]
"""Blocks of about 100 records; a class of 150 is one."""


@pytest.fixture(autouse=True)
def _short_blocks(monkeypatch):
    monkeypatch.setattr(block_module, "_SMALLEST", 100)


def test_blocks_have_their_share_and_a_stream_of_their_own():
    """By hand: classes and records follow each other, and a stream is the number of the first class."""
    found = list(Blocks(bounds=np.array(BOUNDS), n_records=400).each(SIZES))
    assert [(own.classes.start, own.classes.stop) for own in found] == list(pairwise(BOUNDS))
    assert [(own.records.start, own.records.stop) for own in found] == list(pairwise([0, 90, 240, 300, 400]))
    assert [own.share for own in found] == [90 / 400, 150 / 400, 60 / 400, 100 / 400]
    assert [own.stream for own in found] == [0, 3, 4, 6]


@pytest.mark.parametrize("cut", [0, 3, 4, 6, 9])
def test_blocks_are_the_same_in_whichever_batch_they_come(cut):
    """Their shares are of all records there are, and their streams those of all classes."""
    blocks = Blocks(bounds=np.array(BOUNDS), n_records=400)
    batches = [slice(first, last) for first, last in pairwise([0, cut, 9]) if last > first]
    parts = [own for batch in batches for own in blocks.within(batch).each(SIZES[batch])]
    assert [(own.share, own.stream) for own in parts] == [(own.share, own.stream) for own in blocks.each(SIZES)]


def test_blocks_without_records_are_left_out():
    """Nothing can be drawn from them."""
    blocks = Blocks(bounds=np.array([0, 1, 2, 3]), n_records=50)
    assert [own.stream for own in blocks.each(np.array([20, 0, 30]))] == [0, 2]


@pytest.mark.parametrize("affordable", [1, 1_024, math.inf])
@pytest.mark.parametrize("share", [1.0, 0.5, 0.125])
def test_a_block_makes_its_share_of_the_draws(affordable, share):
    """Of as many as are affordable, within limits that hold for all blocks together."""
    strata = sample_records(100_000, affordable, generator(0), share=share)
    assert strata.chosen.size == share * min(max(affordable, FEWEST_DRAWS), MOST_DRAWS)
    assert strata.sizes.sum() == 100_000


@pytest.mark.parametrize("n", [1, 2, 7, 5_000])
def test_every_stratum_is_drawn_from_twice_or_more(n):
    """Or its variance would not be known; what is drawn lies within it."""
    strata = sample_records(n, 1_000, generator(0), share=0.001)
    more = sample_records(n, 1_000, generator(0))
    for own in (strata, more):
        ends = np.cumsum(own.sizes)[:, np.newaxis]
        assert own.chosen.shape[1] >= 2
        assert np.all((own.chosen >= ends - own.sizes[:, np.newaxis]) & (own.chosen < ends))
        assert ends[-1] == n


def copies(n_copies):
    """Four classes of 30 records with two ε-quasis, over and over: each copy is a block."""
    one = np.round(np.random.default_rng(SEED).normal(100, 10, (120, 2)), 1)
    low, high = (np.array([f(one[30 * i : 30 * i + 30], axis=0) for i in range(4)]) for f in (np.min, np.max))
    return (
        np.tile(one, (n_copies, 1)),
        np.repeat(np.arange(4 * n_copies), 30),
        np.tile(low, (n_copies, 1)),
        np.tile(high, (n_copies, 1)),
    )


def simulate(values, ids, low, high, blocks=None):
    """Links by both rules and suppression to expect."""
    asked = ConfidentK(k=4, confidence=0.9, rule=ZeroRule.TEXT, precisions=(Fraction(1, 10),) * 2)
    steps = [Steps(precision=Fraction(1, 10))] * 2
    found = expect(values, [], ids, mechanism=LAPLACE, low=low, high=high, steps=steps, blocks=blocks)
    expected = found.at(8.0, confident=asked)
    return {"fair": expected.links.fair, "paper": expected.links.paper, "suppressed": expected.suppressed}


@pytest.fixture
def few_draws(monkeypatch):
    """So few that what is simulated is visibly off."""
    monkeypatch.setattr("kepsilon.evaluate.simulation.MOST_DRAWS", 320)


def test_blocks_that_are_copies_err_each_in_its_own_way(few_draws, monkeypatch):
    """With the same random numbers the error of all would be n times that of one, and √n times is what is stated.

    Estimates of sixteen copies are as far apart as their variances say: a χ² of 15 degrees is between 2.4 and 44 but for
    one in five thousand.
    """
    n = 16
    values, ids, low, high = copies(n)
    monkeypatch.setattr(block_module, "_N_BLOCKS", n)
    blocks = Blocks.of(np.bincount(ids))
    assert blocks.bounds.tolist() == list(range(0, 4 * n + 1, 4))
    together = simulate(values, ids, low, high, blocks)
    apart = []
    for i in range(n):
        own, classes = slice(120 * i, 120 * i + 120), slice(4 * i, 4 * i + 4)
        apart.append(simulate(values[own], ids[own] - 4 * i, low[classes], high[classes], blocks.within(classes)))
    for name, whole in together.items():
        totals, variances = (np.array([getattr(own[name], f) for own in apart]) for f in ("total", "variance"))
        assert whole.total == pytest.approx(totals.sum(), rel=1e-12)
        assert whole.variance == pytest.approx(variances.sum(), rel=1e-12)
        assert len(set(totals.tolist())) > n / 2
        assert 2.4 < 15 * totals.var(ddof=1) / variances.mean() < 44


def test_all_blocks_together_make_as_many_draws_as_one():
    """A table costs the same and is as well known however many blocks it is cut into: variances agree within 1.5 times."""
    n = 16
    values, ids, low, high = copies(n)
    whole = simulate(values, ids, low, high, Blocks(bounds=np.array([0, 4 * n]), n_records=120 * n))
    cut = simulate(values, ids, low, high, Blocks(bounds=np.arange(0, 4 * n + 1, 4), n_records=120 * n))
    for name in whole:
        assert 1 / 1.5 < cut[name].variance / whole[name].variance < 1.5

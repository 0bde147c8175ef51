# SPDX-License-Identifier: Apache-2.0
"""How many distinct ones there are, told from a random sample: not too many but for chance, and exact where all were seen."""

from __future__ import annotations

import numpy as np
import pytest

from kepsilon.table.distinct import estimate_distinct
from oracles.noise import SEED


def sampled(sizes: np.ndarray, share: float, seed: int = SEED) -> np.ndarray:
    """How often each of those with so many records came up, of those that did."""
    drawn = np.random.default_rng(seed).binomial(sizes, share)
    return drawn[drawn > 0]


def test_a_whole_table_is_known():
    """Nothing is left to estimate."""
    found = estimate_distinct(np.array([1, 1, 5]), n_records=7)
    assert (found.seen, found.low, found.high, found.about) == (3, 3, 3, 3)
    assert estimate_distinct(np.zeros(0, dtype=np.int64), n_records=0).about == 0


@pytest.mark.parametrize("each", [2, 5, 50])
def test_equally_frequent_ones_are_counted_right(each):
    """Where nothing differs the lower estimate has no bias: within five hundredths at 20,000 of them."""
    sizes = np.full(20_000, each)
    found = estimate_distinct(sampled(sizes, 0.2), n_records=int(sizes.sum()))
    assert abs(found.low / 20_000 - 1) < 0.05
    assert found.high <= 20_000 * np.sqrt(5)


@pytest.mark.parametrize("share", [0.005, 0.02, 0.2, 0.9])
@pytest.mark.parametrize("seed", range(5))
def test_unequal_ones_are_not_overestimated_but_for_chance(share, seed):
    """A few very frequent, most rare, as combinations of k-quasis are."""
    sizes = np.minimum(np.random.default_rng(SEED).zipf(1.5, 50_000), 100_000)
    found = estimate_distinct(sampled(sizes, share, seed), n_records=int(sizes.sum()))
    assert found.seen <= found.low <= 50_000 * 1.05
    assert found.low <= found.about <= found.high
    assert found.high >= 50_000 / np.sqrt(1 / share) * 0.9, "the factor that is promised"


def test_all_different_are_at_most_the_records():
    """Nobody came up twice, and there cannot be more than there are records."""
    found = estimate_distinct(np.ones(10_000, dtype=np.int64), n_records=40_000)
    assert 39_900 < found.low == found.high <= 40_000


def test_the_lower_estimate_is_that_of_chao_and_lin():
    """By hand: f₁ = 4, f₂ = 2, 11 of 22 records, so 16 / (4 + 4) = 2 more."""
    assert estimate_distinct(np.array([1, 1, 1, 1, 2, 2, 3]), n_records=22).low == 9

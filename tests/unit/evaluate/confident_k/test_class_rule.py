# SPDX-License-Identifier: Apache-2.0
"""Records lost with their class: tails of sums of unequal coins, and which of them need no working out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.evaluate.confident_k.class_rule import lost_with_class, may_fall, may_stand
from oracles.noise import SEED

probability = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 1e-9, 1 - 1e-9]))


def stay_distribution(chances):
    """P(n stay), one coin after the other."""
    distribution = np.ones(1)
    for q in chances:
        distribution = np.append(distribution, 0) * (1 - q) + np.append(0, distribution) * q
    return distribution


def by_hand(stays, k):
    distribution = stay_distribution(stays)
    return sum(n * p for n, p in enumerate(distribution[:k]))


@given(st.lists(st.lists(probability, min_size=3, max_size=40), min_size=1, max_size=6), st.integers(2, 3))
def test_lost_records_equal_coins_tossed_one_by_one(classes, k):
    """Classes of all sizes together."""
    sizes = np.array([len(c) for c in classes])
    found = lost_with_class(np.concatenate(classes), None, sizes, k=k)
    np.testing.assert_allclose(found, [by_hand(c, k) for c in classes], rtol=0, atol=1e-12)


@pytest.mark.parametrize("k", [3, 100, 400, 597, 600])
@pytest.mark.parametrize("level", [0.02, 0.5, 0.98])
def test_long_polynomials_are_as_exact(k, level):
    """Six hundred records take Fourier transforms, whose errors are of absolute, not relative size."""
    stays = np.random.default_rng(SEED).beta(20 * level, 20 * (1 - level), 600)
    found = lost_with_class(stays, None, np.array([600]), k=k)
    np.testing.assert_allclose(found, by_hand(stays, k), rtol=0, atol=1e-10)


@given(st.lists(probability, min_size=2, max_size=30), st.integers(1, 30))
def test_classes_passed_over_would_have_changed_nothing(chances, k):
    """Chernoff's bounds are above the tails, and so no tail that matters is passed over."""
    k = min(k, len(chances))
    sizes, sums = np.array([len(chances)]), np.array([sum(chances)])
    distribution = stay_distribution(chances)
    if not may_fall(sums, sizes, k=k)[0]:
        assert distribution[:k].sum() * len(chances) <= 1.01e-12
    if not may_stand(sums, sizes, k=k)[0]:
        assert distribution[k:].sum() * len(chances) <= 1.01e-12


def test_classes_far_from_the_edge_are_passed_over():
    """Otherwise every class would cost what only a few need to."""
    sizes = np.array([1000, 1000, 1000])
    sums = np.array([990.0, 100.0, 10.0])
    assert may_fall(sums, sizes, k=100).tolist() == [False, True, True]
    assert may_stand(sums, sizes, k=100).tolist() == [True, True, False]


def test_many_classes_are_worked_out_in_parts():
    """More records than are multiplied together at once."""
    stays = np.random.default_rng(SEED).uniform(size=(30_000, 5))
    found = lost_with_class(stays.reshape(-1), None, np.full(30_000, 5), k=2)
    gone = 1 - stays
    one_stays = sum(stays[:, i] * np.delete(gone, i, axis=1).prod(axis=1) for i in range(5))
    np.testing.assert_allclose(found, one_stays, rtol=0, atol=1e-14)

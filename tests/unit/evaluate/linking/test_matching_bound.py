# SPDX-License-Identifier: Apache-2.0
"""How sure a matcher of whole classes can be: every matching weighed one by one, against the largest posterior at 2ε."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.evaluate.linking.largest_posterior import largest_of_one, largest_of_several
from kepsilon.evaluate.linking.small_classes import attack_small_classes
from kepsilon.evaluate.originals.sorted_classes import sort_classes
from oracles.noise import SEED

EPSILONS = [0.1, 0.5, 2.0, 4.0, 16.0]
FAR = 1000


def matchings(values, published, *, epsilon):
    """P(record a comes from original i), all matchings of a class weighed one by one; values are in units of the range."""
    distances = np.abs(published[:, np.newaxis] - values).max(axis=2)
    likelihoods = np.exp(-epsilon * (distances - distances.min(axis=1, keepdims=True)))
    found = np.zeros((len(values), len(values)))
    for matching in itertools.permutations(range(len(values))):
        weight = math.prod(likelihoods[a, i] for a, i in enumerate(matching))
        for a, i in enumerate(matching):
            found[a, i] += weight
    return found / found.sum(axis=1, keepdims=True)


def largest(values, epsilon):
    """The largest posterior of one class whose values are in units of the range, to an attacker of single records."""
    ids = np.zeros(len(values), dtype=np.int64)
    ranges = np.where(np.ptp(values, axis=0) > 0, 1.0, 0.0)[np.newaxis]
    (found,) = largest_of_several(values, ids, ranges=ranges, epsilons=[epsilon])
    return found


def by_record(values, epsilon):
    """1/Σ_j exp(−ε‖v_i − v_j‖), record by record."""
    return [
        1 / sum(math.exp(-epsilon * max(abs(a - b) for a, b in zip(v, w, strict=True))) for w in values) for v in values
    ]


@st.composite
def small_classes(draw):
    """Up to five originals with one to three ε-quasis, in tenths of the range; published near them, on them and far away."""
    m, d = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    tenths = st.lists(st.lists(st.integers(0, 10), min_size=d, max_size=d), min_size=m, max_size=m)
    values = np.array(draw(tenths), dtype=np.float64) / 10
    far = st.sampled_from([-FAR, -12, -1, 0, 3, 10, 11, 25, FAR])
    places = st.one_of(st.lists(far, min_size=d, max_size=d), st.sampled_from((10 * values).tolist()))
    published = np.array(draw(st.lists(places, min_size=m, max_size=m))) / 10
    active = np.ptp(values, axis=0) > 0  # what has no range is published as it is
    return values, np.where(active, published, values), draw(st.sampled_from(EPSILONS))


@given(small_classes())
def test_no_matcher_is_surer_than_the_bound_whatever_is_published(case):
    """Of no record and no original: not on values, not between them, not far away, with any number of ε-quasis."""
    values, published, epsilon = case
    probable = matchings(values, published, epsilon=epsilon)
    assert np.all(probable <= np.array(by_record(values, 2 * epsilon)) * (1 + 1e-9))
    assert probable.max() <= largest(values, 2 * epsilon) * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("m", [2, 4, 6])
def test_the_bound_is_reached_where_all_others_are_alike(m, epsilon):
    """One at one end, all others at the other, each published as it is; a bound at ε would be too low."""
    values = np.ones((m, 1))
    values[0] = 0
    probable = matchings(values, values, epsilon=epsilon)[0, 0]
    assert probable == pytest.approx(largest(values, 2 * epsilon), rel=1e-12)
    assert probable == pytest.approx(1 / (1 + (m - 1) * math.exp(-2 * epsilon)), rel=1e-12)
    assert probable > largest(values, epsilon)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_is_nearly_reached_in_random_classes(seed, d, epsilon):
    """Five originals published on places of originals: the surest matcher comes within a quarter of it."""
    rng = np.random.default_rng([SEED, seed])
    values = rng.uniform(0, 1, (5, d))
    values = (values - values.min(axis=0)) / np.ptp(values, axis=0)
    loneliest = int(np.argmax(by_record(values, 2 * epsilon)))
    others = [i for i in range(5) if i != loneliest]
    surest = max(
        matchings(values, values[[loneliest, *places]], epsilon=epsilon)[0, loneliest]
        for places in itertools.combinations_with_replacement(others, 4)
    )
    bound = largest(values, 2 * epsilon)
    assert bound / 1.25 <= surest <= bound * (1 + 1e-12)
    assert surest > largest(values, epsilon)


def laplace_cell(places, values, *, epsilon, step):
    """P(v + noise rounds to x) for one ε-quasi, for every pair: the law of what is published, in units of the range."""

    def below(t):
        return np.where(t < 0, np.exp(-np.abs(t)) / 2, 1 - np.exp(-np.abs(t)) / 2)

    low, high = (epsilon * (places[:, np.newaxis] + side * step / 2 - values) for side in (-1, 1))
    # On the right of the mode both are close to one: the mirrored difference does not cancel.
    return np.where(low > 0, below(-low) - below(-high), below(high) - below(low))


@given(
    st.lists(st.integers(0, 20), min_size=2, max_size=5),
    st.sampled_from([0.05, 0.25, 1.0]),
    st.sampled_from([0.1, 0.5, 2.0, 4.0]),
)
def test_rounding_makes_nobody_surer(twentieths, step, epsilon):
    """The law of rounded values itself, not the density at them: neither of one record at a time nor by matching."""
    values = np.unique(np.array(twentieths) / 20)
    places = np.arange(-3, 4 + step, step)
    likelihoods = laplace_cell(places, values, epsilon=epsilon, step=step)
    distances = np.abs(values[:, np.newaxis] - values)
    single = likelihoods / likelihoods.sum(axis=1, keepdims=True)
    assert np.all(single <= 1 / np.exp(-epsilon * distances).sum(axis=1) * (1 + 1e-9))
    rng = np.random.default_rng(SEED)
    bound = 1 / np.exp(-2 * epsilon * distances).sum(axis=1)
    for _ in range(5):
        own = likelihoods[rng.integers(0, len(places), len(values))]
        found = np.zeros_like(own)
        for matching in itertools.permutations(range(len(values))):
            weight = math.prod(own[a, i] for a, i in enumerate(matching))
            for a, i in enumerate(matching):
                found[a, i] += weight
        assert np.all(found / found.sum(axis=1, keepdims=True) <= bound * (1 + 1e-9))


@pytest.mark.parametrize("d", [1, 2])
def test_no_draw_makes_a_matcher_surer_than_the_bound(d):
    """Four thousand classes of two to eight, noise as drawn and rounded, some records left out."""
    rng = np.random.default_rng(SEED)
    sizes = rng.integers(2, 9, 4_000)
    ids = np.repeat(np.arange(len(sizes)), sizes)
    values = rng.uniform(0, 1, (len(ids), d)).round(2)
    low, high = (np.array([f(values[ids == c], axis=0) for c in range(len(sizes))]) for f in (np.min, np.max))
    ranges, epsilon = high - low, 3.0
    radius = rng.standard_gamma(d + 1, (len(ids), 1)) / epsilon
    noise = radius * rng.uniform(-1, 1, (len(ids), d)) * ranges[ids]
    found = attack_small_classes(
        values, (values + noise).round(2), ids, ranges=ranges, epsilon=epsilon, stays=rng.random(len(ids)) < 0.9
    )
    bound = {}
    for c in range(len(sizes)):
        own = values[ids == c]
        scaled = np.divide(own - low[c], ranges[c], out=np.zeros_like(own), where=ranges[c] > 0)
        bound[c] = by_record(scaled, 2 * epsilon)
    at_most = np.concatenate([bound[c] for c in range(len(sizes))])[found.records]
    at_single = np.concatenate([[1 / m] * m for m in sizes])[found.records]
    assert np.all(found.own_posterior <= at_most * (1 + 1e-9))
    assert np.any(found.own_posterior > 0.98 * at_most), "draws come near the bound"
    assert np.any(found.own_posterior > at_single)


@given(small_classes(), st.sampled_from(EPSILONS))
def test_the_figure_rises_with_epsilon(case, other):
    """From one in the class, where ε tells nothing, towards certainty."""
    values, _, epsilon = case
    few, many = sorted([epsilon, other])
    assert 1 / len(values) <= largest(values, few) * (1 + 1e-12)
    assert largest(values, few) <= largest(values, many) * (1 + 1e-12)
    assert largest(values, many) <= 1


@pytest.mark.parametrize("epsilon", [0.001, 1.0, 200.0])
def test_several_epsilon_at_once_are_each_as_alone(epsilon):
    """Also at 200, which is twice the largest ε of a policy."""
    rng = np.random.default_rng(SEED)
    ids = np.repeat(np.arange(40), 8)
    values = rng.normal(170, 9, len(ids)).round(1)
    classes = sort_classes(values, ids, n_classes=40)
    ranges = np.array([np.ptp(values[ids == c]) for c in range(40)])
    together = largest_of_one(classes, ranges=ranges, epsilons=[0.5, epsilon, 7.0])
    assert together[1:2] == largest_of_one(classes, ranges=ranges, epsilons=[epsilon])
    scaled = [(values[ids == c, np.newaxis] - values[ids == c].min()) / ranges[c] for c in range(40)]
    assert together[1] == pytest.approx(max(max(by_record(own, epsilon)) for own in scaled), rel=1e-9)

# SPDX-License-Identifier: Apache-2.0
"""Attackers of small classes: order and all assignments, against oracles that write every assignment down."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from kepsilon.evaluate.linking.several_attributes import nearest_originals
from kepsilon.evaluate.linking.small_classes import (
    MOST,
    assignment_marginals,
    attack_small_classes,
)
from material.several_attributes import Several, diameters, publish, several_classes
from oracles import small
from oracles.noise import SEED


def attack(case: Several):
    return attack_small_classes(*case.arguments, **case.keywords)


def members(case, c):
    """Originals of a class, those of released records first."""
    own = np.flatnonzero(case.class_ids == c)
    return np.concatenate([own[case.stays[own]], own[~case.stays[own]]])


def in_order_of_classes(case, found, figures):
    """The figures of the records found, by class, as the oracles give them."""
    by_record = dict(zip(found.records.tolist(), figures.tolist(), strict=True))
    return [by_record[i] for c in range(len(case.ranges)) for i in members(case, c) if case.stays[i]]


@given(several_classes(fewest_attributes=1, most=14, largest=5))
def test_bayes_equals_all_assignments(case):
    """Links and the posterior of the true original, with ties, missing attributes and suppressed records."""
    found = attack(case)
    links, posteriors = [], []
    for c, ranges in enumerate(case.exact_ranges):
        own = members(case, c)
        released = own[case.stays[own]]
        table = small.marginals(case.published[released], case.values[own], ranges, case.epsilon)
        links += small.bayes_links(table)
        posteriors += [row[i] for i, row in enumerate(table)]
    assert found.records.tolist() == case.released.tolist()
    np.testing.assert_allclose(in_order_of_classes(case, found, found.bayes), links)
    np.testing.assert_allclose(
        in_order_of_classes(case, found, found.own_posterior), posteriors, rtol=1e-7, atol=1e-300
    )


@given(several_classes(fewest_attributes=1, most=12, largest=4))
def test_rank_equals_all_orders(case):
    """The cheapest order by lot; where several attributes are active there is none."""
    found = attack(case)
    links = []
    for c, ranges in enumerate(case.exact_ranges):
        own = members(case, c)
        released = own[case.stays[own]]
        active = [j for j, r in enumerate(ranges) if r]
        if len(active) > 1:
            links += [np.nan] * len(released)
        else:
            column = case.values[own, active[0]] if active else np.zeros(len(own))
            published = case.published[released, active[0]] if active else np.zeros(len(released))
            links += small.rank_links(published, column)
    np.testing.assert_allclose(in_order_of_classes(case, found, found.rank), links, atol=1e-12)


@given(several_classes(most=40))
def test_only_small_classes_are_attacked(case):
    """Records of classes of up to eight originals that were released."""
    sizes = np.bincount(case.class_ids)
    assert attack(case).records.tolist() == np.flatnonzero(case.stays & (sizes[case.class_ids] <= MOST)).tolist()


@pytest.mark.parametrize(("p", "m"), [(1, 1), (1, 8), (5, 5), (3, 7), (8, 8)])
def test_marginals_are_probabilities(p, m):
    """Every record comes from some original; where all are released, every original is some record's."""
    likelihoods = np.random.default_rng(SEED).random((50, p, m)) ** 20
    likelihoods /= likelihoods.max(axis=2, keepdims=True)
    marginals = assignment_marginals(likelihoods)
    np.testing.assert_allclose(marginals.sum(axis=2), 1)
    assert np.all(marginals.sum(axis=1) < 1 + 1e-9)
    if p == m:
        np.testing.assert_allclose(marginals.sum(axis=1), 1)


@pytest.mark.parametrize("published", [np.zeros(8), np.full(8, 1e6), np.tile([0.0, 1.0], 4)])
def test_nothing_underflows_at_the_largest_epsilon(published):
    """ε = 100, and all records published where only one original is: the least likely assignments there can be."""
    values = np.array([0.0, *[1.0] * 7])[:, np.newaxis]
    found = attack_small_classes(
        values, published[:, np.newaxis], np.zeros(8, dtype=int), ranges=np.ones((1, 1)), epsilon=100.0
    )
    assert np.isfinite(found.own_posterior).all()
    assert np.all(found.own_posterior > 0)
    if np.ptp(published) == 0:  # records that are all alike come from each original alike
        np.testing.assert_allclose(found.own_posterior, 1 / 8)
        np.testing.assert_allclose(found.bayes, 1 / 8)


def draws_of_classes(m, epsilon, d, *, n_classes=20_000):
    rng = np.random.default_rng(SEED + m)
    ids = np.repeat(np.arange(n_classes), m)
    values = rng.normal(0, 10, (n_classes * m, d)).round(1)
    ordered = values.reshape(n_classes, m, d)
    ranges = np.ptp(ordered, axis=1)
    published = publish(rng, values, np.zeros(len(ids), dtype=int), np.ones((1, d)), epsilon)[0] - values
    return values, values + published * ranges[ids], ids, ranges


@pytest.mark.parametrize(("m", "epsilon", "d"), [(2, 2.0, 1), (4, 4.0, 1), (8, 4.0, 1), (3, 2.0, 2), (6, 8.0, 3)])
def test_bayes_links_more_than_the_nearest_original(m, epsilon, d):
    """By more than chance, in 20,000 classes: it knows that no two records share an original."""
    values, published, ids, ranges = draws_of_classes(m, epsilon, d)
    found = attack_small_classes(values, published, ids, ranges=ranges, epsilon=epsilon)
    nearest = nearest_originals(values, published, ids, ranges=ranges, epsilon=epsilon).fair
    gain = np.add.reduceat(found.bayes - nearest, np.arange(0, len(ids), m))
    assert gain.sum() > 5 * np.sqrt(gain.var() * len(gain))


@pytest.mark.parametrize(("m", "epsilon", "d"), [(4, 4.0, 1), (5, 2.0, 2)])
def test_posteriors_are_calibrated(m, epsilon, d):
    """Summed over all originals of a record the posteriors are 1, so over records the true ones average their squares."""
    values, published, _, ranges = draws_of_classes(m, epsilon, d)
    n_classes = len(ranges)
    far = np.max(
        np.abs(published.reshape(n_classes, m, 1, d) - values.reshape(n_classes, 1, m, d))
        / ranges[:, np.newaxis, np.newaxis],
        axis=3,
    )
    marginals = assignment_marginals(np.exp(-epsilon * (far - far.min(axis=2, keepdims=True))))
    own = marginals[:, np.arange(m), np.arange(m)].sum(axis=1)
    surplus = own - (marginals**2).sum(axis=(1, 2))  # E P(true) = E Σ P², if P are the probabilities they claim to be
    assert abs(surplus.sum()) < 5 * np.sqrt(surplus.var() * n_classes)
    wrong = np.exp(-2 * epsilon * (far - far.min(axis=2, keepdims=True)))
    mutant = assignment_marginals(wrong)
    excess = mutant[:, np.arange(m), np.arange(m)].sum(axis=1) - (mutant**2).sum(axis=(1, 2))
    assert abs(excess.sum()) > 20 * np.sqrt(excess.var() * n_classes)


def test_order_beats_the_nearest_original_in_a_pair():
    """Both drift the same way: the nearest original is the same for both, the order is still right."""
    values, published = np.array([[1.0], [2.0]]), np.array([[8.0], [9.0]])
    ids, ranges = np.zeros(2, dtype=int), np.array([[1.0]])
    nearest = nearest_originals(values, published, ids, ranges=ranges, epsilon=1.0).fair
    found = attack_small_classes(values, published, ids, ranges=ranges, epsilon=1.0)
    assert nearest.tolist() == [0.0, 1.0]
    assert found.rank.tolist() == [1.0, 1.0]
    # Beyond both originals every assignment is as likely, and Bayes says so.
    assert found.bayes.tolist() == [0.5, 0.5]


def test_the_cheapest_order_is_taken_where_some_are_suppressed():
    """Not the first that fits: 4.9 belongs to 5, although it is the smallest of what is left."""
    values, published = np.array([[1.0], [5.0], [9.0]]), np.array([[0.0], [4.9], [6.8]])
    stays = np.array([False, True, True])
    found = attack_small_classes(
        values, published, np.zeros(3, dtype=int), ranges=np.array([[8.0]]), epsilon=1.0, stays=stays
    )
    assert found.records.tolist() == [1, 2]
    assert found.rank.tolist() == [1.0, 1.0]


def test_half_way_in_decimals_is_drawn_by_lot():
    """0.3 is as far from 0.1 as from 0.5 although its doubles disagree; the record of the other was suppressed."""
    low, high = (a.reshape(-1) for a in np.meshgrid(np.arange(-30, 60, 2), np.arange(-30, 60, 2)))
    low, high = low[low < high], high[low < high]
    values = np.column_stack([low, high]).reshape(-1, 1) / 10
    published = np.repeat((low + high) // 2, 2)[:, np.newaxis] / 10
    ids = np.repeat(np.arange(len(low)), 2)
    stays = np.tile([True, False], len(low))
    ranges = diameters(values, ids, len(low))
    found = attack_small_classes(values, published, ids, ranges=ranges, epsilon=2.0, stays=stays)
    assert set(found.rank.tolist()) == {0.5}
    assert set(found.bayes.tolist()) == {0.5}

# SPDX-License-Identifier: Apache-2.0
"""What the audit finds from sorted values is what all pairs of records and originals give."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from kepsilon.auditing.expected_links import expected_links
from kepsilon.auditing.grouped import mean_ranks, numbered_groups, order_of
from kepsilon.auditing.laplace_bins import LaplaceBins
from kepsilon.auditing.nearest_links import binary_error_of_distances, nearest_links
from kepsilon.auditing.noise_law import marginal_cdf
from kepsilon.auditing.one_attribute import OrderedClasses
from kepsilon.auditing.pattern_bounds import thinner_probabilities, thinner_probability


def _class(seed: int, *, n: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Originals, published values, the original of each, and the range; values repeat, and some are half-way between two."""
    rng = np.random.default_rng(seed)
    values = rng.integers(1500, 1540, n) / 10
    own = rng.integers(0, n, 80)
    published = np.round(values[own] + rng.laplace(0, 1, 80), 1)
    published[:20] = np.round(published[:20] / 0.05) * 0.05
    return values, published, own, float(np.ptp(values))


def _classes(seed: int) -> tuple[OrderedClasses, list[tuple[np.ndarray, ...]], dict[str, np.ndarray]]:
    """Some classes together, one of a single record, each by itself, and what is published of all of them."""
    each = [_class(100 * seed + i, n=n) for i, n in enumerate((60, 1, 7, 200))]
    each[1] = (*each[1][:3], 2.5)  # a single value has no range of its own
    sizes = [len(values) for values, *_ in each]
    firsts = np.cumsum(sizes) - sizes
    ordered = OrderedClasses.of(np.concatenate([values for values, *_ in each]), np.repeat(np.arange(len(each)), sizes))
    together = {
        "published": np.concatenate([published for _, published, *_ in each]),
        "own": np.concatenate([own + first for (_, _, own, _), first in zip(each, firsts, strict=True)]),
        "reach": np.array([reach for *_, reach in each]),
    }
    return ordered, each, together


@pytest.mark.parametrize("seed", range(20))
def test_links_from_sorted_values_are_those_of_all_pairs(seed):
    """Ties half-way between two originals included, or an honest release would be called too easy to link."""
    ordered, each, together = _classes(seed)
    slack = ordered.binary_errors(**together)
    assert ordered.can_be_ordered(**together, slack=slack).all()
    fair, paper = ordered.links(**together, slack=slack)
    slow = []
    for values, published, own, reach in each:
        slow_slack = binary_error_of_distances(published[:, np.newaxis], values[:, np.newaxis], np.array([reach]))
        distances = np.abs(published[:, np.newaxis] - values) / reach
        slow.append((slow_slack, *nearest_links(distances, own, slack=slow_slack)))
    for found, expected in zip((slack, fair, paper), zip(*slow, strict=True), strict=True):
        np.testing.assert_array_equal(found, np.concatenate(expected))


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0, 100.0])
def test_posteriors_from_running_sums_are_those_of_all_pairs(epsilon):
    """Also of values far outside their class, and at the largest ε that a policy may have."""
    ordered, each, together = _classes(3)
    for place, _ in enumerate(each):
        together["published"][80 * place : 80 * place + 5] += [1e3, -1e3, 1e6, -1e6, 7.0]
    found = ordered.posteriors(**together, epsilon=epsilon)
    largest = []
    for place, (values, _, own, reach) in enumerate(each):
        own_part = slice(80 * place, 80 * (place + 1))
        distances = np.abs(together["published"][own_part][:, np.newaxis] - values) / reach
        weights = np.exp(-epsilon * (distances - distances.min(axis=1, keepdims=True)))
        expected = weights[np.arange(len(own)), own] / weights.sum(axis=1)
        np.testing.assert_allclose(found[own_part], expected, rtol=1e-7, atol=1e-300)
        at_values = np.exp(-epsilon * np.abs(values[:, np.newaxis] - values) / reach).sum(axis=1)
        largest.append(1 / at_values.min())
    assert ordered.largest_posterior(epsilon=epsilon, reach=together["reach"]) == pytest.approx(max(largest), rel=1e-9)


def test_classes_that_sorted_values_cannot_decide_are_left_to_all_pairs():
    """Values that doubles hardly tell apart, missing ones, and classes without noise; the class beside them is decided."""
    cases = {
        "values that doubles hardly tell apart": ([1e6, np.nextafter(1e6, 2e6), 1e6 + 1], [1e6, 1e6], 1.0),
        "an original without a value": ([1.0, np.nan], [1.0, 1.0], 1.0),
        "a record without a value": ([1.0, 2.0], [np.nan, 1.0], 1.0),
        "no noise": ([1.0, 1.0], [1.0, 1.0], 0.0),
        "nothing in the way": ([1.0, 2.0], [1.5, 1.0], 1.0),
    }
    values = [np.array(own) for own, _, _ in cases.values()]
    firsts = np.cumsum([len(own) for own in values]) - [len(own) for own in values]
    ordered = OrderedClasses.of(np.concatenate(values), np.repeat(np.arange(len(cases)), [len(own) for own in values]))
    published = np.concatenate([own for _, own, _ in cases.values()])
    own = np.repeat(firsts, 2)
    reach = np.array([own for _, _, own in cases.values()])
    slack = ordered.binary_errors(published, own, reach=reach)
    can = ordered.can_be_ordered(published, own, reach=reach, slack=slack)
    assert dict(zip(cases, can.tolist(), strict=True)) == {name: name == "nothing in the way" for name in cases}
    decided = ordered.posteriors(published[-2:], own[-2:], reach=reach, epsilon=1.0)
    alone = OrderedClasses.of(values[-1], np.zeros(2, dtype=np.int64))
    np.testing.assert_allclose(
        decided, alone.posteriors(published[-2:], np.zeros(2, int), reach=reach[-1:], epsilon=1.0)
    )


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("epsilon", [0.1, 8.0, 100.0])
def test_sums_of_masses_of_bins_are_those_of_the_law(factor, epsilon):
    """From one exponential of each value and each edge; the law itself has one for each pair."""
    rng = np.random.default_rng(1)
    ids = np.sort(rng.integers(0, 3, 50))
    low, widths = np.array([150.0, 0.0, -7.0]), np.array([20.0, 1.0, 300.0])
    own = low[ids] + widths[ids] * rng.random(50)
    scales = widths / epsilon / factor
    edges = low[:, np.newaxis] + widths[:, np.newaxis] * np.linspace(-0.2, 1.2, 9)
    edges[:, 0], edges[:, -1], edges[1, 1] = -np.inf, np.inf, -np.inf
    bins = LaplaceBins.of(edges, own, ids, starts=low, scales=widths / epsilon)
    for_one = np.diff(marginal_cdf((edges[ids] - own[:, np.newaxis]) / scales[ids][:, np.newaxis], 1), axis=1)
    expected = np.array([for_one[ids == c].sum(axis=0) for c in range(3)])
    np.testing.assert_allclose(bins.expected(factor), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 8.0, 100.0])
def test_moments_of_scores_are_those_of_the_law(epsilon):
    """Mean and variance of any score of the bin that a value is taken into, from its probability of every bin."""
    rng = np.random.default_rng(3)
    ids = np.sort(rng.integers(0, 3, 50))
    low, widths = np.array([150.0, 0.0, -7.0]), np.array([20.0, 1.0, 300.0])
    own = low[ids] + widths[ids] * rng.random(50)
    edges = low[:, np.newaxis] + widths[:, np.newaxis] * np.linspace(-0.2, 1.2, 9)
    edges[:, 0], edges[:, -1], edges[2, -2] = -np.inf, np.inf, np.inf
    scores = rng.normal(size=(3, 8, 2))
    means, spreads = LaplaceBins.of(edges, own, ids, starts=low, scales=widths / epsilon).moments(scores)
    masses = np.diff(marginal_cdf((edges[ids] - own[:, np.newaxis]) * (epsilon / widths[ids, np.newaxis]), 1), axis=1)
    mean = np.einsum("ib,ibs->is", masses, scores[ids])
    np.testing.assert_allclose(means, mean, atol=1e-12)
    np.testing.assert_allclose(spreads, np.einsum("ib,ibs->is", masses, scores[ids] ** 2) - mean**2, atol=1e-12)


@pytest.mark.parametrize("most", [1, 300, 200_000])
def test_ids_are_put_in_order_stably(most):
    """Also beyond the 16 bits that are sorted at a time."""
    ids = np.random.default_rng(4).integers(0, most, 2000)
    np.testing.assert_array_equal(order_of(ids), np.argsort(ids, kind="stable"))


@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_expected_links_are_those_of_every_class_by_itself(epsilon):
    """Classes of one value, without noise, with missing values, and unknown ones among others."""
    rng = np.random.default_rng(5)
    ids = rng.integers(-1, 6, 80)
    values = np.round(rng.random(80) * 9)
    values[ids == 0], values[ids == 1] = np.nan, 4.0
    ranges = np.array([np.nan, 0.0, 9.0, 9.0, 12.0, 9.0])
    known = np.flatnonzero((ids >= 0) & (ids != 5))
    case = SimpleNamespace(
        epsilon=epsilon,
        classes=SimpleNamespace(known_originals=known, of_original=ids),
        noise=SimpleNamespace(values=values[:, np.newaxis], ranges=ranges[:, np.newaxis]),
    )
    links = paper = 0.0
    for c in range(5):
        distinct, counts = np.unique(np.nan_to_num(values[ids == c]), return_counts=True)
        for i, n in enumerate(counts):
            sides = [
                abs(distinct[i + step] - distinct[i]) if 0 <= i + step < len(counts) else np.inf for step in (-1, 1)
            ]
            stays = (
                sum(1 - np.exp(-epsilon * gap / (2 * ranges[c])) if ranges[c] > 0 else np.isinf(gap) for gap in sides)
                / 2
            )
            links += stays
            paper += stays * n
    assert expected_links(case) == pytest.approx((links, paper), rel=1e-12)


@pytest.mark.parametrize("n_distinct", [1, 5, 1000])
def test_ranks_and_groups_are_those_of_np_unique(n_distinct):
    """By counting or searching, with few and many distinct values."""
    values = np.random.default_rng(2).integers(0, n_distinct, 1000)
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    numbers, sizes = numbered_groups(values)
    np.testing.assert_array_equal(numbers, inverse)
    np.testing.assert_array_equal(sizes, counts)
    ranks = (np.cumsum(counts) - (counts + 1) / 2)[inverse]
    np.testing.assert_array_equal(mean_ranks(values.astype(np.float64)), ranks)


def test_groups_looked_at_together_have_the_probabilities_of_each_by_itself():
    """Thinner noise is looked for in several ways to group the same records, one of which was taken out."""
    rng = np.random.default_rng(6)
    size = 2 * rng.random(200) ** 2 - 1
    size[7] = np.nan
    groups = {"few": rng.integers(0, 3, 200), "many": rng.integers(0, 90, 200), "one": np.zeros(200, dtype=np.int64)}
    together = thinner_probabilities(size, groups, lattice=1e-9, n_absent=2)
    for name, ids in groups.items():
        alone = thinner_probability(size, ids, lattice=1e-9, n_absent=2)
        assert 0 < alone < 1
        assert together[name] == alone
    assert len(set(together.values())) == len(groups)

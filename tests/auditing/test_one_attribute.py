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
from kepsilon.auditing.one_attribute import OrderedClass, can_be_ordered
from kepsilon.auditing.pattern_bounds import thinner_probabilities, thinner_probability


def _class(seed: int, *, n: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Originals, published values, the original of each, and the range; values repeat, and some are half-way between two."""
    rng = np.random.default_rng(seed)
    values = rng.integers(1500, 1540, n) / 10
    own = rng.integers(0, n, 80)
    published = np.round(values[own] + rng.laplace(0, 1, 80), 1)
    published[:20] = np.round(published[:20] / 0.05) * 0.05
    return values, published, own, float(np.ptp(values))


@pytest.mark.parametrize("seed", range(20))
def test_links_from_sorted_values_are_those_of_all_pairs(seed):
    """Ties half-way between two originals included, or an honest release would be called too easy to link."""
    values, published, own, reach = _class(seed)
    slack = binary_error_of_distances(published[:, np.newaxis], values[:, np.newaxis], np.array([reach]))
    assert can_be_ordered(values, published, reach, slack)
    fair, paper = OrderedClass.of(values).links(published, own, reach=reach, slack=slack)
    distances = np.abs(published[:, np.newaxis] - values) / reach
    slow_fair, slow_paper = nearest_links(distances, own, slack=slack)
    np.testing.assert_array_equal(fair, slow_fair)
    np.testing.assert_array_equal(paper, slow_paper)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0, 100.0])
def test_posteriors_from_running_sums_are_those_of_all_pairs(epsilon):
    """Also of values far outside the class, and at the largest ε that a policy may have."""
    values, published, own, reach = _class(3)
    published[:5] += [1e3, -1e3, 1e6, -1e6, reach]
    found = OrderedClass.of(values).posteriors(published, own, reach=reach, epsilon=epsilon)
    distances = np.abs(published[:, np.newaxis] - values) / reach
    weights = np.exp(-epsilon * (distances - distances.min(axis=1, keepdims=True)))
    np.testing.assert_allclose(found, weights[np.arange(len(own)), own] / weights.sum(axis=1), rtol=1e-7, atol=1e-300)
    at_values = np.exp(-epsilon * np.abs(values[:, np.newaxis] - values) / reach).sum(axis=1)
    largest = OrderedClass.of(values).largest_posterior(epsilon=epsilon, reach=reach)
    assert largest == pytest.approx(1 / at_values.min(), rel=1e-9)


def test_classes_that_sorted_values_cannot_decide_are_left_to_all_pairs():
    """Values that doubles hardly tell apart, missing ones, and classes without noise."""
    slack = np.full(2, 1e-15)
    near = np.array([1e6, np.nextafter(1e6, 2e6), 1e6 + 1])
    published = np.array([1e6, 1e6])
    assert not can_be_ordered(near, published, 1.0, np.full(2, 1e-9))
    assert not can_be_ordered(np.array([1.0, np.nan]), published, 1.0, slack)
    assert not can_be_ordered(np.array([1.0, 2.0]), np.array([np.nan, 1.0]), 1.0, slack)
    assert not can_be_ordered(np.array([1.0, 1.0]), published, 0.0, slack)


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

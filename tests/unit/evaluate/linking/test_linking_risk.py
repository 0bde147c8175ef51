# SPDX-License-Identifier: Apache-2.0
"""Linking risk: closed forms against an oracle and against noise, realised links and posteriors record by record."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from kepsilon.evaluate.linking.linking_risk import link_gaps, link_sums, posteriors, realised_links
from kepsilon.evaluate.originals.sorted_classes import sort_classes
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from material.noisy_classes import EPSILONS, copies, diameters, fixed_classes, noisy_classes
from oracles import attacks
from oracles.noise import SEED

TIMES = 1000


def sort(noisy):
    return sort_classes(noisy.values, noisy.class_ids, n_classes=noisy.n_classes)


@given(noisy_classes())
def test_expected_links_equal_the_oracle(noisy):
    """The oracle asks each record how likely noise keeps it between the midpoints; classes without records have none."""
    fair, paper = link_gaps(sort(noisy), ranges=noisy.ranges, law=LAPLACE).by_class(noisy.epsilon)
    slow_fair, slow_paper = attacks.expected_links(noisy.values, noisy.class_ids, scales=noisy.scales)
    np.testing.assert_allclose(fair, [slow_fair.get(c, 0) for c in range(noisy.n_classes)], rtol=1e-9)
    np.testing.assert_allclose(paper, [slow_paper.get(c, 0) for c in range(noisy.n_classes)], rtol=1e-9)


@given(noisy_classes())
def test_realised_links_equal_the_oracle(noisy):
    """Exactly, in decimals: a published value half-way between two originals is a tie also where doubles disagree."""
    fair, paper = realised_links(sort(noisy), noisy.published)
    slow = [attacks.link(noisy.values, noisy.published, noisy.class_ids, i) for i in range(len(noisy.values))]
    np.testing.assert_allclose(np.column_stack([fair, paper]), slow)


@given(noisy_classes())
def test_posteriors_equal_the_oracle(noisy):
    """Also at ε = 100 and far outside the class, where exponentials would over- or underflow."""
    found = posteriors(sort(noisy), noisy.published, ranges=noisy.ranges, epsilon=noisy.epsilon)
    slow = [
        attacks.posterior(noisy.values, noisy.published, noisy.class_ids, i, scale=noisy.scales[c])
        for i, c in enumerate(noisy.class_ids)
    ]
    np.testing.assert_allclose(found, slow, rtol=1e-9, atol=1e-300)


@given(noisy_classes())
def test_sums_are_those_of_the_records(noisy):
    """The sums take the short way in sorted order; the figures are the same."""
    classes = sort(noisy)
    sums = link_sums(classes, noisy.published, ranges=noisy.ranges, epsilon=noisy.epsilon)
    fair, paper = realised_links(classes, noisy.published)
    sure = posteriors(classes, noisy.published, ranges=noisy.ranges, epsilon=noisy.epsilon)
    assert sums.fair == pytest.approx(fair.sum())
    assert sums.paper == paper.sum()
    assert sums.largest == sure.max()
    assert (sums.n_over_half, sums.n_over_nine_tenths) == ((sure > 0.5).sum(), (sure > 0.9).sum())


@given(noisy_classes())
def test_posteriors_left_out_would_have_changed_nothing(noisy):
    """Where another class is already surer, only those above one half are worked out, and all of those."""
    arguments = {"ranges": noisy.ranges, "epsilon": noisy.epsilon}
    every = link_sums(sort(noisy), noisy.published, **arguments)
    pruned = link_sums(sort(noisy), noisy.published, **arguments, largest_elsewhere=1.0)
    assert (pruned.n_over_half, pruned.n_over_nine_tenths) == (every.n_over_half, every.n_over_nine_tenths)
    assert link_sums(sort(noisy), noisy.published, **arguments, largest_elsewhere=every.largest / 2) == every


def monte_carlo(epsilon):
    """Mean links per draw of all classes with both rules, and their exact standard deviations."""
    values, ids, n_classes = fixed_classes()
    ranges = diameters(values, ids, n_classes)
    many, many_ids, n_many = copies(values, ids, n_classes, TIMES)
    noise = np.random.default_rng(SEED).laplace(size=len(many)) * np.tile(ranges, TIMES)[many_ids] / epsilon
    realised = realised_links(sort_classes(many, many_ids, n_classes=n_many), many + noise)
    scales = ranges / epsilon
    p = np.array([attacks.probability_of_link(values, ids, i, scale=scales[c]) for i, c in enumerate(ids)])
    ties = np.array([np.sum((values == v) & (ids == c)) for v, c in zip(values, ids, strict=True)])
    deviations = [np.sqrt(np.sum(p * (1 - p) / t**2) / TIMES) for t in (ties, 1)]
    return [figures.sum() / TIMES for figures in realised], deviations


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_closed_forms_equal_monte_carlo(epsilon):
    """|z| < 5 for both tie rules, on noise that is not rounded."""
    values, ids, n_classes = fixed_classes()
    ranges = diameters(values, ids, n_classes)
    closed = link_gaps(sort_classes(values, ids, n_classes=n_classes), ranges=ranges, law=LAPLACE).by_class(epsilon)
    for expected, realised, deviation in zip(closed, *monte_carlo(epsilon), strict=True):
        assert abs(realised - expected.sum()) < 5 * deviation


def test_the_dataset_range_instead_of_the_class_range_is_caught():
    """The mutant promises fewer links than there are."""
    values, ids, n_classes = fixed_classes()
    mutant = np.full(n_classes, np.ptp(values))
    closed = link_gaps(sort_classes(values, ids, n_classes=n_classes), ranges=mutant, law=LAPLACE).by_class(2.0)
    for expected, realised, deviation in zip(closed, *monte_carlo(2.0), strict=True):
        assert realised - expected.sum() > 20 * deviation


@given(noisy_classes())
def test_links_stay_within_their_bounds(noisy):
    """1 as ε goes to 0, so that risk is classes/n; at most 1 + ε/2; and never more than distinct values."""
    classes = sort(noisy)
    has_records = classes.sizes > 0
    fair, paper = link_gaps(classes, ranges=noisy.ranges, law=LAPLACE).by_class(noisy.epsilon)
    assert np.all(fair[has_records] >= 1)
    assert np.all(fair <= np.minimum(1 + noisy.epsilon / 2, classes.n_distinct) + 1e-12)
    assert np.all(paper >= fair - 1e-12)
    limit, _ = link_gaps(classes, ranges=noisy.ranges, law=LAPLACE).by_class(1e-12)
    assert limit.sum() == pytest.approx(np.count_nonzero(has_records))


@given(noisy_classes())
def test_order_of_records_does_not_matter(noisy):
    """The attacker sees sets, not sequences."""
    mixed = np.random.default_rng(SEED).permutation(len(noisy.values))
    other = sort_classes(noisy.values[mixed], noisy.class_ids[mixed], n_classes=noisy.n_classes)
    one = link_sums(sort(noisy), noisy.published, ranges=noisy.ranges, epsilon=noisy.epsilon)
    two = link_sums(other, noisy.published[mixed], ranges=noisy.ranges, epsilon=noisy.epsilon)
    assert one.fair == pytest.approx(two.fair)
    gaps = [link_gaps(classes, ranges=noisy.ranges, law=LAPLACE) for classes in (sort(noisy), other)]
    assert gaps[0].expected(noisy.epsilon) == gaps[1].expected(noisy.epsilon)
    assert (one.largest, one.n_over_half) == (two.largest, two.n_over_half)


def test_a_class_of_missing_values_is_a_constant_class():
    """Nothing tells its records apart, so one of them is linked by chance."""
    values, ids = np.array([1.0, 3.0, np.nan, np.nan, np.nan]), np.array([0, 0, 1, 1, 1])
    classes = sort_classes(values, ids, n_classes=2)
    ranges = np.array([2.0, np.nan])
    fair, paper = link_gaps(classes, ranges=ranges, law=LAPLACE).by_class(2.0)
    assert (fair[1], paper[1]) == (1.0, 3.0)
    np.testing.assert_allclose(realised_links(classes, values)[0], [1, 1, 1 / 3, 1 / 3, 1 / 3])
    np.testing.assert_allclose(posteriors(classes, values, ranges=ranges, epsilon=2.0)[2:], 1 / 3)


def test_values_without_noise_are_all_linked():
    """Risk is 1 for distinct values published as they are."""
    values = np.arange(50) / 7
    fair, paper = realised_links(sort_classes(values, np.arange(50) % 3, n_classes=3), values)
    assert fair.tolist() == paper.tolist() == [1.0] * 50


@pytest.mark.parametrize("class_ids", [[0, 2], [-1, 0], [0]])
def test_records_without_a_class_are_refused(class_ids):
    """They would be compared with somebody else's class."""
    with pytest.raises(ValueError, match="class"):
        sort_classes(np.array([1.0, 2.0]), np.array(class_ids), n_classes=2)


def test_a_published_value_half_way_is_a_tie_in_decimals():
    """Rounded noise lands there often, and 0.3 is as far from 0.1 as from 0.5 although its doubles disagree."""
    low, high = (a.reshape(-1) for a in np.meshgrid(np.arange(-30, 60, 2), np.arange(-31, 60, 2) + 1))
    low, high = low[low < high], high[low < high]
    n = len(low)
    middle = (low + high) // 2 / 10
    values = np.concatenate([low / 10, low / 10, high / 10])
    classes = sort_classes(values, np.tile(np.arange(n), 3), n_classes=n)
    fair, paper = realised_links(classes, np.tile(middle, 3))
    np.testing.assert_allclose(fair, 1 / 3)
    assert paper.sum() == 3 * n
    assert np.any(np.abs(low / 10 - middle) != np.abs(high / 10 - middle))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 5.0])
def test_an_even_chance_is_not_above_one_half(epsilon):
    """A value published half-way between two originals: posteriors of ½, whatever rounding makes of them."""
    values, ids = np.tile([0.0, 2.0], 500), np.repeat(np.arange(500), 2)
    classes = sort_classes(values, ids, n_classes=500)
    sums = link_sums(classes, np.ones(1000), ranges=np.full(500, 2.0), epsilon=epsilon)
    assert sums.n_over_half == 0


def test_large_values_with_fine_steps_are_told_apart():
    """At 4e12 the rounding of distances exceeds a step of 0.002; what is published exactly still links."""
    values = 4e12 + np.arange(20) * 0.002
    classes = sort_classes(values, np.zeros(20, dtype=int), n_classes=1)
    own, paper = realised_links(classes, values)
    assert own.tolist() == [1.0] * len(np.unique(values))
    assert paper.tolist() == [1.0] * 20


def test_crowded_values_are_searched_in_few_rounds():
    """Values within rounding of each other, beside two far away: a search one step at a time would take hours."""
    rng = np.random.default_rng(3)
    values = np.concatenate([rng.uniform(-1e-12, 1e-12, 200_000), [-1e6, 1e6]])
    ids = np.zeros(len(values), dtype=int)
    classes = sort_classes(values, ids, n_classes=1)
    found = classes.n_distinct_up_to(values, ids, include_equal=True)
    assert (found == np.searchsorted(classes.values, values, side="right")).all()


def test_a_range_next_to_nothing_has_posteriors_all_the_same():
    """ε/R would overflow; four records cannot hide better than among four."""
    values = np.array([0.0, 1e-310, 0.0, 5e-311])
    classes = sort_classes(values, np.zeros(4, dtype=int), n_classes=1)
    sums = link_sums(classes, values, ranges=np.array([1e-310]), epsilon=100.0)
    assert sums.largest >= 0.25

# SPDX-License-Identifier: Apache-2.0
"""Expected links of several ε-quasis: exact where they can be, and otherwise off by no more than they say."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.expectations import expect
from kepsilon.evaluate.linking import linking_risk, simulated_links
from kepsilon.evaluate.linking.linking_risk import ExpectedLinks
from kepsilon.evaluate.linking.several_attributes import nearest_originals
from kepsilon.evaluate.linking.simulated_links import expected_links_at_each
from kepsilon.evaluate.originals.sorted_classes import sort_classes
from kepsilon.evaluate.simulation import Blocks
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.table.steps import Steps
from material.noisy_classes import EPSILONS, fixed_classes, noisy_classes
from material.noisy_classes import diameters as diameters_of_one
from material.several_attributes import diameters, expected_links_of_several, fixed_several, publish, several_classes
from oracles import several
from oracles.noise import ALPHA, SEED


def of_one_attribute(values, class_ids, ranges, epsilon):
    classes = sort_classes(values, class_ids, n_classes=len(ranges))
    return [figures.sum() for figures in linking_risk.link_gaps(classes, ranges=ranges, law=LAPLACE).by_class(epsilon)]


def both(links):
    return (links.fair, links.paper)


@given(noisy_classes())
def test_one_active_attribute_has_the_closed_form(noisy):
    """Without any variance; the other attributes are constant or missing, and which one is active differs by class."""
    n, ids = len(noisy.values), noisy.class_ids
    values, ranges = np.full((n, 3), 7.0), np.zeros((noisy.n_classes, 3))
    values[:, 2], ranges[:, 2] = np.nan, np.nan
    values[np.arange(n), ids % 2], ranges[np.arange(noisy.n_classes), np.arange(noisy.n_classes) % 2] = (
        noisy.values,
        noisy.ranges,
    )
    found = expected_links_of_several(values, ids, ranges=ranges, epsilon=noisy.epsilon, law=LAPLACE)
    for estimate, known in zip(
        both(found), of_one_attribute(noisy.values, ids, noisy.ranges, noisy.epsilon), strict=True
    ):
        assert estimate.total == pytest.approx(known)
        assert estimate.variance == 0


def test_originals_in_one_place_are_linked_by_chance():
    """One fair link, and by the paper's rule all, also where a wider range gives them noise in every attribute."""
    found = expected_links_of_several(
        np.full((6, 2), 4.0), np.array([0, 0, 0, 0, 2, 2]), ranges=np.full((3, 2), 5.0), epsilon=3.0, law=LAPLACE
    )
    assert (found.fair, found.paper) == (Estimate(total=2.0), Estimate(total=6.0))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_affine_copies_link_no_more_than_one_attribute(epsilon):
    """The record spends ε once: the figure is that of the closed form for one attribute, |z| < 5, for both tie rules."""
    values, ids, n_classes = fixed_classes()
    copies = np.column_stack([values, 3 * values - 50, -values])
    ranges = diameters(copies, ids, n_classes)
    found = expected_links_of_several(copies, ids, ranges=ranges, epsilon=epsilon, law=LAPLACE)
    known = of_one_attribute(values, ids, diameters_of_one(values, ids, n_classes), epsilon)
    for estimate, expected in zip(both(found), known, strict=True):
        assert abs(estimate.total - expected) < 5 * np.sqrt(estimate.variance) + 1e-9 * expected


@pytest.mark.parametrize("widest", [4, 512])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_figures_equal_another_simulation(monkeypatch, epsilon, widest):
    """Noise drawn in another way, by another generator, and links counted one by one: |z| < 5 for both tie rules.

    Whether a class is met at once or a few originals at a time.
    """
    monkeypatch.setattr(simulated_links, "WIDEST", widest)
    values, ids, ranges = fixed_several()
    found = expected_links_of_several(values, ids, ranges=ranges, epsilon=epsilon, law=LAPLACE)
    times = 4000
    published = publish(np.random.default_rng(SEED), values, ids, ranges, epsilon, times)
    links = np.zeros((2, times))
    for c, widths in enumerate(ranges):
        active = widths > 0
        own = np.ix_(ids == c, active)
        if active.any():
            links += several.links_of_one_class(values[own], published[:, ids == c][:, :, active], widths[active])
        else:
            links += np.array([[1], [np.count_nonzero(ids == c)]])
    for estimate, figures in zip(both(found), links, strict=True):
        deviation = np.sqrt(figures.var(ddof=1) / times + estimate.variance)
        assert abs(estimate.total - figures.mean()) < 5 * deviation


def test_the_stated_variance_is_the_true_one(monkeypatch):
    """z² of 200 streams with few draws each, around a known figure: neither over- nor underdispersed, at one in a million."""
    monkeypatch.setattr(simulated_links, "COMPARISONS", 20_000)
    rng = np.random.default_rng(SEED)
    sizes = rng.integers(2, 60, 40)
    ids = np.repeat(np.arange(40), sizes)
    values = rng.normal(0, 10, len(ids)).round(1)
    copies = np.column_stack([values, 2 * values])
    ranges = diameters(copies, ids, 40)
    known = of_one_attribute(values, ids, ranges[:, 0], 5.0)
    for rule, expected in zip(("fair", "paper"), known, strict=True):
        found = [
            getattr(expected_links_of_several(copies, ids, ranges=ranges, epsilon=5.0, stream=s, law=LAPLACE), rule)
            for s in range(200)
        ]
        squares = sum((e.total - expected) ** 2 / e.variance for e in found)
        assert stats.chi2.ppf(5e-7, 200) < squares < stats.chi2.ppf(1 - 5e-7, 200)


def test_the_same_classes_give_the_same_figures_and_streams_others():
    """Nothing in a report may change from run to run, and errors of partitions must not repeat each other."""
    values, ids, ranges = fixed_several()
    one, two, other = (
        expected_links_of_several(values, ids, ranges=ranges, epsilon=2.0, stream=s, law=LAPLACE) for s in (0, 0, 1)
    )
    assert one == two
    assert one.fair.total != other.fair.total


def test_links_rise_with_epsilon_from_one_for_each_class():
    """All ε share their draws, so that a curve of them is smooth; towards 0 one link is left for each class."""
    values, ids, ranges = fixed_several()
    curve = [
        expected_links_of_several(values, ids, ranges=ranges, epsilon=e, law=LAPLACE).fair.total
        for e in (1e-6, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 100)
    ]
    assert curve[0] == pytest.approx(len(ranges), rel=1e-4)
    assert np.all(np.diff(curve) > 0)


@given(several_classes())
def test_links_stay_within_their_bounds(case):
    """At least one for each class, at most Σ (ε/2)^j/j! and what there are records; the paper counts no fewer."""
    found = expected_links_of_several(
        case.values, case.class_ids, ranges=case.ranges, epsilon=case.epsilon, law=LAPLACE
    )
    n_classes, d = len(np.unique(case.class_ids)), case.values.shape[1]
    slack = 5 * np.sqrt(found.fair.variance) + 1e-9
    assert found.fair.total > n_classes - slack
    assert found.fair.total < min(len(case.values), n_classes * several.most_links(d, case.epsilon)) + slack
    assert found.paper.total > found.fair.total - 1e-9


def test_sums_and_variances_add_up():
    """Partitions are simulated apart."""
    one = ExpectedLinks(fair=Estimate(total=2.0, variance=0.5), paper=Estimate(total=3.0, variance=1.0))
    two = ExpectedLinks(fair=Estimate(total=1.0, variance=0.25))
    assert one + two == ExpectedLinks(fair=Estimate(total=3.0, variance=0.75), paper=one.paper)


def test_partitions_give_the_figure_of_the_whole():
    """Half the classes here, half there, against realised links of noise of their own: |z| < 5."""
    rng = np.random.default_rng(SEED)
    ids = rng.integers(0, 30, 3000)
    values = rng.normal(0, 10, (3000, 2)).round(1)
    ranges = diameters(values, ids, 30)
    parts = [
        expected_links_of_several(
            values[ids % 2 == s], ids[ids % 2 == s], ranges=ranges, epsilon=6.0, stream=s, law=LAPLACE
        )
        for s in (0, 1)
    ]
    found = parts[0] + parts[1]
    realised = np.array(
        [
            nearest_originals(values, x, ids, ranges=ranges, epsilon=6.0).fair.sum()
            for x in publish(rng, values, ids, ranges, 6.0, times=50)
        ]
    )
    deviation = np.sqrt(realised.var(ddof=1) / 50 + found.fair.variance)
    assert abs(found.fair.total - realised.mean()) < 5 * deviation


@pytest.mark.parametrize(("factor", "fits"), [(1.0, True), (0.9, False), (1.1, False)])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_unit_noise_has_the_radius_of_the_mechanism(d, factor, fits):
    """Its largest coordinate is the d-th arrival of a Poisson process; a scale 10 % off is noticed."""
    active = np.zeros((50_000, 6), dtype=bool)
    active[:, :d] = True
    noise = LAPLACE.unit_noise(active, np.random.default_rng(SEED))
    assert not noise[:, d:].any()
    p_value = stats.kstest(np.abs(noise).max(axis=1), stats.gamma(d, scale=factor).cdf).pvalue
    assert bool(p_value > ALPHA) is fits


def test_several_epsilons_at_once_are_the_same_as_one_by_one():
    """To the last digit: classes are laid out once, and draws are shared. Some classes have a closed form."""
    rng = np.random.default_rng(SEED)
    ids = np.repeat(np.arange(60), 25)
    values = np.round(rng.normal(0, 5, (1_500, 2)), 1)
    values[ids < 10, 1] = 3.0  # nothing to tell apart but the first attribute
    ranges = np.array([np.ptp(values[ids == i], axis=0) for i in range(60)])
    epsilons = [0.05, 2.0, 16.0]
    together = expected_links_at_each(values, ids, ranges=ranges, epsilons=epsilons, stream=3, law=LAPLACE)
    alone = [expected_links_of_several(values, ids, ranges=ranges, epsilon=e, stream=3, law=LAPLACE) for e in epsilons]
    assert together == alone
    assert len({own.fair.total for own in together}) == 3
    assert all(own.fair.variance > 0 for own in together)
    expectations = expect(
        values,
        [],
        ids,
        mechanism=LAPLACE,
        low=np.zeros_like(ranges),
        high=ranges,
        steps=[Steps(precision=Fraction(1, 10))] * 2,
        blocks=Blocks.of(np.bincount(ids), first_class=3),
    )
    assert expectations.at_each([(e, None) for e in epsilons]) == tuple(expectations.at(e) for e in epsilons)
    assert [own.links for own in expectations.at_each([(e, None) for e in epsilons])] == alone

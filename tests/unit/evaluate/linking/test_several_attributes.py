# SPDX-License-Identifier: Apache-2.0
"""Several ε-quasis: nearest originals, posteriors and originals in reach, record by record."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.evaluate.linking import linking_risk
from kepsilon.evaluate.linking.several_attributes import nearest_originals, originals_in_reach
from kepsilon.evaluate.originals.sorted_classes import sort_classes
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from material.noisy_classes import noisy_classes
from material.several_attributes import diameters, expected_links_of_several, fixed_several, publish, several_classes
from oracles import several
from oracles.attacks import exact
from oracles.noise import SEED


@given(several_classes())
def test_nearest_originals_equal_the_oracle(case):
    """Exactly, in decimals; suppressed records are not attacked, but their originals remain candidates."""
    found = nearest_originals(*case.arguments, **case.keywords)
    slow = np.zeros(len(case.values), dtype=int)
    for i in case.released:
        slow[i] = several.n_nearest(*case.arguments, i, case.exact_ranges)
    assert found.n_nearest.tolist() == slow.tolist()
    np.testing.assert_allclose(found.fair, [1 / t if t else 0 for t in slow])
    assert found.paper.tolist() == [float(t > 0) for t in slow]
    assert found.sums().fair == pytest.approx(found.fair.sum())
    assert found.sums().paper == np.count_nonzero(slow)


@given(several_classes())
def test_posteriors_equal_the_oracle(case):
    """The largest, also where none exceeds one half, and how many exceed one half and nine tenths."""
    found = nearest_originals(*case.arguments, **case.keywords)
    slow = np.array([several.posterior(*case.arguments, i, case.exact_ranges, case.epsilon) for i in case.released])
    assert found.largest == pytest.approx(slow.max(initial=0), rel=1e-9)
    assert found.n_over_half == np.count_nonzero(slow > 0.5 + 1e-9)
    assert found.n_over_nine_tenths == np.count_nonzero(slow > 0.9 + 1e-9)


@given(several_classes())
def test_posteriors_left_out_would_have_changed_nothing(case):
    """Partitions tell each other the largest so far."""
    every = nearest_originals(*case.arguments, **case.keywords)
    pruned = nearest_originals(*case.arguments, **case.keywords, largest_elsewhere=1.0)
    assert (pruned.largest, pruned.sums().fair) == (1.0, every.sums().fair)
    assert pruned.n_over_half == every.n_over_half
    half = nearest_originals(*case.arguments, **case.keywords, largest_elsewhere=every.largest / 2)
    assert half.largest == pytest.approx(every.largest)


@given(noisy_classes())
def test_one_attribute_is_the_case_already_known(noisy):
    """With d = 1 links and posteriors are those of the sorted kernel."""
    found = nearest_originals(
        noisy.values[:, np.newaxis],
        noisy.published[:, np.newaxis],
        noisy.class_ids,
        ranges=noisy.ranges[:, np.newaxis],
        epsilon=noisy.epsilon,
    )
    classes = sort_classes(noisy.values, noisy.class_ids, n_classes=noisy.n_classes)
    known = linking_risk.link_sums(classes, noisy.published, ranges=noisy.ranges, epsilon=noisy.epsilon)
    fair, paper = linking_risk.realised_links(classes, noisy.published)
    np.testing.assert_allclose(found.fair, fair)
    np.testing.assert_allclose(found.paper, paper)
    assert found.largest == pytest.approx(known.largest)
    assert (found.n_over_half, found.n_over_nine_tenths) == (known.n_over_half, known.n_over_nine_tenths)


@given(several_classes(), st.integers(1, 12), st.lists(st.integers(0, 60), min_size=3, max_size=3))
def test_originals_in_reach_equal_the_oracle(case, cap, tenths):
    """Ends included, in decimals, around what was published, up to the cap; missing values are in reach of each other."""
    d = case.values.shape[1]
    reach = np.where(np.isnan(case.ranges), np.nan, np.array(tenths[:d]) / 10)
    slow_reach = [[None if np.isnan(r) else exact(r) for r in row] for row in reach]
    found = originals_in_reach(*case.arguments, linking_ranges=reach, cap=cap)
    slow = [several.in_reach(*case.arguments, i, slow_reach) for i in range(len(case.values))]
    assert found.tolist() == [min(n, cap) for n in slow]


@pytest.mark.parametrize("told", [False, True])
def test_the_slack_of_rounding_is_less_than_the_precision(told):
    """At 1.7e15 a double's rounding is wider than whole numbers are apart; the mutant, not told, finds too many."""
    steps = 1.7e15 + np.arange(9.0)
    values = np.column_stack([steps, steps])
    found = originals_in_reach(
        values,
        values,
        np.zeros(9, dtype=int),
        linking_ranges=np.array([[1.5, 2.5]]),
        cap=9,
        precisions=(Fraction(1), Fraction(1)) if told else None,
    )
    right = [2, 3, 3, 3, 3, 3, 3, 3, 2]
    assert found.tolist() == right if told else (found > right).all()


@given(several_classes(), st.integers(1, 12))
def test_a_known_precision_changes_nothing_where_doubles_are_fine_enough(case, cap):
    """In tenths, rounding is far below a quarter of the precision."""
    d = case.values.shape[1]
    keywords = {"linking_ranges": case.ranges / 2, "cap": cap}
    told = originals_in_reach(*case.arguments, **keywords, precisions=[Fraction(1, 10)] * d)
    assert told.tolist() == originals_in_reach(*case.arguments, **keywords).tolist()


@pytest.mark.parametrize("epsilon", [0.05, 1.0])
@pytest.mark.parametrize("d", [2, 4])
def test_the_surest_record_of_large_classes_is_found(epsilon, d):
    """Where no posterior exceeds one half, few records are looked at closely, and the surest must be among them."""
    rng = np.random.default_rng(SEED)
    ids = np.repeat([0, 1], [4500, 1500])
    values = rng.exponential(10, (len(ids), d)).round(1)
    ranges = diameters(values, ids, 2) * np.array([[0.0] + [1.0] * (d - 1), [1.0] * d])
    published = publish(rng, values, ids, ranges, epsilon)[0]
    widths = np.where(ranges > 0, ranges, np.inf)
    stays = np.zeros(len(ids), dtype=bool)
    posteriors = np.zeros(len(ids))
    for i in rng.permutation(len(ids))[:1500]:
        far = np.max(np.abs(published[i] - values[ids == ids[i]]) / widths[ids[i]], axis=1)
        own = np.max(np.abs(published[i] - values[i]) / widths[ids[i]])
        stays[i], posteriors[i] = far.min() < own, 1 / np.exp(-epsilon * (far - own)).sum()
    for chosen in (stays, stays & (ids == 0)):  # the larger class would never show beside the smaller
        found = nearest_originals(values, published, ids, ranges=ranges, epsilon=epsilon, stays=chosen)
        assert found.largest == pytest.approx(posteriors[chosen].max())


@given(several_classes())
def test_order_of_records_does_not_matter(case):
    """The attacker sees sets, not sequences."""
    mixed = np.random.default_rng(SEED).permutation(len(case.values))
    keywords = case.keywords | {"stays": case.stays[mixed]}
    one = nearest_originals(*case.arguments, **case.keywords)
    two = nearest_originals(*(array[mixed] for array in case.arguments), **keywords)
    assert one.n_nearest[mixed].tolist() == two.n_nearest.tolist()
    assert one.largest == pytest.approx(two.largest)


@pytest.mark.parametrize("epsilon", [0.2, 2.0, 20.0])
@pytest.mark.parametrize("decimals", [0, 1, 5])
def test_large_classes_are_met_to_their_last_original(epsilon, decimals):
    """Classes wider than any window, many to a place or all distinct, against all pairs: who leaves early does so rightly."""
    rng = np.random.default_rng(SEED)
    ids = np.repeat([0, 1, 2], [1500, 700, 3])
    values = rng.normal(0, 10, (len(ids), 2)).round(decimals)
    ranges = diameters(values, ids, 3)
    published = publish(rng, values, ids, ranges, epsilon)[0]
    stays = rng.random(len(ids)) < 0.5
    reach = ranges / epsilon
    found = nearest_originals(values, published, ids, ranges=ranges, epsilon=epsilon, stays=stays)
    counts = originals_in_reach(values, published, ids, linking_ranges=reach, cap=20)
    posteriors = []
    for i in range(len(ids)):
        apart = np.abs(published[i] - values[ids == ids[i]])
        assert counts[i] == min(20, np.count_nonzero((apart <= reach[ids[i]]).all(axis=1)))
        far = (apart / ranges[ids[i]]).max(axis=1)
        own = np.max(np.abs(published[i] - values[i]) / ranges[ids[i]])
        ties = np.count_nonzero(np.abs(far - own) < 1e-12)
        assert found.n_nearest[i] == (ties if stays[i] and far.min() > own - 1e-12 else 0)
        posteriors.append(np.exp(-epsilon * own) / np.exp(-epsilon * far).sum() if stays[i] else 0)
    assert found.largest == pytest.approx(max(posteriors))
    assert found.n_over_half == np.count_nonzero(np.array(posteriors) > 0.5)


def test_a_record_almost_linked_is_not_left_out_for_those_it_has_not_met():
    """Nearly ½ beside one rival; the other 95 originals are far, and must not be counted as if they were near."""
    places = np.array([0.0, 0.01, 0.5, 0.5, 0.5] + [1.0] * 95)
    values = np.column_stack([places, places])
    published = values.copy()
    published[0] = 0.006
    stays = np.isin(np.arange(100), [0, 2])
    ids, ranges = np.zeros(100, dtype=int), np.ones((1, 2))
    found = nearest_originals(values, published, ids, ranges=ranges, epsilon=50.0, stays=stays)
    assert found.n_nearest[[0, 2]].tolist() == [0, 3]
    assert found.largest == pytest.approx(1 / (1 + np.exp(50 * 0.002)), rel=1e-6)


def test_half_way_in_decimals_is_a_tie():
    """In either attribute, or in one as far as in the other, although the doubles disagree."""
    values = np.array([[0.1, 0.0], [0.5, 0.0], [0.1, 0.7], [0.5, 0.7]])
    published = np.array([[0.3, 0.0], [0.3, 0.1], [0.1, 0.35], [0.3, 0.35]])
    found = nearest_originals(values, published, np.zeros(4, dtype=int), ranges=np.array([[0.4, 0.7]]), epsilon=1.0)
    assert found.n_nearest.tolist() == [2, 2, 2, 4]


def test_large_values_with_fine_steps_are_told_apart():
    """At 4e12 the rounding of distances exceeds a step of 0.002; what is published exactly still links."""
    steps = 4e12 + np.arange(20) * 0.002
    values = np.column_stack([steps, steps[::-1]])
    ranges = diameters(values, np.zeros(20, dtype=int), 1)
    found = nearest_originals(values, values, np.zeros(20, dtype=int), ranges=ranges, epsilon=1.0)
    assert found.n_nearest.tolist() == [1] * 20


def test_a_range_next_to_nothing_is_no_accident():
    """Published values are then farther away than doubles can count ranges; four records hide among four."""
    values = np.array([[0.0, 5.0], [1e-310, 5.0], [0.0, 5.0], [5e-311, 5.0]])
    ranges = np.array([[1e-310, 0.0]])
    found = nearest_originals(values, values + 0.1 * (ranges > 0), np.zeros(4, dtype=int), ranges=ranges, epsilon=100.0)
    assert found.largest >= 0.25


def test_missing_values_beside_a_range_are_refused():
    """They would be compared as numbers."""
    values = np.array([[1.0, 2.0], [np.nan, 3.0]])
    with pytest.raises(ValueError, match="missing"):
        nearest_originals(values, values, np.zeros(2, dtype=int), ranges=np.ones((1, 2)), epsilon=1.0)


def test_arrays_that_do_not_fit_are_refused():
    """A range too few would leave an attribute out of the attack."""
    values = np.ones((2, 2))
    with pytest.raises(ValueError, match="range"):
        nearest_originals(values, values, np.zeros(2, dtype=int), ranges=np.ones((1, 1)), epsilon=1.0)


def test_the_interval_around_the_original_value_is_caught():
    """The mutant is the formula as printed: it never finds ℓ = 0, and so keeps and suppresses other records."""
    values = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 1.0]])
    published = np.array([[9.0, 1.0], [2.0, 2.0], [2.5, 1.0]])
    ids, reach = np.zeros(3, dtype=int), np.array([[1.0, 1.0]])
    found = originals_in_reach(values, published, ids, linking_ranges=reach, cap=3)
    assert found.tolist() == [0, 3, 2]
    mutant = [several.in_reach(values, values, ids, i, [[1, 1]]) for i in range(3)]
    assert mutant == [2, 3, 2]


def published_copies(rng, *, independent, epsilon, n_copies=16, times=300):
    """A class of 50 whose attribute is released 16 times: as one record, or in the mutant with ε for every copy."""
    values = np.repeat(rng.normal(170, 8, (50, 1)).round(1), n_copies, axis=1)
    ranges = diameters(values, np.zeros(50, dtype=int), 1)
    if independent:
        return values, ranges, values + rng.laplace(size=(times, *values.shape)) * ranges[0] / epsilon
    return values, ranges, publish(rng, values, np.zeros(50, dtype=int), ranges, epsilon, times)


@pytest.mark.parametrize("independent", [False, True])
def test_independent_epsilon_for_every_copy_is_caught(independent):
    """An attacker who averages copies links more than is claimed if each spends ε, and no more if the record does."""
    values, ranges, published = published_copies(np.random.default_rng(SEED), independent=independent, epsilon=8.0)
    claim = expected_links_of_several(values, np.zeros(50, dtype=int), ranges=ranges, epsilon=8.0, law=LAPLACE).fair
    one = sort_classes(values[:, 0], np.zeros(50, dtype=int), n_classes=1)
    closed, _ = linking_risk.link_gaps(one, ranges=ranges[:, 0], law=LAPLACE).by_class(8.0)
    assert abs(claim.total - closed[0]) < 5 * np.sqrt(claim.variance) + 1e-9
    averages, places = published.mean(axis=2), values[:, 0]
    far = np.abs(averages[:, :, np.newaxis] - places)
    nearest = far <= far.min(axis=2, keepdims=True)
    per_draw = (np.diagonal(nearest, axis1=1, axis2=2) / nearest.sum(axis=2)).sum(axis=1)
    deviation = per_draw.std(ddof=1) / np.sqrt(len(per_draw))
    if independent:
        assert per_draw.mean() - closed[0] > 20 * deviation
    else:
        assert per_draw.mean() - closed[0] < 5 * deviation


def test_the_dataset_range_instead_of_the_class_range_is_caught():
    """The mutant promises fewer links than there are."""
    values, ids, ranges = fixed_several()
    mutant = np.broadcast_to(np.ptp(values, axis=0), ranges.shape)
    claim = expected_links_of_several(values, ids, ranges=mutant, epsilon=4.0, law=LAPLACE).fair
    published = publish(np.random.default_rng(SEED), values, ids, ranges, 4.0, times=400)
    links = np.array([nearest_originals(values, x, ids, ranges=ranges, epsilon=4.0).fair.sum() for x in published])
    assert links.mean() - claim.total > 20 * np.sqrt(links.var(ddof=1) / len(links) + claim.variance)

# SPDX-License-Identifier: Apache-2.0
"""The largest posterior before any draw: against every pair of originals, against what was drawn, and across batches."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.evaluate.linking import largest_posterior
from kepsilon.evaluate.linking.largest_posterior import largest_of_one, largest_of_several
from kepsilon.evaluate.linking.linking_risk import link_sums
from kepsilon.evaluate.linking.several_attributes import nearest_originals
from kepsilon.evaluate.originals.regions import put_in_regions
from kepsilon.evaluate.originals.sorted_classes import sort_classes
from kepsilon.evaluate.simulated_figures import indistinguishable_posterior
from material.noisy_classes import noisy_classes
from material.several_attributes import diameters, several_classes
from oracles.noise import SEED


def pair_by_pair(values, class_ids, ranges, epsilon):
    """1/Σ_j exp(−ε·max|v_i − v_j|/R) at most, one record after the other."""
    found = [0.0]
    for i, c in enumerate(class_ids):
        active = [j for j in range(values.shape[1]) if ranges[c, j] > 0]
        distances = [
            max((abs(values[i, j] - values[other, j]) / ranges[c, j] for j in active), default=0.0)
            for other in np.flatnonzero(class_ids == c)
        ]
        found.append(1 / math.fsum(math.exp(-epsilon * distance) for distance in distances))
    return max(found)


def of_one(noisy):
    classes = sort_classes(noisy.values, noisy.class_ids, n_classes=noisy.n_classes)
    (found,) = largest_of_one(classes, ranges=noisy.ranges, epsilons=[noisy.epsilon])
    return classes, found


@given(noisy_classes(), st.sampled_from([1, 3, 64]))
def test_one_attribute_equals_the_oracle(noisy, first):
    """Whatever is looked at first, which is for speed alone; and nothing that is published makes anybody surer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(largest_posterior, "_FIRST", first)
        classes, found = of_one(noisy)
    oracle = pair_by_pair(noisy.values[:, np.newaxis], noisy.class_ids, noisy.ranges[:, np.newaxis], noisy.epsilon)
    assert found == pytest.approx(oracle, rel=1e-12)
    drawn = link_sums(classes, noisy.published, ranges=noisy.ranges, epsilon=noisy.epsilon)
    assert drawn.largest <= found * (1 + 1e-12)


@given(several_classes(), st.sampled_from([1, 5, 64]))
def test_several_attributes_equal_the_oracle(case, first):
    """With missing and constant attributes, and whatever is looked at first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(largest_posterior, "_FIRST", first)
        (found, other) = largest_of_several(
            case.values, case.class_ids, ranges=case.ranges, epsilons=[case.epsilon, 1.5]
        )
    assert found == pytest.approx(pair_by_pair(case.values, case.class_ids, case.ranges, case.epsilon), rel=1e-12)
    assert other == pytest.approx(pair_by_pair(case.values, case.class_ids, case.ranges, 1.5), rel=1e-12)
    drawn = nearest_originals(*case.arguments, **case.keywords)
    assert drawn.largest <= found * (1 + 1e-9)


@given(several_classes(), st.sampled_from([1, 3, 8]), st.sampled_from([0, 1, 64]))
def test_large_classes_have_a_bound_that_is_never_too_low(case, n_regions, n_rounds):
    """Classes put in regions: no less than the exact figure, and no more than one."""
    exact = pair_by_pair(case.values, case.class_ids, case.ranges, case.epsilon)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(largest_posterior, "_MET", 0)
        patch.setattr(largest_posterior, "_REGIONS", n_regions)
        patch.setattr(largest_posterior, "_ROUNDS", n_rounds)
        (bound,) = largest_of_several(case.values, case.class_ids, ranges=case.ranges, epsilons=[case.epsilon])
    assert exact * (1 - 1e-12) <= bound <= 1


@pytest.mark.parametrize("epsilon", [0.5, 4.0, 16.0])
def test_the_bound_of_a_large_class_is_near(epsilon):
    """Correlated heights and weights: 3,000 in one class, of which the loneliest is known to within a few per cent."""
    rng = np.random.default_rng(SEED)
    height = rng.normal(170, 9, 3000)
    values = np.column_stack([height, height - 100 + rng.normal(0, 9, 3000)]).round(1)
    ids = np.zeros(3000, dtype=np.int64)
    ranges = diameters(values, ids, 1)
    (bound,) = largest_of_several(values, ids, ranges=ranges, epsilons=[epsilon])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(largest_posterior, "_MET", 3000)
        (exact,) = largest_of_several(values, ids, ranges=ranges, epsilons=[epsilon])
    assert exact * (1 - 1e-12) <= bound <= 1.05 * exact


def alone(values, class_ids, ranges, epsilon):
    """The largest posterior of every class, looked at without the others."""
    found = []
    for c in range(len(ranges)):
        own = values[class_ids == c]
        ids = np.zeros(len(own), dtype=np.int64)
        found += largest_of_several(own, ids, ranges=ranges[[c]], epsilons=[epsilon])
    return found


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_large_classes_have_the_same_bound_whichever_are_looked_at_together(seed, epsilon):
    """Three classes above 1,024 records, and one without noise, of which somebody is found about as surely.

    With eight ε-quasis cells are wide, and the bound that comes from them may be less sharp than the first one: a class that
    is passed over for the first would have had a larger posterior alone.
    """
    rng = np.random.default_rng([SEED, seed])
    ids = np.repeat(np.arange(3), rng.integers(1_025, 1_400, 3))
    values = rng.uniform(0, 1, (len(ids), 8)).round(3)
    ranges = diameters(values, ids, 3)
    large = alone(values, ids, ranges, epsilon)
    assert largest_of_several(values, ids, ranges=ranges, epsilons=[epsilon]) == pytest.approx([max(large)], rel=1e-12)
    about = round(1 / max(large))
    for size in np.unique(np.linspace(0.97 * about, 1.03 * about, 15).astype(np.int64)):
        (together,) = largest_of_several(
            np.concatenate([values, np.full((size, 8), 0.5)]),
            np.concatenate([ids, np.full(size, 3)]),
            ranges=np.concatenate([ranges, np.zeros((1, 8))]),
            epsilons=[epsilon],
        )
        assert together == pytest.approx(max(*large, 1 / size), rel=1e-12)


def test_cells_know_their_points():
    """Every point lies within its own region."""
    points = np.random.default_rng(SEED).normal(size=(2, 500))
    regions = put_in_regions(points, np.ones(500, dtype=np.int64), n_regions=40)
    assert np.all(points >= regions.low[:, regions.region_of])
    assert np.all(points <= regions.high[:, regions.region_of])
    assert np.bincount(regions.region_of).tolist() == regions.counts.tolist()


@given(several_classes())
def test_the_order_of_records_does_not_matter(case):
    """Nor does their place in the table."""
    mixed = np.random.default_rng(SEED).permutation(len(case.values))
    one, two = (
        largest_of_several(values, ids, ranges=case.ranges, epsilons=[case.epsilon])
        for values, ids in ((case.values, case.class_ids), (case.values[mixed], case.class_ids[mixed]))
    )
    assert one == pytest.approx(two, rel=1e-12)


def test_without_noise_a_record_is_one_of_its_class():
    """No range, no ε-quasi, or values that are all missing: one in the smallest class."""
    ids = np.array([0, 0, 0, 1, 1])
    constant = sort_classes(np.full(5, 7.0), ids, n_classes=2)
    assert largest_of_one(constant, ranges=np.zeros(2), epsilons=[9.0]) == [pytest.approx(1 / 2)]
    nothing = largest_of_several(np.empty((5, 0)), ids, ranges=np.empty((2, 0)), epsilons=[9.0])
    missing = largest_of_several(np.full((5, 2), np.nan), ids, ranges=np.full((2, 2), np.nan), epsilons=[9.0])
    assert nothing == missing == [pytest.approx(1 / 2)]


def test_whatever_is_indistinguishable_has_a_bound():
    """1/(1 + (m − 1)·e^(−ε)) in the smallest class that has noise, 1/m in those that have none; empty classes do not count."""
    sizes = np.array([5, 3, 0])
    bound = indistinguishable_posterior(sizes, np.array([True, False, True]), epsilon=2.0)
    assert bound == pytest.approx(1 / (1 + 4 * math.exp(-2)))
    assert indistinguishable_posterior(sizes, np.array([False, False, True]), epsilon=2.0) == pytest.approx(1 / 3)

# SPDX-License-Identifier: Apache-2.0
"""Confident k: who is counted around whom, and who goes by which rule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.evaluate.confident_k.confident_k import ZeroRule, originals_in_reach, suppressed_for_confidence
from kepsilon.evaluate.originals.sorted_classes import sort_classes
from material.noisy_classes import diameters, fixed_classes, noisy_classes
from oracles import attacks
from oracles.noise import SEED


def reach_of(noisy, linking_ranges):
    classes = sort_classes(noisy.values, noisy.class_ids, n_classes=noisy.n_classes)
    return originals_in_reach(classes, noisy.published, linking_ranges=linking_ranges)


@given(noisy_classes(), st.lists(st.integers(0, 60), min_size=5, max_size=5))
def test_originals_in_reach_equal_the_oracle(noisy, tenths):
    """Ends included, in decimals, around the published value."""
    ranges = np.array(tenths)[: noisy.n_classes] / 10
    slow = [
        attacks.in_reach(noisy.values, noisy.published, noisy.class_ids, i, reach=ranges[c])
        for i, c in enumerate(noisy.class_ids)
    ]
    assert reach_of(noisy, ranges).tolist() == slow


def test_the_interval_around_the_original_value_is_caught():
    """The mutant is the formula as printed: it never finds ℓ = 0, and so keeps and suppresses other records."""
    values, published, ids = np.array([1.0, 2.0, 3.0]), np.array([9.0, 2.0, 2.5]), np.zeros(3, dtype=int)
    classes = sort_classes(values, ids, n_classes=1)
    found = originals_in_reach(classes, published, linking_ranges=np.array([1.0]))
    mutant = [attacks.in_reach(values, values, ids, i, reach=1.0) for i in range(3)]
    assert found.tolist() == [0, 3, 2]
    assert mutant == [2, 3, 2]


@pytest.mark.parametrize("confidence", [0.7, 0.99])
def test_the_original_lies_in_reach_as_often_as_promised(confidence):
    """Paper Eq. (9): with probability c, |z| < 5; for a class of one distinct place, ℓ > 0 says so."""
    n = 20_000
    values = np.tile([0.0, 1000.0], n)  # so far apart that only a record's own original can be in reach
    ids = np.repeat(np.arange(n), 2)
    scale = 10.0
    published = values + np.random.default_rng(SEED).laplace(size=2 * n) * scale
    classes = sort_classes(values, ids, n_classes=n)
    reach = np.full(n, -scale * np.log(1 - confidence))
    hits = np.count_nonzero(originals_in_reach(classes, published, linking_ranges=reach))
    assert abs(hits - 2 * n * confidence) < 5 * np.sqrt(2 * n * confidence * (1 - confidence))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6)), min_size=1, max_size=40),
    st.integers(2, 5),
    st.sampled_from(ZeroRule),
)
def test_suppression_equals_the_oracle(records, k, rule):
    """Records first, then classes, in one pass."""
    ids, counts = np.array(records).T
    found = suppressed_for_confidence(counts, ids, k=k, n_classes=4, rule=rule)
    assert found.tolist() == attacks.suppressed(counts, ids, k=k, rule=rule.value)


@pytest.mark.parametrize(
    ("rule", "gone"),
    [
        pytest.param(ZeroRule.TEXT, [False, False, False, True], id="zero stays and counts as staying"),
        pytest.param(ZeroRule.STRICT, [True, True, True, True], id="zero counts as gone, so the class goes"),
        pytest.param(ZeroRule.SUPPRESS_ZERO, [True, True, True, True], id="zero goes, and with it the class"),
    ],
)
def test_rules_differ_where_a_class_hangs_on_a_record_out_of_reach(rule, gone):
    """k = 3: two records are safe, one is out of reach, one stands out."""
    found = suppressed_for_confidence(np.array([3, 3, 0, 1]), np.zeros(4, dtype=int), k=3, n_classes=1, rule=rule)
    assert found.tolist() == gone


def test_strict_keeps_a_record_out_of_reach_where_its_class_stays():
    """It counts as gone, but only in the class rule."""
    counts, ids = np.array([3, 3, 3, 0]), np.zeros(4, dtype=int)
    for rule, gone in ((ZeroRule.STRICT, False), (ZeroRule.SUPPRESS_ZERO, True)):
        found = suppressed_for_confidence(counts, ids, k=3, n_classes=1, rule=rule)
        assert found.tolist() == [False, False, False, gone]


def test_every_class_left_has_k_records():
    """Whatever the rule, what stays of a class is at least k."""
    values, ids, n_classes = fixed_classes()
    ranges = diameters(values, ids, n_classes)
    published = values + np.random.default_rng(SEED).laplace(size=len(values)) * ranges[ids] / 8
    classes = sort_classes(values, ids, n_classes=n_classes)
    counts = originals_in_reach(classes, published, linking_ranges=-ranges / 8 * np.log(0.01) + 0.05)
    for rule in ZeroRule:
        gone = suppressed_for_confidence(counts, ids, k=4, n_classes=n_classes, rule=rule)
        left = np.bincount(ids[~gone], minlength=n_classes)
        assert np.all((left == 0) | (left >= 4))
        assert gone[ids == 2].all()  # two records are fewer than k


def test_a_class_of_missing_values_hides_all_its_records():
    """Nothing tells them apart."""
    ids = np.array([0, 0, 0])
    missing = np.full(3, np.nan)
    classes = sort_classes(missing, ids, n_classes=1)
    assert originals_in_reach(classes, missing, linking_ranges=np.array([np.nan])).tolist() == [3, 3, 3]


def test_values_closer_than_the_search_can_see_are_counted_right():
    """A class that spans 16 orders of magnitude: the flat search rounds, and the bounds are then put right."""
    close = 1.0 + np.arange(8) * 2.0**-50
    values = np.concatenate([close, [1e12]])
    ids = np.full(len(values), 7)
    classes = sort_classes(values, ids, n_classes=8)
    for include_equal, side in ((True, "right"), (False, "left")):
        found = classes.n_distinct_up_to(values, ids, include_equal=include_equal)
        assert found.tolist() == np.searchsorted(values, values, side=side).tolist()

# SPDX-License-Identifier: Apache-2.0
"""Where noise leaves n originals in reach: value by value, for one interval, for several, and for as many as values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.evaluate.confident_k.reach_probabilities import Noise, chance_at_least, crowds_of, outer_ends
from kepsilon.evaluate.originals.sorted_classes import sort_classes
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from material.noisy_classes import noisy_classes
from oracles import attacks
from oracles import confidence as oracle


def probabilities(values, ids, ranges, *, reach, epsilon, n):
    """The distinct values, their classes, and P(ℓ ≥ n) of each."""
    classes = sort_classes(values, ids, n_classes=len(ranges))
    low = np.array([values[ids == c].min(initial=np.inf) for c in range(len(ranges))])
    scales = np.where(ranges > 0, ranges / epsilon, np.inf)
    heights = (classes.values - low[classes.class_ids]) / scales[classes.class_ids]
    noise = Noise(
        scales=scales,
        reach=reach,
        ids=classes.class_ids,
        heights=heights,
        powers=np.exp(heights),
        low=np.where(np.isinf(low), 0.0, low),
        law=LAPLACE,
        widths=np.array([np.ptp(values[ids == c]) if np.any(ids == c) else 0.0 for c in range(len(ranges))]),
    )
    crowds = crowds_of(classes, n=n)
    return classes, chance_at_least(crowds, noise, outer_ends(crowds, noise), np.arange(len(noise.ids)))


@given(noisy_classes(), st.integers(0, 400), st.integers(1, 6))
def test_probabilities_equal_the_oracle(noisy, hundredths, n):
    """From no reach at all to all of the class, for every distinct value of classes with n records and noise."""
    reach = np.full(noisy.n_classes, hundredths / 100 + 0.003)
    classes, found = probabilities(noisy.values, noisy.class_ids, noisy.ranges, reach=reach, epsilon=noisy.epsilon, n=n)
    for value, c, p in zip(classes.values, classes.class_ids, found, strict=True):
        members = noisy.values[noisy.class_ids == c].tolist()
        if len(members) >= n and noisy.ranges[c] > 0:
            slow, _, _ = oracle.outcome_probabilities(
                members, float(value), scale=noisy.scales[c], reach=float(reach[c]), k=n
            )
            assert p == pytest.approx(slow, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 16.0, 100.0])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_as_many_intervals_as_values_cost_no_more(n, epsilon):
    """Steps just too long for n + 1 neighbours: 200,000 values and intervals, which as pairs would never end."""
    size = 200_000
    values = np.arange(size) * 1.0
    ranges, reach = np.array([size - 1.0]), np.array([n / 2 - 0.25])  # exact in binary
    _, found = probabilities(values, np.zeros(size, dtype=int), ranges, reach=reach, epsilon=epsilon, n=n)
    scale = ranges[0] / epsilon
    opens, closes = values[n - 1 :] - reach, values[: size - n + 1] + reach
    assert np.all(opens[1:] > closes[:-1])
    for i in (0, 1, 17, 99_999, size - 1):
        near = np.maximum(opens - values[i], values[i] - closes)  # negative inside an interval
        outside = np.exp(-near / scale) * -np.expm1((opens - closes) / scale) / 2
        inside = 1 - (np.exp((opens - values[i]) / scale) + np.exp((values[i] - closes) / scale)) / 2
        assert found[i] == pytest.approx(np.sum(np.where(near > 0, outside, inside)), abs=1e-12)


def test_a_small_class_does_not_drown_in_a_large_one():
    """The sums of a class of a thousand intervals at ε = 100 are e^100 times those of its neighbour."""
    values = np.concatenate([np.arange(1000) * 1.0, [0.0, 1.0, 5.0]])
    ids = np.repeat([0, 1], [1000, 3])
    ranges, reach = np.array([999.0, 5.0]), np.array([0.3, 0.3])
    _, found = probabilities(values, ids, ranges, reach=reach, epsilon=100.0, n=1)
    for own, p in zip([0.0, 1.0, 5.0], found[1000:], strict=True):
        slow = sum(
            attacks.laplace_cdf(v + 0.3 - own, 0.05) - attacks.laplace_cdf(v - 0.3 - own, 0.05) for v in (0.0, 1.0, 5.0)
        )
        assert p == pytest.approx(slow, abs=1e-13)


def test_crowds_know_from_which_reach_on_they_cover_their_class():
    """Three of 0, 1, 1, 4, 9: a reach of 2 joins 0, 1, 1 and 1, 1, 4; but one of 8 is needed for 9 to be safe unmoved."""
    values = np.array([0.0, 1.0, 1.0, 4.0, 9.0])
    crowds = crowds_of(sort_classes(values, np.zeros(5, dtype=int), n_classes=1), n=3)
    assert crowds.spans.tolist() == [1, 3, np.inf, np.inf]
    assert crowds.joins.tolist() == [4, np.inf, np.inf, np.inf]
    assert (crowds.first.tolist(), crowds.last.tolist(), crowds.covering.tolist()) == ([1], [1], [8])

# SPDX-License-Identifier: Apache-2.0
"""Looked-up neighbours, beside a look at every original and beside the kernels of a release."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.evaluate.confident_k.confident_k import originals_in_reach
from kepsilon.evaluate.linking.linking_risk import realised_links
from kepsilon.evaluate.originals.sorted_classes import sort_classes
from kepsilon.reproduce.experiments.neighbour_tables import in_units, neighbour_tables
from oracles.noise import SEED

K = 3
CLASSES = st.lists(st.lists(st.integers(-40, 40), min_size=K, max_size=12), min_size=1, max_size=6)


def as_arrays(classes):
    units = np.array([unit for one in classes for unit in one])
    class_ids = np.repeat(np.arange(len(classes)), [len(one) for one in classes])
    return units, class_ids


@given(CLASSES, st.data())
def test_distances_are_those_of_a_look_at_every_original(classes, data):
    """Nearest, how many are as near, and the k-th nearest, wherever a value was published."""
    units, class_ids = as_arrays(classes)
    published = np.array(data.draw(st.lists(st.integers(-90, 90), min_size=len(units), max_size=len(units))))
    found = neighbour_tables(units, class_ids, n_classes=len(classes), k=K).look_up(published, class_ids)
    for i, (at, own) in enumerate(zip(published.tolist(), class_ids.tolist(), strict=True)):
        distances = sorted(abs(at - unit) for unit in classes[own])
        assert found.nearest[i] == distances[0]
        assert found.n_nearest[i] == distances.count(distances[0])
        assert found.kth[i] == distances[K - 1]


@pytest.mark.parametrize("k", [2, 7])
def test_links_and_reach_are_those_of_the_release_kernels(k):
    """Both ways of counting agree record by record, in decimals that doubles cannot hold."""
    rng = np.random.default_rng(SEED)
    class_ids = np.sort(rng.integers(0, 40, 4000))
    values = np.round(rng.normal(170, 9, 4000), 1)
    published = np.round(values + rng.laplace(0, 6, 4000), 1)
    units, noisy = in_units(values, 0.1), in_units(published, 0.1)
    found = neighbour_tables(units, class_ids, n_classes=40, k=k).look_up(noisy, class_ids)
    classes = sort_classes(values, class_ids, n_classes=40)
    fair, paper = realised_links(classes, published)
    is_link = np.abs(noisy - units) == found.nearest
    np.testing.assert_array_equal(is_link, paper > 0)
    np.testing.assert_allclose(is_link / found.n_nearest, fair, rtol=1e-15)
    for reach in (0.35, 2.05, math.pi):
        in_reach = originals_in_reach(classes, published, linking_ranges=np.full(40, reach), precision=Fraction(1, 10))
        np.testing.assert_array_equal(found.nearest * 0.1 <= reach, in_reach > 0)
        np.testing.assert_array_equal(found.kth * 0.1 <= reach, in_reach >= k)


def test_tables_of_neighbouring_classes_do_not_mix():
    """An original of the next class is no neighbour, even where the tables touch."""
    units, class_ids = as_arrays([[0, 0, 10], [11, 11, 11]])
    tables = neighbour_tables(units, class_ids, n_classes=2, k=2)
    found = tables.look_up(np.array([10, 11, 9]), np.array([0, 1, 1]))
    assert found.kth.tolist() == [10, 0, 2]
    assert found.n_nearest.tolist() == [1, 3, 3]

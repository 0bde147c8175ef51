# SPDX-License-Identifier: Apache-2.0
"""Regions of a large class: bounds that hold and tighten, and boxes that are counted to the last original."""

from __future__ import annotations

import numpy as np
import pytest

from kepsilon.evaluate.originals.regions import cut_in_halves, put_in_regions
from oracles.noise import SEED


def a_class(kind):
    rng = np.random.default_rng(SEED)
    originals = rng.random((2, 3000))
    if kind == "few places":
        originals = originals.round(1)
    if kind == "one attribute varies":
        originals[1] = 0.0
    if kind == "skewed":
        originals = originals**6
    return originals, originals + rng.normal(0, 0.4, originals.shape)


@pytest.mark.parametrize("kind", ["even", "few places", "one attribute varies", "skewed"])
@pytest.mark.parametrize("epsilon", [0.2, 5.0])
def test_sums_are_never_less_than_the_bound(kind, epsilon):
    """Otherwise a record could be left out that is surer than all others; and finer regions come closer."""
    originals, published = a_class(kind)
    own = np.abs(published - originals).max(axis=0)
    asked = np.arange(0, 3000, 30)
    far = np.abs(published[:, asked, np.newaxis] - originals[:, np.newaxis]).max(axis=0)
    sums = np.exp(-epsilon * (far - own[asked, np.newaxis])).sum(axis=1)
    shortfalls = []
    for n_regions in (1, 16, 256, 2048):
        regions = put_in_regions(originals, np.ones(3000, dtype=int), n_regions=n_regions)
        assert regions.counts.sum() == 3000
        assert len(regions.counts) <= n_regions
        least = regions.least_sums(published[:, asked], own[asked], epsilon=epsilon)
        assert np.all(least <= sums * (1 + 1e-12))
        shortfalls.append(np.mean(1 - least / sums))
    assert np.all(np.diff(shortfalls) < 0)
    assert shortfalls[-1] < 0.05 * epsilon


def test_originals_in_one_place_are_one_region():
    """Then the bound is the sum."""
    regions = put_in_regions(np.full((3, 10), 0.25), np.full(10, 5), n_regions=256)
    assert regions.counts.tolist() == [50.0]
    assert regions.least_sums(np.zeros((3, 1)), np.array([0.25]), epsilon=2.0).tolist() == [50.0]


@pytest.mark.parametrize("kind", ["even", "few places", "one attribute varies", "skewed"])
@pytest.mark.parametrize("cap", [1, 20, 10**9])
def test_halves_count_what_is_in_reach(kind, cap):
    """Exactly below the cap, ends included, with some points of several originals; infinite reach holds everything."""
    rng = np.random.default_rng(SEED)
    points, centres = a_class(kind)
    counts = rng.integers(1, 4, 3000)
    asked = np.arange(0, 3000, 5)
    reach = rng.choice([0.0, 0.02, 0.1, 0.5, np.inf], (2, len(asked)))
    centres = np.where(rng.random(centres.shape) < 0.5, centres, points)[:, asked]
    inside = np.all(np.abs(points[:, np.newaxis] - centres[:, :, np.newaxis]) <= reach[:, :, np.newaxis], axis=0)
    slow = inside @ counts
    found, n_compared = cut_in_halves(points, counts).count(centres, reach, cap=cap)
    assert np.minimum(found, cap).tolist() == np.minimum(slow, cap).tolist()
    assert np.all(found <= slow)
    assert n_compared < inside.size


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 1000])
def test_halves_of_any_number_of_points(n):
    """Boxes that hold one more than others lose none."""
    points = np.random.default_rng(SEED).random((2, n))
    found, _ = cut_in_halves(points, np.ones(n, dtype=int)).count(points, np.full((2, n), 0.2), cap=n + 1)
    slow = np.all(np.abs(points[:, np.newaxis] - points[:, :, np.newaxis]) <= 0.2, axis=0).sum(axis=1)
    assert found.tolist() == slow.tolist()

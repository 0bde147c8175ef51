# SPDX-License-Identifier: Apache-2.0
"""Cells of a large class: bounds that hold, and that tighten."""

from __future__ import annotations

import numpy as np
import pytest

from kepsilon.evaluate.cells import put_in_cells
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
    """Otherwise a record could be left out that is surer than all others; and finer cells come closer."""
    originals, published = a_class(kind)
    own = np.abs(published - originals).max(axis=0)
    asked = np.arange(0, 3000, 30)
    far = np.abs(published[:, asked, np.newaxis] - originals[:, np.newaxis]).max(axis=0)
    sums = np.exp(-epsilon * (far - own[asked, np.newaxis])).sum(axis=1)
    shortfalls = []
    for n_cells in (1, 16, 256, 2048):
        cells = put_in_cells(originals, np.ones(3000, dtype=int), n_cells=n_cells)
        assert cells.counts.sum() == 3000
        assert len(cells.counts) <= n_cells
        least = cells.least_sums(published[:, asked], own[asked], epsilon=epsilon)
        assert np.all(least <= sums * (1 + 1e-12))
        shortfalls.append(np.mean(1 - least / sums))
    assert np.all(np.diff(shortfalls) < 0)
    assert shortfalls[-1] < 0.05 * epsilon


def test_originals_in_one_place_are_one_cell():
    """Then the bound is the sum."""
    cells = put_in_cells(np.full((3, 10), 0.25), np.full(10, 5), n_cells=256)
    assert cells.counts.tolist() == [50.0]
    assert cells.least_sums(np.zeros((3, 1)), np.array([0.25]), epsilon=2.0).tolist() == [50.0]

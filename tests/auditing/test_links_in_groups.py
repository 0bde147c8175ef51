# SPDX-License-Identifier: Apache-2.0
"""Many groups attacked at once: the same links as attacking them one by one, as obviously as can be."""

from __future__ import annotations

import numpy as np
import pytest

from kepsilon.auditing import links_in_groups
from kepsilon.auditing.links_in_groups import GroupedOriginals
from kepsilon.auditing.nearest_links import (
    INDISTINCT,
    Links,
    binary_error_of_distances,
    n_with_own_value,
    nearest_links,
)


def one_by_one(values, ranges, groups, published, own):
    """Links, undecided and most undecided, a group at a time."""
    found = [Links()] * 3
    for group in np.unique(groups[own]):
        members, attacked = np.flatnonzero(groups == group), np.flatnonzero(groups[own] == group)
        place, reach = np.searchsorted(members, own[attacked]), ranges[members[0]]
        distances = np.zeros((len(attacked), len(members)))
        for j in np.flatnonzero(reach > 0):
            gaps = np.abs(published[attacked, j, np.newaxis] - values[members, j]) / reach[j]
            distances = np.fmax(distances, gaps)
        slack = binary_error_of_distances(published[attacked], values[members], reach)
        fair, paper = nearest_links(distances, place, slack=slack)
        found[0] += Links(float(fair.sum()), float(paper.sum()))
        if len(reach) == 1 and reach[0] > 0:
            alike = n_with_own_value(values[members, 0], place, nearest=INDISTINCT * slack * reach[0])
            doubt = alike > 0
            found[1] += Links(float(fair[doubt].sum()), float(paper[doubt].sum()))
            found[2] += Links(float((1 / alike[doubt]).sum()), float(doubt.sum()))
    return found


@pytest.mark.parametrize("n_attributes", [1, 2, 3])
@pytest.mark.parametrize("at_once", [7, 1 << 20])
def test_many_groups_at_once_are_attacked_as_one_by_one(n_attributes, at_once, monkeypatch):
    monkeypatch.setattr(links_in_groups, "PAIRS_AT_ONCE", at_once)
    rng = np.random.default_rng(17 + n_attributes)
    for _ in range(40):
        n = int(rng.integers(2, 60))
        groups = np.unique(rng.integers(0, rng.integers(1, 9), n), return_inverse=True)[1]
        values = rng.integers(0, 5, (n, n_attributes)) / 10
        # Neighbours that doubles can hardly tell apart, missing values, and classes without noise.
        values[rng.random(n) < 0.2] *= 1 + 2**-52
        values[rng.random((n, n_attributes)) < 0.1] = np.nan
        ranges = rng.choice([0.0, 0.4, 1.0], (int(groups.max()) + 1, n_attributes))[groups]
        own = np.flatnonzero(rng.random(n) < 0.7)
        published = np.round(np.nan_to_num(values[own]) + rng.laplace(0, 0.2, (len(own), n_attributes)), 1)
        found = GroupedOriginals(values, ranges, groups).attack(published, own)
        for one, other in zip(found, one_by_one(values, ranges, groups, published, own), strict=True):
            assert one.fair == pytest.approx(other.fair, abs=1e-9)
            assert one.paper == other.paper

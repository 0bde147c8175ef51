# SPDX-License-Identifier: Apache-2.0
"""The small pictures of the table of attributes."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from kepsilon.pages.charts import small_distributions
from material.page_checks import check_drawing

EDGES = (0.0, 1.0, 2.0, 3.0)


def heights(drawing):
    """How high the bins of each distribution are drawn: as published, and before."""
    check_drawing(str(drawing))
    paths = [one.get("d") for one in ET.fromstring(str(drawing)).iter() if one.tag.endswith("path")]
    floor = 33.0
    return [[round(floor - float(y), 1) for y in re.findall(r"V([\d.]+)H", d)] for d in paths[:2]]


@pytest.mark.parametrize("n", [1, 3])
def test_distributions_of_one_shape_are_drawn_alike(n):
    """A third of the records in the same shape is the same distribution: shares are compared, not counts."""
    before = (20, 60, 90, 60, 20)
    after, own = heights(
        small_distributions(EDGES, [n * 10 * one for one in before], [10 * one for one in before], title="x")
    )
    assert after == own


def test_a_flatter_distribution_is_drawn_lower_in_its_middle():
    """Each scaled to its own peak, noise would not show."""
    after, before = heights(small_distributions(EDGES, (10, 10, 960, 10, 10), (200, 200, 200, 200, 200), title="x"))
    assert before[2] == max(before) == max(*after, *before)
    assert max(after) < before[2] / 4
    assert after[0] > before[0]


def test_hidden_bins_are_not_drawn():
    """They hold fewer than k records."""
    after, before = heights(small_distributions(EDGES, (None, 50, 50, 50, None), (40, 50, 50, 50, 40), title="x"))
    assert (len(after), len(before)) == (5, 3)

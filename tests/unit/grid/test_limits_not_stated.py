# SPDX-License-Identifier: Apache-2.0
"""A policy without `max_suppression`, which only OLA has to be told, is compared with OLA all the same."""

from __future__ import annotations

import pyarrow as pa
import pytest

import kepsilon
from material.people import people

ATTRIBUTES = {
    "name": {"role": "identifier"},
    "zip": {"role": "k-quasi", "hierarchy": {"type": "mask"}},
    "year": {"role": "k-quasi", "hierarchy": {"type": "intervals", "widths": [5, 10]}},
}
DOCUMENT = {"k": 5, "algorithm": "local-recoding", "unlisted_columns": "drop", "attributes": ATTRIBUTES}


def test_ola_leaves_nobody_out_then_and_the_policy_that_is_written_says_so():
    """A cell's policy can be met as it is."""
    table = pa.Table.from_pylist(people(200))
    policy = kepsilon.Policy.from_dict(DOCUMENT)
    assert policy.max_suppression == 0
    grid = kepsilon.explore(table, policy, k=[3])
    assert {cell.algorithm for cell in grid.cells} == {"ola", "mondrian", "local-recoding"}
    for cell in grid.cells:
        changes = grid.changes(cell)
        assert ("max_suppression" in changes) is (cell.algorithm == "ola")
        chosen = kepsilon.Policy.from_dict({**DOCUMENT, **changes})
        if cell.prediction is not None:
            assert kepsilon.check(table, chosen).classes.count == cell.prediction.classes.count


def test_ola_has_to_be_told():
    """It leaves records out to keep the detail of others, and how many is for the curator to say."""
    with pytest.raises(kepsilon.PolicyError, match="max_suppression: is required and has no default"):
        kepsilon.Policy.from_dict({**DOCUMENT, "algorithm": "ola"})

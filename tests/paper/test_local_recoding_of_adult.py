# SPDX-License-Identifier: Apache-2.0
"""Adult under local recoding: what its labels lose, beside the figures that were worked out with a prototype."""

from __future__ import annotations

import csv

import pyarrow as pa
import pytest

import kepsilon

pytestmark = pytest.mark.shared_data

IN_MARRIAGE = ["Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"]
ALONE = ["Divorced", "Never-married", "Separated", "Widowed"]
AT_MOST = {5: 0.0021, 20: 0.0100, 100: 0.040}
"""The prototype lost 0.0015, 0.0080 and 0.0333."""


@pytest.fixture(scope="module")
def adults(adult_path):
    """The people that the paper looks at: those below 80."""
    with adult_path.open(newline="", encoding="utf-8") as file:
        records = [record for record in csv.DictReader(file) if int(record["age"]) < 80]
    column = {name: [record[name] for record in records] for name in ("sex", "race", "marital-status")}
    return pa.table({"year": [1994 - int(record["age"]) for record in records], **column})


@pytest.mark.parametrize("k", AT_MOST)
def test_adult_loses_little_and_nobody_is_left_out(adults, k):
    """Less than half of what Mondrian loses with the same labels at k = 5."""
    suppress = {"role": "k-quasi", "hierarchy": {"type": "suppress"}}
    marital = {"type": "groups", "levels": [{"In marriage": IN_MARRIAGE, "Alone": ALONE}]}
    attributes = {
        "year": {"role": "k-quasi", "step": 1},
        "sex": suppress,
        "race": suppress,
        "marital-status": {"role": "k-quasi", "hierarchy": marital},
    }
    policy = kepsilon.Policy.from_dict({"k": k, "algorithm": "local-recoding", "attributes": attributes})
    found = kepsilon.check(adults, policy)
    assert found.records.suppressed_by_k == 0
    assert found.loss.ncp.overall <= AT_MOST[k]

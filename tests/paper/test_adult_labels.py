# SPDX-License-Identifier: Apache-2.0
"""Adult under Mondrian: what its labels lose, and how many of their bounds are the value of a single record."""

from __future__ import annotations

import csv
import re

import pyarrow as pa
import pytest

import kepsilon

pytestmark = pytest.mark.shared_data

IN_MARRIAGE = ["Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"]
ALONE = ["Divorced", "Never-married", "Separated", "Widowed"]
NODES_LOSE = {5: 0.005, 20: 0.027, 100: 0.108}
"""What Mondrian with the label of a single node loses of Adult by k, worked out apart with a prototype."""


@pytest.fixture(scope="module")
def adults(adult_path):
    with adult_path.open(newline="", encoding="utf-8") as file:
        records = list(csv.DictReader(file))
    column = {name: [record[name] for record in records] for name in ("sex", "race", "marital-status")}
    return pa.table({"year": [1994 - int(record["age"]) for record in records], **column})


def losses(adults, k, *, step=1, labels="siblings"):
    """The prediction for Adult."""
    suppress = {"role": "k-quasi", "hierarchy": {"type": "suppress"}}
    marital = {"type": "groups", "levels": [{"In marriage": IN_MARRIAGE, "Alone": ALONE}]}
    document = {"k": k, "epsilon": 1, "algorithm": "mondrian", "max_suppression": 0, "labels": labels}
    attributes = {
        "year": {"role": "k-quasi", "step": step},
        "sex": suppress,
        "race": suppress,
        "marital-status": {"role": "k-quasi", "hierarchy": marital},
    }
    return kepsilon.check(adults, kepsilon.Policy.from_dict({**document, "attributes": attributes}))


@pytest.mark.parametrize("k", NODES_LOSE)
def test_sets_of_siblings_lose_less_than_nodes(adults, k):
    """And regions lose more than sets do."""
    siblings, regions = (losses(adults, k, labels=style).loss.precision.overall for style in ("siblings", "ancestor"))
    assert siblings < NODES_LOSE[k]
    assert siblings < regions


def test_a_coarse_step_leaves_no_bound_that_is_one_records_value(adults):
    """Single years are as fine as the data; steps of five are too at one end, where 1904 is alone in its cell."""

    def telling(step):
        said = [str(warning) for warning in losses(adults, 5, step=step).warnings]
        found = [re.search(r"([\d,]+) of ([\d,]+) bounds", text) for text in said if "attributes.year.step" in text]
        return sum(int(match.group(1).replace(",", "")) for match in found)

    assert telling(1) > 100 > 10 > telling(5)
    assert telling(10) == 0

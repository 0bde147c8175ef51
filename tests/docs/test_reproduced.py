# SPDX-License-Identifier: Apache-2.0
"""The documentation's page on what was reproduced is that of a full run, and says what its claims.json says."""

from __future__ import annotations

import json

import pytest

from kepsilon.reproduce.claims.all_claims import CLAIMS
from kepsilon.reproduce.pages.docs_page import docs_page
from kepsilon.reproduce.scope import Scope
from material.machine import ROOT

PAGE, SOURCE = ROOT / "docs" / "explanation" / "reproduced.md", ROOT / "docs" / "explanation" / "reproduced.json"
HOLD_ON_ADULT = (1, 2, 4, 5, 6, 8, 9, 11, 12, 17)


@pytest.fixture(scope="module")
def source():
    return json.loads(SOURCE.read_text(encoding="utf-8"))


def test_the_page_is_generated_from_the_claims_beside_it(source):
    """`make reproduce` writes both."""
    assert PAGE.read_text(encoding="utf-8") == docs_page(source)


def test_the_claims_are_of_a_full_run(source):
    """Every k, ε and confidence of the paper, and its 30 runs."""
    assert source["setting"] == json.loads(json.dumps(Scope().to_json()))


def test_the_claims_are_those_of_the_code(source):
    """A sentence or a bound that was changed since then would make the page say what was not judged."""
    for entry in source["claims"]:
        claim = CLAIMS[entry["id"] - 1]
        assert (entry["sentence"], entry["bound"], entry["section"]) == (claim.sentence, claim.bound, claim.section)
    judged = {(entry["id"], entry["data_set"]) for entry in source["claims"]}
    assert judged == {(claim.number, name) for claim in CLAIMS for name in claim.data_sets}


def test_on_adult_those_hold_that_must(source):
    """The real data set, with every cell."""
    held = {entry["id"] for entry in source["claims"] if entry["data_set"] == "adult" and entry["held"]}
    assert held >= set(HOLD_ON_ADULT)


def test_what_did_not_hold_is_explained_by_an_experiment(source):
    """A paragraph, and figures that were measured for it."""
    for entry in source["claims"]:
        if not entry["held"]:
            assert len(entry["why"]) > 100, entry["id"]
            assert entry["experiment"], entry["id"]

# SPDX-License-Identifier: Apache-2.0
"""Every proof names tests that exist, so that a claim whose test was renamed or removed is noticed."""

from __future__ import annotations

import re

import pytest

from kepsilon.kanonymise.requirements import REQUIREMENTS
from kepsilon.policy.choices import ALGORITHMS, MECHANISMS
from material.machine import ROOT

PAGE = ROOT / "docs" / "explanation" / "proofs.md"
TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def sections() -> dict[str, str]:
    parts = re.split(r"^##+ (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_every_section_has_a_claim_and_a_test():
    """And a proof, but for the one whose claim is that there is none."""
    found = sections()
    assert len(found) >= 18
    for title, text in found.items():
        assert "**Claim.**" in text, title
        assert "**Proof.**" in text or "**Claim.** None." in text, title
        assert TEST.search(text.partition("**Tests.**")[2]), title


def test_every_test_that_a_proof_names_exists():
    """By path and name."""
    named = TEST.findall(PAGE.read_text(encoding="utf-8"))
    assert len(named) > 35
    for file, test in named:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert not test or re.search(rf"^def {test}\(", text, flags=re.MULTILINE), f"{file}::{test}"


PROVED_IN = {
    "ola": "OLA",
    "mondrian": "Mondrian",
    "local-recoding": "Local recoding",
    "laplace": "Laplace on the grid",
    "bounded-laplace": "Bounded Laplace",
    "KRecords": "k in every class",
    "KPersons": "Persons",
    "LDiversity": "ℓ-diversity and t-closeness",
    "TCloseness": "ℓ-diversity and t-closeness",
}
"""Where the proof of each algorithm, mechanism and requirement on classes stands."""
BEYOND = (
    "Averages",
    "Spread",
    "Noise on averages",
    "Confident k",
    "Labels",
    "One draw per person",
    "Limits",
    "The bound in the manifest",
    "The largest single risk",
    "Expected links",
    "The manifest",
    "The shuffle",
)
"""What has a claim and is in none of the three tables of names."""


def kinds() -> list[str]:
    """Everything that the tables of names of the code hold."""
    return [*ALGORITHMS.names(), *MECHANISMS.names(), *(own.__name__ for own in REQUIREMENTS)]


def test_every_mechanism_algorithm_and_requirement_has_a_proof():
    """A new one in the code is missing in `PROVED_IN` until somebody has written why it holds."""
    assert sorted(kinds()) == sorted(PROVED_IN)


@pytest.mark.parametrize("title", sorted({*PROVED_IN.values(), *BEYOND}))
def test_the_section_is_on_the_page(title):
    """Under its own heading."""
    assert title in sections()

# SPDX-License-Identifier: Apache-2.0
"""Every proof names tests that exist, so that a claim whose test was renamed or removed is noticed."""

from __future__ import annotations

import re

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

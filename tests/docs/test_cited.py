# SPDX-License-Identifier: Apache-2.0
"""What the code cites stands on the pages: works in the bibliography, departures from the paper under their ids."""

from __future__ import annotations

import re

import pytest

from material.machine import ROOT

EXPLANATION = ROOT / "docs" / "explanation"
CODE = {own.relative_to(ROOT).as_posix(): own.read_text(encoding="utf-8") for own in (ROOT / "src").rglob("*.py")}
WORK = re.compile(r"([A-Z][a-zA-Z]+)(?: et al\.| & [A-Z][a-z]+) ((?:19|20)\d\d)\b")
"""As in "El Emam et al. 2009" and "[Chao & Lin 2012]"."""


def departures() -> list[str]:
    text = (EXPLANATION / "departures.md").read_text(encoding="utf-8")
    return re.findall(r"^- \*\*(D\d+), ", text, flags=re.MULTILINE)


def test_departures_have_rising_ids():
    """An id is cited elsewhere, so none is ever used again or left out."""
    assert departures() == [f"D{i}" for i in range(1, len(departures()) + 1)]


@pytest.mark.parametrize("name", sorted(own for own, text in CODE.items() if "Departure" in text))
def test_every_departure_in_the_code_is_explained(name):
    """By its id, so that a reader of the code finds the reason."""
    for own in re.findall(r"Departure\b.{0,5}", CODE[name]):
        found = re.match(r"Departure (D\d+):", own)
        assert found is not None, own
        assert found[1] in departures()


@pytest.mark.parametrize("page", sorted(EXPLANATION.glob("*.md")), ids=lambda own: own.name)
def test_every_departure_that_a_page_names_exists(page):
    """As (D7) on the page of the model."""
    assert set(re.findall(r"\bD\d+\b", page.read_text(encoding="utf-8"))) <= set(departures())


def test_every_work_that_the_code_cites_is_in_the_bibliography():
    """By name and year."""
    lines = (EXPLANATION / "bibliography.md").read_text(encoding="utf-8").splitlines()
    cited = {found for text in CODE.values() for found in WORK.findall(text)}
    assert len(cited) > 5
    assert [
        (name, year)
        for name, year in sorted(cited)
        if not any(name in line.split("*")[2] and year in line for line in lines if line.startswith("- "))
    ] == []

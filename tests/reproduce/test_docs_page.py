# SPDX-License-Identifier: Apache-2.0
"""The documentation's page about the reproduction: marks for every claim, and reasons for each that did not hold."""

from __future__ import annotations

import re

from kepsilon.reproduce.pages.docs_page import docs_page
from material.measurements import FAILS, SENTENCES, made_up_claims


def table_of(text):
    rows = [line.strip("| ").split("|") for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows]


def test_the_table_has_a_mark_for_every_claim_and_data_set():
    """A reader sees at a glance what held where; a claim that says nothing about a data set has no mark there."""
    header, *rows = table_of(docs_page(made_up_claims()))
    assert header == ["claim", "Adult", "Florida (stand-in)", "Michigan (stand-in)", "All data sets"]
    assert len(rows) == len(SENTENCES)
    for number, row in zip(SENTENCES, rows, strict=True):
        assert row[0] == f"{number}. {SENTENCES[number]}"
        for name, mark in zip(("adult", "florida", "michigan"), row[1:], strict=False):
            if number == 20 or (number, name) == (7, "adult"):
                assert mark == ""
            else:
                assert mark == ("✗" if (number, name) in FAILS else "✓")


def test_what_did_not_hold_comes_with_bound_figure_reason_and_experiment():
    """A failed claim without its reason would look like a mistake of ours."""
    text = docs_page(made_up_claims())
    failed, held = text.split("## What held")
    for entry in made_up_claims()["claims"]:
        if entry["held"]:
            continue
        part = re.search(rf"### {entry['id']}\. .*?(?=\n### |\Z)", failed, re.DOTALL).group()
        assert entry["bound"] in part
        assert entry["measured"] in part
        assert entry["why"] in part
        assert "spread of the class ranges: 2.25" in part
        assert f"**{entry['id']}.**" not in held


def test_what_held_is_short():
    """A claim that held takes one line, so that the failures are easy to find."""
    _, held = docs_page(made_up_claims()).split("## What held")
    lines = [line for line in held.splitlines() if line.startswith("- ")]
    failed = {number for number, _ in FAILS} | {20}
    assert len(lines) == len(SENTENCES) - len(failed)


def test_where_everything_held_nothing_is_said_of_failures():
    """A heading over nothing would make readers look for what is not there."""
    claims = made_up_claims()
    for entry in claims["claims"]:
        entry |= {"held": True, "why": None, "experiment": []}
    text = docs_page(claims)
    assert "What did not hold" not in text
    assert "✗ |" not in text


def test_words_that_markdown_would_take_for_its_own_are_kept():
    """A bar in a sentence would otherwise break the table."""
    claims = made_up_claims(("adult",))
    claims["claims"][0] |= {"sentence": "a | b *c* <d> < 5", "measured": "x_y_z\nand more"}
    text = docs_page(claims)
    assert r"| 1. a \| b \*c\* \<d> < 5 |" in text
    assert r"x\_y\_z and more" in text


def test_the_page_speaks_of_stand_ins_whenever_it_names_them():
    """Nobody may take figures of made-up voters for those of the paper's data."""
    text = docs_page(made_up_claims())
    for sentence in SENTENCES.values():
        text = text.replace(sentence, "")
    text = text.replace("Florida and Michigan are **stand-ins**", "")
    assert re.findall(r"(?:Florida|Michigan)(?! \(stand-in\))", text) == []


def test_a_reason_that_is_the_same_everywhere_is_said_once():
    """Three copies of a paragraph would hide that it is one reason."""
    claims = made_up_claims()
    for entry in claims["claims"]:
        if entry["id"] == 16:
            entry |= {"held": False, "why": "The same everywhere."}
    text = docs_page(claims)
    assert text.count("The same everywhere.") == 1
    assert "Why not on Adult, Florida (stand-in) and Michigan (stand-in): The same everywhere." in text


def test_an_experiment_over_k_is_a_table():
    """A list of figures by k is hard to compare in running text."""
    claims = made_up_claims(("adult",))
    entry = next(one for one in claims["claims"] if not one["held"])
    entry["experiment"] = [
        {"words": f"{what}, k = {k}", "value": value, "unit": "loss"}
        for what, value in (("with | a", 0.5), ("without", 0.25))
        for k in (2, 5)
    ]
    text = docs_page(claims)
    assert "| k | with \\| a | without |\n|--:|--:|--:|\n| 2 | 0.500 | 0.250 |\n| 5 | 0.500 | 0.250 |" in text


def test_parts_have_signs_of_their_own():
    """A claim of two halves may hold in one of them."""
    claims = made_up_claims(("adult",))
    entry = next(one for one in claims["claims"] if not one["held"])
    entry["parts"] = [{"words": "the first half", "held": True}, {"words": "the second", "held": False}]
    text = docs_page(claims)
    assert "  - ✓ the first half\n  - ✗ the second" in text

# SPDX-License-Identifier: Apache-2.0
"""Names on the pages: whatever a file's header says, they are words that neither run, nor hide, nor turn a sentence."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.pages.figures.visible import all_visible, visible
from kepsilon.pages.render import explore_page, release_page
from material.made_up_results import made_up_grid, made_up_pictures, made_up_record
from material.made_up_splits import made_up_splits
from material.page_checks import check_page

HOSTILE = ["<img src=x onerror=alert(1)>", '"><script>alert(1)</script>', "{{ 7 * 7 }}", "身長 'ε' & Größe", "w" * 300]
UNSEEN = {
    "a\nThe release is safe.": "a\\nThe release is safe.",
    "a\r\tb": "a\\r\\tb",
    "a\x00\x1b[31m": "a\\x00\\x1b[31m",
    "a\u202eelbaknil": "a\\u202eelbaknil",
    "a\u2066b\u2069": "a\\u2066b\\u2069",
    "a\u200bb": "a\\u200bb",
    "a\xa0b": "a\\xa0b",
    "a\u2028b": "a\\u2028b",
    "a\U000e0041b": "a\\U000e0041b",
    "a\ud800b": "a\\ud800b",
    "a\\nb": "a\\\\nb",
    "an ordinary name": "an ordinary name",
    "身長 (cm)": "身長 (cm)",
}


def stating(promises, record):
    return replace(record, guarantee=replace(record.guarantee, statement=promises))


def pages_with(name):
    promises = f"{name}2 occurs 10 times.\n{name}: ε-indistinguishable.\nOne release."
    record = stating(promises, made_up_record(names=(name,), k_quasis=(name + "2",)))
    pictures = made_up_pictures(names=(name,), levels=(1,))
    pictures = replace(pictures, k_quasis=(replace(pictures.k_quasis[0], name=name + "2"),))
    grid, choice = made_up_grid(names=(name,))
    choice = replace(choice, why=f"no cell keeps the error of {name}")
    return release_page(record, pictures), explore_page(grid, choice), explore_page(*made_up_splits((name, "other")))


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_only_ever_words(name):
    """In every place where an attribute's name is written, on every page."""
    for page in pages_with(name):
        assert name in "".join(check_page(page, said=[name, name[:12]]).words)


@pytest.mark.parametrize(("name", "shown"), UNSEEN.items(), ids=range(len(UNSEEN)))
def test_what_cannot_be_seen_in_a_name_is_written_out(name, shown):
    """On every page, and nothing but our own line ends and no-break spaces is left that does not print."""
    for page in pages_with(name):
        words = "".join(check_page(page).words)
        assert shown in words
        assert all(c.isprintable() or c in "\n\xa0" for c in words)
        page.encode("utf-8")


def test_a_statement_is_one_promise_a_line():
    """Names in it are written out already: a backslash stays single there, and nothing unseen comes through."""
    record = stating("height\\nsafe: one.\nTwo\u202e.", made_up_record())
    promises = re.search(r'<div class="promise">(.*?)</div>', release_page(record, None)).group(1)
    assert re.findall(r"<p>(.*?)</p>", promises) == [r"height\nsafe: one.", r"Two\u202e."]


def test_a_name_that_runs_from_the_right_is_kept_apart():
    """Isolated as <bdi> would, wherever it stands: a number after it must not change sides."""
    name = "גובה"
    for page in pages_with(name):
        words = "".join(check_page(page).words)
        assert words.count(name) == words.count(f"\u2068{name}") > 5
        assert words.count("\u2068") == words.count("\u2069")
    promises = re.search(r'<div class="promise">(.*?)</div>', pages_with(name)[0]).group(1)
    assert f"\u2068{name}\u2069: ε-indistinguishable." in promises


def test_only_what_runs_from_the_right_is_kept_apart():
    """Hebrew in a name must not turn the words around it, and the rest of the name is left as it is."""
    assert visible("height גובה 12 קג (cm) א") == "height \u2068גובה 12 קג\u2069 (cm) \u2068א\u2069"


@given(st.text(), st.text())
def test_different_names_stay_different(one, other):
    """Or one column would take another's place on the page."""
    assert (visible(one) == visible(other)) is (one == other)
    assert len(all_visible({one: 1, other: {one: [other]}})) == len({one, other})

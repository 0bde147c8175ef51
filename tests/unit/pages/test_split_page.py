# SPDX-License-Identifier: Apache-2.0
"""The page of `explore --split`: the answer or the choice, cost and risk side by side, and every split in the table."""

from __future__ import annotations

import re

from kepsilon.grid.choice import Limits
from kepsilon.pages.render import explore_page
from material.made_up_splits import made_up_splits
from material.page_checks import check_page


def words_of(page):
    return re.sub(r"\s+", " ", " ".join(check_page(page).words))


def test_the_chosen_split_is_the_headline():
    """With limits the least distorted split within them leads, with the attackers named below."""
    grid, choice = made_up_splits()
    page = explore_page(grid, choice)
    assert f"<h1>{choice.cell.name}</h1>" in page
    words = words_of(page)
    assert "The split above has the least distortion among those that keep the limits." in words
    assert "Linking by “quasis” is by whoever knows place" in words
    assert "k-quasis in every split, because they are no numbers: place." in words
    assert "must not come from the data" in words


def test_without_limits_the_question_is_the_headline_and_the_answer_follows():
    """Nothing is chosen for the curator, but the answer is given."""
    page = explore_page(*made_up_splits(limits=Limits()))
    assert "<h1>Which attributes should be ε-quasis?</h1>" in page
    assert "Your policy's own split is on the front" in words_of(page)


def test_limits_that_no_split_keeps_are_said():
    """As on the page of every grid."""
    page = explore_page(*made_up_splits(limits=Limits(max_risk=0.001)))
    assert "<h1>No split keeps the limits</h1>" in page


def test_every_split_is_in_the_table_and_refusals_say_why():
    """Three charts, four rows; a refused split has its reason, as words."""
    page = explore_page(*made_up_splits())
    table = page[page.index('class="choices"') :]
    assert table.count("<tr") == 5
    assert page.count("<svg") == 3
    words = words_of(page)
    assert "it cannot <b>be</b>." in words
    assert "yours, front" in words


def test_the_parts_of_the_cost_add_up_to_the_distortion():
    """A bar is as long as the distortion beside it: generalising and noise divide it."""
    grid, choice = made_up_splits()
    for cell in grid.cells[:-1]:
        found = cell.prediction
        errors = [own.range_relative for own in found.error.values()]
        assert sum(errors) / max(1, len(errors)) <= 1
        assert f"{found.distortion:.3f}" in words_of(explore_page(grid, choice))

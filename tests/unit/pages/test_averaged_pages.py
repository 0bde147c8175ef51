# SPDX-License-Identifier: Apache-2.0
"""Report and explore page of averages: groups in place of noise, two kinds of marks, and no chart over an ε that is not there."""

from __future__ import annotations

import re

import pytest

from kepsilon.pages.render import explore_page, release_page
from material.averaged_pages import GROUPS, averaged_grid, averaged_pictures, averaged_record, made_up_groups
from material.page_checks import check_page, drawings


def words_of(page):
    parsed = check_page(re.sub(r"(?s)<style>.*?</style>", "", page))
    return re.sub(r"\s+", " ", " ".join(parsed.words))


@pytest.mark.parametrize("spread", [False, True])
def test_the_report_of_averages_has_no_word_of_noise_but_that_there_is_none(spread):
    """Neither ε nor ranges: nothing is drawn with them."""
    words = words_of(release_page(averaged_record(spread=spread), averaged_pictures()))
    for said in ("What was averaged", "What averaging costs", "there are 90 groups, each of at least 10 records"):
        assert said in words
    assert "averaged with its neighbours, at least 20 records or the whole class" in words
    assert ("with a draw around the average" in words) is spread
    assert "4 classes have fewer than 20 records and are one group" in words
    assert "and so can make the same groups, links" in words
    assert "averages of 20 or the whole class" in words
    rest = words.replace("(noise and rounding aside)", "")
    assert "ε" not in rest
    assert "noise" not in rest
    assert "range" not in rest


def test_the_report_of_averages_with_noise_says_both():
    """The sums have noise, and its range and ε are stated."""
    words = words_of(release_page(averaged_record(noise=True), averaged_pictures()))
    assert "What was averaged" in words
    assert "the sums have noise, ε = 8, range: declared [0, 300], in steps of 0.1" in words


def test_the_report_warns_of_averages_that_tell_a_value():
    """With the attacker; noise on the averages hides it, and then there is no warning."""
    groups = made_up_groups(agreeing={"height": 3}, extreme={"height": 1})
    words = words_of(release_page(averaged_record(groups=groups), averaged_pictures()))
    assert "In 3 groups all records agree on height, so that their average is everybody's own value" in words
    assert "In 1 group one record's height stands out" in words
    assert "to an attacker who knows the other records of the group roughly" in words
    spread = words_of(release_page(averaged_record(groups=groups, spread=True), averaged_pictures()))
    assert "all records agree on height, so that" not in spread
    assert "The draws around the averages are left aside here." in spread
    noisy = words_of(release_page(averaged_record(groups=groups, noise=True), averaged_pictures()))
    assert "stands out" not in noisy


def test_error_curves_of_averages_are_as_published():
    """There is no expected curve beside them, and no yardstick of noise."""
    page = release_page(averaged_record(), averaged_pictures())
    (chart,) = [own for own in drawings(page) if "Share of records within an error of height" in own]
    assert "noise" not in chart
    assert chart.count('class="line') == 1


def test_noise_and_averages_are_two_kinds_of_marks_in_the_first_chart():
    """Filled and open dots, told apart without colour, with a legend; all cells are there."""
    grid, choice = averaged_grid()
    page = explore_page(grid, choice)
    chart, _ = [own for own in drawings(page) if "Linking risk against distortion" in own]
    assert drawings(page)[0] == chart
    n_averages = sum(cell.group is not None for cell in grid.cells)
    assert chart.count('class="open s') == n_averages > 0
    assert "filled: noise" in chart
    assert "open: averages" in chart
    words = words_of(page)
    assert "Filled marks are noise, open ones averages." in words
    assert (
        "Figures of averages are exact: an attacker who knows every quasi-identifier of everybody makes the same"
        in words
    )


def test_the_chosen_averages_are_named_and_marked():
    """In the headline, in the table and in the chart over the size of groups."""
    grid, choice = averaged_grid()
    assert choice.cell.group is not None
    page = explore_page(grid, choice)
    told = f"k = {choice.cell.k}, averages of {choice.cell.group}, {choice.cell.algorithm}"
    assert re.search(r"<h1>(.*?)</h1>", page)[1] == told
    here = f"of averages, {choice.cell.algorithm}, against the size of groups"
    marked = [own for own in drawings(page) if here in own and ">chosen<" in own]
    assert len(marked) == 2, "risk and error"
    assert not any(">chosen<" in own for own in drawings(page) if "against ε" in own)


def test_the_least_error_at_each_risk_is_that_of_the_cells():
    """For noise and for averages, of all cells that leave out no more than allowed."""
    grid, choice = averaged_grid()
    words = words_of(explore_page(grid, choice))
    kept = [cell for cell in grid.cells if cell.prediction and cell.prediction.suppression.total <= 0.05]
    within = [cell for cell in kept if cell.prediction.linking_risk.headline.risk.total <= 0.05]
    for averaged in (False, True):
        own = [cell for cell in within if (cell.group is not None) is averaged]
        best = min(own, key=lambda cell: cell.prediction.error["height"].expected_relative)
        assert best.name in words


@pytest.mark.parametrize("epsilons", [(None,), (1.0, 4.0)])
def test_a_grid_of_averages_alone_has_charts_over_groups_only(epsilons):
    """No chart over ε breaks where there is none; averages with noise are shown at one ε."""
    grid, choice = averaged_grid(with_noise=False, epsilons=epsilons)
    page = explore_page(grid, choice)
    words = words_of(page)
    assert not any("against ε" in own for own in drawings(page))
    assert sum("against the size of groups" in own for own in drawings(page)) == 4
    assert ("ε" in words) is (epsilons != (None,))
    assert ("Noise is drawn for the sum" in words) is False, "the policy decides, and this one has no averages"
    for group in GROUPS:
        assert f"averages of {group}" in words
    assert "filled: noise" not in page


def test_the_table_has_a_column_for_groups_only_where_there_are_some():
    """And one for ε only where something is drawn with it."""
    both = explore_page(*averaged_grid())
    assert '<th scope="col">averages of</th>' in both
    assert '<th scope="col">ε</th>' in both
    alone = explore_page(*averaged_grid(with_noise=False))
    assert '<th scope="col">ε</th>' not in alone
    refused = re.search(r'<td class="why" colspan="(\d+)">', both)
    headers = both.count('<th scope="col"', both.index('<table class="choices">')) - 1
    assert int(refused[1]) == headers - 4, "algorithm, k, ε and averages of"

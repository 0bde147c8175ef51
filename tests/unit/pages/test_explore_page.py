# SPDX-License-Identifier: Apache-2.0
"""The explore page: the choice or why there is none, every cell, and words that are true of the figures."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from kepsilon.grid.cells import Cell
from kepsilon.grid.choice import Limits
from kepsilon.pages.figures import grid_front
from kepsilon.pages.figures.grid_lead import why_words
from kepsilon.pages.render import explore_page
from kepsilon.pages.wording import percent
from kepsilon.predict.verdicts import AttributeVerdict
from material.averaged_pages import averaged_grid
from material.made_up_results import made_up_error, made_up_grid, made_up_prediction
from material.page_checks import check_page, drawings


def words_of(page):
    return re.sub(r"\s+", " ", " ".join(check_page(page).words))


def headline(page):
    return re.search(r"<h1>(.*?)</h1>", page).group(1)


def changed(explored, change):
    """The grid with every prediction changed, and the choice that it was."""
    grid, choice = explored
    cells = tuple(
        cell if cell.prediction is None else replace(cell, prediction=change(cell.prediction)) for cell in grid.cells
    )
    chosen = None if choice.cell is None else cells[grid.cells.index(choice.cell)]
    return replace(grid, cells=cells), replace(choice, cell=chosen)


def with_figures(explored, **changes):
    return changed(explored, lambda prediction: replace(prediction, **changes))


def simulated(explored, standard_error):
    """The linking risk of every cell known only so far."""

    def estimated(prediction):
        headline = prediction.linking_risk.headline
        headline = replace(headline, risk=replace(headline.risk, variance=standard_error**2))
        return replace(prediction, linking_risk=replace(prediction.linking_risk, headline=headline))

    return changed(explored, estimated)


def choosing(explored, **changes):
    """The grid with another choice."""
    grid, choice = explored
    return grid, replace(choice, **changes)


def refused(explored, algorithm=None):
    """The grid with every cell refused, or those of one algorithm; nothing is chosen."""
    grid, choice = explored
    cells = tuple(
        replace(cell, prediction=None, refused="k cannot be met.") if algorithm in (None, cell.algorithm) else cell
        for cell in grid.cells
    )
    return replace(grid, cells=cells), replace(choice, cell=None)


NO_LIMITS = {"limits": Limits(), "cell": None, "why": None}


def test_the_explore_page_tells_the_choice_first():
    """A curator reads the answer and its limits before any table."""
    grid, choice = made_up_grid()
    words = words_of(explore_page(grid, choice))
    told = f"k = {choice.cell.k}, ε = {choice.cell.epsilon}, {choice.cell.algorithm}"
    assert words.index(told) < words.index("Every choice")
    assert words.index("linking risk at most 5 %") < words.index("Every choice")
    assert "For the curator only: do not publish" in words


def test_the_explore_page_has_a_line_for_every_cell():
    """Front, choice, limits and refusals are told in words, not by colour alone."""
    grid, choice = made_up_grid()
    page = explore_page(grid, choice)
    check_page(page)
    body = page[page.index('class="choices"') :]
    lines = re.findall(r"<tr.*?</tr>", body, flags=re.DOTALL)[1:]
    assert len(lines) == len(grid.cells) == 84
    for line, cell in zip(lines, grid.cells, strict=True):
        assert ("refused" in line) is bool(cell.refused)
        if not cell.refused:
            assert ("front" in line) is cell.pareto
            assert ("outside limits" in line) is not choice.limits.allow(cell)
    assert sum(">chosen" in line for line in lines) == 1
    assert "in &lt;b&gt;every&lt;/b&gt; hierarchy" in body


def test_of_many_choices_those_that_nothing_beats_come_first():
    """Nobody reads 84 lines to find the one that was chosen; all of them are in a fold below."""
    grid, choice = made_up_grid()
    page = explore_page(grid, choice)
    best = page[page.index('class="choices best"') :]
    lines = re.findall(r"<tr.*?</tr>", best[: best.index("</table>")], flags=re.DOTALL)[1:]
    shown = [cell for cell in grid.cells if cell.pareto or cell in (choice.cell, grid.current)]
    assert len(lines) == len(shown) < len(grid.cells)
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", line) for line in lines]
    assert sum(own[0].startswith("chosen") for own in cells) == 1
    assert not any(own[0].startswith(",") or "front" in own[0] for own in cells)
    distortions = [float(own[-2]) for own in cells]
    assert distortions == sorted(distortions)
    assert page.index("against distortion") < page.index('class="choices best"') < page.index("Pictures of risk")
    few = explore_page(*made_up_grid(ks=(5,), epsilons=(1, 2)))
    assert 'class="choices best"' not in few
    assert '<details class="more all" open>' in few


def test_a_choice_that_was_not_tried_is_not_called_refused():
    """Where explore looks closer, it tries averages at some k only; at others nothing stands in their way."""
    grid, choice = averaged_grid()
    left = max(grid.ks)
    tried = replace(grid, cells=tuple(cell for cell in grid.cells if cell.k != left or cell.group is None))
    words = words_of(explore_page(tried, choice))
    assert "refused" not in words[words.index("Left out, ") : words.index("Every choice")]


def test_a_point_alone_is_no_curve():
    """Where explore looks closer, many k have a single ε: names of a dozen lines that are not there crowd the chart."""
    grid, choice = made_up_grid()
    alone = next(k for k in grid.ks if k != choice.cell.k)
    kept = [cell for cell in grid.cells if cell.k != alone or cell.epsilon == grid.epsilons[0]]
    page = explore_page(replace(grid, cells=tuple(kept)), choice)
    charts = [one for one in drawings(page) if "Linking risk, ola, against ε" in one]
    assert len(charts) == 1
    assert f">k = {alone}<" not in charts[0]
    assert f">k = {choice.cell.k}<" in charts[0]


def test_few_left_out_are_told_in_numbers_and_not_drawn():
    """Three of 32,440 records: a segment where three are k or more, which is only where k is 2."""
    share = 3 / 32440
    gone = replace(made_up_prediction().records, read=32440, suppressed_by_k=3, suppressed_missing=0)
    page = explore_page(*with_figures(made_up_grid(confidence=None), records=gone))
    lines = re.findall(r"<tr.*?</tr>", page[page.index('class="choices"') :], flags=re.DOTALL)[1:]
    assert sum(f"<td>{percent(share)}</td>" in line for line in lines) == 83
    assert "fewer than" not in words_of(page)
    (chart,) = (one for one in drawings(page) if "Records left out by k, mondrian" in one)
    widths = [float(width) for width in re.findall(r'<rect[^>]* width="([\d.]+)"', chart)]
    assert [width > 0 for width in widths] == [True, False, False, False, False, False]


def test_four_hundred_cells_stay_under_the_limit():
    """A large grid still makes a page that can be mailed."""
    ks = (2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 400, 500, 700, 1000)
    epsilons = (0.05, 0.1, 0.5, 1, 2, 3, 4, 8, 16, 32)
    grid, choice = made_up_grid(ks=ks, epsilons=epsilons, names=("height", "weight", "income"))
    assert len(grid.cells) == 400
    check_page(explore_page(grid, choice), largest=420_000)


@pytest.mark.parametrize(
    "explored",
    [
        choosing(made_up_grid(), cell=None, why="No cell keeps max_risk."),
        choosing(made_up_grid(), **NO_LIMITS),
        made_up_grid(confidence=None),
        with_figures(made_up_grid(), linking_risk=made_up_prediction(risk=0.0).linking_risk, distortion=None),
        made_up_grid(names=()),
        simulated(made_up_grid(), 0.001),
        made_up_grid(ks=(5,), epsilons=(1, 2), algorithms=("ola",)),
        made_up_grid(ks=(5, 10), epsilons=(1,), algorithms=("mondrian",)),
        made_up_grid(ks=(5,), epsilons=(1,), algorithms=("ola",)),
    ],
    ids=[
        "nothing chosen",
        "no limits",
        "no confidence",
        "no risk",
        "no noise",
        "simulated",
        "one k",
        "one ε",
        "refused",
    ],
)
def test_every_kind_of_grid_has_a_page(explored):
    """Refusals, few cells or no noise: each makes a sound page without a Python word in it."""
    page = explore_page(*explored)
    check_page(page)
    assert ">None<" not in page


@pytest.mark.parametrize(
    ("explored", "said"),
    [
        (choosing(made_up_grid(), cell=None), "No choice keeps the limits"),
        (choosing(made_up_grid(), **NO_LIMITS), "84 choices of k, ε and algorithm"),
        (
            choosing(made_up_grid(ks=(5,), epsilons=(1, 2), algorithms=("ola",)), **NO_LIMITS),
            "2 choices of k, ε and algorithm",
        ),
        (choosing(with_figures(made_up_grid(), distortion=None), cell=None), "No choice can be ranked"),
        (refused(made_up_grid()), "No choice can be met"),
        (choosing(refused(made_up_grid()), **NO_LIMITS), "No choice can be met"),
    ],
    ids=["none qualifies", "no limits", "no limits, few", "distortion undefined", "refused", "refused, no limits"],
)
def test_the_headline_is_true_of_a_grid_without_a_choice(explored, said):
    """Where nothing is chosen, the headline says why and nothing refers to a choice."""
    page = explore_page(*explored)
    words = words_of(page)
    assert headline(page) == said
    assert "The choice above" not in words
    assert ("Limits (--max-risk, --max-individual-risk, --max-suppression, --max-error) choose" in words) is not bool(
        explored[1].limits.stated()
    )
    assert ("Distortion is undefined for every choice" in words) is ("ranked" in said)


def test_without_limits_nothing_is_outside_them():
    """Nobody may be told of limits that nobody set."""
    words = words_of(explore_page(*choosing(made_up_grid(), **NO_LIMITS)))
    assert "No limits were set, so nothing is chosen" in words
    for claim in ("outside the limits", "outside limits", "limit 5 %"):
        assert claim not in words


@pytest.mark.parametrize(
    ("why", "said"),
    [
        (
            "no cell of the grid keeps the limits: max_risk = 0.01 is kept by no cell; the cell where the linking risk is smallest is ola, with 2 %",
            "No cell of the grid keeps the limits: linking risk at most 1 % is kept by no cell; the cell where the linking risk is smallest is ola, with 2 %.",
        ),
        (
            "Less distorted would be x; ruled out by max_risk and max_error (error 6 %).",
            "Less distorted would be x; ruled out by the limit on linking risk and the limit on error (error 6 %).",
        ),
        ("max_suppression = 1e-05 binds", "Suppression at most 0.001 % binds."),
        ("--max-error binds.", "The limit on error binds."),
        ("max_total_suppression binds.", "The limit on suppression (the policy's own limit) binds."),
    ],
)
def test_why_is_a_sentence_without_names_of_options(why, said):
    """The page is read by people who never saw the command line."""
    assert why_words(why).replace("\xa0", " ") == said
    assert said in words_of(explore_page(*choosing(made_up_grid(), why=why)))


def test_the_policys_own_limit_is_told_and_drawn():
    """Where both are set, the tighter one is the line that must not be crossed."""
    grid, choice = made_up_grid()
    page = explore_page(grid, replace(choice, limits=replace(choice.limits, max_total_suppression=0.03)))
    assert "suppression (the policy's own limit) at most 3 %" in words_of(page)
    for chart in (one for one in drawings(page) if "Records left out by k" in one):
        assert f">limit {percent(0.03)}<" in chart


def test_marks_and_line_claim_no_more_than_they_show():
    """The marks are of three aims, the line of two."""
    words = words_of(explore_page(*made_up_grid()))
    assert "at least as good in all three of distortion, linking risk and records left out, and better in one" in words
    assert "Along the line nothing has less of both" in words
    assert "better in both" not in words


def test_the_page_says_what_its_figures_are():
    """Expected, before rounding, and simulated where they are: otherwise they are read as promises."""
    words = words_of(explore_page(*simulated(made_up_grid(), 0.00035)))
    assert words.index("before published values are rounded") < words.index("Linking risk, ola")
    assert "Linking risk, error and classes are those before records are left out for confidence" in words
    assert "keep a limit only with three to spare: 4.9 % ± 0.07 % may be outside 5 %" in words
    every = words[words.index("Every choice") :]
    assert every.count("± 0.07 %") == 83  # every cell that is met
    assert words.count("± 0.07 %") > 83 + 2  # the note, the tile, and those on the front
    exact = words_of(explore_page(*made_up_grid(confidence=None)))
    assert "simulated" not in exact
    assert "left out for confidence" not in exact


def test_epsilon_without_effect_is_said_so():
    """Charts against ε would be flat lines that look like a mistake."""
    words = words_of(explore_page(*made_up_grid(names=())))
    assert "There is no ε-quasi: no noise is drawn, and ε has no effect on any figure." in words
    assert "Less noise (a larger ε)" not in words
    assert "no ε-quasi" not in words_of(explore_page(*made_up_grid()))


def test_an_error_of_too_few_records_is_not_given():
    """A mean over fewer than k records would tell their values."""
    error = made_up_error(expected=None).predicted
    page = explore_page(*with_figures(made_up_grid(), error={"height": error}))
    every = page[page.index('class="choices"') :]
    assert every.count("<td>not given</td>") == 83
    assert "not given where fewer than k records have a relative error" in words_of(page)


def test_an_algorithm_that_is_always_refused_has_no_cards():
    """Empty charts tell nothing."""
    words = words_of(explore_page(*refused(made_up_grid(), "ola")))
    assert "Left out, mondrian" in words
    for title in ("Left out, ola", "Linking risk, ola", "Error of height, ola"):
        assert title not in words


def test_distortion_is_written_as_on_the_terminal():
    """One figure has one form, so that page and terminal can be compared."""
    page = explore_page(*with_figures(made_up_grid(), distortion=0.3234))
    assert page.count("<td>0.323</td>") >= 83
    assert "<td>undefined</td>" in explore_page(*with_figures(made_up_grid(), distortion=None))


def test_more_tiles_of_a_kind_are_counted():
    """A page with ten ε-quasis shows two tiles and says how many more there are."""
    words = words_of(explore_page(*made_up_grid(names=("a", "b", "c"))))
    assert "of its value is how far b is off on average; and 1 more below" in words


def test_a_single_k_is_named_in_its_charts():
    """A line without a name would leave open which k it is."""
    charts = drawings(explore_page(*made_up_grid(ks=(5,))))
    lines = [chart for chart in charts if "against ε" in chart]
    assert len(lines) == 4
    assert all(">k = 5<" in chart for chart in lines)


@pytest.mark.parametrize("n_ks", [8, 9, 20, 33])
def test_dots_of_many_k_share_colours_only_with_their_neighbours(n_ks):
    """The legend names all of them, and no colour twice."""
    ks = range(2, 2 + n_ks)
    chart, _ = (
        one for one in drawings(explore_page(*made_up_grid(ks=ks, epsilons=(1, 2)))) if "against distortion" in one
    )
    legend = re.findall(r'<circle[^>]*class="f(\d)"/></g><text[^>]*>k = (\d+)(?: to (\d+))?<', chart)
    assert len({colour for colour, _, _ in legend}) == len(legend) <= 8
    assert [k for _, low, high in legend for k in range(int(low), int(high or low) + 1)] == [*ks]


def test_the_line_joins_what_nothing_beats_in_both():
    """A cell that leaves out fewer is on the front of three aims, but not on the line of two."""
    aims = ((0.1, 0.5), (0.2, 0.6), (0.3, 0.2), (0.3, 0.1), (0.4, 0.1))
    cells = [
        Cell(algorithm="ola", k=10, epsilon=1.0, prediction=made_up_prediction(distortion=d, risk=r)) for d, r in aims
    ]
    found = grid_front._unbeaten([grid_front._ranked(cell) for cell in cells])
    assert [(one.distortion, one.risk) for one in found] == [(0.1, 0.5), (0.3, 0.1)]


def test_risk_against_distortion_is_the_first_chart_and_names_the_chosen_and_the_current_cell():
    """Drawn for broad screens and for slim ones; k and ε stand beside the marks of the broad one."""
    grid, choice = made_up_grid()
    other = next(cell for cell in grid.cells if cell.prediction is not None and cell != choice.cell)
    policy = grid.policy.with_changes(k=other.k, epsilon=other.epsilon, algorithm=other.algorithm)
    grid = replace(grid, policy=policy)
    assert grid.current == other
    page = explore_page(grid, choice)
    broad, slim, *rest = drawings(page)
    assert page.index("<svg") < page.index('class="tiles"')
    for chart in (broad, slim):
        assert 'aria-label="Linking risk against distortion"' in chart
        assert ">your policy: " + other.name in chart
        assert 'class="limit"' in chart
    assert all("against distortion" not in chart for chart in rest)
    assert f">chosen: k {choice.cell.k}, ε {choice.cell.epsilon:g}<" in broad
    assert f">your policy: k {other.k}, ε {other.epsilon:g}<" in broad
    assert ">chosen<" in slim
    assert ">your policy<" in slim
    rows = re.findall(r'<tr class="([^"]*)">.*?<td class="w">([^<]*)</td></tr>', page)
    assert sum("your policy" in mark for _, mark in rows) == 1


def test_a_choice_with_a_useless_attribute_is_not_drawn(refuses_useless):
    """It would stretch the axis, and nobody can choose it; the table says which attribute is useless."""
    grid, choice = made_up_grid()
    bad = next(cell for cell in grid.cells if cell.prediction is not None and cell not in (choice.cell, grid.current))
    verdict = AttributeVerdict(role="epsilon-quasi", verdict="useless", reason="Made up.", share=1.0)
    useless = replace(bad, prediction=replace(bad.prediction, verdicts={"height": verdict}))
    marked = replace(grid, cells=tuple(useless if cell is bad else cell for cell in grid.cells))
    before, after = (explore_page(own, choice) for own in (grid, marked))
    assert "One choice leaves an attribute useless" not in before
    assert "One choice leaves an attribute useless and would be refused; it is not drawn" in words_of(after)
    assert "useless: height" in after
    n_marks = [len(re.findall(r"<(circle|rect|path)", drawings(page)[0])) for page in (before, after)]
    assert n_marks[1] == n_marks[0] - 1


def test_a_tile_says_how_far_values_are_off_as_the_answer_does():
    """The answer above gives the share of the spread; beside it, a share of the value would be another figure for one thing."""

    def spread(prediction):
        error = {name: replace(own, share_of_spread=0.283) for name, own in prediction.error.items()}
        return replace(prediction, error=error)

    page = explore_page(*changed(made_up_grid(names=("b",)), spread))
    assert "28.3 % of its spread is how far b is off on average" in words_of(page)
    assert "error of b, of its value" in words_of(page), "what --max-error is held against"


def test_a_policy_that_leaves_an_attribute_useless_is_drawn_all_the_same(refuses_useless):
    """Its owner looks for it; and nobody else's useless choice is said to be drawn."""
    grid, choice = made_up_grid()
    assert grid.current is not None
    verdict = AttributeVerdict(role="epsilon-quasi", verdict="useless", reason="Made up.", share=1.0)
    useless = replace(grid.current, prediction=replace(grid.current.prediction, verdicts={"height": verdict}))
    marked = replace(grid, cells=tuple(useless if cell is grid.current else cell for cell in grid.cells))
    assert "it is drawn, because it is your policy's own" in words_of(explore_page(marked, choice))

# SPDX-License-Identifier: Apache-2.0
"""The search around limits: ε and groups just keep them, against slow oracles, and a useless cell is never chosen."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kepsilon
from kepsilon.grid.search_space import larger_ks, smallest_group
from kepsilon.predict.individual_risk import three_digits, three_digits_up_to

DOCUMENT = {
    "k": 5, "epsilon": 2, "algorithm": "mondrian",
    "attributes": {
        "year": {"role": "k-quasi", "step": 1},
        "sex": {"role": "k-quasi"},
        "height": {"role": "epsilon-quasi", "precision": 0.1, "range": {"coarse": 5}},
    },
}  # fmt: skip
POLICY = kepsilon.Policy.from_dict(DOCUMENT)


@cache
def people(n=1500):
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "year": rng.integers(1950, 1990, n),
            "sex": rng.choice(["F", "M"], n).tolist(),
            "height": rng.normal(170, 8, n).round(1),
        }
    )


def by_bisection(keeps, *, wants_largest):
    """The number of the extreme ε of three digits that keeps a limit, looked for one halving at a time."""
    low, high = three_digits_up_to(0.05), three_digits_up_to(100)
    while low < high:
        halfway = (low + high + 1) // 2 if wants_largest else (low + high) // 2
        if keeps(three_digits(halfway)):
            low, high = (halfway, high) if wants_largest else (low, halfway)
        else:
            low, high = (low, halfway - 1) if wants_largest else (halfway + 1, high)
    return three_digits(low)


@pytest.mark.parametrize("k", [5, 50])
@pytest.mark.parametrize(
    ("limit", "figure", "wants_largest"),
    [
        ({"max_risk": 0.1}, lambda found: found.linking_risk.headline.risk.total, True),
        ({"max_individual_risk": 0.5}, lambda found: found.linking_risk.largest_possible_by_matching, True),
        ({"max_error": 0.05}, lambda found: found.largest_error, False),
    ],
    ids=["linking", "single risk", "error"],
)
def test_epsilon_just_keeps_the_limit(k, limit, figure, wants_largest):
    """The ε that the search finds is that of a slow bisection with `check`, to three digits."""
    limits = kepsilon.Limits(**limit)
    (value,) = limit.values()
    grid = kepsilon.explore(people(), POLICY, k=[k], algorithm=["mondrian"], limits=limits)
    solved = [cell.epsilon for cell in grid.cells if cell.solved_for and cell.group is None]

    def keeps(epsilon):
        return figure(kepsilon.check(people(), POLICY.with_changes(k=k, epsilon=epsilon))) <= value

    expected = by_bisection(keeps, wants_largest=wants_largest)
    if keeps(expected):
        listed = [cell.epsilon for cell in grid.cells if cell.group is None]
        assert expected in (solved or listed)
    else:
        assert not solved


def test_the_grid_goes_beyond_the_papers_where_limits_ask_for_it():
    """k up to a twentieth of the records, and ε beyond 16."""
    assert larger_ks(32_561)[-1] == 1_628
    assert larger_ks(1_500) == ()
    strict = kepsilon.explore(people(4_000), POLICY, limits=kepsilon.Limits(max_risk=0.006))
    assert max(strict.ks) > 100
    assert max(strict.ks) <= 200
    mild = kepsilon.explore(people(), POLICY, k=[50], limits=kepsilon.Limits(max_risk=0.5))
    assert max(mild.epsilons) > 16


def test_more_k_are_tried_where_the_limit_is_met_also_without_an_epsilon_quasi():
    """Between the papers' k lie better ones: the one chosen is the smallest of those tried that keep the limit."""
    document = DOCUMENT | {"attributes": DOCUMENT["attributes"] | {"height": {"role": "k-quasi", "step": 5}}}
    document = {key: value for key, value in document.items() if key != "epsilon"}
    limits = kepsilon.Limits(max_risk=0.03)
    grid = kepsilon.explore(people(), kepsilon.Policy.from_dict(document), algorithm=["local-recoding"], limits=limits)
    assert set(grid.ks) - {2, 5, 10, 20, 50, 100}
    chosen = grid.choose(limits).cell
    linked = {cell.k: cell.prediction.linking_risk.headline.risk.total for cell in grid.cells}
    assert linked[chosen.k] <= 0.03
    below = max(k for k in linked if k < chosen.k)
    assert linked[below] > 0.03
    assert chosen.k / below < 1.3


@pytest.mark.parametrize("asked", [{"epsilon": [1.0]}, {"epsilon": [1.0], "group": [40]}], ids=["ε", "ε and groups"])
def test_more_k_are_tried_for_settings_that_were_asked_for(asked):
    """A listed ε or size of groups is looked at with every k, not only with the paper's."""
    limits = kepsilon.Limits(max_risk=0.06)
    grid = kepsilon.explore(people(), POLICY, algorithm=["mondrian"], limits=limits, **asked)
    assert set(grid.ks) - {2, 5, 10, 20, 50, 100}
    assert {cell.epsilon for cell in grid.cells if cell.group is None} == {1.0}


@given(
    st.lists(st.integers(3, 60), min_size=1, max_size=8),
    st.sampled_from([None, 0.02, 0.05, 0.1, 0.2]),
    st.sampled_from([None, 0.05, 0.1, 0.25]),
)
def test_no_other_size_that_keeps_the_limits_makes_more_groups(sizes, max_risk, max_individual_risk):
    """Whoever knows all quasis links one record of each group; the smallest group holds the likeliest record."""
    sizes = np.array(sizes, dtype=np.int64)

    def n_groups(group):
        return np.maximum(sizes // group, 1)

    def keeps(group):
        smallest = int((sizes // n_groups(group)).min())
        return (max_risk is None or n_groups(group).sum() <= max_risk * sizes.sum()) and (
            max_individual_risk is None or max_individual_risk * smallest >= 1
        )

    keeping = [group for group in range(3, max(int(sizes.max()), 20) + 1) if keeps(group)]
    found = smallest_group(sizes, k=3, max_risk=max_risk, max_individual_risk=max_individual_risk)
    if not keeping:
        assert found is None
    else:
        assert keeps(found)
        assert n_groups(found).sum() == max(n_groups(group).sum() for group in keeping)


def test_a_useless_cell_is_never_chosen_nor_on_the_front(refuses_useless):
    """Where only error could be limited it would win on risk; where every cell is useless, none is chosen."""
    grid = kepsilon.explore(people(), POLICY, limits=kepsilon.Limits(max_risk=0.2))
    useless = [cell for cell in grid.cells if cell.prediction is not None and cell.prediction.refused_useless]
    assert useless, "small ε should leave height useless here"
    assert grid.pareto
    assert not any(cell.pareto for cell in useless)
    for limits in ({"max_risk": 0.2}, {"max_error": 50}, {"max_suppression": 0.5}):
        assert grid.choose(kepsilon.Limits(**limits)).cell not in useless
    noisy = kepsilon.explore(people(), POLICY, k=[5], epsilon=[0.05], limits=kepsilon.Limits(max_risk=1))
    assert not noisy.pareto
    assert "that can be met leaves an attribute useless, one of height" in noisy.choose(kepsilon.Limits(max_risk=1)).why


def test_the_policys_own_max_risk_is_the_limit_where_none_is_given():
    grid = kepsilon.explore(people(), POLICY.with_changes(max_risk=0.1), k=[5, 50], algorithm=["mondrian"])
    choice = grid.choose()
    assert choice.limits.max_risk == 0.1
    assert choice.cell.prediction.linking_risk.headline.risk.at_most <= 0.1
    assert "max_risk = 0.1 is stated in your policy." in grid.in_words(choice)

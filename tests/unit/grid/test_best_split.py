# SPDX-License-Identifier: Apache-2.0
"""The answer of `explore --split`: true of the figures, whichever split is the better one."""

from __future__ import annotations

import itertools

import pytest

from kepsilon.grid.best_split import WHO_LINKS, answer
from kepsilon.grid.cells import Cell
from kepsilon.grid.splits import Split
from material.made_up_results import made_up_prediction

NAMES = ("own", "age", "income")


def split(name):
    switched = {} if name == "own" else {name: {"role": "epsilon-quasi"}}
    return Split(k_quasis=(), epsilon_quasis=tuple(switched), switched=switched)


def cell(name, distortion, risk, *, by_k=0.0, refused=None):
    prediction = None if refused else made_up_prediction(risk=risk, by_k=by_k, distortion=distortion)
    return Cell(algorithm="ola", k=5, epsilon=1, prediction=prediction, split=split(name), refused=refused)


@pytest.mark.parametrize("figures", [*itertools.product([(0.1, 0.2), (0.2, 0.1), (0.2, 0.2)], repeat=3)])
def test_a_better_split_is_named_only_where_there_is_one(figures):
    """Against every pair of figures: a split is better if it is no worse in both and better in one."""
    cells = [cell(name, *own) for name, own in zip(NAMES, figures, strict=True)]
    words = answer(cells)
    own = figures[0]
    better = [
        (other, name)
        for name, other in zip(NAMES, figures, strict=True)
        if other != own and other[0] <= own[0] and other[1] <= own[1]
    ]
    if better:
        assert words[0].startswith(f"Better than your policy's own split: {min(better)[1]} as ε-quasi (distortion")
    else:
        assert words[0].startswith("Your policy's own split is on the front")
    assert words[-1] == WHO_LINKS


def test_a_split_that_leaves_out_more_records_is_not_better():
    """Records left out are a cost too, as on the front of every grid."""
    words = answer([cell("own", 0.2, 0.2), cell("age", 0.1, 0.1, by_k=0.1)])
    assert words[0].startswith("Your policy's own split is on the front")
    assert "Least distorted, and fewest linked: age as ε-quasi" in words[1]


def test_a_refused_own_split_is_not_compared():
    """The others are still ranked."""
    words = answer([cell("own", 0, 0, refused="no"), cell("age", 0.1, 0.1), cell("income", 0.3, 0.05)])
    assert words[0] == "Your policy's own split cannot be compared with others."
    assert words[1].startswith("Least distorted: age as ε-quasi (distortion 0.100, 10 % linked). Fewest linked: income")


def test_where_nothing_can_be_met_nothing_is_said_to_be_best():
    """No figure is made up."""
    assert answer([cell("own", 0, 0, refused="no")]) == [
        "No split can be met without a useless attribute, so there is nothing to compare."
    ]

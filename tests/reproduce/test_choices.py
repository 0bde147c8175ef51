# SPDX-License-Identifier: Apache-2.0
"""Which k and ε to take: the answer is the least distorted cell within both limits, and says what binds."""

from __future__ import annotations

import pytest

import kepsilon
from kepsilon.engines.arrow.tables import table_from
from kepsilon.reproduce.experiments import choices as subject
from kepsilon.reproduce.experiments.counted_data import count_data
from kepsilon.reproduce.scope import Scope
from material.small_data_sets import assert_plain, of_people, short_michigan

GRID = Scope(ks=(5, 20, 100), epsilons=(0.5, 2, 8), seed=7)


@pytest.fixture(scope="module")
def michigan():
    return count_data(short_michigan())


@pytest.fixture(scope="module")
def found(michigan):
    return subject.choices(michigan, GRID)


@pytest.fixture(scope="module")
def cells(michigan):
    policy = michigan.policy()
    grid = kepsilon.explore(
        table_from(michigan.data.columns),
        policy,
        k=GRID.ks,
        epsilon=GRID.epsilons,
        algorithm=["ola", "mondrian"],
        confidence=0.99,
    )
    return grid.to_json()["cells"]


def least_distorted(cells):
    """By looking at every cell."""
    kept = [cell for cell in cells if cell["linking_risk"] <= 0.05 and cell["suppression"] <= 0.05]
    return min(kept, key=lambda cell: cell["distortion"]) if kept else None


def test_the_answer_is_the_least_distorted_cell_within_the_limits(found, cells):
    """Over all, and of each algorithm alone."""
    assert_plain(found)
    assert (found["limits"], found["confidence"]) == ({"max_risk": 0.05, "max_suppression": 0.05}, 0.99)
    answers = {
        "all": (found["answer"], cells),
        **{
            algorithm: (found["by_algorithm"][algorithm], [c for c in cells if c["algorithm"] == algorithm])
            for algorithm in ("ola", "mondrian")
        },
    }
    for answer, own in answers.values():
        best = least_distorted(own)
        for name in ("algorithm", "k", "epsilon", "distortion"):
            assert answer[name] == pytest.approx(best[name]) if name == "distortion" else answer[name] == best[name]
        assert answer["risk"] == pytest.approx(best["linking_risk"])
        assert answer["suppression"] == pytest.approx(best["suppression"])
        assert answer["error"] == pytest.approx(best["error"]["weight"]["expected_relative"])


def test_the_words_name_the_cell_its_costs_and_what_binds(found, cells):
    """One sentence, which begins with the data set and says of a stand-in that it is one."""
    words, answer = found["words"], found["answer"]
    assert words.startswith("Michigan (stand-in): ")
    assert f"k = {answer['k']}, ε = {answer['epsilon']:g}" in words
    assert f"{100 * answer['risk']:.1f} % of records linked" in words
    assert ("ruled out by max_" in words) == (
        least_distorted(cells)["distortion"] > min(c["distortion"] for c in cells)
    )
    assert words.endswith(".")
    assert set(found["words_by_algorithm"]) == {"ola", "mondrian"}


def test_no_answer_says_why():
    """Five people cannot hide within 5 %."""
    data = count_data(of_people(["F"] * 5, [160.0, 165.0, 170.0, 175.0, 180.0]))
    found = subject.choices(data, Scope(ks=(2, 5), epsilons=(1, 8)))
    assert_plain(found)
    assert found["answer"] is None
    assert found["by_algorithm"] == {"ola": None, "mondrian": None}
    assert "max_risk = 0.05 is kept by no cell" in found["words"]

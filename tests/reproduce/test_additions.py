# SPDX-License-Identifier: Apache-2.0
"""Wider ranges and two ε-quasis: figures against what `explore` says of such policies, and against hand-worked ones."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import kepsilon
from kepsilon.engines.arrow.tables import table_from
from kepsilon.reproduce.data import data_sets, voters
from kepsilon.reproduce.data import people as drawn_people
from kepsilon.reproduce.data import stand_in_figures as figures
from kepsilon.reproduce.experiments import additions as subject
from kepsilon.reproduce.experiments.counted_data import count_data
from material.small_data_sets import FIXED_SEED, SHORT, assert_plain, short_michigan

ALGORITHMS = ("ola", "mondrian")


@pytest.fixture(scope="module")
def michigan():
    return count_data(short_michigan())


@pytest.fixture(scope="module")
def found(michigan):
    return {algorithm: subject.additions(michigan, algorithm, SHORT) for algorithm in ALGORITHMS}


def variant(found, name):
    return next(one for one in found["variants"] if one["name"] == name)


def explored(columns, document, algorithm):
    policy = kepsilon.Policy.from_dict({"k": 20, "epsilon": 1, "algorithm": algorithm, **document})
    grid = kepsilon.explore(
        table_from(columns), policy, k=20, epsilon=SHORT.epsilons, algorithm=algorithm, confidence=0.99
    )
    return grid.to_json()["cells"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    ("name", "range_"), [("class", "class"), ("coarse", {"coarse": 5}), ("declared", [20, 300]), ("several", "class")]
)
def test_a_variant_is_what_explore_says_of_its_policy(michigan, found, algorithm, name, range_):
    """By the public way, from a policy written out here; simulated figures have a fixed seed."""
    data = michigan.data
    if name == "several":
        data = data_sets.with_both_measures(data, seed=SHORT.seed)
    attributes = {**data.policy["attributes"]}
    attributes["weight"] = {"role": "epsilon-quasi", "precision": 0.1, "range": range_}
    own = variant(found[algorithm], name)
    cells = explored(data.columns, {**data.policy, "attributes": attributes}, algorithm)
    for cell, expected in zip(own["cells"], cells, strict=True):
        assert cell["epsilon"] == expected["epsilon"]
        assert cell["risk"] == pytest.approx(expected["linking_risk"])
        assert cell["suppressed"] == pytest.approx(expected["suppressed_by_confidence"])
        assert cell["error"] == {
            quasi: pytest.approx(error["expected_relative"]) for quasi, error in expected["error"].items()
        }
        is_simulated = name == "several"
        assert (cell["risk_standard_error"] > 0) == is_simulated
        assert (cell["suppressed_standard_error"] > 0) == is_simulated


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_wider_ranges_cost_more_and_leave_less_risk(found, algorithm):
    """From the class's own to the coarse to the declared."""
    by_range = [variant(found[algorithm], name)["cells"] for name in ("class", "coarse", "declared")]
    for narrow, wide in pairwise(by_range):
        for cell, other in zip(narrow, wide, strict=True):
            assert cell["error"]["weight"] < other["error"]["weight"]
            assert cell["risk"] > other["risk"]
            assert cell["suppressed"] >= other["suppressed"]


def test_declared_bounds_cost_their_width_over_the_value(michigan, found):
    """280 kg over each weight, whatever its class; and bounds of people hold these."""
    weights = michigan.data.columns["weight"]
    own = variant(found["mondrian"], "declared")
    assert own["cells"][0]["error"]["weight"] == pytest.approx(np.mean(280 / weights))
    assert own["clipped"] == 0
    assert subject.BOUNDS["weight"] == (20, 300)


def test_values_beyond_declared_bounds_are_counted(michigan, monkeypatch):
    """So that nobody takes clipped figures for those of the data."""
    monkeypatch.setitem(subject.BOUNDS, "weight", (60, 300))
    own = variant(subject.additions(michigan, "mondrian", SHORT), "declared")
    assert own["clipped"] == np.count_nonzero(michigan.data.columns["weight"] < 60) > 0


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_two_quasis_cost_half_as_much_again_as_one(found, algorithm):
    """(d + 1)/2 with d = 2, where no class is constant: one ε for the record, not one for each."""
    alone, together = (variant(found[algorithm], name)["cells"] for name in ("class", "several"))
    for cell, both in zip(alone, together, strict=True):
        assert set(both["error"]) == {"height", "weight"}
        assert both["error"]["weight"] == pytest.approx(1.5 * cell["error"]["weight"])
        assert both["risk"] + 5 * both["risk_standard_error"] > cell["risk"]


def test_measurements_are_plain_and_say_what_they_are(found):
    """A reader has to know which promise a line of a figure goes with."""
    for one in found.values():
        assert_plain(one)
        assert [own["name"] for own in one["variants"]] == ["class", "coarse", "declared", "several"]
        assert all(own["title"] and own["note"] for own in one["variants"])
        assert "independent given age and sex" in variant(one, "several")["note"]
        assert "5 kg" in variant(one, "coarse")["title"]


@pytest.mark.parametrize("name", ["florida", "michigan"])
def test_the_second_measure_is_that_of_the_same_people(name):
    """As drawn for their ages and sexes, which are read back from the columns; nothing else changes."""
    data = getattr(data_sets, name)(seed=FIXED_SEED)
    both = data_sets.with_both_measures(data, seed=FIXED_SEED)
    second = {"florida": "weight", "michigan": "height"}[name]
    assert list(both.columns) == [*data.columns, second]
    assert all(both.columns[column] is data.columns[column] for column in data.columns)
    assert both.epsilon_quasi == data.epsilon_quasi
    assert second not in data.policy["attributes"]
    if name == "michigan":
        people = voters.michigan_voters(data_sets.N_MICHIGAN, seed=FIXED_SEED)
        draws = data_sets.Draws(voters.MICHIGAN, FIXED_SEED)
        np.testing.assert_array_equal(both.columns[second], drawn_people.heights(draws, people.age, people.is_female))


def test_the_second_measure_is_as_tall_as_the_survey_says_and_tells_nothing_of_the_first():
    """Women of one age band: mean and deviation, and the correlation with the weight, within five standard errors."""
    both = data_sets.with_both_measures(data_sets.michigan(seed=FIXED_SEED), seed=FIXED_SEED)
    age = voters.REGISTER_YEAR - both.columns["birth_year"]
    band = int(np.searchsorted(figures.BODY_AGES, 45, side="right")) - 1
    ages = figures.BODY_AGES[band : band + 2]
    chosen = (age >= ages[0]) & (age < ages[1]) & (both.columns["gender"] == "F")
    heights, weights = both.columns["height"][chosen], np.log(both.columns["weight"][chosen])
    mean, deviation = figures.HEIGHT_CM["F"][band]
    n = len(heights)
    assert n > 1000
    assert abs(heights.mean() - mean) < 5 * deviation / np.sqrt(n)
    assert abs(heights.std() / deviation - 1) < 5 / np.sqrt(2 * n)
    assert abs(np.corrcoef(heights, weights)[0, 1]) < 5 / np.sqrt(n)


@pytest.mark.shared_data
def test_adult_gets_weights(adult_path):
    """Men are heavier; and all are within the declared bounds."""
    both = data_sets.with_both_measures(data_sets.adult(adult_path, seed=FIXED_SEED), seed=FIXED_SEED)
    weights, is_female = both.columns["weight"], both.columns["gender"] == "Female"
    assert np.median(weights[~is_female]) > np.median(weights[is_female])
    assert subject.BOUNDS["weight"][0] < weights.min() < weights.max() < subject.BOUNDS["weight"][1]

# SPDX-License-Identifier: Apache-2.0
"""Distributions of relative errors: closed forms against sums over records, and runs against closed forms."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from kepsilon.reproduce.experiments import counted_data, distributions
from kepsilon.reproduce.experiments.counted_data import count_data
from kepsilon.reproduce.scope import Scope
from material.small_data_sets import SHORT, assert_plain, class_members, of_people, short_michigan

FINE = 0.0001
"""A precision at which rounding moves no curve."""


@pytest.fixture(scope="module", params=["ola", "mondrian"])
def case(request):
    return fine_michigan(), request.param


@pytest.fixture(scope="module")
def found(case):
    return distributions.distributions(*case, SHORT)


def fine_michigan():
    data = short_michigan()
    weight = {**data.policy["attributes"]["weight"], "precision": FINE}
    return count_data(
        replace(data, policy={**data.policy, "attributes": {**data.policy["attributes"], "weight": weight}})
    )


def records_of(data, algorithm, k):
    """Value and R of the class of every released record, and R of all records, in plain Python."""
    recoding = data.partitions(algorithm, [k])[k].recoding
    class_ids, weights = data.class_ids(recoding), data.data.columns["weight"]
    released = class_ids >= 0
    members = class_members(weights[released], class_ids[released])
    pairs = [(value, max(own) - min(own)) for own in members.values() for value in own]
    return pairs, weights.max() - weights.min()


def share_within(t, records, epsilon):
    """The mean chance that Laplace noise of scale R/ε stays within t·v, record by record."""
    return math.fsum(1 if width == 0 else 1 - math.exp(-t * v * epsilon / width) for v, width in records) / len(records)


def check_cells(found, data, algorithm):
    """Every curve of every cell against the sums over records."""
    records, whole = records_of(data, algorithm, 20)
    wide = [(value, whole) for value, _ in records]
    for cell in found["cells"]:
        for i in range(0, 61, 10):
            t, epsilon = cell["at"][i], cell["epsilon"]
            assert cell["per_class"][i] == pytest.approx(share_within(t, records, epsilon), abs=1e-9)
            assert cell["whole_data"][i] == pytest.approx(share_within(t, wide, epsilon), abs=1e-9)
            assert cell["uniform"][i] == pytest.approx(min(1, t / 0.05))


def test_closed_forms_are_the_sums_over_records(case, found):
    """Shares and means, at k = 20 and for the ε of the figure, 1 and 8."""
    data, algorithm = case
    assert_plain(found)
    assert [cell["epsilon"] for cell in found["cells"]] == [found["epsilon_as_uniform"], 1, 8]
    check_cells(found, data, algorithm)
    for row in found["ks"]:
        records, whole = records_of(data, algorithm, row["k"])
        per_class = np.mean([width / value for value, width in records])
        over_all = np.mean([whole / value for value, _ in records])
        assert row["class_error"] == pytest.approx(per_class)
        assert row["whole_error"] == pytest.approx(over_all)
        assert row["ratio"] == pytest.approx(over_all / per_class)
        assert row["largest_excess"] < 0


def test_the_range_of_a_class_is_not_taken_for_that_of_the_whole(case, monkeypatch):
    """The mutant that would make claim 12 an equality."""
    data, algorithm = case
    monkeypatch.setattr(counted_data.NoisyClasses, "as_one_class", lambda self, values: self)
    mutant = distributions.distributions(data, algorithm, SHORT)
    with pytest.raises(AssertionError):
        check_cells(mutant, data, algorithm)


def test_the_range_of_the_whole_is_that_of_all_counted_records():
    """Before k-anonymising nobody is left out: here the one who widens the range is, afterwards."""
    data = count_data(
        of_people(["F", *["M"] * 39], [100.0, *np.linspace(170, 189.5, 39).round(1)], max_suppression=0.05)
    )
    found = distributions.distributions(data, "ola", Scope(ks=(20,), runs=2))
    assert found["ks"][0]["ratio"] == pytest.approx(89.5 / 19.5)


def test_the_epsilon_of_the_figure_costs_what_uniform_noise_does(found):
    """Uniform on ±5 % is 2.5 % away on average."""
    assert found["uniform_error"] == 0.025
    assert found["cells"][0]["per_class_mean"] == pytest.approx(0.025, rel=1e-4)
    assert found["cells"][0]["whole_data_mean"] > 0.025


@pytest.mark.parametrize("kind", ["per_class", "whole_data"])
def test_runs_come_near_the_closed_form(case, found, kind):
    """|z| < 5 at every fifth point, with the exact variance of a sum of independent records; a fifth less noise is seen."""
    data, algorithm = case
    records, whole = records_of(data, algorithm, 20)
    values, widths = np.array(records).T
    widths = widths if kind == "per_class" else np.full_like(widths, whole)
    largest = {1.0: 0.0, 0.8: 0.0}
    for cell in found["cells"]:
        for i in range(5, 61, 5):
            for factor, before in largest.items():
                scale = np.where(widths > 0, widths, np.nan) / cell["epsilon"] / values * factor
                chances = np.where(widths > 0, -np.expm1(-cell["at"][i] / scale), 1.0)
                deviation = math.sqrt(np.sum(chances * (1 - chances)) / SHORT.runs) / len(values)
                z = (cell[f"{kind}_runs"][i] - chances.mean()) / deviation
                largest[factor] = max(before, abs(z))
    assert largest[1.0] < 5
    assert largest[0.8] > 5


def test_the_largest_excess_is_the_largest_difference_of_the_curves(found):
    """Beyond an error of 0, of the runs' means; and its standard error is that of so many runs."""
    for cell in found["cells"]:
        expected = np.array(cell["whole_data"]) - np.array(cell["per_class"])
        realised = np.array(cell["whole_data_runs"]) - np.array(cell["per_class_runs"])
        assert cell["largest_excess"] == pytest.approx(expected[1:].max())
        assert cell["largest_excess_runs"] == pytest.approx(realised[1:].max())
        assert cell["largest_excess_at"] == cell["at"][1 + realised[1:].argmax()]
        assert 0 < cell["largest_excess_standard_error"] < 0.05


def test_the_standard_error_is_that_of_a_mean_of_runs():
    """Differences of 0.1, 0.2, 0.3 and 0.4 at the worst point: a deviation of 0.129 between runs, half that of their mean."""
    runs = np.array([[0.9, -1, own, 0] for own in (0.1, 0.2, 0.3, 0.4)])
    found = distributions._excess((0, 0.5, 1, 1.5), np.array([0.9, -0.2, -0.1, -0.3]), runs)
    assert found == {
        "largest_excess": -0.1,
        "largest_excess_runs": pytest.approx(0.25),
        "largest_excess_standard_error": pytest.approx(0.1290994 / 2),
        "largest_excess_at": 1,
    }
    assert distributions._excess((0, 1), np.zeros(2), np.zeros((1, 2)))["largest_excess_standard_error"] is None


def test_one_class_is_the_whole_data_set():
    """Then neither is worse."""
    data = count_data(of_people(["F"] * 40, np.linspace(150, 189, 40)))
    found = distributions.distributions(data, "ola", Scope(ks=(20,), runs=3))
    assert found["ks"][0]["ratio"] == 1
    assert found["ks"][0]["largest_excess"] == 0
    assert abs(found["ks"][0]["largest_excess_runs"]) < 0.5


def test_the_same_seed_measures_the_same_and_another_something_else(case):
    """Runs are experiments, so they can be repeated."""
    settings = [replace(SHORT, runs=2), replace(SHORT, runs=2), replace(SHORT, runs=2, seed=8)]
    first, second, third = (distributions.distributions(*case, setting) for setting in settings)
    assert first == second
    assert first["cells"][0]["per_class"] == third["cells"][0]["per_class"]
    assert first["cells"][0]["per_class_runs"] != third["cells"][0]["per_class_runs"]

# SPDX-License-Identifier: Apache-2.0
"""Adult with heights by age and sex: expected error and linking risk for six k, beside figures worked out apart."""

from __future__ import annotations

import csv
import tomllib

import numpy as np
import pyarrow as pa
import pytest

import kepsilon
from oracles.noise import SEED

pytestmark = pytest.mark.shared_data

IN_MARRIAGE = ["Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"]
ALONE = ["Divorced", "Never-married", "Separated", "Widowed"]
POLICY = f"""
k = {{k}}
epsilon = {{epsilon}}
algorithm = "ola"
loss = "dm*"
max_suppression = 0.05
[attributes.year]
role = "k-quasi"
hierarchy = {{{{ type = "intervals", widths = [2, 4, 8] }}}}
[attributes.sex]
role = "k-quasi"
hierarchy = {{{{ type = "suppress", label = "Person" }}}}
[attributes.race]
role = "k-quasi"
hierarchy = {{{{ type = "suppress" }}}}
[attributes.marital]
role = "k-quasi"
hierarchy = {{{{ type = "groups", levels = [ {{{{ "In marriage" = {IN_MARRIAGE}, "Alone" = {ALONE} }}}} ] }}}}
[attributes.height]
role = "epsilon-quasi"
precision = 0.1
range = "class"
"""

FIGURES = {
    2: (1184, {1: 20.3, 8: 2.5, 16: 1.3}, {0.05: 3.8, 2: 6.8, 8: 12.4, 16: 17.1}, {0.5: 0.05, 2: 0.2, 8: 2.2, 16: 3.8}),
    5: (500, {1: 21.9, 8: 2.7, 16: 1.4}, {0.05: 1.6, 2: 3.1, 8: 6.6, 16: 10.1}, {0.5: 0.1, 2: 0.3, 8: 1.9, 16: 3.9}),
    10: (359, {1: 22.3, 8: 2.8, 16: 1.4}, {0.05: 1.2, 2: 2.3, 8: 5.1, 16: 8.3}, {0.5: 0.1, 2: 0.3, 8: 2.1, 16: 5.6}),
    20: (196, {1: 23.5, 8: 2.9, 16: 1.5}, {0.05: 0.6, 2: 1.2, 8: 2.9, 16: 4.9}, {0.5: 0.1, 2: 0.3, 8: 1.4, 16: 3.5}),
    50: (104, {1: 24.8, 8: 3.1, 16: 1.6}, {0.05: 0.3, 2: 0.7, 8: 1.6, 16: 2.7}, {0.5: 0.1, 2: 0.4, 8: 1.1, 16: 3.9}),
    100: (91, {1: 25.0, 8: 3.1, 16: 1.6}, {0.05: 0.3, 2: 0.6, 8: 1.4, 16: 2.5}, {0.5: 0.2, 2: 0.6, 8: 2.7, 16: 8.3}),
}
"""Classes; error, linking risk and confident-k suppression at 99 % by ε in per cent; with approximate heights, and rounded."""
EPSILONS = (0.0001, 0.05, 0.5, 1, 2, 8, 16)


@pytest.fixture(scope="module")
def adult(request):
    path = request.getfixturevalue("adult_path")
    with (path.parent / "anthropometry.csv").open(newline="", encoding="utf-8") as file:
        heights = [row for row in csv.DictReader(file) if row["measure"] == "height_cm" and row["kind"] == "sd"]
    by_person = {
        (row["sex"], age): (float(row["mean"]), float(row["sd_or_se"]))
        for row in heights
        for age in range(int(row["age_min"]), int(row["age_max"] or 90) + 1)
    }
    with path.open(newline="", encoding="utf-8") as file:
        people = [person for person in csv.DictReader(file) if int(person["age"]) < 80]
    mean, deviation = np.array([by_person[p["sex"][0], int(p["age"])] for p in people]).T
    return pa.table(
        {
            "year": [1994 - int(p["age"]) for p in people],
            "sex": [p["sex"] for p in people],
            "race": [p["race"] for p in people],
            "marital": [p["marital-status"] for p in people],
            "height": np.random.default_rng(SEED).normal(mean, deviation).round(1),
        }
    )


@pytest.fixture(scope="module")
def grid(adult):
    policy = kepsilon.Policy.from_dict(tomllib.loads(POLICY.format(k=10, epsilon=2)))
    return kepsilon.explore(adult, policy, k=list(FIGURES), epsilon=EPSILONS, algorithm=["ola"], confidence=0.99)


@pytest.mark.parametrize("k", FIGURES)
def test_expected_figures_are_those_worked_out_apart(grid, k):
    """Within 10 % or 0.15 points; and error times ε is constant, and risk goes to classes/n."""
    n_classes, *rows = FIGURES[k]
    found = {cell.epsilon: cell.prediction for cell in grid.cells if cell.k == k}
    assert {figures.classes.count for figures in found.values()} == {n_classes}
    for epsilon, figures in found.items():
        entering = 1 - figures.suppressed_by_k
        shares = (
            figures.largest_error,
            figures.linking_risk.fair.total,
            figures.confident_k.of_counted.total / entering,
        )
        for row, share in zip(rows, shares, strict=True):
            if epsilon in row:
                assert 100 * share == pytest.approx(row[epsilon], rel=0.1, abs=0.15)
    products = [figures.largest_error * epsilon for epsilon, figures in found.items()]
    np.testing.assert_allclose(products, products[0], rtol=1e-12)
    n_released = round(len_counted(grid) * (1 - found[0.0001].suppressed_by_k))
    assert found[0.0001].linking_risk.fair.total == pytest.approx(n_classes / n_released, rel=1e-4)


@pytest.mark.parametrize("k", [2, 100])
def test_a_release_realises_what_was_expected(adult, grid, k):
    """One release comes near it: suppression within five deviations even if classes of 2k went as one, the rest roughly."""
    policy = grid.policy.with_changes(k=k, epsilon=8)
    record = kepsilon.anonymise(adult, policy, unsafe_seed=SEED).record
    n = record["records"]["read"] - record["records"]["suppressed_by_k"]
    confident, risk, error = record["confident_k"], record["linking_risk"], record["error"]["height"]
    assert confident["expected"] == pytest.approx(
        next(c.prediction.confident_k.of_counted.total for c in grid.cells if (c.k, c.epsilon) == (k, 8))
        * len(adult)
        / n
    )
    assert abs(confident["realised"] - confident["expected"]) < 5 * np.sqrt(confident["expected"] * 2 * k / n)
    assert error["realised_relative"] == pytest.approx(error["expected_relative"], rel=0.1)
    assert risk["realised"] == pytest.approx(risk["expected"], rel=0.2)


def len_counted(grid):
    return grid.to_json()["records"]["counted"]

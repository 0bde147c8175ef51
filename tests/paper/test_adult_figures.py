# SPDX-License-Identifier: Apache-2.0
"""Adult with heights by age and sex: expected error and linking risk for six k, beside figures worked out apart."""

from __future__ import annotations

import csv

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
    2: (1184, {1: 20.3, 8: 2.5, 16: 1.3}, {0.05: 3.8, 2: 6.8, 8: 12.4, 16: 17.1}),
    5: (500, {1: 21.9, 8: 2.7, 16: 1.4}, {0.05: 1.6, 2: 3.1, 8: 6.6, 16: 10.1}),
    10: (359, {1: 22.3, 8: 2.8, 16: 1.4}, {0.05: 1.2, 2: 2.3, 8: 5.1, 16: 8.3}),
    20: (196, {1: 23.5, 8: 2.9, 16: 1.5}, {0.05: 0.6, 2: 1.2, 8: 2.9, 16: 4.9}),
    50: (104, {1: 24.8, 8: 3.1, 16: 1.6}, {0.05: 0.3, 2: 0.7, 8: 1.6, 16: 2.7}),
    100: (91, {1: 25.0, 8: 3.1, 16: 1.6}, {0.05: 0.3, 2: 0.6, 8: 1.4, 16: 2.5}),
}
"""Classes, error and linking risk by ε in per cent; worked out with approximate heights, and rounded."""


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


@pytest.mark.parametrize("k", FIGURES)
def test_expected_figures_are_those_worked_out_apart(adult, k, tmp_path):
    """Within 10 % or 0.15 points; and error times ε is constant, and risk goes to classes/n."""
    n_classes, errors, risks = FIGURES[k]
    products = []
    for epsilon in (0.0001, *sorted({*errors, *risks})):
        (tmp_path / "policy.toml").write_text(POLICY.format(k=k, epsilon=epsilon), encoding="utf-8")
        record = kepsilon.anonymise(adult, kepsilon.Policy.from_file(tmp_path / "policy.toml"), unsafe_seed=SEED).record
        error, risk = record["error"]["height"]["expected_relative"], record["linking_risk"]["expected"]
        products.append(error * epsilon)
        assert record["classes"]["count"] == n_classes
        if epsilon in errors:
            assert 100 * error == pytest.approx(errors[epsilon], rel=0.1, abs=0.15)
        if epsilon in risks:
            assert 100 * risk == pytest.approx(risks[epsilon], rel=0.1, abs=0.15)
        if epsilon == 0.0001:
            assert risk == pytest.approx(n_classes / record["records"]["released"], rel=1e-4)
    np.testing.assert_allclose(products, products[0], rtol=1e-12)

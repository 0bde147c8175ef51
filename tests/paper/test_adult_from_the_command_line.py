# SPDX-License-Identifier: Apache-2.0
"""The paper's table "Effective suppression", row Adult, from the command line."""

from __future__ import annotations

import csv
import json
from collections import Counter

import pytest

POLICY = """
k = {k}
epsilon = 1
algorithm = "ola"
loss = "dm*"
max_suppression = 0.05
unlisted_columns = "drop"
[attributes.birth_year]
role = "k-quasi"
hierarchy = {{ type = "intervals", widths = [2, 4, 8] }}
[attributes.sex]
role = "k-quasi"
hierarchy = {{ type = "suppress", label = "Person" }}
[attributes.race]
role = "k-quasi"
hierarchy = {{ type = "suppress" }}
[attributes.marital-status]
role = "k-quasi"
[attributes.marital-status.hierarchy]
type = "groups"
[[attributes.marital-status.hierarchy.levels]]
"In marriage" = ["Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"]
Alone = ["Divorced", "Never-married", "Separated", "Widowed"]
[attributes.hours-per-week]
role = "epsilon-quasi"
precision = 1
range = {{ coarse = 5 }}
[attributes.income]
role = "sensitive"
"""


@pytest.mark.parametrize(
    ("k", "node", "per_cent"),
    [
        (2, (0, 0, 0, 0), "1.67"),
        (5, (0, 0, 0, 1), "2.42"),
        (10, (0, 0, 1, 0), "3.71"),
        (20, (0, 0, 1, 1), "1.47"),
        (50, (0, 0, 1, 2), "1.76"),
        (100, (0, 0, 1, 2), "4.80"),
    ],
)
def test_suppression_on_adult_is_the_papers(adult_path, tmp_path, kepsilon_command, k, node, per_cent):
    """Nodes and suppression of MODEL §3 to two decimals, and k by counting the released file."""
    with adult_path.open(newline="", encoding="utf-8") as file:
        records = [{**r, "birth_year": str(1994 - int(r["age"]))} for r in csv.DictReader(file) if int(r["age"]) < 80]
    assert len(records) == 32_440
    with (tmp_path / "adult.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
    (tmp_path / "policy.toml").write_text(POLICY.format(k=k), encoding="utf-8")
    outcome = kepsilon_command(
        "anonymise", tmp_path / "adult.csv", "-p", tmp_path / "policy.toml", "-o", tmp_path / "out.csv", "--json"
    )
    assert outcome.code == 0, outcome.err
    record = json.loads(outcome.out)
    assert tuple(record["levels"].values()) == node
    assert f"{100 * record['records']['suppressed_by_k'] / 32_440:.2f}" == per_cent
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        quasis = ("birth_year", "sex", "race", "marital-status")
        classes = Counter(tuple(r[q] for q in quasis) for r in csv.DictReader(file))
    assert min(classes.values()) >= k
    assert len(classes) == record["classes"]["count"]

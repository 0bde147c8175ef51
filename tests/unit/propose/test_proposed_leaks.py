# SPDX-License-Identifier: Apache-2.0
"""What init says of columns that it would keep and that give people away."""

from __future__ import annotations

import tomllib

import numpy as np
import pyarrow as pa
import pytest

import kepsilon
from material.hospital import hospital

N = 2_000


def table(**more) -> pa.Table:
    """Patients with a name, age, sex, weight and height, and other columns."""
    made = hospital(N)
    own = {**made.identifiers, **made.k_quasis, **made.epsilon_quasis}
    return pa.table({name: pa.array(values.tolist()) for name, values in {**own, **more}.items()})


def section(text: str, name: str) -> str:
    """The comments above an attribute, and the attribute itself, in one line."""
    (found,) = [own for own in text.split("\n\n") if f"[attributes.{name}]" in own]
    return " ".join(found.replace("# ", "").split())


def test_a_column_that_follows_from_weight_and_height_is_named():
    """With the attacker, how many records are linked, and what to do; the text stays a policy."""
    text = kepsilon.propose_policy(table(bmi=hospital(N).leaky["bmi"]))
    said = section(text, "bmi")
    assert "NOT PUBLISHED. It gives people away: whoever knows" in said
    assert "works out what bmi must be" in said
    assert 'accept_leak = "reason"' in said
    assert 'Suggested instead: role = "k-quasi"' in said
    document = tomllib.loads(text)
    assert "bmi" not in document["attributes"]
    assert document["unlisted_columns"] == "drop"
    assert '# [attributes.bmi]\n# role = "k-quasi"' in text


def test_a_column_that_tells_nothing_is_not():
    """A laboratory value that has nothing to do with weight, height or age."""
    clean = np.round(np.random.default_rng(2).normal(5, 1, N), 1)
    text = kepsilon.propose_policy(table(glucose=clean))
    assert "gives people away" not in section(text, "glucose")


@pytest.mark.parametrize("name", ["glucose\nk = 2", "glucose\x1b[31m"])
def test_a_hostile_name_cannot_end_the_comment(name):
    """The name of a column is input like any other; the text is still a policy that says what it said."""
    text = kepsilon.propose_policy(table(**{name: hospital(N).leaky["bmi"]}))
    document = tomllib.loads(text)
    assert "k" not in document
    assert name not in document["attributes"]


def test_no_value_of_a_record_is_said():
    """Names inside notes are found, and counted, not quoted."""
    made = hospital(N)
    notes = [f"seen by the doctor, {name} is better today" for name in made.identifiers["name"].tolist()]
    said = kepsilon.propose_policy(table(remark=np.array(notes)))
    assert all(name not in said for name in made.identifiers["name"].tolist())

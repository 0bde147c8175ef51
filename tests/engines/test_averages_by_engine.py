# SPDX-License-Identifier: Apache-2.0
"""Averages on every engine: the same averages, figures and groups, whatever the order in which records are held."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import kepsilon
from kepsilon.engines.local.engine import LocalEngine
from kepsilon.errors import MemoryLimitError
from material.engine_cases import ENGINES, OTHERS, Case, document, giant_class, random_people

PLAIN = {"role": "epsilon-quasi", "precision": 0.1}


def case(name: str) -> Case:
    columns = random_people(3_000)
    rng = np.random.default_rng(4)
    columns["weight"] = np.round(rng.normal(75, 12, 3_000), 1)
    policy = document(height=dict(PLAIN), weight=dict(PLAIN))
    del policy["epsilon"]
    policy["averages"] = {"group": 6}
    if name == "persons":
        columns["name"] = [f"CANARY-{i}" for i in rng.integers(0, 1_200, 3_000)]
        policy |= {"person": "name"}
    if name == "one":
        policy["attributes"]["weight"] = {"role": "insensitive"}
    if name == "diverse":
        policy["attributes"]["illness"] = {"role": "sensitive", "l_diversity": {"distinct": 4}}
    if name == "missing in class":
        columns["height"] = [None if i % 4 == 0 else value for i, value in enumerate(columns["height"].tolist())]
        policy["attributes"]["height"]["missing"] = "class"
    return Case(pa.table(columns), policy, memory=200 * 10**6)


def released(engine, source, policy) -> tuple[Counter, dict]:
    release = kepsilon.anonymise(str(source), policy, engine=engine)
    columns = [release.frame[name].to_pylist() for name in (*policy.k_quasis, *policy.epsilon_quasis)]
    return Counter(zip(*columns, strict=True)), release.record.to_json()


@pytest.mark.parametrize("engine", OTHERS)
@pytest.mark.parametrize("name", ["two", "one", "persons", "missing in class"])
def test_every_engine_publishes_the_same_averages(name, engine, tmp_path):
    own = case(name)
    policy = kepsilon.Policy.from_dict(own.policy)
    source = own.write(tmp_path)
    here, record = released(LocalEngine(), source, policy)
    there, other = released(ENGINES[engine](tmp_path, own.memory), source, policy)
    assert here == there
    for key in ("count", "smallest", "largest"):
        assert other["groups"][key] == record["groups"][key]
    assert other["groups"]["within"] == pytest.approx(record["groups"]["within"])
    assert other["linking_risk"]["expected"] == record["linking_risk"]["expected"] == record["linking_risk"]["realised"]
    assert other["error"]["height"]["expected_relative"] == pytest.approx(
        record["error"]["height"]["expected_relative"]
    )


@pytest.mark.parametrize("engine", OTHERS)
def test_groups_are_diverse_on_every_engine(engine, tmp_path):
    own = case("diverse")
    policy = kepsilon.Policy.from_dict(own.policy)
    release = kepsilon.anonymise(str(own.write(tmp_path)), policy, engine=ENGINES[engine](tmp_path, own.memory))
    groups: dict[tuple, set] = {}
    columns = [release.frame[name].to_pylist() for name in ("zip", "sex", "height", "weight", "illness")]
    for *key, illness in zip(*columns, strict=True):
        groups.setdefault(tuple(key), set()).add(illness)
    assert min(len(values) for values in groups.values()) >= 4


def test_a_class_too_large_for_memory_is_refused_before_anything_is_released(tmp_path):
    own = giant_class()
    policy = {**own.policy, "averages": {"group": 6}}
    del policy["epsilon"]
    policy["attributes"] = {**policy["attributes"], "height": dict(PLAIN)}
    source = own.write(tmp_path)
    with pytest.raises(MemoryLimitError, match="averages need"):
        kepsilon.anonymise(
            str(source), kepsilon.Policy.from_dict(policy), engine=ENGINES["spilling"](tmp_path, own.memory)
        )

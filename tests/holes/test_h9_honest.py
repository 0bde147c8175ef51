# SPDX-License-Identifier: Apache-2.0
"""Review H9: honest releases that version 0.1 called broken."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

import kepsilon as ke
from material.people import OPENLY

HEIGHT = {"role": "epsilon-quasi", "precision": 0.1, "range": "class"}


def broken(original, released, policy, linkage) -> list[str]:
    """What the audit calls broken, with the linkage or without."""
    return [
        str(finding) for own in (linkage, None) for finding in ke.audit(original, released, policy, linkage=own).broken
    ]


def test_h9_masks_over_codes_of_unequal_length_with_confident_k(tmp_path):
    """Their labels stand at several levels, and records that confident k left out must not decide which one is meant."""
    accused = {}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = 300
        codes = ["".join(rng.choice(list("0123456789"), int(rng.integers(1, 4)))) for _ in range(200)]
        code = [codes[i] for i in rng.integers(0, 200, n)]
        data = pa.table({"code": code, "height": rng.normal(170, 9, n).round(1)})
        policy = ke.Policy.from_dict(
            {
                "k": 10, "epsilon": 8, "algorithm": "ola", "max_suppression": 0.05,
                "confidence": 0.5, "confidence_rule": "strict",
                "attributes": {
                    "code": {"role": "k-quasi", "hierarchy": {"type": "mask", "length": max(map(len, code))}},
                    "height": HEIGHT,
                },
            }
        )  # fmt: skip
        release = ke.anonymise(data, policy, unsafe_seed=seed)
        path = tmp_path / f"{seed}.csv"
        release.write(path)
        for released in (release.frame, path):
            if found := broken(data, released, policy, release.linkage):
                accused[seed] = found
    assert not accused


@pytest.mark.parametrize(
    "kind",
    [pa.timestamp("s"), pa.timestamp("s", "UTC"), pa.time32("s")],
    ids=["timestamp[s]", "timestamp[s, UTC]", "time32[s]"],
)
def test_h9_times_in_seconds_written_to_parquet(kind, tmp_path):
    """Parquet has no seconds and stores milliseconds; the times are the same."""
    n = 300
    rng = np.random.default_rng(1)
    times = [dt.time(i % 24, i % 7) if pa.types.is_time(kind) else dt.datetime(2020, 1, 1, i % 24) for i in range(n)]
    data = pa.table({"height": rng.normal(170, 9, n).round(1), "seen": pa.array(times, kind)})
    policy = ke.Policy.from_dict(
        {
            "k": 5, "epsilon": 2, "algorithm": "mondrian", "max_suppression": 0,
            "attributes": {"height": HEIGHT, "seen": {"role": "sensitive"}},
        }
    )  # fmt: skip
    release = ke.anonymise(data, policy, unsafe_seed=1)
    for suffix in ("parquet", "csv", "arrow"):
        release.write(tmp_path / f"released.{suffix}")
        assert not broken(data, tmp_path / f"released.{suffix}", policy, release.linkage)
    changed = release.frame.set_column(1, "seen", pa.array(times, kind))
    assert broken(data, changed, policy, release.linkage), "other times are noticed as before"


@pytest.mark.parametrize("algorithm", ["ola", "mondrian"])
@pytest.mark.parametrize("empty", ["", None], ids=["empty text", "null"])
def test_h9_an_empty_cell_in_a_csv_of_one_column(empty, algorithm, tmp_path):
    """There a null is written as empty text, because readers skip empty lines; the two are then one value."""
    n = 120
    data = pa.table({"name": [f"CANARY-{i}" for i in range(n)], "sex": [(empty, "a", "b")[i % 3] for i in range(n)]})
    sex = {"role": "k-quasi", "hierarchy": {"type": "suppress"}}
    attributes = {"name": {"role": "identifier"}, "sex": sex}
    policy = ke.Policy.from_dict(
        {"k": 5, "epsilon": 2, "algorithm": algorithm, "max_suppression": 0, "attributes": attributes}
    )
    release = ke.anonymise(data, policy, unsafe_seed=1)
    release.write(tmp_path / "released.csv")
    assert not broken(data, tmp_path / "released.csv", policy, release.linkage)


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(2)], ids=str)
@pytest.mark.parametrize("algorithm", ["ola", "mondrian"])
def test_h9_k_quasis_of_bytes(algorithm, kind, tmp_path):
    """Bytes are published as the text that they encode."""
    n = 200
    rng = np.random.default_rng(2)
    data = pa.table(
        {
            "ward": pa.array([(b"AA", b"BB", b"CC")[i] for i in rng.integers(0, 3, n)], kind),
            "height": rng.normal(170, 9, n).round(1),
        }
    )
    ward = {"role": "k-quasi", "hierarchy": {"type": "suppress"}}
    policy = ke.Policy.from_dict(
        {
            "k": 5,
            "epsilon": 2,
            "algorithm": algorithm,
            "max_suppression": 0,
            "attributes": {"ward": ward, "height": HEIGHT},
        }
    )
    release = ke.anonymise(data, policy, unsafe_seed=1)
    release.write(tmp_path / "released.parquet")
    assert not broken(data, tmp_path / "released.parquet", policy, release.linkage)


ZEROS = {
    "double": pa.array([0.0, -0.0, 1.5, None] * 50),
    "float": pa.array([0.0, -0.0, 1.5, None] * 50, pa.float32()),
    "dictionary": pa.array([0.0, -0.0, 1.5, None] * 50).dictionary_encode(),
    "list": pa.array([[0.0], [-0.0], None, []] * 50),
}


@pytest.mark.parametrize("kind", ZEROS)
def test_h9_minus_zero_in_a_kept_column(kind, tmp_path):
    """In a kept column zero and minus zero are two values: CSV writes the sign, and Parquet and Arrow store it."""
    column = ZEROS[kind]
    n = len(column)
    data = pa.table({"height": np.random.default_rng(1).normal(170, 9, n).round(1), "change": column})
    policy = ke.Policy.from_dict(
        {
            "k": 5, "epsilon": 2, "algorithm": "mondrian", "max_suppression": 0,
            "attributes": {"height": HEIGHT, "change": {"role": "sensitive"}},
        }
    )  # fmt: skip
    release = ke.anonymise(data, policy, unsafe_seed=1)
    assert not broken(data, release.frame, policy, release.linkage)
    for suffix in ("parquet", "arrow", "csv")[: 2 if kind == "list" else 3]:
        release.write(tmp_path / f"released.{suffix}")
        assert not broken(data, tmp_path / f"released.{suffix}", policy, release.linkage), suffix
    values = release.frame["change"].to_pylist()
    assert {str(value) for value in values} == {str(value) for value in column.to_pylist()}
    without_signs = [[abs(x) for x in v] if isinstance(v, list) else None if v is None else abs(v) for v in values]
    changed = release.frame.set_column(1, "change", pa.array(without_signs, column.type))
    assert broken(data, changed, policy, release.linkage), "a sign could be a message, and is noticed"


def test_h9_a_value_next_to_nothing_whose_relative_error_is_huge(tmp_path):
    """Expected errors of 1e300 and more: sums in another order differ in their last digit, as smaller ones do."""
    heights = [*[1e-300] * 7, *(150 + i / 3 for i in range(53))]
    data = pa.table({"sex": ["f", "m"] * 30, "height": heights})
    policy = ke.Policy.from_dict(
        {
            "k": 5, "epsilon": 0.7, "algorithm": "mondrian", "max_suppression": 0,
            "attributes": {"sex": {"role": "k-quasi"}, "height": HEIGHT},
        }
    )  # fmt: skip
    release = ke.anonymise(data, policy, unsafe_seed=1)
    assert release.record.to_json()["error"]["height"]["expected_relative"] > 1e300
    release.write(tmp_path / "out.csv", linkage=tmp_path / "linkage.csv")
    assert broken(data, tmp_path / "out.csv", policy, tmp_path / "linkage.csv") == []


def test_h9_a_kept_cell_that_holds_whole_lines(tmp_path):
    """In an input such a cell is taken for a missing quote; in a release it is what its original holds."""
    n = 40
    notes = [f"called\nname,height,note\nagain,{i},yes" for i in range(n)]
    data = pa.table({"name": [f"n{i}" for i in range(n)], "height": [170.0 + i % 9 for i in range(n)], "note": notes})
    policy = ke.Policy.from_dict(
        {
            "k": 5, "epsilon": 2, "algorithm": "mondrian", "max_suppression": 0,
            "attributes": {"name": {"role": "identifier"}, "height": HEIGHT, "note": OPENLY},
        }
    )  # fmt: skip
    release = ke.anonymise(data, policy, unsafe_seed=1)
    release.write(tmp_path / "out.csv")
    assert not broken(data, tmp_path / "out.csv", policy, release.linkage)

# SPDX-License-Identifier: Apache-2.0
"""The audit reads codes for missing values and decimal commas in the original, and never in the release."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest

import kepsilon as ke

N = 900


@pytest.fixture
def original(tmp_path) -> Path:
    """A CSV file with decimal commas, and with codes that also are numbers which noise may publish."""
    rng = random.Random(5)
    path = tmp_path / "original.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["region", "age", "size", "note"])
        for _ in range(N):
            age = rng.choice(["99", "?"]) if rng.random() < 0.1 else str(rng.randrange(20, 80))
            size = rng.choice(["70", "-"]) if rng.random() < 0.2 else f"{rng.gauss(70, 3):.1f}".replace(".", ",")
            writer.writerow([rng.choice("NESW?"), age, size, rng.choice(["?", "70", "1,5"])])
    return path


def policy(**changes: Any) -> ke.Policy:
    document = {
        "k": 5,
        "epsilon": 2,
        "algorithm": "ola",
        "max_suppression": 0.2,
        "decimal": ",",
        "missing_values": ["?"],
        "attributes": {
            "region": {"role": "k-quasi", "hierarchy": {"type": "suppress"}},
            "age": {
                "role": "k-quasi",
                "hierarchy": {"type": "intervals", "widths": [10, 20]},
                "step": 10,
                "missing_values": ["99", "?"],
            },
            "size": {
                "role": "epsilon-quasi",
                "precision": 0.5,
                "range": {"coarse": 1},
                "missing": "class",
                "missing_values": ["-", "70"],
            },
            "note": {"role": "sensitive"},
        },
    }
    return ke.Policy.from_dict({**document, **changes})


@pytest.mark.parametrize("output", ["out.csv", "out.parquet"])
@pytest.mark.parametrize("algorithm", ["ola", "mondrian", "local-recoding"])
def test_an_honest_release_is_sound(original, tmp_path, algorithm, output):
    """Released sizes of 70 are numbers that noise made, though 70 means missing in the original."""
    chosen = policy(algorithm=algorithm)
    release = ke.anonymise(original, chosen, unsafe_seed=1)
    release.write(tmp_path / output, linkage=tmp_path / "linkage.parquet")
    shown = release.frame.column("size").to_pylist()
    assert 70.0 in shown
    assert None in shown
    for linkage in (tmp_path / "linkage.parquet", None):
        audit = ke.audit(original, tmp_path / output, chosen, linkage=linkage)
        assert not audit.broken, "\n".join(map(str, audit.findings))


def test_a_release_that_took_codes_for_numbers_is_broken(original, tmp_path):
    """Under a policy by which 70 means missing, records that show a number in its place were not made by that policy."""
    careless = policy().model_dump(mode="json", exclude_none=True)
    careless["attributes"]["size"]["missing_values"] = ["-"]
    release = ke.anonymise(original, ke.Policy.from_dict(careless), unsafe_seed=1)
    release.write(tmp_path / "out.csv", linkage=tmp_path / "linkage.parquet")
    assert ke.audit(original, tmp_path / "out.csv", policy(), linkage=tmp_path / "linkage.parquet").broken


def test_the_manifest_of_a_release_follows_from_it_and_the_policy(original, tmp_path):
    """`kepsilon manifest` gives what `anonymise` wrote: the release is read with points and without codes."""
    release = ke.anonymise(original, policy(), unsafe_seed=1)
    release.write(tmp_path / "out.csv")
    written = json.loads((tmp_path / "out.csv.manifest.json").read_text(encoding="utf-8"))
    assert ke.manifest(tmp_path / "out.csv", policy()).to_json() == written


def test_a_manifest_that_lists_the_curators_codes_is_broken(original, tmp_path):
    """Lists of values of the input are not public."""
    release = ke.anonymise(original, policy(), unsafe_seed=1)
    release.write(tmp_path / "out.csv")
    path = tmp_path / "out.csv.manifest.json"
    spoilt = json.loads(path.read_text(encoding="utf-8"))
    spoilt["policy"]["attributes"]["size"]["missing_values"] = ["-", "70"]
    path.write_text(json.dumps(spoilt), encoding="utf-8")
    broken = ke.audit(original, tmp_path / "out.csv", policy()).broken
    assert [finding.check for finding in broken] == ["manifest"]
    assert "policy.attributes.size.missing_values" in broken[0].what


def test_explore_reads_as_check_and_anonymise_do(original):
    """One prediction for all of them."""
    (cell,) = ke.explore(original, policy(), k=5, epsilon=2, algorithm="ola").to_json()["cells"]
    checked = ke.check(original, policy()).to_json()
    assert cell["levels"] == checked["levels"]
    assert cell["error"]["size"]["expected_relative"] == checked["error"]["size"]["expected_relative"]

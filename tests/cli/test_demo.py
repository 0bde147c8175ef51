# SPDX-License-Identifier: Apache-2.0
"""`kepsilon demo` tells the whole story on patients that do not exist."""

from __future__ import annotations

import csv
import json
import time
import tomllib
from collections import Counter

import numpy as np
import pytest

import kepsilon as ke

K_QUASIS = ("gender", "year_of_birth", "zip_code", "marital_status")


def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def patients():
    return ke.made_up_patients()


def test_the_demo_releases_every_combination_at_least_k_times(tmp_path, kepsilon_command):
    """Counted by code that shares nothing with the package."""
    folder = tmp_path / "demo"
    outcome = kepsilon_command("demo", "-o", folder)
    assert outcome.code == 0, outcome.err
    made_up, released = read(folder / "patients.csv"), read(folder / "release.csv")
    assert len(made_up) == 20_000
    assert len(released) >= 19_000
    sizes = Counter(tuple(record[name] for name in K_QUASIS) for record in released)
    assert min(sizes.values()) >= 10
    assert list(released[0]) == [name for name in made_up[0] if name not in ("name", "ssn")]
    manifest = json.loads((folder / "release.csv.manifest.json").read_text(encoding="utf-8"))
    assert manifest["records"]["released"] == len(released)
    assert not manifest["seeded"]


def test_the_demo_shows_before_after_and_where_the_files_are(tmp_path, kepsilon_command):
    """A newcomer should not need to open a file to see the point."""
    folder = tmp_path / "demo"
    shown = kepsilon_command("demo", "-o", folder).out
    before, after = shown.split("After:")
    assert "They are made up" in before
    assert all(record["ssn"] in before for record in read(folder / "patients.csv")[:3])
    assert "Not the same persons" in after
    assert "ssn" not in after
    assert all(record["height"] in after for record in read(folder / "release.csv")[:3])
    for name in (
        "patients.csv",
        "policy.toml",
        "release.csv",
        "release.csv.manifest.json",
        "release.csv.curator.json",
        "report.html",
    ):
        assert str(folder / name) in after
        assert (folder / name).is_file()
    assert len(list(folder.iterdir())) == 6


def test_a_second_demo_draws_a_new_release(tmp_path, kepsilon_command):
    """It is safe to run twice, and noise is not repeated."""
    assert kepsilon_command("demo", "-o", tmp_path).code == 0
    first = (tmp_path / "release.csv").read_bytes()
    assert kepsilon_command("demo", "-o", tmp_path).code == 0
    assert (tmp_path / "release.csv").read_bytes() != first


@pytest.mark.parametrize("name", ["patients.csv", "policy.toml", "release.csv"])
def test_the_demo_leaves_files_alone_that_it_did_not_write(tmp_path, kepsilon_command, name):
    """Somebody's own patients.csv may lie in the folder they name."""
    (tmp_path / name).write_text("mine", encoding="utf-8")
    outcome = kepsilon_command("demo", "-o", tmp_path)
    assert outcome.code == 2
    assert f"{name}: exists already, and is not as the demo writes it." in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text(encoding="utf-8") == "mine"


def test_the_default_folder_is_made_where_the_command_runs(tmp_path, kepsilon_command, monkeypatch):
    """Nothing is written anywhere else."""
    monkeypatch.chdir(tmp_path)
    assert kepsilon_command("demo").code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["kepsilon-demo"]


def test_the_policy_of_the_demo_gives_the_papers_roles():
    """Table "Attribute classification example"."""
    policy = ke.Policy.from_dict(tomllib.loads(ke.DEMO_POLICY))
    assert policy.identifiers == ("name", "ssn")
    assert tuple(policy.k_quasis) == K_QUASIS
    assert tuple(policy.epsilon_quasis) == ("height", "weight")
    assert policy.kept == ("blood_pressure", "diagnosis")
    assert (policy.k, policy.epsilon, policy.algorithm, policy.max_suppression) == (10, 8, "ola", 0.05)


def test_made_up_patients_are_the_same_each_time_and_quick(patients):
    """The demo recognises its own file by its content."""
    start = time.perf_counter()
    again = ke.made_up_patients()
    assert time.perf_counter() - start < 5
    assert all((again[name] == column).all() for name, column in patients.items())
    assert (ke.made_up_patients(500, seed=1)["height"] != ke.made_up_patients(500, seed=2)["height"]).any()


def test_made_up_patients_cannot_be_anybody(patients):
    """No social security number begins with 9, and none is used twice."""
    assert len(set(patients["ssn"].tolist())) == 20_000
    assert all(number.startswith("9") and int(number[4:6]) < 50 for number in patients["ssn"].tolist())


def test_made_up_patients_hang_together_as_real_ones_do(patients):
    """Otherwise the demo would show nothing about real data."""
    age = 2024 - patients["year_of_birth"]
    is_female = patients["gender"] == "Female"
    assert 11 < patients["height"][~is_female].mean() - patients["height"][is_female].mean() < 16
    assert np.corrcoef(patients["height"], patients["weight"])[0, 1] > 0.3
    assert np.corrcoef(age, patients["blood_pressure"])[0, 1] > 0.4
    assert (patients["marital_status"][age > 80] == "Widowed").mean() > 0.25
    assert (patients["marital_status"][age < 25] == "Single").mean() > 0.7
    sizes = np.unique(patients["zip_code"], return_counts=True)[1]
    assert sizes.max() > 10 * np.median(sizes)
    assert any(code.startswith("0") for code in patients["zip_code"].tolist())
    assert 30 < patients["weight"].min() < patients["weight"].max() < 250


@pytest.mark.parametrize("name", ["report.html", "release.csv.manifest.json", "release.csv.curator.json"])
def test_the_demo_replaces_nobodys_file(tmp_path, kepsilon_command, name):
    """Also not one that only has the name of something the demo writes."""
    (tmp_path / name).write_text("my notes", encoding="utf-8")
    outcome = kepsilon_command("demo", "-o", tmp_path)
    assert outcome.code == 2
    assert name in outcome.err
    assert (tmp_path / name).read_text(encoding="utf-8") == "my notes"

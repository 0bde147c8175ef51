# SPDX-License-Identifier: Apache-2.0
"""No file that is an input in any role is ever overwritten, whatever it is called and whichever output is meant."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import kepsilon as ke
from material.refusals import change_policy


@pytest.fixture
def inputs(case):
    """A folder with data, policy and hierarchy file, and a folder `out` beside them."""
    (case / "sex.csv").write_text("F;*\nM;*\n", encoding="utf-8")
    change_policy(case, '"suppress"', '"file", path = "sex.csv"')
    (case / "out").mkdir()
    return case


ROLES = {"people.csv": "the data", "policy.toml": "the policy", "sex.csv": "the hierarchy of sex"}

OUTPUTS = {
    "-o": ["-o", "out/{}"],
    "manifest": ["-o", "out/x.csv", "out/x.csv.manifest.json"],
    "record": ["-o", "out/x.csv", "out/x.csv.curator.json"],
    "--linkage": ["-o", "out/x.csv", "--linkage", "out/x.parquet", "out/x.parquet"],
    "--report": ["-o", "out/x.csv", "--report", "out/x.html", "out/x.html"],
}


def link(how: str, source: Path, target: Path) -> None:
    if how == "symlink":
        target.symlink_to(source)
    else:
        os.link(source, target)


@pytest.mark.parametrize("how", ["symlink", "hard link"])
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", ROLES)
def test_f2_no_output_of_a_release_takes_the_place_of_an_input(inputs, kepsilon_command, name, output, how):
    """Data, policy and hierarchy file under the name of each file that a release writes."""
    words = [word.format(f"x{Path(name).suffix}").replace(".toml", ".csv") for word in OUTPUTS[output]]
    link(how, inputs / name, inputs / words.pop() if output != "-o" else inputs / words[-1])
    before = {path: path.read_bytes() for path in inputs.rglob("*") if path.is_file()}
    words = [word if word.startswith("-") else str(inputs / word) for word in words]
    outcome = kepsilon_command("anonymise", inputs / "people.csv", "-p", inputs / "policy.toml", *words, "--overwrite")
    assert outcome.code == 2
    assert f"is {ROLES[name]}, an input, which is never overwritten" in outcome.err
    assert {path: path.read_bytes() for path in inputs.rglob("*") if path.is_file()} == before


def test_f2_a_policy_called_like_a_file_beside_the_output(inputs, kepsilon_command):
    """As it was found: the policy is called x.csv.curator.json, the hierarchy x.csv.manifest.json."""
    (inputs / "policy.toml").rename(inputs / "x.csv.curator.json")
    for policy, changed in (("x.csv.curator.json", "policy"), ("other.toml", "hierarchy of sex")):
        if changed != "policy":
            (inputs / "sex.csv").rename(inputs / "x.csv.manifest.json")
            (inputs / "x.csv.curator.json").rename(inputs / "other.toml")
            text = (inputs / "other.toml").read_text(encoding="utf-8")
            (inputs / "other.toml").write_text(text.replace("sex.csv", "x.csv.manifest.json"), encoding="utf-8")
        before = {path: path.read_bytes() for path in inputs.rglob("*") if path.is_file()}
        outcome = kepsilon_command(
            "anonymise", inputs / "people.csv", "-p", inputs / policy, "-o", inputs / "x.csv", "--overwrite"
        )
        assert outcome.code == 2, outcome.out
        assert f"is the {changed}, an input" in outcome.err
        assert {path: path.read_bytes() for path in inputs.rglob("*") if path.is_file()} == before


def test_f2_other_spellings_of_a_path(inputs, kepsilon_command, monkeypatch):
    """A relative path with detours is the same file."""
    monkeypatch.chdir(inputs / "out")
    outcome = kepsilon_command(
        "anonymise", "../people.csv", "-p", inputs / "policy.toml", "-o", "../out/../sex.csv", "--overwrite"
    )
    assert outcome.code == 2
    assert "is the hierarchy of sex, an input" in outcome.err


@pytest.mark.parametrize(
    ("how", "what"),
    [
        (lambda release, at: release.write(at / "sex.csv", overwrite=True), "hierarchy of sex"),
        (lambda release, at: release.write(at / "x.csv", overwrite=True), "policy"),
        (lambda release, at: release.write(at / "y.csv", linkage=at / "people.csv", overwrite=True), "data"),
        (lambda release, at: release.report(at / "page.html", overwrite=True), "policy"),
    ],
    ids=["data file", "record", "linkage", "report"],
)
def test_f2_the_python_functions_know_the_inputs_too(inputs, how, what):
    """A release remembers what it was made from, also after the working folder was changed."""
    shutil.copy(inputs / "policy.toml", inputs / "x.csv.curator.json")
    policy = ke.Policy.from_file(inputs / ("x.csv.curator.json"))
    os.link(inputs / "x.csv.curator.json", inputs / "page.html")
    release = ke.anonymise(inputs / "people.csv", policy)
    before = {path: path.read_bytes() for path in inputs.rglob("*") if path.is_file()}
    with pytest.raises(ke.EngineError, match=f"is the {what}, an input, which is never overwritten"):
        how(release, inputs)
    assert {path: path.read_bytes() for path in inputs.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", ["people.csv", "sex.csv"])
def test_f2_a_grid_knows_its_inputs(inputs, name):
    """`Grid.write` replaced the data that was explored."""
    grid = ke.explore(inputs / "people.csv", ke.Policy.from_file(inputs / "policy.toml"), k=3, epsilon=1)
    before = (inputs / name).read_bytes()
    with pytest.raises(ke.EngineError, match=f"is {ROLES[name]}, an input"):
        grid.write(inputs / name, overwrite=True)
    assert (inputs / name).read_bytes() == before


@pytest.mark.parametrize("name", ROLES)
@pytest.mark.parametrize("option", ["-o", "--write-policy"])
def test_f2_explore_never_writes_onto_an_input(inputs, kepsilon_command, option, name):
    """Neither the grid nor the new policy."""
    (inputs / "link.csv").symlink_to(inputs / name)
    arguments = ["--max-risk", "1", option, inputs / "link.csv", "--overwrite"]
    before = (inputs / name).read_bytes()
    outcome = kepsilon_command("explore", inputs / "people.csv", "-p", inputs / "policy.toml", *arguments)
    assert outcome.code == 2
    assert f"is {ROLES[name]}, an input" in outcome.err
    assert (inputs / name).read_bytes() == before


def test_f2_init_never_writes_onto_its_data_or_through_a_link(case, kepsilon_command):
    """A link that leads nowhere is a name that is taken: what was said to be written was not there."""
    outcome = kepsilon_command("init", case / "people.csv", "-o", case / "people.csv")
    assert (outcome.code, "is the data, an input" in outcome.err) == (2, True)
    (case / "dangling.toml").symlink_to(case / "nowhere.toml")
    outcome = kepsilon_command("init", case / "people.csv", "-o", case / "dangling.toml")
    assert (outcome.code, "exists already" in outcome.err) == (2, True)
    assert "Wrote" not in outcome.err
    assert not (case / "nowhere.toml").exists()


def test_f2_reproduce_never_removes_the_data_it_reads(tmp_path, kepsilon_command):
    """With --overwrite, an earlier reproduction is removed, and Adult with it if it lies inside."""
    adult = "age,marital-status,race,sex\n40,Divorced,White,Male\n"
    for place in ("figures", "measurements"):
        folder = tmp_path / place / "out"
        (folder / place).mkdir(parents=True)
        (folder / "run.json").write_text('{"about": {}}', encoding="utf-8")
        data = folder / place / "adult.data"
        data.write_text(adult, encoding="utf-8")
        outcome = kepsilon_command("reproduce", "-o", folder, "--data", data, "--quick", "--overwrite")
        assert outcome.code == 2
        assert "is a folder that holds the data, an input" in outcome.err
        assert data.exists()


def test_f2_demo_touches_no_file_of_another_name(tmp_path, kepsilon_command):
    """Also not one that is called as if it were temporary."""
    mine = tmp_path / "patients.csv.unfinished"
    mine.write_text("mine", encoding="utf-8")
    assert kepsilon_command("demo", "-o", tmp_path).code == 0
    assert mine.read_text(encoding="utf-8") == "mine"


def test_f2_two_outputs_need_two_names_in_lower_case_too(case, kepsilon_command):
    """Some file systems do not tell Out.csv from out.csv, and the linkage would take the place of the release."""
    outcome = kepsilon_command(
        "anonymise", case / "people.csv", "-p", case / "policy.toml",
        "-o", case / "out.csv", "--linkage", case / "OUT.csv",
    )  # fmt: skip
    assert outcome.code == 2
    assert "the linkage file needs a name of its own" in outcome.err

# SPDX-License-Identifier: Apache-2.0
"""`kepsilon init` writes a policy to edit, never replaces one, and says what to do next."""

from __future__ import annotations

import csv
import re
import tomllib
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import feather, parquet

from material.five_tables import encounters


def read_people(case: Path) -> list[dict[str, str]]:
    with (case / "people.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def decide(policy: Path) -> None:
    """What the curator does by hand."""
    text = policy.read_text(encoding="utf-8")
    policy.write_text(re.sub(r"^# (?=(k|epsilon|max_suppression) = )", "", text, flags=re.MULTILINE), encoding="utf-8")


def test_init_prints_a_proposal_on_stdout_and_the_next_step_on_stderr(case, kepsilon_command):
    """The proposal can be piped; what is said to people does not get into it."""
    outcome = kepsilon_command("init", case / "people.csv")
    assert outcome.code == 0
    assert set(tomllib.loads(outcome.out)["attributes"]) == {"name", "zip", "year", "sex", "height", "illness"}
    assert "-o policy.toml" in outcome.err


def test_a_decided_proposal_passes_check_and_anonymise(case, kepsilon_command):
    """From a file to a release in three commands and two decisions."""
    policy = case / "proposed.toml"
    outcome = kepsilon_command("init", case / "people.csv", "-o", policy)
    assert outcome.code == 0
    assert f"kepsilon check {case / 'people.csv'} -p {policy}" in " ".join(outcome.out.replace("\\\n", "").split())
    refused = kepsilon_command("check", case / "people.csv", "-p", policy)
    assert refused.code == 2
    assert "k: is required" in refused.err
    assert "max_suppression" not in refused.err
    decide(policy)
    assert kepsilon_command("check", case / "people.csv", "-p", policy).code == 0
    assert kepsilon_command("anonymise", case / "people.csv", "-p", policy, "-o", case / "out.csv").code == 0


def test_an_existing_policy_is_never_overwritten(case, kepsilon_command):
    """Somebody may have spent an afternoon on it."""
    before = (case / "policy.toml").read_bytes()
    outcome = kepsilon_command("init", case / "people.csv", "-o", case / "policy.toml")
    assert outcome.code == 2
    assert "policy.toml: exists already, and a policy is never overwritten." in outcome.err
    assert (case / "policy.toml").read_bytes() == before


def test_a_missing_folder_is_refused(case, kepsilon_command):
    """Before the data is read, which may take long."""
    outcome = kepsilon_command("init", case / "absent.csv", "-o", case / "nowhere" / "policy.toml")
    assert outcome.code == 2
    assert "there is no folder" in outcome.err


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".tsv"])
def test_every_kind_of_file_gives_the_same_roles(case, kepsilon_command, suffix):
    """Roles come from the values, not from how they are stored."""
    table = pa.Table.from_pylist(read_people(case))
    path = case / f"other{suffix}"
    if suffix == ".parquet":
        parquet.write_table(table, path)
    elif suffix == ".feather":
        feather.write_feather(table, path)
    else:
        arrow_csv.write_csv(table, path, arrow_csv.WriteOptions(delimiter="\t"))
    from_csv = tomllib.loads(kepsilon_command("init", case / "people.csv").out)
    assert tomllib.loads(kepsilon_command("init", path).out) == from_csv


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("", "is empty", id="empty"),
        pytest.param("a,b\n", "has a header, but no records", id="header only"),
        pytest.param("a,a\n1,2\n", '2 columns are named "a"', id="a name twice"),
        pytest.param("a,b\nCANARY,2\nCANARY\n", "1 records do not have the 2 cells", id="ragged"),
    ],
)
def test_bad_data_gets_one_message_and_no_file(tmp_path, kepsilon_command, content, message):
    """The faults that a release would find, found before anybody edits a policy."""
    source = tmp_path / "people.csv"
    source.write_text(content, encoding="utf-8")
    outcome = kepsilon_command("init", source, "-o", tmp_path / "policy.toml")
    assert outcome.code == 2
    assert message in outcome.err
    assert "CANARY" not in outcome.err
    assert not (tmp_path / "policy.toml").exists()


def test_no_canary_is_in_a_proposal(case, kepsilon_command):
    """Values of records stay out of the file, whatever the column is called."""
    names = [record["name"] for record in read_people(case)]
    arrow_csv.write_csv(pa.table(dict.fromkeys(("person", "ward", "income", "zip"), names)), case / "canaries.csv")
    outcome = kepsilon_command("init", case / "canaries.csv")
    assert outcome.code == 0
    assert "CANARY" not in outcome.out + outcome.err


def test_the_proposal_for_adult_is_what_a_curator_would_expect(adult_path, kepsilon_command):
    """The paper's quasis come out as k-quasis, wealth as sensitive, and the rest is not thrown away."""
    attributes = tomllib.loads(kepsilon_command("init", adult_path).out)["attributes"]
    roles = {
        role: {n for n, a in attributes.items() if a["role"] == role}
        for role in ("k-quasi", "epsilon-quasi", "sensitive")
    }
    assert roles["k-quasi"] >= {"age", "sex", "race", "marital-status", "native-country", "occupation", "education"}
    assert not roles["epsilon-quasi"], "beside so many k-quasis noise would tell nothing"
    assert "fnlwgt" not in attributes, "a sampling weight"
    assert "education-num" not in attributes, "it says the same as education"
    assert roles["sensitive"] == {"income", "capital-gain", "capital-loss"}


def test_init_shows_every_column_with_its_role_and_what_to_look_at_first(tmp_path, kepsilon_command, monkeypatch):
    """Whoever does not read TOML sees what was proposed and why; nothing is wider than the screen, and no value is shown."""
    monkeypatch.setenv("COLUMNS", "80")
    made = encounters()
    arrow_csv.write_csv(made.table, tmp_path / "stays.csv")
    outcome = kepsilon_command("init", tmp_path / "stays.csv", "-o", tmp_path / "p.toml")
    assert outcome.code == 0
    table, _, first = outcome.out.partition("Look at these first")
    for name in made.table.column_names:
        assert re.search(rf"^{name}  +(identifier|k-quasi|sensitive|not published) ", table, flags=re.MULTILINE), name
    assert "persons have several records" in " ".join(first.split())
    assert "charges: It gives people away" in " ".join(first.split())
    shown = first.partition("Then see")[0] + table
    assert max(map(len, shown.splitlines())) <= 80
    assert "Canary" not in outcome.out + outcome.err


def test_a_hostile_name_cannot_forge_the_screen(tmp_path, kepsilon_command):
    """The name of a column is input like any other."""
    arrow_csv.write_csv(pa.table({"sex\x1b[31m": ["F", "M"] * 50}), tmp_path / "people.csv")
    outcome = kepsilon_command("init", tmp_path / "people.csv", "-o", tmp_path / "p.toml")
    assert outcome.code == 0
    assert "\x1b[31m" not in outcome.out

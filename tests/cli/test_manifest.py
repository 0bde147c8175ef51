# SPDX-License-Identifier: Apache-2.0
"""`kepsilon manifest`: what anonymise wrote is worked out again from the release alone, for every kind of table and engine."""

from __future__ import annotations

import csv
import json
import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kepsilon as ke
from material.engine_cases import ENGINES, EVERY
from material.people import POLICY, columns_of, people, write_csv

NULLS = {"zip": 4, "sex": 3, "year": 7}
"""Every so many records lack the k-quasi."""

VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "mondrian": {"algorithm": "mondrian"},
    "confident k": {"confidence": 0.8, "epsilon": 4},
    "missing makes classes": {"attributes": {"height": {"missing": "class"}}},
    "no k-quasi": {"without": ["zip", "year", "sex"]},
    "no k-quasi, missing makes classes": {
        "without": ["zip", "year", "sex"],
        "attributes": {"height": {"missing": "class"}},
    },
    "no epsilon-quasi": {"without": ["height"]},
    "declared bounds": {"attributes": {"height": {"range": [100, 250], "domain": [100, 250]}}},
    "everything suppressed": {"k": 50},
    "one column": {"without": ["zip", "year", "height", "illness"]},
}


def variant(name: str, **more: Any) -> ke.Policy:
    """The policy of the made-up people with some settings changed."""
    settings = {**VARIANTS[name], **more}
    document = tomllib.loads(POLICY)
    for attribute, own in settings.pop("attributes", {}).items():
        document["attributes"][attribute] |= own
    for attribute in settings.pop("without", []):
        document["attributes"].pop(attribute)
    return ke.Policy.from_dict({**document, "unlisted_columns": "drop", **settings})


def table() -> pa.Table:
    """Made-up people with nulls in every quasi, and empty texts beside the nulls."""
    columns: dict[str, list[Any]] = dict(columns_of(people(240)))
    for name, every in NULLS.items():
        for i in range(0, 240, every):
            columns[name][i] = None if i % 2 else ""
    columns["height"] = [None if i % 9 == 0 else float(own) for i, own in enumerate(columns["height"])]
    return pa.table(columns)


def without_making(manifest: Any) -> dict[str, Any]:
    return {key: own for key, own in manifest.to_json().items() if key not in ("created", "seeded")}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_release_of_any_kind_gives_its_manifest_again(tmp_path, name):
    """CSV, Parquet, Arrow, a folder and a frame: nulls, empty labels and missing values make the same classes in all."""
    chosen = variant(name)
    release = ke.anonymise(table(), chosen)
    before = without_making(release.manifest)
    assert without_making(ke.manifest(release.frame, chosen)) == before
    assert without_making(ke.manifest(release.frame.to_pandas(), chosen)) == before
    for output in ("r.csv", "r.tsv", "r.parquet", "r.arrow", "folder"):
        written = release.write(tmp_path / output)
        found = ke.manifest(tmp_path / output, chosen)
        assert found.to_json() == written.manifest.to_json()
        assert found.to_text() == written.manifest_path.read_text(encoding="utf-8")
        assert {**before, "digest": written.digest} == without_making(found)
        assert found.records.released == len(release.frame)


@pytest.mark.parametrize("engine", EVERY)
@pytest.mark.parametrize("name", ["as it is", "mondrian", "confident k", "missing makes classes"])
def test_every_engine_writes_the_manifest_of_its_release(tmp_path, engine, name):
    """The classes that an engine knows are those that can be counted in what it wrote."""
    pq.write_table(table(), tmp_path / "people.parquet")
    (tmp_path / "spill").mkdir()
    chosen = variant(name)
    with ke.anonymise(
        tmp_path / "people.parquet", chosen, engine=ENGINES[engine](tmp_path / "spill", 200_000)
    ) as release:
        release.write(tmp_path / "out")
    found = ke.manifest(tmp_path / "out", chosen)
    assert found.to_text() == (tmp_path / "out.manifest.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", VARIANTS)
def test_audit_works_out_the_same_manifest(tmp_path, name):
    """By its own code, for every policy, so that no honest manifest is called broken."""
    chosen = variant(name)
    pq.write_table(table(), tmp_path / "people.parquet")
    ke.anonymise(tmp_path / "people.parquet", chosen).write(tmp_path / "r.csv")
    found = ke.audit(tmp_path / "people.parquet", tmp_path / "r.csv", chosen)
    said = [finding.severity for finding in found.findings if finding.check == "manifest"]
    assert said == ["passed"], [str(finding) for finding in found.findings if finding.check == "manifest"]


@pytest.fixture
def case(tmp_path, kepsilon_command) -> Path:
    write_csv(tmp_path / "people.csv", people(200))
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    outcome = kepsilon_command(
        "anonymise", tmp_path / "people.csv", "-p", tmp_path / "policy.toml", "-o", tmp_path / "r.csv",
        "--unsafe-seed", "1",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    return tmp_path


def test_the_command_prints_the_manifest_without_the_original(case, kepsilon_command):
    """Letter by letter what lies beside the release, the seed included."""
    (case / "people.csv").unlink()
    (case / "r.csv.curator.json").unlink()
    outcome = kepsilon_command("manifest", case / "r.csv", "-p", case / "policy.toml")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (case / "r.csv.manifest.json").read_text(encoding="utf-8")
    assert json.loads(outcome.out)["seeded"] is True


def test_what_a_release_does_not_tell_is_said_to_be_assumed(case, kepsilon_command):
    """Without a manifest beside it, nobody knows the day, the version and the seed."""
    before = json.loads((case / "r.csv.manifest.json").read_text(encoding="utf-8"))
    (case / "r.csv.manifest.json").unlink()
    outcome = kepsilon_command("manifest", case / "r.csv", "-p", case / "policy.toml", "-o", case / "m.json")
    assert outcome.code == 0
    assert "`seeded` is false" in outcome.err
    assert outcome.out == ""
    after = json.loads((case / "m.json").read_text(encoding="utf-8"))
    assert after.pop("seeded") is False
    assert before.pop("seeded") is True
    assert after == before


@pytest.mark.parametrize(
    "spoilt", ["", "{}", "[]", '{"created": "CANARY", "kepsilon_version": 1, "seeded": 0}', "[" * 10**5]
)
def test_a_spoilt_manifest_beside_the_release_is_as_none(case, kepsilon_command, spoilt):
    """It is not trusted with a day, and none of it is repeated."""
    (case / "r.csv.manifest.json").write_text(spoilt, encoding="utf-8")
    outcome = kepsilon_command("manifest", case / "r.csv", "-p", case / "policy.toml")
    assert outcome.code == 0
    assert "no manifest beside the release" in outcome.err
    assert "CANARY" not in outcome.out + outcome.err


def test_a_manifest_of_another_file_is_noticed(case, kepsilon_command):
    """Its day and seed may not be those of this release."""
    text = (case / "r.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (case / "r.csv").write_text("".join([text[0], *reversed(text[1:])]), encoding="utf-8")
    outcome = kepsilon_command("manifest", case / "r.csv", "-p", case / "policy.toml")
    assert outcome.code == 0
    assert "that of another file" in outcome.err


def test_the_output_is_not_overwritten_unasked_and_never_an_input(case, kepsilon_command):
    """Neither the release nor the policy, whatever is asked."""
    arguments = ["manifest", case / "r.csv", "-p", case / "policy.toml", "-o"]
    for path in (case / "r.csv", case / "policy.toml"):
        before = path.read_bytes()
        outcome = kepsilon_command(*arguments, path, "--overwrite")
        assert outcome.code == 2
        assert "an input, which is never overwritten" in outcome.err
        assert path.read_bytes() == before
    beside = case / "r.csv.manifest.json"
    assert kepsilon_command(*arguments, beside).code == 2
    assert kepsilon_command(*arguments, beside, "--overwrite").code == 0
    assert kepsilon_command(*arguments, case / "nowhere" / "m.json").code == 2


def test_only_a_manifest_is_replaced(case, kepsilon_command):
    """The curator's record and the original cannot be made again."""
    (case / "original.csv").write_text("a,b\n", encoding="utf-8")
    for path in (case / "r.csv.curator.json", case / "original.csv"):
        before = path.read_bytes()
        outcome = kepsilon_command("manifest", case / "r.csv", "-p", case / "policy.toml", "-o", path, "--overwrite")
        assert outcome.code == 2
        assert "is no manifest" in outcome.err
        assert path.read_bytes() == before


def changed(case: Path, change: Any) -> None:
    with (case / "r.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))
    change(lines)
    with (case / "r.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(lines)


def without_column(name: str) -> Any:
    def change(lines: list[list[str]]) -> None:
        at = lines[0].index(name)
        for line in lines:
            del line[at]

    return change


def with_cells(name: str, text: str, *, n: int = 1000) -> Any:
    def change(lines: list[list[str]]) -> None:
        at = lines[0].index(name)
        for line in lines[1 : n + 1]:
            line[at] = text

    return change


def with_column(name: str) -> Any:
    def change(lines: list[list[str]]) -> None:
        for i, line in enumerate(lines):
            line.append("CANARY" if i else name)

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without_column("illness"), 'has no column "illness"'),
        (without_column("zip"), 'has no column "zip"'),
        (with_column("CANARY"), "1 column that is no attribute of the policy"),
        (with_column("name"), 'a column "name", which is an identifier'),
        (with_column("zip"), '2 columns named "zip"'),
        (with_cells("year", "CANARY"), 'column "year": its labels are not of one level'),
        (with_cells("year", "[1951; 1956)"), 'column "year": its labels are not of one level'),
        (with_cells("zip", "CANARY", n=1), "occur fewer than 3 times"),
        (with_cells("height", "CANARY"), "not a number"),
        (with_cells("height", "170.05"), "no multiples of its precision"),
        (with_cells("height", ""), "values are missing"),
        (lambda lines: lines.__delitem__(slice(1, None)), "no records"),
        (lambda lines: lines.__setitem__(0, [f"CANARY{i}" for i in range(len(lines[0]))]), "none of the columns"),
    ],
)
def test_a_table_that_cannot_be_a_release_is_refused_without_its_values(case, kepsilon_command, change, said):
    """A manifest of it would promise what does not hold; names and values of the file are not repeated."""
    changed(case, change)
    outcome = kepsilon_command("manifest", case / "r.csv", "-p", case / "policy.toml")
    assert outcome.code == 2, outcome.err
    assert said in outcome.err
    assert outcome.out == ""
    assert "CANARY" not in outcome.err
    assert "Traceback" not in outcome.err


def test_the_original_is_no_release(case, kepsilon_command):
    """Whoever takes the wrong file is told so."""
    outcome = kepsilon_command("manifest", case / "people.csv", "-p", case / "policy.toml")
    assert outcome.code == 2
    assert "identifier" in outcome.err


def test_an_old_manifest_lends_its_day(case, kepsilon_command):
    """Version 0.1 told the second; a release of it gets a manifest of today's kind."""
    path = case / "r.csv.manifest.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document |= {"created": "2026-11-16T12:34:56+00:00", "kepsilon_version": "0.1.0"}
    path.write_text(json.dumps(document), encoding="utf-8")
    found = json.loads(kepsilon_command("manifest", case / "r.csv", "-p", case / "policy.toml").out)
    assert (found["created"], found["kepsilon_version"], found["seeded"]) == ("2026-11-16", "0.1.0", True)

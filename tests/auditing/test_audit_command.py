# SPDX-License-Identifier: Apache-2.0
"""`kepsilon audit` on files: exit codes, the manifest beside a release, and bad input without a word of a record."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kepsilon as ke
from material.audited_releases import POLICY, arrow, patients
from material.people import POLICY as PEOPLE_POLICY
from material.people import people, write_csv

TOML = """
k = 5
epsilon = 2
algorithm = "{algorithm}"
max_suppression = 0.1
[attributes.name]
role = "identifier"
[attributes.zip]
role = "k-quasi"
hierarchy = {{ type = "mask" }}
[attributes.year]
role = "k-quasi"
hierarchy = {{ type = "intervals", widths = [5, 10] }}
[attributes.height]
role = "epsilon-quasi"
precision = 0.1
range = "class"
[attributes.illness]
role = "sensitive"
"""


def records_in(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


@pytest.fixture(params=["csv", "parquet"])
def folder(request, tmp_path, kepsilon_command) -> Path:
    """An original, its release with everything beside it, and the linkage."""
    return made(tmp_path, kepsilon_command, suffix=request.param)


def made(where: Path, kepsilon_command, *, suffix: str = "csv", algorithm: str = "ola", n: int = 700) -> Path:
    table = arrow(patients(n))
    if suffix == "csv":
        write_csv(where / "original.csv", table.to_pylist())
    else:
        pq.write_table(table, where / "original.parquet")
    (where / "policy.toml").write_text(TOML.format(algorithm=algorithm), encoding="utf-8")
    outcome = kepsilon_command(
        "anonymise", where / f"original.{suffix}", "-p", where / "policy.toml", "-o", where / f"release.{suffix}",
        "--linkage", where / f"linkage.{suffix}",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    return where


def audited(where: Path, kepsilon_command, *more: object, code: int, linkage: bool = True):
    suffix = "csv" if (where / "original.csv").exists() else "parquet"
    arguments = ["audit", where / f"original.{suffix}", where / f"release.{suffix}", "-p", where / "policy.toml"]
    if linkage:
        arguments += ["--linkage", where / f"linkage.{suffix}"]
    outcome = kepsilon_command(*arguments, *more)
    assert outcome.code == code, outcome.out + outcome.err
    assert "CANARY" not in outcome.out + outcome.err
    assert "Traceback" not in outcome.err
    return outcome


@pytest.mark.parametrize("algorithm", ["ola", "mondrian", "local-recoding"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_release_and_all_that_lies_beside_it_pass(tmp_path, kepsilon_command, suffix, algorithm):
    """Files written by anonymise pass: every figure in manifest and record that can be worked out again is right."""
    made(tmp_path, kepsilon_command, suffix=suffix, algorithm=algorithm)
    for linkage in (True, False):
        outcome = audited(tmp_path, kepsilon_command, code=0, linkage=linkage)
        assert "broken" not in outcome.out.replace("No promise was found broken", "")
        assert "the manifest holds" in " ".join(outcome.out.split())
        assert "the curator's record holds" in " ".join(outcome.out.split())


def test_the_findings_come_as_json_with_the_number_of_broken_promises(folder, kepsilon_command):
    """A pipeline can read the findings and their number from the JSON output."""
    document = json.loads(audited(folder, kepsilon_command, "--json", code=0).out)
    assert document["broken"] == 0
    assert {finding["severity"] for finding in document["findings"]} <= {"broken", "warning", "note", "passed"}
    assert 0 < document["figures"]["attacks"]["strongest"]["share"] <= 1


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda m: m["records"].update(released=m["records"]["released"] + 1), "records.released"),
        (lambda m: m["classes"].update(smallest=m["classes"]["smallest"] + 1), "classes.smallest"),
        (lambda m: m["classes"].update(count=m["classes"]["count"] - 1), "classes.count"),
        (lambda m: m["levels"].update(zip=m["levels"]["zip"] + 1), "levels.zip"),
        (lambda m: m["bounds"].update(linking_risk=m["bounds"]["linking_risk"] - 1e-6), "bounds.linking_risk"),
        (lambda m: m["bounds"].update(attacker="nobody"), "bounds.attacker"),
        (lambda m: m["bounds"]["noise"].update(height=3.5), "1 key that no manifest has"),
        (lambda m: m["guarantee"].update(k=50), "guarantee.k"),
        (lambda m: m["policy"].update(epsilon=1), "policy.epsilon"),
        (lambda m: m["policy"]["attributes"]["height"].update(precision=0.01), "policy.attributes.height"),
        (lambda m: m.update(digest="sha256:" + "0" * 64), "digest"),
    ],
)
def test_a_wrong_figure_in_the_manifest_is_a_broken_promise(tmp_path, kepsilon_command, change, named):
    """The finding names the wrong figure, because whoever reads the manifest relies on it."""
    made(tmp_path, kepsilon_command)
    path = tmp_path / "release.csv.manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    change(manifest)
    path.write_text(json.dumps(manifest), encoding="utf-8")
    for linkage in (True, False):
        out = " ".join(audited(tmp_path, kepsilon_command, code=3, linkage=linkage).out.split())
        assert "broken manifest: the manifest" in out
        assert named in out


def test_a_manifest_written_in_another_way_is_warned_about(tmp_path, kepsilon_command):
    """It says the same, but blanks, digits and the order of keys are a place to hide something in."""
    made(tmp_path, kepsilon_command, n=300)
    path = tmp_path / "release.csv.manifest.json"
    text = path.read_text(encoding="utf-8")
    document = json.loads(text)
    others = [
        text + " ",
        json.dumps(document),
        json.dumps(dict(reversed(document.items())), indent=2, ensure_ascii=False) + "\n",
        text.replace('"epsilon": 2,', '"epsilon": 2e0,'),
    ]
    for other in others:
        assert other != text
        path.write_text(other, encoding="utf-8")
        outcome = audited(tmp_path, kepsilon_command, code=0, linkage=False)
        assert "written in another way" in " ".join(outcome.out.split())
    path.write_text(text, encoding="utf-8")
    assert "written in another way" not in audited(tmp_path, kepsilon_command, code=0, linkage=False).out


def test_a_wrong_figure_in_the_curators_record_is_caught_to_all_its_digits(tmp_path, kepsilon_command):
    """The curator's record is not rounded, so the audit compares all its digits."""
    made(tmp_path, kepsilon_command)
    path = tmp_path / "release.csv.curator.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    record["error"]["height"]["realised_relative"] *= 1.0001
    path.write_text(json.dumps(record), encoding="utf-8")
    out = audited(tmp_path, kepsilon_command, code=3).out
    assert "error.height.realised_relative" in " ".join(out.split())


def test_a_release_changed_after_it_was_written_no_longer_has_its_digest(tmp_path, kepsilon_command):
    """A changed file does not fit the manifest's digest, even where the change is harmless."""
    made(tmp_path, kepsilon_command)
    with (tmp_path / "release.csv").open("ab") as file:
        file.write(b"\n")
    assert "digest" in audited(tmp_path, kepsilon_command, code=3).out


def test_a_seeded_release_is_warned_about(tmp_path, kepsilon_command):
    """Whoever knows the seed can undo the noise, though its distribution is as promised."""
    write_csv(tmp_path / "original.csv", people(300))
    (tmp_path / "policy.toml").write_text(PEOPLE_POLICY, encoding="utf-8")
    kepsilon_command(
        "anonymise", tmp_path / "original.csv", "-p", tmp_path / "policy.toml", "-o", tmp_path / "release.csv",
        "--unsafe-seed", "1",
    )  # fmt: skip
    out = audited(tmp_path, kepsilon_command, code=0, linkage=False).out
    assert "seeded" in out


def _huge(manifest: dict) -> str:
    manifest["records"]["released"] = 10**400
    return json.dumps(manifest)


def _other(change: Callable[[dict], object]) -> Callable[[dict], str]:
    def spoil(manifest: dict) -> str:
        change(manifest)
        return json.dumps(manifest)

    return spoil


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (lambda _: "{}", "(not there)"),
        (lambda m: json.dumps({k: v for k, v in m.items() if k != "digest"}), "digest (not there)"),
        (lambda _: "CANARY", "cannot be read"),
        (lambda _: "[" * 200_000, "cannot be read"),
        (lambda _: '{"policy":' * 200_000, "cannot be read"),
        (_huge, "records.released"),
        (_other(lambda m: m["bounds"].update(linking_risk=10**400)), "bounds.linking_risk"),
        (_other(lambda m: m["bounds"].pop("noise")), "bounds.noise (not there)"),
        (_other(lambda m: m.update(created="CANARY")), "created"),
        (_other(lambda m: m.update(created=m["created"] + "T10:00:00")), "created"),
        (_other(lambda m: m.update(kepsilon_version="0.2.0+CANARY")), "kepsilon_version"),
        (_other(lambda m: m.update(seeded="CANARY")), "seeded"),
        (_other(lambda m: m["guarantee"].update(epsilon=float("nan"))), "guarantee.epsilon"),
        (_other(lambda m: m["policy"].update(confidence=0.99)), "1 key that no manifest has"),
        (_other(lambda m: m["policy"].update(max_total_suppression=0.1)), "policy.max_total_suppression"),
        (_other(lambda m: m["policy"].update(max_individual_risk=0.9)), "policy.max_individual_risk"),
        (_other(lambda m: m["policy"].pop("epsilon")), "policy.epsilon"),
        (
            _other(lambda m: m["policy"]["attributes"].update({"CANARY": {"role": "identifier"}})),
            "1 key that no manifest has",
        ),
        (_other(lambda m: m.update(policy=[])), "policy"),
        (_other(lambda m: m["guarantee"]["ranges"].update(height="coarse, step 5")), "guarantee.ranges.height"),
        (_other(lambda m: m["guarantee"].update(confidence=0.9)), "guarantee.confidence"),
    ],
)
def test_a_manifest_without_its_promises_or_with_others_is_broken(tmp_path, kepsilon_command, spoil, named):
    """The audit goes on with a spoilt manifest, and its output repeats none of the manifest's text."""
    made(tmp_path, kepsilon_command, n=300)
    path = tmp_path / "release.csv.manifest.json"
    path.write_text(spoil(json.loads(path.read_text(encoding="utf-8"))), encoding="utf-8")
    assert named in " ".join(audited(tmp_path, kepsilon_command, code=3, linkage=False).out.split())


@pytest.mark.parametrize(
    "path",
    [
        ("linking_risk", "over_half"),
        ("linking_risk", "over_nine_tenths"),
        ("linking_risk", "largest"),
        ("linking_risk", "largest_possible"),
        ("linking_risk", "largest_possible_by_matching"),
        ("linking_risk", "per_original", "realised"),
        ("error", "height", "uniform_equivalent"),
        ("error", "height", "epsilon_for_uniform_5_percent"),
    ],
)
def test_figures_of_the_curators_record_are_worked_out_again(folder, kepsilon_command, path):
    """Removing a figure from the record is accepted; changing it is broken."""
    file = next(folder.glob("release.*.curator.json"))
    record = json.loads(file.read_text(encoding="utf-8"))
    inner = record
    for key in path[:-1]:
        inner = inner[key]
    stated = inner.pop(path[-1])
    file.write_text(json.dumps(record), encoding="utf-8")
    audited(folder, kepsilon_command, code=0)
    inner[path[-1]] = stated * 1.001 + 1e-4
    file.write_text(json.dumps(record), encoding="utf-8")
    assert ".".join(path) in " ".join(audited(folder, kepsilon_command, code=3).out.split())


def test_a_missing_manifest_is_a_note(tmp_path, kepsilon_command):
    """A release without a manifest is allowed, so its absence is no fault."""
    made(tmp_path, kepsilon_command)
    (tmp_path / "release.csv.manifest.json").unlink()
    out = audited(tmp_path, kepsilon_command, code=0).out
    assert "there is no manifest" in " ".join(out.split())


def test_metadata_of_a_frame_is_warned_about(tmp_path, kepsilon_command):
    """Metadata of a frame can hold the index of the original."""
    made(tmp_path, kepsilon_command, suffix="parquet")
    table = pq.read_table(tmp_path / "release.parquet").replace_schema_metadata({"pandas": "CANARY"})
    pq.write_table(table, tmp_path / "release.parquet")
    (tmp_path / "release.parquet.manifest.json").unlink()
    (tmp_path / "release.parquet.curator.json").unlink()
    assert "pandas" in audited(tmp_path, kepsilon_command, code=0).out


def test_a_hostile_column_name_is_shown_tamed(tmp_path, kepsilon_command):
    """Control characters in a column name are not printed, because a terminal would obey them."""
    made(tmp_path, kepsilon_command)
    records = records_in(tmp_path / "release.csv")
    write_csv(tmp_path / "release.csv", [{**record, "\x1b[31mred\x07" * 20: "1"} for record in records])
    out = audited(tmp_path, kepsilon_command, code=3).out
    assert "\x1b[31mred" not in out
    assert "\x07" not in out


def _no_release(where: Path) -> None:
    (where / "release.csv").unlink()


def _no_original(where: Path) -> None:
    (where / "original.csv").unlink()


def _no_linkage(where: Path) -> None:
    (where / "linkage.csv").unlink()


def _not_a_table(where: Path) -> None:
    (where / "release.csv").write_bytes(b"")


def _no_records(where: Path) -> None:
    (where / "release.csv").write_text("zip,year,height,illness\n", encoding="utf-8")


def _no_header(where: Path) -> None:
    lines = (where / "release.csv").read_text(encoding="utf-8").splitlines()
    (where / "release.csv").write_text("\n".join(lines[1:]) + "\n", encoding="utf-8")


def _ragged(where: Path) -> None:
    with (where / "release.csv").open("a", encoding="utf-8") as file:
        file.write("CANARY,CANARY\n")


def _other_linkage(where: Path) -> None:
    (where / "linkage.csv").write_text("a,b\nCANARY,1\n", encoding="utf-8")


def _linkage_of_text(where: Path) -> None:
    (where / "linkage.csv").write_text("original_row,released_row,class_id\nCANARY,0,0\n", encoding="utf-8")


def _wrong_policy(where: Path) -> None:
    (where / "policy.toml").write_text("k = 1\n", encoding="utf-8")


def _policy_of_other_columns(where: Path) -> None:
    text = (where / "policy.toml").read_text(encoding="utf-8").replace("attributes.zip", "attributes.town")
    (where / "policy.toml").write_text(text, encoding="utf-8")


def _unlisted_original(where: Path) -> None:
    records = records_in(where / "original.csv")
    records[0]["year"] = "CANARY"
    write_csv(where / "original.csv", records)


@pytest.mark.parametrize(
    "spoil",
    [
        _no_release, _no_original, _no_linkage, _not_a_table, _no_records, _no_header, _ragged, _other_linkage,
        _linkage_of_text, _wrong_policy, _policy_of_other_columns, _unlisted_original,
    ],
)  # fmt: skip
def test_bad_input_is_refused_with_one_clear_message(tmp_path, kepsilon_command, spoil):
    """The exit code is 2, which says that nothing was found out about the release."""
    made(tmp_path, kepsilon_command, n=300)
    spoil(tmp_path)
    outcome = audited(tmp_path, kepsilon_command, code=2)
    assert outcome.out == ""
    assert outcome.err.startswith("kepsilon: ")
    assert len(outcome.err.splitlines()) <= 8


def test_a_linkage_of_another_release_is_a_finding_and_the_rest_is_still_checked(tmp_path, kepsilon_command):
    """A release that lost records no longer fits its linkage; the other checks are made without it."""
    made(tmp_path, kepsilon_command, n=300)
    lines = (tmp_path / "linkage.csv").read_text(encoding="utf-8").splitlines()
    for wrong in (lines[:-1], [*lines[:-1], lines[1]], [*lines[:-1], "99999,0,0"]):
        (tmp_path / "linkage.csv").write_text("\n".join(wrong) + "\n", encoding="utf-8")
        out = audited(tmp_path, kepsilon_command, code=0).out
        assert "does not go with this release" in " ".join(out.split())
        assert "noise" in out


def test_the_linkage_of_another_release_of_the_same_original_is_named_as_that(tmp_path, kepsilon_command):
    """Such a linkage contradicts nearly every record, which is no fault of the release."""
    made(tmp_path, kepsilon_command, n=300)
    for name in ("release.csv", "release.csv.manifest.json", "release.csv.curator.json"):
        (tmp_path / name).rename(tmp_path / f"first-{name}")
    (tmp_path / "linkage.csv").unlink()
    made(tmp_path, kepsilon_command, n=300)
    for name in ("release.csv", "release.csv.manifest.json", "release.csv.curator.json"):
        (tmp_path / f"first-{name}").replace(tmp_path / name)
    out = " ".join(audited(tmp_path, kepsilon_command, code=0).out.split())
    assert "this linkage does not belong to this release" in out
    assert "do not give this release away" not in out


def test_an_original_and_a_release_that_are_exchanged_are_asked_about(tmp_path, kepsilon_command):
    """The release has the identifiers and the original has none, so the message asks whether they are exchanged."""
    made(tmp_path, kepsilon_command, n=300)
    outcome = kepsilon_command(
        "audit", tmp_path / "release.csv", tmp_path / "original.csv", "-p", tmp_path / "policy.toml"
    )
    assert outcome.code == 2
    assert "exchanged?" in outcome.err
    assert "CANARY" not in outcome.err


def test_a_linkage_that_is_wrong_about_classes_says_nothing_about_the_release(tmp_path, kepsilon_command):
    """The exit code says that something is broken, and the last line says what."""
    made(tmp_path, kepsilon_command, n=300)
    path = tmp_path / "linkage.csv"
    header, first, *rest = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([header, first.rpartition(",")[0] + ",99999", *rest]) + "\n", encoding="utf-8")
    out = " ".join(audited(tmp_path, kepsilon_command, code=3).out.split())
    assert "do not give this release away" not in out
    assert "The linkage contradicts the release" in out


def test_the_function_takes_paths_and_frames_alike(tmp_path, kepsilon_command):
    """Paths and frames give equal findings."""
    made(tmp_path, kepsilon_command, suffix="parquet", n=300)
    under = ke.Policy.from_dict(POLICY)
    paths = {name: tmp_path / f"{name}.parquet" for name in ("original", "release", "linkage")}
    by_path = ke.audit(paths["original"], str(paths["release"]), under, linkage=paths["linkage"])
    frames = {name: pq.read_table(path) for name, path in paths.items()}
    by_frame = ke.audit(frames["original"], frames["release"], under, linkage=frames["linkage"])
    assert isinstance(frames["original"], pa.Table)
    assert [f for f in by_path.findings if f.check not in ("manifest", "curator", "bytes")] == [
        f
        for f in by_frame.findings
        if f.check != "bytes"  # a file has more bytes to look at than a frame
    ]

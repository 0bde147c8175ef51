# SPDX-License-Identifier: Apache-2.0
"""Audit calls a manifest broken that tells more, or promises something else, than policy and release give (REVIEW H8)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from material.people import POLICY, people, write_csv

NAME = "CANARY-0007"


@pytest.fixture
def folder(tmp_path, kepsilon_command) -> Path:
    """An original, its policy, and its release with all that lies beside it."""
    write_csv(tmp_path / "original.csv", people(300))
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    outcome = kepsilon_command(
        "anonymise", tmp_path / "original.csv", "-p", tmp_path / "policy.toml", "-o", tmp_path / "release.csv"
    )
    assert outcome.code == 0, outcome.err
    return tmp_path


def audited(folder: Path, kepsilon_command: Any, *, code: int) -> str:
    outcome = kepsilon_command("audit", folder / "original.csv", folder / "release.csv", "-p", folder / "policy.toml")
    text = " ".join((outcome.out + outcome.err).split())
    assert outcome.code == code, text
    assert "CANARY" not in text
    return text


def tamper(folder: Path, change: Callable[[dict[str, Any], dict[str, Any]], object]) -> None:
    """Changes the manifest; the curator's record is at hand, as it is for whoever makes a manifest."""
    path = folder / "release.csv.manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    record = json.loads((folder / "release.csv.curator.json").read_text(encoding="utf-8"))
    change(manifest, record)
    path.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


UNKNOWN_KEYS: dict[str, Callable[[dict[str, Any], dict[str, Any]], object]] = {
    "a name as a value": lambda m, _: m.update(note=NAME),
    "a name as a key": lambda m, _: m.update({NAME: 1}),
    "a name among records": lambda m, _: m["records"].update({NAME: 0}),
    "a name among classes": lambda m, _: m["classes"].update(note=[NAME]),
    "a name in the guarantee": lambda m, _: m["guarantee"].update(note=NAME),
    "a name in a hierarchy": lambda m, _: m["policy"]["attributes"]["sex"]["hierarchy"].update(note=NAME),
    "a name among levels": lambda m, _: m["levels"].update({NAME: 1}),
}


@pytest.mark.parametrize("how", UNKNOWN_KEYS)
def test_h8_a_name_in_an_unknown_key_is_broken(folder, kepsilon_command, how):
    """A key that no manifest has can hold anything about anybody; neither key nor value is shown."""
    audited(folder, kepsilon_command, code=0)
    tamper(folder, UNKNOWN_KEYS[how])
    assert "1 key that no manifest has" in audited(folder, kepsilon_command, code=3)


@pytest.mark.parametrize(
    "say",
    [
        lambda own: own.replace("at least 3 times", "at least 300 times"),
        lambda own: own + "\nThis is a differentially private data set.",
        lambda own: own.replace("ε = 2", "ε = 0.2"),
        lambda own: own.replace("This is not differential privacy: ", ""),
        lambda _: NAME,
    ],
    ids=["another k", "one more promise", "another ε", "a warning less", "a name"],
)
def test_h8_another_promise_in_the_statement_is_broken(folder, kepsilon_command, say):
    """People rely on the statement, so that it has to be the one that the policy gives."""

    def change(manifest: dict[str, Any], _: dict[str, Any]) -> None:
        before = manifest["guarantee"]["statement"]
        manifest["guarantee"]["statement"] = say(before)
        assert manifest["guarantee"]["statement"] != before

    tamper(folder, change)
    assert "guarantee.statement" in audited(folder, kepsilon_command, code=3)


def test_h8_the_curators_record_given_away_as_the_manifest_is_broken(folder, kepsilon_command):
    """It holds figures of everybody's exact values, and what the noise did."""
    record = (folder / "release.csv.curator.json").read_bytes()
    (folder / "release.csv.manifest.json").write_bytes(record)
    out = audited(folder, kepsilon_command, code=3)
    assert "only the curator may know" in out
    assert "linking_risk" in out


CURATORS_KEYS: dict[str, Callable[[dict[str, Any], dict[str, Any]], object]] = {
    "realised error": lambda m, r: m.update(error=r["error"]),
    "realised links": lambda m, r: m.update(linking_risk=r["linking_risk"]),
    "constant classes": lambda m, r: m.update(constant_classes=r["constant_classes"]),
    "reidentification": lambda m, r: m.update(reidentification=r["reidentification"]),
    "seconds": lambda m, r: m.update(seconds=r["seconds"]),
    "lists of values": lambda m, _: m["policy"]["attributes"]["zip"]["hierarchy"].update(levels=[{"0": [NAME]}]),
    "a path": lambda m, _: m["policy"]["attributes"]["zip"]["hierarchy"].update(path=f"/home/{NAME}/zip.csv"),
}


@pytest.mark.parametrize("how", CURATORS_KEYS)
def test_h8_a_key_of_the_curators_record_in_a_manifest_is_broken(folder, kepsilon_command, how):
    """One private figure is enough."""
    tamper(folder, CURATORS_KEYS[how])
    assert "only the curator may know" in audited(folder, kepsilon_command, code=3)


def test_h8_a_key_stated_twice_is_broken(folder, kepsilon_command):
    """Most readers see the last one only, so that the first can hold a name."""
    path = folder / "release.csv.manifest.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"seeded": false', f'"seeded": "{NAME}",\n  "seeded": false'), encoding="utf-8")
    assert "states a key twice" in audited(folder, kepsilon_command, code=3)

# SPDX-License-Identifier: Apache-2.0
"""The audit comes to the verdicts of a curator's record by its own code: honest ones hold, tampered ones are broken."""

from __future__ import annotations

import json
from functools import reduce
from pathlib import Path

import pytest

import kepsilon as ke
from material.audited_releases import arrow, patients, patients_policy
from material.encounters import encounters

AVERAGED = {"role": "epsilon-quasi", "precision": 0.1}
NOISY = {**AVERAGED, "range": "class"}

CASES = {
    "useless": {"epsilon": 2},
    "coarser": {"epsilon": 16},
    "kept": {"epsilon": 100},
    "accepted": {"attributes": {"height": {**NOISY, "accept_useless": "only its mean is used"}}},
    "one label": {"k": 60, "max_suppression": 0},
    "a limit": {"max_risk": 0.9},
    "confident": {"confidence": 0.9, "epsilon": 16},
    "mondrian": {
        "algorithm": "mondrian",
        "attributes": {"zip": {"role": "k-quasi", "step": 1}, "year": {"role": "k-quasi", "step": 1}},
    },
    "averages": {"averages": {"group": 8}, "epsilon": None, "attributes": {"height": AVERAGED}},
    "clipped": {"attributes": {"height": {**NOISY, "range": [160, 175], "domain": [150, 190]}}},
}


def written(folder: Path, changes: dict, n: int = 600):
    table, own = arrow(patients(n)), patients_policy(**changes)
    release = ke.anonymise(table, own)
    release.write(folder / "release.csv")
    return table, own, release, folder / "release.csv"


@pytest.mark.parametrize("changes", CASES.values(), ids=CASES)
def test_honest_verdicts_are_not_accused(changes, tmp_path):
    table, own, release, path = written(tmp_path, changes)
    for linkage in (release.linkage, None):
        audited = ke.audit(table, path, own, linkage=linkage)
        assert audited.keeps_its_promises, audited.broken
        assert any("verdicts" in finding.what for finding in audited.findings)


def test_a_seeded_release_does_not_keep_its_promise_and_has_to_say_so(tmp_path):
    """Whoever knows the seed can undo the noise; a record that says otherwise is broken."""
    table, own = arrow(patients(300)), patients_policy()
    ke.anonymise(table, own, unsafe_seed=1).write(tmp_path / "release.csv")
    assert not ke.audit(table, tmp_path / "release.csv", own).broken
    beside = tmp_path / "release.csv.curator.json"
    document = json.loads(beside.read_text(encoding="utf-8"))
    document["verdict"]["promise"]["state"] = "kept"
    beside.write_text(json.dumps(document), encoding="utf-8")
    [broken] = ke.audit(table, tmp_path / "release.csv", own).broken
    assert "verdict.promise.state" in broken.what


def test_honest_verdicts_of_persons_are_not_accused(tmp_path):
    case = encounters()
    own = ke.Policy.from_dict(case.policy)
    release = ke.anonymise(case.table, own)
    release.write(tmp_path / "release.parquet")
    audited = ke.audit(case.table, tmp_path / "release.parquet", own, linkage=release.linkage)
    assert audited.keeps_its_promises, audited.broken


def less(sentence):
    return sentence.replace("links ", "links 0.").replace("at least ", "at least 9")


TAMPERINGS = {
    "useless called kept": ("verdicts height verdict", lambda _: "kept"),
    "coarser called kept": ("verdicts zip verdict", lambda _: "kept"),
    "no such verdict": ("verdicts zip verdict", lambda _: "CANARY"),
    "share of noise": ("verdicts height share", lambda share: share * 0.98),
    "share of labels": ("verdicts zip share", lambda share: share * 0.98),
    "share is no number": ("verdicts zip share", lambda _: "CANARY"),
    "error": ("survives height error expected", lambda error: error * 0.98),
    "a reason nobody gave": ("verdicts height accepted", lambda _: "CANARY"),
    "role": ("verdicts height role", lambda _: "k-quasi"),
    "an attribute is missing": ("verdicts height", lambda _: None),
    "usefulness": ("verdict usefulness state", lambda _: "kept"),
    "risk": ("verdict risk state", lambda _: "within"),
    "risk in words": ("verdict risk sentence", less),
    "promise": ("verdict promise state", lambda _: "CANARY"),
    "promise in words": ("verdict promise sentence", less),
    "a mark is missing": ("verdict risk", lambda _: None),
    "a sentence is missing": ("verdict usefulness sentence", lambda _: None),
}


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    return written(tmp_path_factory.mktemp("tampered"), {"k": 40})


@pytest.mark.parametrize(("where", "tamper"), TAMPERINGS.values(), ids=TAMPERINGS)
def test_a_tampered_verdict_is_broken(where, tamper, release):
    """One at a time; and nothing that was written there is quoted."""
    table, own, _, path = release
    beside = Path(f"{path}.curator.json")
    honest = beside.read_text(encoding="utf-8")
    document = json.loads(honest)
    *keys, last = where.split()
    holder = reduce(lambda found, key: found[key], keys, document)
    before = holder[last]
    holder[last] = tamper(before)
    assert holder[last] != before
    beside.write_text(json.dumps(document), encoding="utf-8")
    try:
        audited = ke.audit(table, path, own)
    finally:
        beside.write_text(honest, encoding="utf-8")
    [broken] = audited.broken
    assert broken.check == "curator"
    assert "CANARY" not in str(broken)
    assert keys[0] in broken.what or last in broken.what


def test_a_record_without_verdicts_is_not_accused(release):
    """As those of version 0.1 are."""
    table, own, _, path = release
    beside = Path(f"{path}.curator.json")
    honest = beside.read_text(encoding="utf-8")
    document = json.loads(honest)
    del document["verdict"], document["verdicts"]
    beside.write_text(json.dumps(document), encoding="utf-8")
    try:
        assert ke.audit(table, path, own).keeps_its_promises
    finally:
        beside.write_text(honest, encoding="utf-8")

# SPDX-License-Identifier: Apache-2.0
"""The audit's own figures of the largest single risk: against the release's, the curator's record, and the policy's limit."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

import kepsilon as ke
from kepsilon.auditing import single_risk
from material.audited_releases import OTHER_QUASI, arrow, patients, patients_policy
from oracles.noise import SEED

DECLARED = {"role": "epsilon-quasi", "precision": 0.1, "range": [160, 180]}
WEIGHT = {"role": "epsilon-quasi", "precision": 0.5, "range": "class"}


def with_weights(n=600):
    """The patients with a second ε-quasi, which missing values keep out of no class."""
    weight = np.random.default_rng(SEED).normal(70, 9, n).round(0)
    return {**patients(n), "weight": weight.tolist()}


CASES = {
    "one": ({}, False),
    "clipped": ({"attributes": {"height": DECLARED}}, False),
    "two": ({"attributes": {"weight": WEIGHT}}, True),
    "two, one coarse": ({"attributes": {"weight": OTHER_QUASI}}, True),
    "none": ({"attributes": {"height": {"role": "insensitive"}}}, False),
    "confident": ({"confidence": 0.9}, False),
    "mondrian": (
        {
            "algorithm": "mondrian",
            "attributes": {"zip": {"role": "k-quasi", "step": 1}, "year": {"role": "k-quasi", "step": 1}},
        },
        False,
    ),
}


def written(folder, changes, has_weights, **more):
    original = arrow(with_weights() if has_weights else patients(600))
    policy = patients_policy(**changes, **more)
    release = ke.anonymise(original, policy)
    release.write(folder / "release.csv")
    return original, policy, release


@pytest.mark.parametrize(("changes", "has_weights"), CASES.values(), ids=CASES)
def test_the_audit_finds_the_figures_of_the_record(changes, has_weights, tmp_path):
    """From every pair of originals; and no posterior of the release is above them."""
    original, policy, release = written(tmp_path, changes, has_weights)
    audited = ke.audit(original, tmp_path / "release.csv", policy, linkage=release.linkage)
    assert audited.keeps_its_promises, audited.broken
    stated, found = release.record.linking_risk.predicted, audited.figures.largest_risks
    if policy.confidence is None:
        assert found.of_one == pytest.approx(stated.largest_possible, rel=1e-9)
        assert found.by_matching == pytest.approx(stated.largest_possible_by_matching, rel=1e-9)
    else:  # classes that confident k took out as a whole are not known to the audit
        assert 0 < found.of_one <= stated.largest_possible * (1 + 1e-9)
        assert found.of_one < found.by_matching <= stated.largest_possible_by_matching * (1 + 1e-9)
    attacks = audited.figures.attacks
    if attacks is not None:
        assert attacks.largest_posterior <= found.of_one * (1 + 1e-9)
        assert attacks.largest_by_matching is None or attacks.largest_by_matching <= found.by_matching * (1 + 1e-9)


@pytest.mark.parametrize("case", ["one", "two"])
@pytest.mark.parametrize("key", ["largest_possible", "largest_possible_by_matching"])
def test_a_record_that_plays_down_the_risk_is_broken(case, key, tmp_path):
    """A stated figure below what can be is wrong, with a linkage and without; below what was is said apart."""
    original, policy, release = written(tmp_path, *CASES[case])
    file = tmp_path / "release.csv.curator.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    for factor in (0.999, 1e-3):
        spoilt = {**record, "linking_risk": {**record["linking_risk"], key: record["linking_risk"][key] * factor}}
        file.write_text(json.dumps(spoilt), encoding="utf-8")
        for linkage in (None, release.linkage):
            audited = ke.audit(original, tmp_path / "release.csv", policy, linkage=linkage)
            said = [finding.what for finding in audited.broken]
            assert any(f'"linking_risk.{key}"' in what for what in said)
            above = [what for what in said if "more probable than the curator's record says" in what]
            if linkage is None or factor < 0.5:  # a draw may well come within a thousandth of what is possible
                assert bool(above) is (linkage is not None)


@pytest.mark.parametrize("stated", [10**400, float("nan"), -1, "much", None, True])
def test_a_forged_figure_does_not_stop_the_audit(stated, tmp_path):
    """It is called wrong, whatever it is."""
    original, policy, release = written(tmp_path, {}, False)
    file = tmp_path / "release.csv.curator.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    record["linking_risk"]["largest_possible"] = stated
    file.write_text(json.dumps(record), encoding="utf-8")
    audited = ke.audit(original, tmp_path / "release.csv", policy, linkage=release.linkage)
    assert any('"linking_risk.largest_possible"' in finding.what for finding in audited.broken)


def test_a_limit_that_the_release_does_not_keep_is_broken(tmp_path):
    """An audit under a stricter policy than the release was made with, and the attacker is named; a kept limit passes."""
    original, _, release = written(tmp_path, {}, False)
    risk = release.record.linking_risk.predicted
    between = (risk.largest_possible + risk.largest_possible_by_matching) / 2
    for limit, holds in ((between, False), (risk.largest_possible_by_matching, True)):
        audited = ke.audit(original, release.frame, patients_policy(max_individual_risk=limit))
        (said,) = [finding for finding in audited.findings if finding.check == "risk"]
        assert said.severity == ("passed" if holds else "broken")
        assert said.what.startswith("whoever knows zip, year, height of everybody and matches a whole class one to one")


def test_a_large_class_of_several_has_a_bound_that_may_be_higher_and_not_lower(tmp_path):
    """More than 1,024 records: the record has a bound, which the audit holds against its own exact figure."""
    rng = np.random.default_rng(SEED)
    height = rng.normal(170, 9, 1_500).round(1)
    original = pa.table({"height": height, "weight": (height - 100 + rng.normal(0, 9, 1_500)).round(1)})
    quasi = {"role": "epsilon-quasi", "precision": 0.1, "range": "class"}
    policy = ke.Policy.from_dict(
        {
            "k": 5,
            "epsilon": 4,
            "algorithm": "mondrian",
            "max_suppression": 0,
            "attributes": {"height": quasi, "weight": quasi},
        }
    )
    release = ke.anonymise(original, policy)
    release.write(tmp_path / "release.csv")
    audited = ke.audit(original, tmp_path / "release.csv", policy)
    assert audited.keeps_its_promises, audited.broken
    stated, found = release.record.linking_risk.predicted, audited.figures.largest_risks
    assert found.by_matching * (1 - 1e-9) <= stated.largest_possible_by_matching <= 1.05 * found.by_matching
    assert found.of_one * (1 + 1e-6) < stated.largest_possible, "a bound, not the figure itself"
    file = tmp_path / "release.csv.curator.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    record["linking_risk"]["largest_possible_by_matching"] = 0.99 * found.by_matching
    file.write_text(json.dumps(record), encoding="utf-8")
    assert not ke.audit(original, tmp_path / "release.csv", policy).keeps_its_promises


def test_too_many_pairs_are_said(tmp_path, monkeypatch):
    """Nothing is claimed then, and nothing is compared. One ε-quasi needs no pairs."""
    original, policy, _ = written(tmp_path, {"attributes": {"weight": WEIGHT}}, True)
    monkeypatch.setattr(single_risk, "MOST_PAIRS", 10)
    audited = ke.audit(original, tmp_path / "release.csv", policy)
    assert audited.figures.largest_risks is None
    assert any("too many pairs" in finding.what for finding in audited.of("note"))

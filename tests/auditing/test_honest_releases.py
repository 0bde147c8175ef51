# SPDX-License-Identifier: Apache-2.0
"""No honest release is accused, and labels that can be read in several ways accuse nobody."""

from __future__ import annotations

import numpy as np
import pytest

from material.audited_releases import arrow, patients, patients_policy, released
from material.honest_releases import next_honest_release

N_RELEASES = 30


@pytest.mark.parametrize("number", range(N_RELEASES))
def test_an_honest_release_is_not_accused(number, tmp_path):
    """Settings, data and formats are drawn from a seed; each audit is wrong with probability 1e-6 at most."""
    made = next_honest_release(number, tmp_path, step=N_RELEASES)
    for audit in made.audits():
        shown = "\n".join(map(str, audit.findings))
        assert not audit.broken, f"{shown}\n{made.settings}"
        assert "CANARY" not in shown


GROUPS = {"type": "groups", "levels": [{"a": ["a", "b"], "c": ["c"], "d": ["d", "e"]}, {"a": ["a", "c"], "d": ["d"]}]}
"""The labels a and d stand at three levels, c at two."""


def ambiguous(n=600):
    """A release whose labels stand at several levels of each of two hierarchies, the true one the highest."""
    rng = np.random.default_rng(4)
    original = patients(n)
    original["zip"] = rng.choice(list("abcde"), n).tolist()
    original["year"] = rng.choice(list("abcde"), n, p=[0.5, 0.02, 0.02, 0.44, 0.02]).tolist()
    quasis = {"zip": {"role": "k-quasi", "hierarchy": GROUPS}, "year": {"role": "k-quasi", "hierarchy": GROUPS}}
    return released(original, patients_policy(k=40, max_suppression=0.02, attributes=quasis))


def test_a_release_is_sound_if_one_way_to_read_its_labels_explains_it():
    """The labels a and d are those of three levels; only one level explains how many records there are."""
    case = ambiguous()
    assert set(case.released["year"]) <= {"a", "d"}
    for with_linkage in (True, False):
        assert not case.audit(with_linkage=with_linkage).broken


def test_ways_that_were_not_tried_accuse_nobody(monkeypatch):
    """Where only some ways to read the labels are tried, what rests on them is no accusation, and a warning says so."""
    case = ambiguous()
    monkeypatch.setattr("kepsilon.auditing.readings.MOST_READINGS", 1)
    audit = case.audit(with_linkage=False)
    assert not audit.broken, audit.findings
    [said] = [finding.what for finding in audit.of("warning") if "were tried" in finding.what]
    assert "1 were tried and none fits, and the others were not looked at" in said
    small = case.rows([row for row in range(len(case.released["height"])) if row % 9 == 0])
    assert {finding.check for finding in small.audit(with_linkage=False).broken} == {"k"}


def test_the_files_beside_tell_which_way_to_try_first(tmp_path, monkeypatch):
    """Levels that the curator's record states are the first to be tried, so that one try is enough."""
    import kepsilon as ke

    case = ambiguous()
    release = ke.anonymise(arrow(case.original), case.policy, unsafe_seed=1)
    release.write(tmp_path / "released.csv")
    monkeypatch.setattr("kepsilon.auditing.readings.MOST_READINGS", 1)
    audit = ke.audit(arrow(case.original), tmp_path / "released.csv", case.policy)
    assert not audit.broken
    assert not any("were tried" in finding.what for finding in audit.findings)

# SPDX-License-Identifier: Apache-2.0
"""Releases of local algorithms under `max_level`: who may be left out, and how far labels may reach."""

from __future__ import annotations

import pytest

from material.audited_releases import patients, patients_policy, released

LIMITED = {
    "zip": {"role": "k-quasi", "hierarchy": {"type": "mask"}, "max_level": 1},
    "year": {"role": "k-quasi", "step": 1, "max_level": 2},
}
EACH = pytest.mark.parametrize("algorithm", ["mondrian", "local-recoding"])


def limited_release(algorithm, **changes):
    policy = patients_policy(algorithm=algorithm, k=12, max_suppression=0.5, attributes=LIMITED, **changes)
    return released(patients(600), policy, seed=1)


def broken(case, *, with_linkage):
    return [finding.check for finding in case.audit(with_linkage=with_linkage).of("broken")]


@EACH
def test_records_of_small_parts_are_left_out_and_the_audit_agrees(algorithm):
    """Twelve ZIP codes in three regions and fifteen years in five: the last two years are in a small part of each region."""
    case = limited_release(algorithm)
    n_left_out = 600 - len(case.released["zip"])
    assert 0 < n_left_out <= 300
    for with_linkage in (True, False):
        assert broken(case, with_linkage=with_linkage) == []


@EACH
@pytest.mark.parametrize("with_linkage", [True, False])
def test_more_records_left_out_than_may_be_are_noticed(algorithm, with_linkage):
    """The limit is the policy's, whatever forced the others out."""
    case = limited_release(algorithm)
    kept = [row for row in range(len(case.released["zip"])) if row % 3 == 0]
    assert {"counts", "suppression"} & set(broken(case.rows(kept), with_linkage=with_linkage))


@EACH
@pytest.mark.parametrize(("column", "wide"), [("zip", "1**"), ("year", "[1950, 1962)")], ids=["a node", "an interval"])
def test_labels_beyond_the_highest_level_are_noticed(algorithm, column, wide):
    """A curator who stated it relies on it."""
    case = limited_release(algorithm)
    wider = case.change(**{column: [wide] * len(case.released[column])})
    for with_linkage in (True, False):
        found = [str(finding) for finding in wider.audit(with_linkage=with_linkage).of("broken")]
        assert any("max_level keeps apart" in finding for finding in found)

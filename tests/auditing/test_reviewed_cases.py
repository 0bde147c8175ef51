# SPDX-License-Identifier: Apache-2.0
"""Cases that an earlier audit judged wrongly: sound releases called broken, and broken ones let through."""

from __future__ import annotations

import pytest

import kepsilon as ke
from auditing.releases import Case, classes_of, patients, policy, released


def checks(audit: ke.Audit, severity: str = "broken") -> set[str]:
    return {finding.check for finding in audit.of(severity)}


def said(audit: ke.Audit, check: str) -> str:
    return " ".join(str(finding) for finding in audit.findings if finding.check == check)


def scattered(n: int, *, seed: int) -> dict[str, list]:
    """Patients whose post codes mean nothing, so that Mondrian's masks overlap."""
    original = patients(n, seed=seed)
    original["zip"] = [f"{i * 7919 % 9}{i * 31 % 7}{i * 17 % 10}" for i in range(n)]
    return original


@pytest.mark.parametrize("seed", [28, 0, 1, 2, 3])
def test_classes_that_confident_k_took_out_cause_no_alarm_where_labels_overlap(seed):
    """Their originals lie in the cover of classes that stayed, which are therefore not known."""
    under = policy(algorithm="mondrian", epsilon=16, confidence=0.9)
    case = released(scattered(400, seed=100 + seed), under, seed=seed)
    for with_linkage in (True, False):
        audit = case.audit(with_linkage=with_linkage)
        assert not audit.broken, audit.findings
        assert "is not known" in said(audit, "counts")


def without_classes(case: Case, share: float) -> Case:
    by_class = classes_of(case)
    gone = {row for records in by_class[: int(len(by_class) * share)] for row in records}
    return case.rows([row for row in range(len(case.released["height"])) if row not in gone])


@pytest.mark.parametrize("with_linkage", [True, False], ids=["linkage", "no linkage"])
def test_leaving_out_more_records_than_the_policy_allows_is_broken(with_linkage):
    """Whole classes of k and more that are not there count too."""
    audit = without_classes(released(patients(2000), policy()), 0.5).audit(with_linkage=with_linkage)
    assert "suppression" in checks(audit)
    assert not checks(audit, "passed") & {"suppression", "counts"}

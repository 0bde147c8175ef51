# SPDX-License-Identifier: Apache-2.0
"""Cases that an earlier audit judged wrongly: sound releases called broken, and broken ones let through."""

from __future__ import annotations

import numpy as np
import pytest

import kepsilon as ke
from auditing.releases import Case, classes_of, patients, policy, released

HEIGHT = {"role": "epsilon-quasi", "precision": 0.1, "range": "class"}


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


def exact(case: Case, rows: list[int], column: str = "height") -> Case:
    """These records without noise."""
    values, own = list(case.released[column]), case.own(column)
    for row in rows:
        values[row] = own[row]
    return case.change(**{column: values})


@pytest.mark.parametrize("confidence", [None, 0.9])
def test_one_class_published_as_it_is_is_caught(confidence):
    """Some twenty of three thousand records: far too few for an average to show."""
    case = released(patients(3000), policy(confidence=confidence))
    largest = max(classes_of(case), key=len)
    assert 15 <= len(largest) <= 40
    assert not case.audit().broken
    audit = exact(case, largest).audit()
    assert "noise" in checks(audit)
    assert "as it is" in said(audit, "noise")


def test_three_in_a_hundred_records_without_noise_are_caught():
    """Spread over all classes, so that no class stands out."""
    case = released(patients(20_000), policy())
    rows = np.random.default_rng(1).permutation(len(case.released["height"]))[:600].tolist()
    audit = exact(case, rows).audit()
    assert "noise" in checks(audit)


def test_too_many_links_are_caught_where_no_value_is_exact():
    """Every record moved by a quarter of the distance to its nearest other original: nobody is published as they are."""
    case = released(patients(3000), policy(attributes={"height": {**HEIGHT, "precision": 0.001}}))
    own = case.own("height")
    chosen = set(np.random.default_rng(2).permutation(len(own))[:300].tolist())
    moved = [
        round(v + 0.01, 3) if i in chosen else x
        for i, (v, x) in enumerate(zip(own, case.released["height"], strict=True))
    ]
    audit = case.change(height=moved).audit()
    assert "attacks" in checks(audit), audit.findings


@pytest.mark.parametrize("precision", [1, 5, 20])
@pytest.mark.parametrize("epsilon", [2, 16])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_values_that_rounding_brings_back_are_no_alarm(precision, epsilon, seed):
    """With steps wider than the noise most records are published as they are, and that is expected."""
    rng = np.random.default_rng(seed)
    original = patients(1500, seed=seed)
    original["height"] = rng.integers(160, 171, 1500).astype(float).tolist()
    domain = {"domain": [160, 180]} if seed == 2 else {}
    height = {**HEIGHT, "precision": precision, **domain}
    for confidence in (None, 0.9):
        audit = released(
            original, policy(epsilon=epsilon, confidence=confidence, attributes={"height": height})
        ).audit()
        assert not audit.broken, audit.findings


@pytest.mark.parametrize("spread", ["class", {"coarse": 5}])
def test_a_column_without_any_noise_is_caught_where_no_class_is_known(spread):
    """Labels that overlap hide who is in which class, but not that every value is an original's."""
    under = policy(algorithm="mondrian", epsilon=8, attributes={"height": {**HEIGHT, "range": spread}})
    case = released(scattered(1500, seed=7), under)
    audit = case.audit(with_linkage=False)
    assert not audit.broken
    assert "noise" not in checks(audit, "passed"), "only part of the records could be tested"
    assert "could be tested" in said(audit, "noise")
    bare = case.change(height=case.own("height")).audit(with_linkage=False)
    assert "noise" in checks(bare)


def test_values_that_rounding_brings_back_are_no_alarm_where_no_class_is_known():
    """A precision wider than the noise publishes most values as they are."""
    height = {**HEIGHT, "precision": 10}
    case = released(scattered(1500, seed=8), policy(algorithm="mondrian", epsilon=16, attributes={"height": height}))
    assert not case.audit(with_linkage=False).broken
    assert (
        not case.change(height=[float(round(v / 10) * 10) for v in case.own("height")]).audit(with_linkage=False).broken
    )

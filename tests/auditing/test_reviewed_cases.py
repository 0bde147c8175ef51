# SPDX-License-Identifier: Apache-2.0
"""Cases that an earlier audit judged wrongly: sound releases called broken, and broken ones let through."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import kepsilon as ke
from material.audited_releases import Case, classes_of, patients, patients_policy, released
from material.tamperings import unshuffled

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
    """Labels of released classes cover the originals of the classes taken out, so the audit calls those classes unknown."""
    under = patients_policy(algorithm="mondrian", labels="ancestor", epsilon=16, confidence=0.9)
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
    """Whole classes of k and more that are absent count as left out."""
    audit = without_classes(released(patients(2000), patients_policy()), 0.5).audit(with_linkage=with_linkage)
    assert "suppression" in checks(audit)
    assert not checks(audit, "passed") & {"suppression", "counts"}


def exact(case: Case, rows: list[int], column: str = "height") -> Case:
    """The case with these records published without noise."""
    values, own = list(case.released[column]), case.own(column)
    for row in rows:
        values[row] = own[row]
    return case.change(**{column: values})


@pytest.mark.parametrize("confidence", [None, 0.9])
def test_one_class_published_as_it_is_is_caught(confidence):
    """A class of about twenty among three thousand records is too small to show in an average."""
    case = released(patients(3000), patients_policy(confidence=confidence))
    largest = max(classes_of(case), key=len)
    assert 15 <= len(largest) <= 40
    assert not case.audit().broken
    audit = exact(case, largest).audit()
    assert "noise" in checks(audit)
    assert "as it is" in said(audit, "noise")


def test_three_in_a_hundred_records_without_noise_are_caught():
    """The records are spread over all classes, so that no class stands out."""
    case = released(patients(20_000), patients_policy())
    rows = np.random.default_rng(1).permutation(len(case.released["height"]))[:600].tolist()
    audit = exact(case, rows).audit()
    assert "noise" in checks(audit)


def test_too_many_links_are_caught_where_no_value_is_exact():
    """Each value is moved by a quarter of the distance to its nearest other original, so that none is exact."""
    case = released(patients(3000), patients_policy(attributes={"height": {**HEIGHT, "precision": 0.001}}))
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
            original, patients_policy(epsilon=epsilon, confidence=confidence, attributes={"height": height})
        ).audit()
        assert not audit.broken, audit.findings


@pytest.mark.parametrize("spread", ["class", {"coarse": 5}])
def test_a_column_without_any_noise_is_caught_where_no_class_is_known(spread):
    """Labels that overlap hide who is in which class, but not that every value is an original's."""
    under = patients_policy(algorithm="mondrian", epsilon=8, attributes={"height": {**HEIGHT, "range": spread}})
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
    case = released(
        scattered(1500, seed=8), patients_policy(algorithm="mondrian", epsilon=16, attributes={"height": height})
    )
    assert not case.audit(with_linkage=False).broken
    assert (
        not case.change(height=[float(round(v / 10) * 10) for v in case.own("height")]).audit(with_linkage=False).broken
    )


def test_confident_k_is_said_to_hold_only_as_far_as_it_was_looked_at():
    """Values that no original is in reach of stay under the rule `text`, and are counted."""
    case = released(patients(3000), patients_policy(confidence=0.7, epsilon=16))
    [line] = [f.what for f in case.audit().of("passed") if f.check == "confident k"]
    assert "classes whose originals are known" in line
    assert "none in reach, which the rule text allows" in line


def test_no_line_says_that_identifiers_are_gone_beside_a_warning_that_some_are_not():
    """A line that identifiers are gone and a warning that some are not would contradict each other."""
    case = released(patients(600), patients_policy())
    note = ["-"] * len(case.released["height"])
    note[3] = case.own("name")[3]
    audit = case.change(note=note).audit()
    assert "identifiers" in checks(audit, "warning")
    assert "identifiers" not in checks(audit, "passed")
    assert "1 cell of" in said(audit, "identifiers")


def test_the_headline_without_a_linkage_rests_on_the_noise_and_says_so():
    """The headline states an expected share only where the noise was not found broken."""
    case = released(patients(1500), patients_policy())
    assert "would link" in case.audit(with_linkage=False).headline
    assert "if the noise is as claimed" in case.audit(with_linkage=False).headline
    bare = case.change(height=case.own("height")).audit(with_linkage=False)
    assert "%" not in bare.headline
    assert "not what was claimed" in bare.headline


def test_a_few_wrong_lines_of_a_linkage_stay_broken():
    """Only a linkage that is wrong nearly everywhere is taken for another release's."""
    case = released(patients(1500), patients_policy())
    rows = list(case.linkage["original_row"])
    rows[:40] = rows[1:40] + rows[:1]
    assert "labels" in checks(replace(case, linkage={**case.linkage, "original_row": rows}).audit())


@pytest.mark.parametrize("with_linkage", [True, False], ids=["linkage", "no linkage"])
def test_a_release_sorted_by_a_kept_number_is_caught(with_linkage):
    """Each value occurs once, so nothing is grouped, and sorting the values as text would give another order."""
    original = patients(800)
    original["salary"] = np.random.default_rng(2).permutation(np.arange(800) * 37 + 900).tolist()
    case = released(original, patients_policy(attributes={"salary": {"role": "sensitive"}}))
    assert not case.audit(with_linkage=with_linkage).broken
    order = sorted(range(len(case.released["salary"])), key=lambda row: case.released["salary"][row])
    assert "order" in checks(case.rows(order).audit(with_linkage=with_linkage))


@pytest.mark.parametrize(
    "turn", [lambda rows: rows[::-1], lambda rows: [*rows[3:], *rows[:3]]], ids=["back", "shifted"]
)
def test_the_order_of_the_input_is_recognised_backwards_and_shifted(turn):
    """The order of kept values and classes shows it without a linkage."""
    case = unshuffled(released(patients(2000), patients_policy()))
    rows = turn(list(range(len(case.released["height"]))))
    assert "order" in checks(case.rows(rows).audit(with_linkage=False))


@pytest.mark.parametrize("rule", ["text", "strict", "suppress_zero"])
@pytest.mark.parametrize("with_linkage", [True, False], ids=["linkage", "no linkage"])
def test_more_records_missing_than_confident_k_explains_are_broken(rule, with_linkage):
    """Otherwise any record could be left out and confident k be given as the reason."""
    case = released(patients(3000), patients_policy(confidence=0.99, epsilon=2, confidence_rule=rule))
    assert not case.audit(with_linkage=with_linkage).broken
    left = sorted(row for records in classes_of(case) for row in records[: max(5, len(records) // 3)])
    assert "suppression" in checks(case.rows(left).audit(with_linkage=with_linkage))


@pytest.mark.parametrize("rule", ["text", "strict", "suppress_zero"])
@pytest.mark.parametrize("height", [{}, {"precision": 5}, {"domain": [165, 175]}, {"range": [160, 180]}])
def test_records_that_confident_k_takes_out_are_as_many_as_the_audit_expects(rule, height):
    """The number taken out of real releases is within five standard errors of the mean, rounding and clamping included."""
    original = patients(1200)
    original["zip"] = ["100"] * 1200  # classes of some eighty records, none of which falls as a whole
    under = patients_policy(
        confidence=0.9, epsilon=16, confidence_rule=rule, attributes={"height": {**HEIGHT, **height}}
    )
    shares, expected = [], None
    for seed in range(12):
        case = released(original, under, seed=seed)
        audit = case.audit(with_linkage=False)
        assert not audit.broken, audit.findings
        expected = audit.figures["confident_k_expected"]
        n = len(released_without_confidence(original, under))
        shares.append(1 - len(case.released["height"]) / n)
    error = np.std(shares, ddof=1) / np.sqrt(len(shares))
    assert abs(np.mean(shares) - expected) < 5 * max(error, 1e-4), (np.mean(shares), expected, error)


def released_without_confidence(original, under) -> list[float]:
    document = {k: v for k, v in under.model_dump(mode="json", exclude_none=True).items() if "confidence" not in k}
    return released(original, ke.Policy.from_dict(document)).released["height"]

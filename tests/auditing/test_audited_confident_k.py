# SPDX-License-Identifier: Apache-2.0
"""Confident k as the audit sees it: records with too few originals in reach should not be there."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

import kepsilon as ke
from material.audited_releases import POLICY, Case, patients, patients_policy, released
from material.tamperings import scaled_noise

CONFIDENCE = 0.99


class ConfidentPolicy(ke.Policy):
    """A policy with the keys that ask for confident k."""

    confidence: float | None = CONFIDENCE
    confidence_rule: Literal["text", "strict", "suppress_zero"] = "text"


def confident(rule: str = "text") -> ConfidentPolicy:
    document = copy.deepcopy(POLICY)
    document["epsilon"] = 8
    return ConfidentPolicy.model_validate({**document, "confidence_rule": rule}, context={"folder": Path()})


def in_reach(case: Case) -> list[int]:
    """Originals of its class within the linking range of every published value, one by one."""
    own, published, ids = case.own("height"), case.released["height"], case.linkage["class_id"]
    by_class: dict[int, list[float]] = {}
    for value, class_id in zip(own, ids, strict=True):
        by_class.setdefault(class_id, []).append(value)
    counts = []
    for x, class_id in zip(published, ids, strict=True):
        values = by_class[class_id]
        reach = (max(values) - min(values)) / 8 * -math.log(1 - CONFIDENCE) + 0.05
        counts.append(sum(abs(x - value) <= reach + 1e-9 for value in values))
    return counts


def suppressed(case: Case, rule: str) -> Case:
    """Without the records that confident k takes out, in one pass."""
    reach, ids, k = in_reach(case), case.linkage["class_id"], case.policy.k
    goes = [n < k if rule == "suppress_zero" else 0 < n < k for n in reach]
    counts_as_gone = goes if rule == "text" else [n < k for n in reach]
    left: dict[int, int] = {}
    for class_id, gone in zip(ids, counts_as_gone, strict=True):
        left[class_id] = left.get(class_id, 0) + (not gone)
    return case.rows([i for i, gone in enumerate(goes) if not gone and left[ids[i]] >= k])


@pytest.fixture(scope="module")
def before():
    return released(patients(2500), patients_policy(epsilon=8))


@pytest.mark.parametrize("rule", ["text", "strict", "suppress_zero"])
def test_a_release_that_keeps_confident_k_passes(before, rule):
    """Confident k takes records out by their noise; the tests of the noise must not take that for wrong noise."""
    case = replace(suppressed(before, rule), policy=confident(rule))
    assert len(case.released["height"]) < len(before.released["height"])
    for with_linkage in (True, False):
        audit = case.audit(with_linkage=with_linkage)
        assert not audit.broken, audit.findings
        assert [f for f in audit.of("passed") if f.check == "confident k"]


@pytest.mark.parametrize("with_linkage", [True, False], ids=["linkage", "no linkage"])
def test_a_record_that_confident_k_should_have_taken_out_is_caught(before, with_linkage):
    """A single such record is enough to break the promise."""
    left = suppressed(before, "text")
    ids = set(left.linkage["class_id"])
    rows = set(left.linkage["original_row"])
    extra = next(
        i
        for i, n in enumerate(in_reach(before))
        if 0 < n < 5 and before.linkage["class_id"][i] in ids and before.linkage["original_row"][i] not in rows
    )
    stays = [i for i, row in enumerate(before.linkage["original_row"]) if row in rows or i == extra]
    case = replace(before.rows(stays), policy=confident())
    audit = case.audit(with_linkage=with_linkage)
    assert {f.check for f in audit.broken} == {"confident k"}


def test_a_value_with_no_original_in_reach_is_caught_where_the_rule_takes_it_out(before):
    """The rule suppress_zero takes out values that the rule text leaves in."""
    case = suppressed(before, "text")
    assert 0 in in_reach(before)
    audit = replace(case, policy=confident("suppress_zero")).audit()
    assert "confident k" in {f.check for f in audit.broken}


def test_half_the_noise_is_still_caught_after_records_were_taken_out(before):
    """The tests allow for any choice of records taken out, and still detect half the noise."""
    case = replace(scaled_noise(suppressed(before, "text"), 0.5), policy=confident())
    assert "noise" in {f.check for f in case.audit().broken}

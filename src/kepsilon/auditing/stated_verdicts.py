# SPDX-License-Identifier: Apache-2.0
"""Holds the verdicts of a curator's record against its figures, and these against the original and the release.

The audit comes to verdicts by its own code. Where it cannot work out a figure again, the verdict has to follow from the
figure that the record states.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.classes import NOWHERE
from kepsilon.auditing.comparison import Between, Comparison, agree
from kepsilon.auditing.residuals import n_taken_out_with_class
from kepsilon.json_values import Json
from kepsilon.rounding import percent, percent_at_most

KEY, OF_RELEASE = "verdicts", "verdict"
NEAR = 3e-3
"""A share may be off by this part of itself: the curator's median is that of narrow cells."""
MARGIN = 1e-3
"""A figure this near to where a verdict begins, as a share of it, may be judged either way."""
WORDS = ("kept", "coarser", "useless")
"""The verdicts, the best first."""


def compare_verdicts(case: AuditCase, document: Json, known: Json, found: Comparison) -> None:
    """Compares the verdict on every quasi, and the three marks on the release; records of version 0.1 have neither.

    `known` holds the figures of the record that were worked out again.
    """
    stated, marks, policy = document.get(KEY), document.get(OF_RELEASE), case.policy
    if stated is None and marks is None:
        return
    names = [*policy.k_quasis, *policy.epsilon_quasis]
    if (
        not isinstance(stated, Mapping)
        or set(stated) != set(names)
        or not all(isinstance(own, Mapping) and own.get("verdict") in WORDS for own in stated.values())
    ):
        found.require(False, KEY)
        return
    for name in names:
        own, where = stated[name], f"{KEY}.{name}"
        found.require(own.get("accepted") == policy.accepted_useless.get(name), f"{where}.accepted")
        found.require(isinstance(own.get("reason"), str), f"{where}.reason")
        is_label = name in policy.k_quasis
        found.require(own.get("role") == ("k-quasi" if is_label else "epsilon-quasi"), f"{where}.role")
        compare = _compare_labels if is_label else _compare_values
        compare(case, own, name, document, known, found)
    worst = max((own["verdict"] for own in stated.values()), key=WORDS.index, default="kept")
    _compare_marks(case, marks, worst, document, found)


def _figure(document: Any, *path: str) -> Any:
    """The number at a path of the document; None where there is none."""
    for key in path:
        document = document.get(key) if isinstance(document, Mapping) else None
    is_number = isinstance(document, int | float) and not isinstance(document, bool) and abs(document) < 1e300
    return document if is_number else None


def _compare_labels(
    case: AuditCase, own: Mapping[str, Any], name: str, document: Json, known: Json, found: Comparison
) -> None:
    """Compares the verdict on a k-quasi with its loss, and with how many labels and values there are."""
    where, share = f"{KEY}.{name}", _figure(own, "share")
    ncp = known.get("loss", {}).get("ncp", {}).get(name)
    if isinstance(ncp, Between):
        found.require(share is not None and ncp.least <= share <= ncp.most, f"{where}.share")
    found.require(share is not None and agree(share, _figure(document, "loss", "ncp", name)), f"{where}.share")
    if share is None:
        return
    _, of_record = case.released.labels[name]
    n_labels, n_values = len(np.unique(of_record)), case.original.domains[name].n_values
    if n_labels > 1:
        found.require(own["verdict"] != "useless", f"{where}.verdict")
    elif not case.classes.all_known or n_taken_out_with_class(case) or not case.original.is_exact:
        return  # there may have been other labels, in classes that confident k took out
    if n_labels == 1 and n_values > 1:
        found.require(own["verdict"] == "useless", f"{where}.verdict")
    elif abs(share / 0.1 - 1) > MARGIN:
        found.require(own["verdict"] == ("coarser" if share > 0.1 else "kept"), f"{where}.verdict")


def _compare_values(
    case: AuditCase, own: Mapping[str, Any], name: str, document: Json, known: Json, found: Comparison
) -> None:
    """Compares the verdict on an ε-quasi with its errors, and its share with the spread of the originals."""
    where, share = f"{KEY}.{name}", _figure(own, "share")
    error = _figure(document, "survives", name, "error", "expected")
    constant = _figure(document, "survives", name, "error_of_best_constant", "absolute")
    if error is None or constant is None:
        return  # fewer than k records hold a value, and no error of them is stated
    spread = _spread(case, name)
    if spread is not None and share is not None:
        found.require(math.isclose(share * spread, error, rel_tol=NEAR), f"{where}.share")
    range_relative, width = known.get("error", {}).get(name, {}).get("range_relative"), _width(case, name)
    if isinstance(range_relative, float) and width is not None:
        expected = range_relative * width
        found.require(math.isclose(error, expected, rel_tol=1e-6), f"survives.{name}.error.expected")
    if error == 0:
        found.require(own["verdict"] == "kept", f"{where}.verdict")
    elif constant == 0 or abs(error / constant / 0.8 - 1) > MARGIN:
        is_useless = constant == 0 or error > 0.8 * constant
        found.require((own["verdict"] == "useless") is is_useless, f"{where}.verdict")
        if not is_useless and share is not None and abs(share / 0.1 - 1) > MARGIN:
            found.require(own["verdict"] == ("coarser" if share > 0.1 else "kept"), f"{where}.verdict")


def _members(case: AuditCase, name: str) -> Any:
    """The true values of all records in classes; None where these are not known, or leave no digits to compare."""
    if not case.classes.all_known or n_taken_out_with_class(case) or not case.original.is_exact:
        return None
    values = case.original.numbers[name][case.classes.of_original != NOWHERE]
    values = values[~np.isnan(values)]
    largest = float(np.abs(values).max(initial=0.0))
    if not values.size or not 1e-100 < largest < 1e100 or np.ptp(values) < 1e-9 * largest:
        return None
    return values


def _spread(case: AuditCase, name: str) -> float | None:
    """The mean distance of the true values from their median."""
    values = _members(case, name)
    return None if values is None else float(np.mean(np.abs(values - np.median(values))))


def _width(case: AuditCase, name: str) -> float | None:
    """The range of the true values."""
    values = _members(case, name)
    return None if values is None else float(np.ptp(values))


def _compare_marks(case: AuditCase, marks: Any, worst: str, document: Json, found: Comparison) -> None:
    """Compares the marks on the release: their words, and the figures in their sentences."""
    parts = ("promise", "risk", "usefulness")
    if not isinstance(marks, Mapping) or not all(isinstance(marks.get(part), Mapping) for part in parts):
        found.require(False, OF_RELEASE)
        return
    sentences = {part: marks[part].get("sentence") for part in parts}
    if not all(isinstance(own, str) for own in sentences.values()):
        found.require(False, OF_RELEASE)
        return
    found.require(marks["usefulness"].get("state") == worst, f"{OF_RELEASE}.usefulness.state")
    promise = "not kept" if document.get("seeded") else "kept"
    found.require(marks["promise"].get("state") == promise, f"{OF_RELEASE}.promise.state")
    counted = "records" if case.policy.person is None else "persons"
    fewest = (
        int(case.classes.n_released.min())
        if case.policy.person is None
        else _figure(document, "persons", "fewest_in_a_class")
    )
    is_stated = fewest is not None and f"at least {fewest:,} {counted}" in sentences["promise"]
    found.require(is_stated and f"(k = {case.policy.k})" in sentences["promise"], f"{OF_RELEASE}.promise.sentence")
    _compare_risk(case, marks["risk"], document, found)


def _compare_risk(case: AuditCase, mark: Mapping[str, Any], document: Json, found: Comparison) -> None:
    """Compares the mark on the risk with the headline, the largest single risk and the policy's limit."""
    where, limit = f"{OF_RELEASE}.risk", case.policy.max_risk
    share = _figure(document, "linking_risk", "headline", "share")
    off_by = _figure(document, "linking_risk", "headline", "standard_error") or 0.0
    largest = _figure(document, "linking_risk", "largest_possible_by_matching")
    if share is None or largest is None:
        return
    for words in (f"links {percent(share)} of", f"at most {percent_at_most(min(largest, 1.0))} sure"):
        found.require(words in mark["sentence"], f"{where}.sentence")
    if limit is None:
        found.require(mark.get("state") == "no limit", f"{where}.state")
    elif not math.isclose(share + 3 * off_by, limit, rel_tol=MARGIN):
        found.require(mark.get("state") == ("within" if share + 3 * off_by < limit else "above"), f"{where}.state")

# SPDX-License-Identifier: Apache-2.0
"""The curator's record, and the public manifest made from it by leaving out what could be used against a record."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kepsilon.policy.policy import Policy

Json = dict[str, Any]
PUBLIC_KEYS = (
    "kepsilon_version",
    "created",
    "policy",
    "guarantee",
    "seeded",
    "engine",
    "digest",
    "records",
    "classes",
    "levels",
    "loss",
)
EXPECTED_KEYS = {
    "error": ("expected_relative", "range_relative"),
    "linking_risk": ("expected", "expected_paper_ties"),
    "confident_k": ("expected", "total_expected"),
}
"""Figures known before any noise is drawn. A realised one depends on which record became which, and can betray it."""

MOST_OF_ONE_RECORD = 0.02
"""Share of a mean that one record may have if the mean is published to two digits: these leave half a per cent open, at
best, which is a quarter of such a record's part."""

CURATORS_POLICY_KEYS = ("path", "levels")
"""Inside a hierarchy: where its file lies, and lists that may have been copied from the data."""


def normalised(policy: Policy) -> Json:
    """The policy with all its defaults written out."""
    return policy.model_dump(mode="json", exclude_none=True)


def public(record: Mapping[str, Any]) -> Json:
    """The part of the curator's record that may be given away with the release.

    Declared bounds promise that nothing exact about a record's value is told, and their width is public: a mean error
    could be solved for the smallest value, or for one that was clipped. So error, risk and the number of clipped values
    stay out, and likewise error and risk of coarse ranges.
    Figures that were computed from all records, the suppressed ones included, are rounded to two digits: an exact one
    lets whoever knows every value but one solve for it.
    """
    manifest = {key: record[key] for key in PUBLIC_KEYS if key in record}
    manifest["policy"] = _without_lists(manifest["policy"])
    manifest["loss"] = _rounded(manifest["loss"])
    attributes = record["policy"]["attributes"]
    in_class = {name for name in record.get("error", {}) if attributes[name].get("range") == "class"}
    if in_class:
        manifest["error"] = {
            name: _public_error(figures) for name, figures in record["error"].items() if name in in_class
        }
    all_in_class = len(in_class) == len(record.get("error", {})) > 0
    if "confident_k" in record and all_in_class:
        manifest["confident_k"] = _expected(record["confident_k"], "confident_k")
    if "linking_risk" in record and all_in_class:
        risk = record["linking_risk"]
        manifest["linking_risk"] = {
            **_expected(risk, "linking_risk"),
            "per_original": _expected(risk["per_original"], "linking_risk"),
        }
    return manifest


def _public_error(figures: Mapping[str, Any]) -> Json:
    """Rounding does not hide a record that dominates a mean of E|Z|/|v|: one that is next to 0 could be solved for."""
    public = _expected(figures, "error")
    if (figures.get("largest_share") or 0.0) > MOST_OF_ONE_RECORD:
        del public["expected_relative"]
    return public


def _expected(figures: Mapping[str, Any], part: str) -> Json:
    """Named one by one, so that a figure added to the record stays out until somebody has thought about it."""
    return {key: _rounded(figures[key]) for key in EXPECTED_KEYS[part] if key in figures}


def _without_lists(policy: Json) -> Json:
    attributes = {name: dict(attribute) for name, attribute in policy["attributes"].items()}
    for attribute in attributes.values():
        for key in CURATORS_POLICY_KEYS:
            if key in attribute.get("hierarchy", {}):
                attribute["hierarchy"] = {k: v for k, v in attribute["hierarchy"].items() if k != key}
    return {**policy, "attributes": attributes}


def _rounded(figures: Any) -> Any:
    if isinstance(figures, dict):
        return {key: _rounded(value) for key, value in figures.items()}
    if isinstance(figures, int | float) and figures:
        return round(figures, 1 - math.floor(math.log10(abs(figures))))
    return figures

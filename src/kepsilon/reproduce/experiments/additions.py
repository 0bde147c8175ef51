# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: wider ranges that promise more, and two ε-quasis at once; what they cost at k = 20."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kepsilon.json_values import Json
from kepsilon.reproduce.data.data_sets import DataSet, with_both_measures
from kepsilon.reproduce.experiments.counted_data import CountedData, predictions
from kepsilon.reproduce.scope import SHOWN_CONFIDENCE, SHOWN_K, Scope

STEP = 5
"""A coarse range begins and ends at multiples of this, in centimetres or kilograms."""
BOUNDS = {"height": (130, 210), "weight": (20, 300)}
"""Declared bounds for grown-ups, in centimetres and kilograms: stated, not read from any data."""
UNITS = {"height": "cm", "weight": "kg"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way to set the range of the noise, and the data and policy document it needs."""

    name: str
    title: str
    note: str
    data: DataSet
    document: Mapping[str, Any]


def additions(data: CountedData, algorithm: str, scope: Scope) -> Json:
    """Expected error, linking risk and confident-k suppression at 99 % for every ε, by variant."""
    return {
        **data.heading(algorithm),
        "k": SHOWN_K,
        "confidence": SHOWN_CONFIDENCE,
        "variants": [_measured(variant, algorithm, scope) for variant in variants(data.data, scope)],
    }


def variants(data: DataSet, scope: Scope) -> list[Variant]:
    """The paper's range and the three additions."""
    unit, (low, high) = UNITS[data.epsilon_quasi], BOUNDS[data.epsilon_quasi]
    both = with_both_measures(data, seed=scope.seed)
    return [
        Variant(
            name="class",
            title="range of the class (the paper)",
            note="A value is ε-indistinguishable from all between the class's extremes, for whoever knows these.",
            data=data,
            document=data.policy,
        ),
        Variant(
            name="coarse",
            title=f"range of the class, widened to multiples of {STEP} {unit}",
            note="Hides the class's extremes as well, and gives noise to classes whose records agree.",
            data=data,
            document=_with_range(data, {"coarse": STEP}),
        ),
        Variant(
            name="declared",
            title=f"declared bounds, {low} to {high} {unit}",
            note="Not read from the data: without confident k, the ε-quasi of a record is protected whatever the others hold.",
            data=data,
            document=_with_range(data, [low, high]),
        ),
        Variant(
            name="several",
            title="two ε-quasis, height and weight together",
            note="One ε for both, drawn for the record as a whole. Height and weight are independent given age and sex, "
            "because the source has no correlation; risk and suppression are simulated.",
            data=both,
            document=both.policy,
        ),
    ]


def _with_range(data: DataSet, chosen: object) -> Mapping[str, Any]:
    """The policy document with another range of the ε-quasi."""
    attributes, quasi = data.policy["attributes"], data.epsilon_quasi
    return {**data.policy, "attributes": {**attributes, quasi: {**attributes[quasi], "range": chosen}}}


def _measured(variant: Variant, algorithm: str, scope: Scope) -> Json:
    epsilons = scope.ends_if_quick(scope.epsilons)
    found = predictions(variant.data, variant.document, algorithm, [SHOWN_K], epsilons, confidence=SHOWN_CONFIDENCE)
    cells = []
    for (_, epsilon), one in found.items():
        if one.confident_k is None:
            raise ValueError("confident k was asked for, and not looked at")
        risk, suppressed = one.linking_risk.fair, one.confident_k.of_counted
        cells.append(
            {
                "epsilon": float(epsilon),
                "error": {name: own.expected_relative for name, own in one.error.items()},
                "risk": risk.total,
                "risk_standard_error": risk.standard_error,
                "suppressed": suppressed.total,
                "suppressed_standard_error": suppressed.standard_error,
            }
        )
    return {
        "name": variant.name,
        "title": variant.title,
        "note": variant.note,
        "clipped": sum(one.clipped.values()),
        "cells": cells,
    }

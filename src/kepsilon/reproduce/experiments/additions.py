# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: wider ranges that promise more, and two ε-quasis at once; what they cost at k = 20."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kepsilon.evaluate.confident_k.confident_k import ConfidentK
from kepsilon.evaluate.error.relative_error import ErrorSums
from kepsilon.json_values import Json
from kepsilon.kanonymise.algorithms import KAnonymised
from kepsilon.reproduce.data.data_sets import with_both_measures
from kepsilon.reproduce.experiments.counted_data import CountedData, count_data
from kepsilon.reproduce.experiments.experiment import heading, look_at
from kepsilon.reproduce.setting import SHOWN_CONFIDENCE, SHOWN_K, Setting

STEP = 5
"""Of a coarse range, in centimetres or kilograms."""
BOUNDS = {"height": (130, 210), "weight": (20, 300)}
"""Of grown-ups, in centimetres and kilograms: stated, not read from any data."""
UNITS = {"height": "cm", "weight": "kg"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    name: str
    title: str
    note: str
    data: CountedData


def additions(data: CountedData, algorithm: str, setting: Setting) -> Json:
    """Expected error, linking risk and confident-k suppression at 99 % for every ε, by variant."""
    # The k-quasis are the same in all variants, and so are the classes.
    partition = data.partitions(algorithm, [SHOWN_K])[SHOWN_K]
    return {
        **heading(data.data, algorithm),
        "k": SHOWN_K,
        "confidence": SHOWN_CONFIDENCE,
        "variants": [_measured(variant, partition, algorithm, setting) for variant in variants(data, setting)],
    }


def variants(data: CountedData, setting: Setting) -> list[Variant]:
    """The paper's range and the three additions, each with the data it needs."""
    quasi = data.data.epsilon_quasi
    unit, (low, high) = UNITS[quasi], BOUNDS[quasi]
    both = with_both_measures(data.data, seed=setting.seed)
    return [
        Variant(
            name="class",
            title="range of the class (the paper)",
            note="A value is ε-indistinguishable from all between the class's extremes, for whoever knows these.",
            data=data,
        ),
        Variant(
            name="coarse",
            title=f"range of the class, widened to multiples of {STEP} {unit}",
            note="Hides the class's extremes as well, and gives noise to classes whose records agree.",
            data=_with_range(data, {"coarse": STEP}),
        ),
        Variant(
            name="declared",
            title=f"declared bounds, {low} to {high} {unit}",
            note="Not read from the data: without confident k, the ε-quasi of a record is protected whatever the others hold.",
            data=_with_range(data, [low, high]),
        ),
        Variant(
            name="several",
            title="two ε-quasis, height and weight together",
            note="One ε for both, drawn for the record as a whole. Height and weight are independent given age and sex, "
            "because the source has no correlation; risk and suppression are simulated.",
            data=count_data(both),
        ),
    ]


def _with_range(data: CountedData, chosen: object) -> CountedData:
    """The same count with another range of the ε-quasi; nothing that was counted depends on it."""
    quasi = data.data.epsilon_quasi
    attributes: Mapping[str, Any] = data.document["attributes"]
    document = {**data.document, "attributes": {**attributes, quasi: {**attributes[quasi], "range": chosen}}}
    return CountedData(data=data.data, document=document, counted=data.counted)


def _measured(variant: Variant, partition: KAnonymised, algorithm: str, setting: Setting) -> Json:
    policy = variant.data.policy(algorithm=algorithm, k=SHOWN_K, confidence=SHOWN_CONFIDENCE)
    noisy = look_at(variant.data, partition, policy)
    n_counted = variant.data.counted.n_staying
    confident = ConfidentK.asked_by(policy)
    cells = []
    for epsilon in setting.ends_if_quick(setting.epsilons):
        expected = noisy.expectations.at(float(epsilon), confident=confident)
        if expected.suppressed is None:
            raise ValueError("confident k was asked for, and not looked at")
        risk, suppressed = expected.links.fair.per(expected.n_records), expected.suppressed.per(n_counted)
        cells.append(
            {
                "epsilon": float(epsilon),
                "error": dict(zip(policy.epsilon_quasis, map(_relative, expected.errors), strict=True)),
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
        "clipped": sum(noisy.ranges.clipped.values()),
        "cells": cells,
    }


def _relative(errors: ErrorSums) -> float | None:
    return errors.relative

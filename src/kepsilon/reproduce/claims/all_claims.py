# SPDX-License-Identifier: Apache-2.0
"""The paper's twenty claims, each decided by what was measured on each data set it speaks of."""

from __future__ import annotations

from kepsilon.json_values import Json
from kepsilon.reproduce.claims import on_error, on_k_anonymity, on_risk, on_suppression
from kepsilon.reproduce.claims.claim import CLAIM_TEXTS, Claim, percent
from kepsilon.reproduce.claims.measured import all_measured
from kepsilon.reproduce.scope import SHOWN_K, SMALL_EPSILON, Measurements

_FUNCTIONS = on_error.CLAIMS | on_risk.CLAIMS | on_suppression.CLAIMS | on_k_anonymity.CLAIMS
_NUMBERS = {
    **CLAIM_TEXTS["bounds"],
    **{
        f"{name}_percent": percent(number)
        for name, number in CLAIM_TEXTS["bounds"].items()
        if isinstance(number, float)
    },
    "small_epsilon": SMALL_EPSILON,
    "shown_k": SHOWN_K,
}


def _claim(text: Json) -> Claim:
    judge, explain = _FUNCTIONS[text["number"]]
    return Claim(**{**text, "bound": text["bound"].format(**_NUMBERS)}, judge=judge, explain=explain)


CLAIMS: list[Claim] = [_claim(text) for text in CLAIM_TEXTS["claims"]]


def judge_all(measurements: Measurements) -> list[Json]:
    """One entry per claim and data set, in order."""
    measured = all_measured(measurements)
    return [claim.on(data) for claim in CLAIMS for data in measured if data.name in claim.data_sets]

# SPDX-License-Identifier: Apache-2.0
"""The paper's twenty claims, each decided by what was measured on each data set it speaks of."""

from __future__ import annotations

from kepsilon.json_values import Json
from kepsilon.reproduce.claims import on_error, on_k_anonymity, on_risk, on_suppression
from kepsilon.reproduce.claims.claim import Claim
from kepsilon.reproduce.claims.measured import all_measured
from kepsilon.reproduce.setting import Measurements

CLAIMS: list[Claim] = sorted(
    [
        *on_error.CLAIMS,
        *on_risk.CLAIMS,
        *on_suppression.CLAIMS,
        *on_k_anonymity.CLAIMS,
    ],
    key=lambda claim: claim.number,
)


def judge_all(measurements: Measurements) -> list[Json]:
    """One entry per claim and data set, in order."""
    measured = all_measured(measurements)
    return [claim.on(data) for claim in CLAIMS for data in measured if data.name in claim.data_sets]

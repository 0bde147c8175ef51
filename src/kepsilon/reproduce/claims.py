# SPDX-License-Identifier: Apache-2.0
"""The paper's twenty claims, each decided by what was measured on each data set it speaks of."""

from __future__ import annotations

from kepsilon.reproduce import claims_on_error, claims_on_k_anonymity, claims_on_risk, claims_on_suppression
from kepsilon.reproduce.claim import Claim
from kepsilon.reproduce.measured import Measurements, all_measured
from kepsilon.reproduce.setting import Json

CLAIMS: list[Claim] = sorted(
    [
        *claims_on_error.CLAIMS,
        *claims_on_risk.CLAIMS,
        *claims_on_suppression.CLAIMS,
        *claims_on_k_anonymity.CLAIMS,
    ],
    key=lambda claim: claim.number,
)


def judge_all(measurements: Measurements) -> list[Json]:
    """One entry per claim and data set, in order."""
    measured = all_measured(measurements)
    return [claim.on(data) for claim in CLAIMS for data in measured if data.name in claim.data_sets]

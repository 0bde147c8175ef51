# SPDX-License-Identifier: Apache-2.0
"""What every check of the audit is handed."""

from __future__ import annotations

from dataclasses import dataclass

from kepsilon.auditing.classes import ReconstructedClasses
from kepsilon.auditing.false_alarms import FalseAlarms
from kepsilon.auditing.findings import Findings
from kepsilon.auditing.linkage import Linkage
from kepsilon.auditing.noise_law import ClaimedNoise
from kepsilon.auditing.tables import Original, Released
from kepsilon.policy.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCase:
    """One release under audit: what was given, what was worked out from it, and where checks write what they find."""

    policy: Policy
    original: Original
    released: Released
    linkage: Linkage | None
    """None where the curator gave none, or gave one that is not of this release."""
    classes: ReconstructedClasses
    noise: ClaimedNoise
    false_alarms: FalseAlarms
    """Where every statistical test asks how often it may be wrong; adds up what the tests were given."""
    findings: Findings
    """What was found; every check adds to it."""

    @property
    def epsilon(self) -> float:
        return float(self.policy.record_epsilon)

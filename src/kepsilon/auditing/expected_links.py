# SPDX-License-Identifier: Apache-2.0
"""What a nearest-neighbour attacker links on average, exactly, from the originals and the claimed noise."""

from __future__ import annotations

import math

import numpy as np

from kepsilon.auditing.case import AuditCase


def expected_links(case: AuditCase) -> tuple[float, float]:
    """Expected links of a nearest-neighbour attacker on the first ε-quasi: a tie of t worth 1/t, and worth 1 (the paper)."""
    links = paper = 0.0
    for c, _, originals in case.classes.members():
        values, counts = np.unique(np.nan_to_num(case.noise.values[originals, 0]), return_counts=True)
        gaps = np.diff(values)
        reach = case.noise.ranges[c, 0]
        within = -np.expm1(-case.epsilon * gaps / (2 * reach)) if reach > 0 else np.zeros(len(gaps))
        stays = (np.append(within, 1.0) + np.append(1.0, within)) / 2
        links += float(stays.sum())
        paper += float((stays * counts).sum())
    return links, paper


def largest_expected_share(case: AuditCase) -> float:
    """Bound on the expected links per record of an attacker of single records: Σ_{j≤d} (ε/2)^j/j! links per class."""
    d = len(case.policy.epsilon_quasis)
    per_class = math.fsum((case.epsilon / 2) ** j / math.factorial(j) for j in range(d + 1))
    return min(1.0, per_class * case.classes.n_classes / case.released.n_records)

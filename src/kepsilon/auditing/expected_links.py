# SPDX-License-Identifier: Apache-2.0
"""What a nearest-neighbour attacker links on average, exactly, from the originals and the claimed noise."""

from __future__ import annotations

import math

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.grouped import order_of


def expected_links(case: AuditCase) -> tuple[float, float]:
    """Expected links of a nearest-neighbour attacker on the first ε-quasi: a tie of t worth 1/t, and worth 1 (the paper).

    A value keeps its link while what is published stays nearer to it than to the next value on either side, which noise of
    Laplace's law does, on one side, with probability ½ + ½·(1 − e^(−ε·gap/2R)).
    """
    originals = case.classes.known_originals
    ids, values = case.classes.of_original[originals], np.nan_to_num(case.noise.values[originals, 0])
    order = np.argsort(values)
    order = order[order_of(ids[order])]
    ids, values = ids[order], values[order]
    is_first = np.ones(len(ids), dtype=np.bool_)
    is_first[1:] = (ids[1:] != ids[:-1]) | (values[1:] != values[:-1])
    firsts = np.flatnonzero(is_first)
    ids, values, counts = ids[firsts], values[firsts], np.diff(firsts, append=len(order))
    reach = case.noise.ranges[ids[:-1], 0]
    stays_within = np.zeros(len(reach))
    has_noise = np.nan_to_num(reach) > 0
    gaps = np.diff(values)
    stays_within[has_noise] = -np.expm1(-case.epsilon * gaps[has_noise] / (2 * reach[has_noise]))
    stays_within[ids[1:] != ids[:-1]] = 1.0  # nothing is beyond the outermost value of a class
    stays = (np.append(stays_within, 1.0) + np.append(1.0, stays_within)) / 2
    return float(stays.sum()), float((stays * counts).sum())


def largest_expected_share(case: AuditCase) -> float:
    """Bound on the expected links per record of an attacker of single records: Σ_{j≤d} (ε/2)^j/j! links per class."""
    d = len(case.policy.epsilon_quasis)
    per_class = math.fsum((case.epsilon / 2) ** j / math.factorial(j) for j in range(d + 1))
    return min(1.0, per_class * case.classes.n_classes / case.released.n_records)

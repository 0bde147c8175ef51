# SPDX-License-Identifier: Apache-2.0
"""Tests whether the ε-quasis of a record were drawn independently, where a mechanism splits ε among them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.residuals import Residuals
from kepsilon.auditing.tail_bounds import product_bounds
from kepsilon.table.arrays import FloatArray

TESTS_OF_PAIR = 2
"""Tests of two ε-quasis: directions that go together, and sizes that do."""


def n_tests_of_independence(n_attributes: int) -> int:
    """Number of tests of pairs; none where there is one ε-quasi."""
    return TESTS_OF_PAIR * (n_attributes * (n_attributes - 1) // 2)


def check_independence(case: AuditCase, by_name: Mapping[str, Residuals], *, level: float) -> None:
    """Tests every pair of ε-quasis, with a linkage; each test is wrong with probability `level`.

    Under the claim direction and size of each are uniform on −1 to 1, and independent. A record that confident k took out
    may have had any of both, so that each counts as the product that speaks most for the release.
    """
    faults, n_records = [], 0
    for (first, one), (second, other) in itertools.combinations(by_name.items(), 2):
        _, own, theirs = np.intersect1d(one.rows, other.rows, assume_unique=True, return_indices=True)
        directions = [2 * one.uniform[own] - 1, 2 * other.uniform[theirs] - 1]
        n_gone = int(np.count_nonzero(np.isnan(directions[0]))) + max(one.n_elsewhere, other.n_elsewhere)
        n_records = max(n_records, len(own))
        for what, pair in (
            ("direction", directions),
            ("size", [2 * np.abs(direction) - 1 for direction in directions]),
        ):
            if _together(*pair, n_gone=n_gone) < level:
                faults.append(f"the {what} on {second} goes with that on {first}")
    if faults:
        case.findings.broken(
            "noise",
            "the epsilon-quasis of a record are not drawn independently, so that together they tell more than ε allows: "
            f"{'; '.join(faults)}.",
        )
    elif n_records:
        case.findings.passed(
            "noise", f"whole records: their epsilon-quasis are drawn independently over {n_records:,} records."
        )


def _together(one: FloatArray, other: FloatArray, *, n_gone: int) -> float:
    """Bound on the probability that products of independent variables, uniform on −1 to 1, sum so far from 0."""
    size = abs(float(np.nansum(one * other))) - n_gone
    n = len(one) + n_gone
    return float(product_bounds(np.array([size]), np.array([float(n)]))[0])

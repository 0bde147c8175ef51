# SPDX-License-Identifier: Apache-2.0
"""The curator's cap on all suppression, held against what is expected before any noise is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable

from kepsilon.errors import Problem, UnsatisfiableError
from kepsilon.evaluate.tally import Expected
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import written


def refuse_above_total(expected: Expected, *, at: Callable[[float], Expected], n_counted: int, policy: Policy) -> None:
    """Decided on the expected figure: deciding on the drawn one would select noise. `at` gives it for another ε."""
    limit = policy.max_total_suppression
    if limit is None:
        return
    by_k = n_counted - expected.n_records
    total = (by_k + expected.most_suppressed) / n_counted
    if total <= limit:
        return
    what = f"k = {policy.k} leaves out {by_k / n_counted:.2%} of records"
    ways = []
    gone = expected.suppressed
    if gone is not None:
        what += (
            f", and confidence {written(policy.confidence or 0)} is expected to leave out {gone.total / n_counted:.2%}: "
            f"{(by_k + gone.total) / n_counted:.2%} together"
        )
        what += f" ({total:.2%} with three standard errors of what was simulated)" if gone.variance else ""
        epsilon = float(policy.exact_epsilon)
        while (epsilon := epsilon / 2) >= 0.0001:
            less = at(epsilon)
            if (by_k + less.most_suppressed) / n_counted <= limit:
                ways.append(f"epsilon = {epsilon:g}")
                break
        ways.append("a higher confidence")
    ways += (
        ["a smaller max_suppression, so that values are generalised instead"] if by_k / n_counted > limit / 2 else []
    )
    ways += ["a smaller k", f"max_total_suppression = {min(1.0, math.ceil(1000 * total) / 1000):g}"]
    raise UnsatisfiableError(
        Problem(
            where="",
            what=f"{what}, above max_total_suppression = {written(limit)}. No noise was drawn.",
            fix=f"What would work, or may: {'; or '.join(ways)}.",
        )
    )

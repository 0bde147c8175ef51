# SPDX-License-Identifier: Apache-2.0
"""Refuses a release whose expected suppression is above the curator's cap, before any noise is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from kepsilon.errors import Problem, UnsatisfiableError
from kepsilon.policy.exact_bounds import SMALLEST_EPSILON
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import written
from kepsilon.predict.prediction import Prediction


def refuse_above_total(
    prediction: Prediction, policy: Policy, *, at: Callable[[Sequence[float]], Sequence[Prediction]]
) -> None:
    """Raises UnsatisfiableError if more records are expected to be suppressed than the policy's `max_total_suppression`.

    The expected figure decides: to decide by the drawn one would be to select noise. `at` predicts for several smaller ε
    from one more pass over the classes, and is called only to word a refusal.
    """
    limit = policy.max_total_suppression
    total = prediction.suppression.at_most
    if limit is None or total <= limit:
        return
    by_k, confident = prediction.suppressed_by_k, prediction.confident_k
    what = f"k = {policy.k} leaves out {by_k:.2%} of records"
    ways = []
    if confident is not None:
        what += (
            f", and confidence {written(policy.confidence or 0)} is expected to leave out "
            f"{confident.of_counted.total:.2%}: {confident.total_expected:.2%} together"
        )
        what += f" ({total:.2%} with three standard errors of what was simulated)" * bool(confident.of_counted.variance)
        enough = next((own for own in at(_halved(policy.epsilon)) if own.suppression.at_most <= limit), None)
        ways += [] if enough is None else [f"epsilon = {enough.epsilon:g}"]
        ways.append("a higher confidence")
    if by_k > limit / 2:
        ways.append("a smaller max_suppression, so that values are generalised instead")
    ways += ["a smaller k", f"max_total_suppression = {min(1.0, math.ceil(1000 * total) / 1000):g}"]
    raise UnsatisfiableError(
        Problem(
            where="",
            what=f"{what}, above max_total_suppression = {written(limit)}. No noise was drawn.",
            fix=f"What would work, or may: {'; or '.join(ways)}.",
        )
    )


def _halved(epsilon: float) -> list[float]:
    """ε/2, ε/4 and so on, down to the smallest ε that a policy may state."""
    halves = []
    while (epsilon := epsilon / 2) >= SMALLEST_EPSILON:
        halves.append(epsilon)
    return halves

# SPDX-License-Identifier: Apache-2.0
"""Says why the expected suppression of a release is above the curator's cap, and what would keep it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from kepsilon.errors import Problem
from kepsilon.policy.exact_bounds import SMALLEST_EPSILON
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import written
from kepsilon.predict.prediction import Prediction
from kepsilon.rounding import percent, percent_above


def above_total_suppression(
    prediction: Prediction, policy: Policy, *, at: Callable[[Sequence[float]], Sequence[Prediction]]
) -> Problem | None:
    """The problem that a larger share of records leaves than `max_total_suppression`; None if the cap is kept, or not stated.

    Everything that leaves counts: for k, for confidence (expected), as missing, as unlisted and above the cap per person.

    The expected figure decides: to decide by the drawn one would be to select noise. `at` predicts for several smaller ε
    from one more pass over the classes, and is called only to word a refusal.
    """
    limit = policy.max_total_suppression
    total = prediction.suppression.at_most
    if limit is None or total <= limit:
        return None
    shares = prediction.suppressed
    causes = [f"k = {policy.k} leaves out {percent_above(shares.by_k, limit)} of the records read"]
    ways = []
    if shares.by_confidence is not None:
        causes.append(
            f"confidence {written(policy.confidence or 0)} is expected to leave out {percent(shares.by_confidence.total)}"
        )
    if shares.missing:
        causes.append(f"{percent(shares.missing)} lack a value")
    if shares.unlisted:
        causes.append(f"{percent(shares.unlisted)} hold an unlisted value")
    if shares.by_cap:
        causes.append(f"{percent(shares.by_cap)} are above max_records_per_person = {policy.max_records_per_person}")
        ways.append("a larger max_records_per_person")
    what = ", and ".join(causes)
    if len(causes) > 1:
        what += f": {percent_above(shares.together.total, limit)} together"
    what += f" ({percent_above(total, limit)} with three standard errors of what was simulated)" * bool(
        shares.together.variance
    )
    if shares.by_confidence is not None:
        # Smaller ε bring back only what confidence takes out.
        could_do = shares.before_noise <= limit
        enough = (
            next((own for own in at(halved(policy.stated_epsilon)) if own.suppression.at_most <= limit), None)
            if could_do
            else None
        )
        ways += [] if enough is None else [f"epsilon = {enough.epsilon:g}"]
        ways.append("a higher confidence")
    if shares.by_k > limit / 2:
        ways.append("a smaller max_suppression, so that values are generalised instead")
    if shares.missing:
        ways.append('missing = "class" for the epsilon-quasis that lack values')
    if shares.unlisted:
        ways.append("hierarchies that list every value")
    ways += ["a smaller k", f"max_total_suppression = {min(1.0, math.ceil(1000 * total) / 1000):g}"]
    return Problem(
        where="",
        what=f"{what}, above max_total_suppression = {written(limit)}. No noise was drawn.",
        fix=f"What would work, or may: {'; or '.join(ways)}.",
    )


def halved(epsilon: float) -> list[float]:
    """ε/2, ε/4 and so on, down to the smallest ε that a policy may state."""
    halves = []
    while (epsilon := epsilon / 2) >= SMALLEST_EPSILON:
        halves.append(epsilon)
    return halves

# SPDX-License-Identifier: Apache-2.0
"""Says why the expected linking risk of a release is above the curator's limit, and what would keep it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from kepsilon.errors import Problem
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import written
from kepsilon.predict.prediction import Prediction
from kepsilon.predict.total_suppression import halved
from kepsilon.rounding import percent_above


def above_max_risk(
    prediction: Prediction, policy: Policy, *, at: Callable[[Sequence[float]], Sequence[Prediction]]
) -> Problem | None:
    """The problem that an attacker who needs only the quasis links more than `max_risk`; None if it is kept, or not stated.

    The expected share decides, with three standard errors where it is simulated: to decide by the drawn one would be to
    select noise. `at` predicts for several smaller ε from one more pass over the classes, and is called only to word a
    refusal.
    """
    limit, headline = policy.max_risk, prediction.linking_risk.headline
    at_most = headline.risk.at_most
    if limit is None or at_most <= limit:
        return None
    simulated = (
        f" ({percent_above(at_most, limit)} with three standard errors of what was simulated)"
        if headline.risk.variance
        else ""
    )
    ways = []
    if policy.averages is not None:
        ways.append("larger groups")
    elif policy.epsilon_quasis:
        smaller = at(halved(policy.stated_epsilon))
        enough = next((own for own in smaller if own.linking_risk.headline.risk.at_most <= limit), None)
        ways += [] if enough is None else [f"epsilon = {enough.epsilon:g}"]
    ways += ["a larger k", f"max_risk = {min(1.0, math.ceil(1000 * at_most) / 1000):g}"]
    return Problem(
        where="",
        what=f"{headline.attacker}, would link {percent_above(headline.risk.total, limit)} of the records on average"
        f"{simulated}, above max_risk = {written(limit)}. Nothing was released.",
        fix=f"What would work, or may: {'; or '.join(ways)}.",
    )

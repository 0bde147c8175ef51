# SPDX-License-Identifier: Apache-2.0
"""Refuses a release that would give people away, be useless or outside the curator's limits, before any noise is drawn."""

from __future__ import annotations

from collections.abc import Sequence

from kepsilon.count import Counted
from kepsilon.engines.protocol import Preview
from kepsilon.errors import UnsatisfiableError
from kepsilon.kanonymise.algorithms import KAnonymised
from kepsilon.policy.policy import Policy
from kepsilon.predict.headline_limit import above_max_risk
from kepsilon.predict.individual_risk import above_individual_risk
from kepsilon.predict.outlook import largest_posteriors_of
from kepsilon.predict.predict import Predicted, predict
from kepsilon.predict.prediction import Prediction
from kepsilon.predict.total_suppression import above_total_suppression
from kepsilon.predict.useless import useless_attributes


def refuse_outside_limits(
    predicted: Predicted, preview: Preview, partition: KAnonymised, counted: Counted, policy: Policy
) -> None:
    """Raises UnsatisfiableError that names kept columns that give people away, useless attributes, and limits not kept.

    Figures that are known before the draw decide: to decide by what was drawn would be to select noise. The classes are
    gone through again only to word a refusal.
    """

    def at(epsilons: Sequence[float]) -> Sequence[Prediction]:
        again = predict(
            preview, partition, counted, policy, epsilons=epsilons, look=predicted.look, all_attackers=False
        )
        return again.predictions

    def risks(epsilons: Sequence[float]) -> Sequence[float]:
        return largest_posteriors_of(preview, policy, epsilons)

    found = (
        above_total_suppression(predicted.prediction, policy, at=at),
        above_max_risk(predicted.prediction, policy, at=at),
        above_individual_risk(predicted.prediction, policy, risks=risks),
    )
    useless = useless_attributes(predicted.prediction, policy)
    problems = [*predicted.leaks(policy), *useless, *(problem for problem in found if problem is not None)]
    if problems:
        raise UnsatisfiableError(problems)

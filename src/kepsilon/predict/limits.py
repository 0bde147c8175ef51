# SPDX-License-Identifier: Apache-2.0
"""Refuses a release that is predicted to be outside the curator's limits, before any noise is drawn."""

from __future__ import annotations

from collections.abc import Sequence

from kepsilon.count import Counted
from kepsilon.engines.protocol import Preview
from kepsilon.errors import UnsatisfiableError
from kepsilon.kanonymise.algorithms import KAnonymised
from kepsilon.policy.policy import Policy
from kepsilon.predict.individual_risk import above_individual_risk
from kepsilon.predict.outlook import largest_posteriors_of
from kepsilon.predict.predict import predict
from kepsilon.predict.prediction import Prediction
from kepsilon.predict.total_suppression import above_total_suppression


def refuse_outside_limits(
    prediction: Prediction, preview: Preview, partition: KAnonymised, counted: Counted, policy: Policy
) -> None:
    """Raises UnsatisfiableError that names every limit of the policy that is not kept, with what would keep it.

    Figures that are known before the draw decide: to decide by what was drawn would be to select noise. The classes are
    gone through again only to word a refusal.
    """

    def at(epsilons: Sequence[float]) -> Sequence[Prediction]:
        return predict(preview, partition, counted, policy, epsilons=epsilons).predictions

    def risks(epsilons: Sequence[float]) -> Sequence[float]:
        return largest_posteriors_of(preview, policy, epsilons)

    found = (
        above_total_suppression(prediction, policy, at=at),
        above_individual_risk(prediction, policy, risks=risks),
    )
    problems = [problem for problem in found if problem is not None]
    if problems:
        raise UnsatisfiableError(problems)

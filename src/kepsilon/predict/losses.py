# SPDX-License-Identifier: Apache-2.0
"""What generalising loses, in every measure that a prediction has."""

from __future__ import annotations

from kepsilon.count import Counted
from kepsilon.evaluate.loss.label_loss import LabelLoss, entropy_share, ncp
from kepsilon.evaluate.loss.precision_loss import PrecisionLoss, precision_loss
from kepsilon.kanonymise.algorithms.protocol import KAnonymised
from kepsilon.policy.policy import Policy
from kepsilon.predict.prediction import AttributeLosses, Losses, NotProven


def losses_of(partition: KAnonymised, counted: Counted, policy: Policy) -> Losses:
    """The losses of the k-quasis; they do not depend on ε."""
    recoding, table, names = partition.recoding, counted.table, counted.roles.k_quasis

    def by_name(found: PrecisionLoss | LabelLoss) -> AttributeLosses:
        return AttributeLosses(by_attribute=dict(zip(names, found.by_attribute, strict=True)), overall=found.overall)

    return Losses(
        dm_star=partition.dm_star,
        ncp=by_name(ncp(recoding, table)),
        entropy_share=by_name(entropy_share(recoding, table)),
        precision=by_name(precision_loss(recoding)),
        not_proven=_not_proven(partition, policy),
    )


def _not_proven(partition: KAnonymised, policy: Policy) -> NotProven | None:
    if partition.bound is None or partition.loss is None:
        return None
    return NotProven(minimised=policy.loss, found=partition.loss, bound=partition.bound)

# SPDX-License-Identifier: Apache-2.0
"""The loss by generalising: 0 where every value is published as it is, 1 where nothing is left of it.

Where a k-quasi has one level for all records (OLA), a label at level l of h loses l/(h − 1), as in Paper §III-A. Labels of
local algorithms such as Mondrian lose the share of what occurs that they cover: (values covered − 1)/(values − 1), and for
numbers the range covered over the data's range. The loss of each class's labels comes with the recoding; here it is
averaged over records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.table.classes import Recoding


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionLoss:
    """Means over released records."""

    overall: float
    """Mean over attributes; 0 where there are none, since nothing was generalised."""
    by_attribute: tuple[float, ...]


def precision_loss(recoding: Recoding, *, n_suppressed: int = 0) -> PrecisionLoss:
    """Mean loss of each attribute and of all together; each class is weighted with its records.

    Suppressed records are reported apart; pass their number to count each as a loss of 1 instead. Without any record
    to average over there is no mean, and ValueError is raised.
    """
    n_released = int(recoding.sizes.sum())
    n_records = n_released + n_suppressed
    if n_records == 0:
        raise ValueError("there is no record whose precision loss could be averaged")
    by_attribute = tuple(
        (float(np.dot(labels.loss, recoding.sizes)) + n_suppressed) / n_records for labels in recoding.attributes
    )
    overall = sum(by_attribute) / len(by_attribute) if by_attribute else n_suppressed / n_records
    return PrecisionLoss(overall=overall, by_attribute=by_attribute)

# SPDX-License-Identifier: Apache-2.0
"""How well the extreme records of classes could be worked out from the size of the noise, before any is drawn."""

from __future__ import annotations

import numpy as np

from kepsilon.evaluate.outliers import OutlierSums, extremes_of, extremes_of_counted, recoverable_outliers
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import CoarseSpecification
from kepsilon.predict.counted_batch import CountedBatch
from kepsilon.predict.noise_ranges import NoiseRanges
from kepsilon.table.arrays import IntArray


def outliers_of(
    ranges: NoiseRanges,
    policy: Policy,
    *,
    counts: IntArray | None = None,
    persons: IntArray | None = None,
    counted: CountedBatch = (),
) -> dict[str, OutlierSums]:
    """How well the extreme records of some classes could be worked out, by ε-quasi, where their values set the range.

    `counts` says how many records each value of `ranges` stands for; None where it is one. `persons` says whom each is about.
    `counted` are the values counted by class, where they are, which is faster where it does not matter whom they are about.
    """
    n_classes = len(ranges.low)
    sizes = np.bincount(ranges.class_ids, weights=counts, minlength=n_classes).astype(np.int64)
    n_active = np.count_nonzero(ranges.widths > 0, axis=1)
    found = {}
    for j, (name, attribute) in enumerate(policy.epsilon_quasis.items()):
        if attribute.range_kind != "declared":
            classes = counted[j] if counted and persons is None else None
            found[name] = recoverable_outliers(
                extremes_of(ranges.values[:, j], ranges.class_ids, n_classes=n_classes, counts=counts, persons=persons)
                if classes is None
                else extremes_of_counted(classes),
                low=ranges.low[:, j],
                high=ranges.high[:, j],
                sizes=sizes,
                n_active=n_active,
                step=float(attribute.range.coarse) if isinstance(attribute.range, CoarseSpecification) else 0.0,
            )
    return found

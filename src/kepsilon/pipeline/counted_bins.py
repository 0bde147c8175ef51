# SPDX-License-Identifier: Apache-2.0
"""Counts how many records each bin of a picture holds, before noise and as published, on any engine."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from kepsilon.draw import parts_of
from kepsilon.engines.protocol import Batch, Classes, LargeClass
from kepsilon.evaluate.pictures import Bins
from kepsilon.policy.policy import Policy
from kepsilon.predict.noise_ranges import clip
from kepsilon.table.arrays import FloatArray, IntArray


def count_in_bins(
    classes: Classes, bins: Mapping[int, Bins], policy: Policy, *, new_ids: IntArray
) -> dict[int, tuple[IntArray, IntArray]]:
    """How many records each bin of a picture holds, by number of the ε-quasi: all before noise, the released as published.

    `new_ids` as for `Classes.merge`.
    """
    before = {j: np.zeros(own.n_edges + 1, dtype=np.int64) for j, own in bins.items()}
    after = {j: np.zeros(own.n_edges + 1, dtype=np.int64) for j, own in bins.items()}
    for counts in classes.each(partial(_count_before, bins=bins, policy=policy)):
        for j, own in counts.items():
            before[j] += own
    for counts in classes.each_released(partial(_count, bins=bins), new_ids):
        for j, own in counts.items():
            after[j] += own
    return {j: (before[j], after[j]) for j in bins}


def _count_before(batch: Batch | LargeClass, *, bins: Mapping[int, Bins], policy: Policy) -> dict[int, IntArray]:
    """How many records of one batch each bin holds before noise, clipped where bounds were declared."""
    counts: dict[int, IntArray] = {j: np.zeros(own.n_edges + 1, dtype=np.int64) for j, own in bins.items()}
    for part in parts_of(batch):
        moved, _ = clip(part.values, policy)
        for j, own in _count(moved, bins=bins).items():
            counts[j] += own
    return counts


def _count(values: FloatArray, *, bins: Mapping[int, Bins]) -> dict[int, IntArray]:
    """How many values each bin holds, by the number of the ε-quasi."""
    return {j: own.count(values[:, j]) for j, own in bins.items()}

# SPDX-License-Identifier: Apache-2.0
"""The pictures of a release whose records are all in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kepsilon.evaluate.noise_law import NoiseLaw
from kepsilon.evaluate.pictures import (
    Bins,
    KQuasiPicture,
    Pictures,
    Sample,
    picture_sample,
    sample_positions,
    spread_of,
)
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.steps import Steps


def picture_release(
    *,
    k: int,
    names: Sequence[str],
    values: FloatArray,
    published: Sequence[FloatArray],
    class_ids: IntArray,
    stays: BoolArray,
    mechanism: NoiseLaw,
    low: FloatArray,
    high: FloatArray,
    epsilon: float,
    steps: Sequence[Steps],
    k_quasis: Sequence[KQuasiPicture] = (),
    risk_by_epsilon: Sequence[tuple[float, float]] = (),
    persons: IntArray | None = None,
) -> Pictures:
    """What to draw of a release.

    `values` (n_records, n_epsilon_quasis) is what received noise, `published` one array per ε-quasi, `low` and `high`
    (n_classes, n_epsilon_quasis) the ends of the range that set the noise, which agree where a class is constant and are
    NaN where its values are missing.
    `stays` is False where confidence-based suppression removed the record: it counts before, and not after.
    """
    released = None if bool(stays.all()) else stays
    sampled = sample_positions(len(values))

    def count(bins: Mapping[int, Bins]) -> dict[int, tuple[IntArray, IntArray]]:
        return {j: (own.count(values[:, j]), own.count(published[j], released)) for j, own in bins.items()}

    return picture_sample(
        k=k,
        names=names,
        sample=Sample(
            values=values[sampled],
            published=[column[sampled] for column in published],
            class_ids=class_ids[sampled],
            stays=stays[sampled],
            persons=None if persons is None else persons[sampled],
        ),
        spreads=[spread_of(values[:, j]) for j in range(len(names))],
        count=count,
        sizes=np.bincount(class_ids if released is None else class_ids[released]),
        mechanism=mechanism,
        low=low,
        high=high,
        epsilon=epsilon,
        steps=steps,
        k_quasis=k_quasis,
        risk_by_epsilon=risk_by_epsilon,
    )

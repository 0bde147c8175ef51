# SPDX-License-Identifier: Apache-2.0
"""The spread of an ε-quasi, beside the plain mean distance from the median."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kepsilon.engines.protocol import Batch
from kepsilon.predict.spreads import cells_of
from kepsilon.table.coded_values import code_values


def batch_of(values: np.ndarray, *, is_coded: bool, chosen: np.ndarray) -> Batch:
    coded = tuple(code_values(own, precision=Fraction(1, 10)).of(chosen) for own in values.T) if is_coded else None
    return Batch(
        classes=slice(0, 1), class_ids=np.zeros(len(chosen), dtype=np.int64), values=values[chosen], coded=coded
    )


@pytest.mark.parametrize("is_coded", [True, False])
def test_the_spread_is_the_mean_distance_from_the_median(is_coded):
    """Also where only some records of the coded table are in classes, and where values are missing."""
    rng = np.random.default_rng(1)
    values = np.round(rng.normal(size=(2_001, 3)) * [10, 3, 40] + [170, 0, 80], 1)
    values[::7, 1] = np.nan
    chosen = np.flatnonzero(values[:, 0] > 168)
    cells = cells_of(batch_of(values, is_coded=is_coded, chosen=chosen))
    for own, column in zip(cells, values[chosen].T, strict=True):
        present = np.sort(column[~np.isnan(column)])
        middle = present[(len(present) - 1) // 2]
        assert own.n_values == len(present)
        assert own.mean_deviation == pytest.approx(np.abs(present - middle).mean(), rel=2e-3)


def test_codes_and_values_make_the_same_cells():
    values = np.round(np.random.default_rng(2).normal(size=(5_000, 1)) * 12 + 80, 1)
    chosen = np.arange(3_000)
    (coded,), (plain,) = (cells_of(batch_of(values, is_coded=own, chosen=chosen)) for own in (True, False))
    for name in ("keys", "counts", "low", "high"):
        assert np.array_equal(getattr(coded, name), getattr(plain, name))
    assert coded.sums == pytest.approx(plain.sums, rel=1e-12)

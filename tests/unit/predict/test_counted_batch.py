# SPDX-License-Identifier: Apache-2.0
"""Figures from values that were counted by class are those of the records themselves."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from kepsilon.evaluate.error.best_constant import errors_of_medians
from kepsilon.evaluate.originals.class_values import count_values
from kepsilon.evaluate.outliers import extremes_of
from kepsilon.table.coded_values import code_values

TENTH = Fraction(1, 10)


def _records(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Values with many ties, zeros among them, and their classes; class 3 has no record."""
    rng = np.random.default_rng(seed)
    class_ids = rng.integers(0, 7, 400)
    class_ids[class_ids == 3] = 4
    return rng.integers(-20, 21, 400) / 10, class_ids


@pytest.mark.parametrize("seed", range(5))
def test_medians_and_extremes_by_counts_are_those_of_records(seed):
    """They decide what a curator is told about the worth of values, and about who stands out."""
    values, class_ids = _records(seed)
    counted = count_values(code_values(values, precision=TENTH), class_ids, n_classes=7)
    [slow] = errors_of_medians(values[:, np.newaxis], class_ids, n_classes=7)
    [fast] = errors_of_medians(values[:, np.newaxis], class_ids, n_classes=7, counted=[counted])
    fast, slow = dataclasses.asdict(fast), dataclasses.asdict(slow)
    for name, own in slow.pop("relative_errors").items():
        np.testing.assert_allclose(fast["relative_errors"][name], own, rtol=1e-12)
    del fast["relative_errors"]
    assert fast == pytest.approx(slow, rel=1e-12)
    of_records = dataclasses.asdict(extremes_of(values, class_ids, n_classes=7))
    of_counts = dataclasses.asdict(extremes_of(counted.values, counted.class_ids, n_classes=7, counts=counted.counts))
    for name, expected in of_records.items():
        np.testing.assert_array_equal(of_counts[name], expected)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(np.arange(200_000) % 977 / 10, id="multiples, in several parts"),
        pytest.param(np.array([0.1, 0.2, 0.25, 0.1]), id="not all multiples"),
        pytest.param(np.array([1e12, 0.0, -1e12]), id="far apart"),
        pytest.param(np.array([5.0, 5.0]), id="one value"),
        pytest.param(np.zeros(0), id="none"),
    ],
)
def test_codes_by_counting_are_those_of_np_unique(values):
    """Also where some values are no multiples of the precision, which is only seen at the last of them."""
    found = code_values(values, precision=TENTH)
    distinct, codes = np.unique(values, return_inverse=True)
    np.testing.assert_array_equal(found.distinct, distinct)
    np.testing.assert_array_equal(found.codes, codes)

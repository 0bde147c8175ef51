# SPDX-License-Identifier: Apache-2.0
"""The error of the best constant per class is that of the best of all constants."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kepsilon.evaluate.error.best_constant import errors_of_median, errors_of_medians
from kepsilon.table.coded_values import code_values
from oracles import survival as oracle


def some_classes(seed, *, with_missing):
    rng = np.random.default_rng(seed)
    class_ids = np.concatenate([np.arange(12), rng.integers(0, 12, 200)])
    values = np.round(rng.lognormal(2, 1, 212), 1)
    values[class_ids == 4] = 7.0  # a constant class
    if with_missing:
        values[np.isin(class_ids, (2, 5))] = np.nan
    return values, class_ids


@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize("is_coded", [False, True])
def test_it_is_the_least_that_a_constant_can_cost(is_coded, with_missing):
    """Sums of all classes, whether values come coded or not."""
    for seed in range(20):
        values, class_ids = some_classes(seed, with_missing=with_missing)
        coded = [code_values(values, precision=Fraction(1, 10))] if is_coded else None
        (found,) = errors_of_medians(values[:, np.newaxis], class_ids, n_classes=12, coded=coded)
        assert found.mean_distance == pytest.approx(oracle.error_of_best_constant(values.tolist(), class_ids.tolist()))
        assert found.n_values == np.count_nonzero(~np.isnan(values))


def test_a_class_known_by_counts_has_the_same_error():
    """As classes that are too large for memory are known."""
    values, class_ids = some_classes(3, with_missing=False)
    total = 0.0
    for c in range(12):
        total += errors_of_median(*np.unique(values[class_ids == c], return_counts=True)).distance_sum
    (found,) = errors_of_medians(values[:, np.newaxis], class_ids, n_classes=12)
    assert total == pytest.approx(found.distance_sum)


def test_no_value_is_no_error():
    (found,) = errors_of_medians(np.full((3, 1), np.nan), np.zeros(3, dtype=np.int64), n_classes=1)
    assert found.mean_distance is None
    assert errors_of_median(np.array([np.nan]), np.array([3])).mean_distance is None

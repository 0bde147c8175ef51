# SPDX-License-Identifier: Apache-2.0
"""What experiments join with the columns of a data set is in the order of its records."""

from __future__ import annotations

import numpy as np
import pytest

from kepsilon.engines.local import classes as local_classes
from kepsilon.reproduce.experiments.counted_data import count_data
from kepsilon.reproduce.experiments.reasons import unit_error
from material.small_data_sets import short_michigan


@pytest.fixture(scope="module")
def counted():
    return count_data(short_michigan())


def test_combinations_are_those_of_the_records(counted):
    """Looked up in the table they give the data set's own columns back."""
    table = counted.counted.table
    combinations = counted.combinations()
    for name, domain, codes in zip(counted.counted.roles.k_quasis, table.domains, table.codes, strict=True):
        own = np.array([str(value) for value in counted.data.columns[name]])
        code = codes[combinations]
        # Equal values have one code, and different values have different ones.
        assert len(set(zip(own.tolist(), code.tolist(), strict=True))) == len(set(own)) == domain.n_values


def test_errors_of_classes_are_those_of_an_obvious_count(counted):
    """The mean of R/|v| with every record in its own class."""
    recoding = counted.partitions("mondrian", [20])[20].recoding
    ids = counted.class_ids(recoding)
    values = counted.values
    by_class = {i: values[ids == i] for i in set(ids.tolist())}
    expected = np.mean([np.ptp(by_class[i]) / v for i, v in zip(ids.tolist(), values.tolist(), strict=True)])
    assert unit_error(values, ids, n_classes=recoding.n_classes) == pytest.approx(expected)


def test_all_batches_are_in_the_batch(counted, monkeypatch):
    """Large tables are looked at in several batches."""
    recoding = counted.partitions("mondrian", [20])[20].recoding
    whole = counted.batch(recoding)
    monkeypatch.setattr(local_classes, "_MOST_TOGETHER", 1)
    found = counted.batch(recoding)
    assert np.array_equal(found.class_ids, whole.class_ids)
    assert np.array_equal(np.bincount(found.class_ids), recoding.sizes)
    assert np.array_equal(found.values, whole.values)

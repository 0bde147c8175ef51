# SPDX-License-Identifier: Apache-2.0
"""Precision loss: means over records, not over classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.evaluate.loss.precision_loss import precision_loss
from kepsilon.table.classes import AttributeLabels, Recoding


def recoding(sizes, *losses):
    attributes = tuple(
        AttributeLabels(
            labels=("x",),
            of_class=np.zeros(len(sizes), dtype=np.int64),
            loss=np.array(loss, dtype=float),
            ncp=np.zeros(len(sizes)),
            covered=np.ones(len(sizes), dtype=np.int64),
        )
        for loss in losses
    )
    return Recoding(class_of=np.arange(len(sizes)), sizes=np.array(sizes, dtype=np.int64), attributes=attributes)


def test_a_class_weighs_as_many_records_as_it_has():
    """Nine records that lost nothing and one that lost all lost a tenth."""
    loss = precision_loss(recoding([9, 1], [0, 1], [0.5, 0.5]))
    assert loss.by_attribute == (0.1, 0.5)
    assert loss.overall == pytest.approx(0.3)


def test_suppressed_records_count_only_on_request():
    """Each as a loss of 1, in every attribute."""
    table = recoding([6, 2], [0, 1])
    assert precision_loss(table).overall == 0.25
    assert precision_loss(table, n_suppressed=2).overall == 0.4
    assert precision_loss(recoding([], []), n_suppressed=3).overall == 1.0


def test_no_record_has_no_mean_and_no_attribute_no_loss():
    """An undefined figure is refused; without k-quasis nothing was generalised."""
    with pytest.raises(ValueError, match="no record"):
        precision_loss(recoding([], []))
    assert precision_loss(recoding([5])).overall == 0.0


@given(st.lists(st.tuples(st.integers(1, 50), st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8))
def test_it_is_the_mean_over_records(classes):
    """Written out record by record."""
    sizes, first, second = (list(column) for column in zip(*classes, strict=True))
    loss = precision_loss(recoding(sizes, first, second))
    n_records = sum(sizes)
    expected = [sum(s * v for s, v in zip(sizes, column, strict=True)) / n_records for column in (first, second)]
    assert loss.by_attribute == pytest.approx(expected)
    assert loss.overall == pytest.approx(sum(expected) / 2)
    assert 0 <= loss.overall <= 1 + 1e-12

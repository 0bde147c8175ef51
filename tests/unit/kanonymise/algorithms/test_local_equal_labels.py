# SPDX-License-Identifier: Apache-2.0
"""Local recoding where one text is a label at two levels, so that merged classes lose more than their parts did."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kepsilon.kanonymise.algorithms import local_recoding, mondrian
from kepsilon.kanonymise.algorithms.local_recoding import published_loss
from strategies import Attribute, Sample

NAMED_TWICE = {
    "a": ["a", "a", "*"],
    "b": ["b", "a", "*"],
    "c": ["c", "a", "*"],
    "d": ["d", "b", "*"],
    "e": ["e", "b", "*"],
}
"""The nodes a and b of level 1 are called like values."""


def sample_of(records, *, second=None):
    letters = {v: [v, "*"] for v in "xyz"}
    attributes = [Attribute(name="c", labels=NAMED_TWICE), Attribute(name="d", labels=second or letters)]
    return Sample(attributes=attributes, records=records)


def losses(sample, *, k, labels, importance):
    own = local_recoding.anonymise(sample.table, k=k, labels=labels, importance=importance)
    other = mondrian.recode(sample.table, mondrian.partition(sample.table, k=k, importance=importance), labels=labels)
    return published_loss(own, importance), published_loss(other, importance)


@pytest.mark.parametrize("labels", ["siblings", "ancestor"])
def test_the_table_of_five_loses_no_more_than_by_mondrian(labels):
    """The cut of least loss gives both sides one label; merged, they would lose everything."""
    own, other = losses(sample_of(["ax", "az", "by", "cx", "cz"]), k=2, labels=labels, importance=[1.0, 1.0])
    assert own <= other


@settings(max_examples=300)
@given(
    records=st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("xyz")), min_size=4, max_size=16),
    k=st.integers(1, 4),
    labels=st.sampled_from(["siblings", "ancestor"]),
    weight=st.sampled_from([0.1, 1.0, 5.0]),
)
def test_no_more_is_published_as_lost_than_by_mondrian(records, k, labels, weight):
    assume(len(records) >= k)
    own, other = losses(sample_of(records), k=k, labels=labels, importance=[weight, 1.0])
    assert own <= other


def test_the_published_loss_is_that_of_the_labels_weighted():
    """Two classes of one value each lose nothing; one class of both values loses all, as often as it counts."""
    sample = sample_of([("a", "x"), ("a", "x"), ("d", "x"), ("d", "x")])
    assert published_loss(local_recoding.anonymise(sample.table, k=2), [3.0, 1.0]) == 0
    assert published_loss(local_recoding.anonymise(sample.table, k=3), [3.0, 1.0]) == np.float64(12)


@pytest.mark.parametrize(
    ("text", "most"), [("bydxbzexdz", 7.0), ("azbxbyazcxdybzczbxcz", 6.0), ("byaydxayaxaxcxdyexbxcxdx", 4.25)]
)
def test_other_partitions_are_finished_where_merging_raises_the_loss(text, most):
    """The one whose parts lose least is merged to classes that lose more than those of another partition."""
    records = list(zip(text[::2], text[1::2], strict=True))
    recoding = local_recoding.anonymise(sample_of(records).table, k=2, labels="ancestor")
    assert published_loss(recoding, [1.0, 1.0]) <= most

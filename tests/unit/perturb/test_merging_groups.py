# SPDX-License-Identifier: Apache-2.0
"""Groups that fail a requirement join their nearest: all meet it in the end, and the order of the records changes nothing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kepsilon.perturb.averages.grouping import group_records
from kepsilon.perturb.averages.merging import merge_failing, nearest_groups


def holds_several(marks, least):
    """The requirement that a group has records with at least so many different marks."""

    def meets(records, of_record, n_groups):
        pairs = np.unique(of_record * 100 + marks[records])
        return np.bincount(pairs // 100, minlength=n_groups) >= least

    return meets


def grouped(values, class_ids, marks, *, least=3, group=4):
    return group_records(
        values,
        class_ids,
        n_classes=int(class_ids.max()) + 1,
        group=group,
        precisions=[Fraction(1, 10)] * values.shape[1],
        meets=holds_several(marks, least),
    )


def made_up(n, d, seed=0):
    """Values evenly apart, so that most groups have two neighbours that are as near as each other."""
    rng = np.random.default_rng(seed)
    steps = np.arange(n)
    values = np.column_stack([steps * 0.1, steps * 7 % 50 * 0.1, steps * 11 % 30 * 0.1])[:, :d]
    return values, steps % 2, rng.choice(4, n, p=[0.8, 0.1, 0.05, 0.05])


@pytest.mark.parametrize("d", [1, 2, 3])
def test_all_groups_meet_it_and_none_is_smaller_or_in_two_classes(d):
    values, class_ids, marks = made_up(400, d)
    found = grouped(values, class_ids, marks)
    assert 2 < found.n_groups < 100
    assert found.sizes.min() >= 4
    for own in range(found.n_groups):
        members = np.flatnonzero(found.of_record == own)
        assert len(set(marks[members])) >= 3
        assert set(class_ids[members]) == {found.class_ids[own]}


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_order_of_records_does_not_decide_which_groups_are_joined(d):
    """Sums of doubles depend on the order; where two groups are as near, the last bit would decide."""
    values, class_ids, marks = made_up(300, d)
    expected = grouped(values, class_ids, marks)
    together = expected.of_record[:, np.newaxis] == expected.of_record
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(len(values))
        own = grouped(values[order], class_ids[order], marks[order]).of_record
        assert ((own[:, np.newaxis] == own) == together[np.ix_(order, order)]).all()


@pytest.mark.parametrize(("d", "distinct"), [(1, 1000), (2, 1000), (3, 1000), (1, 4), (2, 3), (3, 1)])
def test_the_nearest_is_that_of_looking_at_all(d, distinct):
    rng = np.random.default_rng(d)
    class_ids = np.repeat([0, 1, 3, 4], [2, 60, 7, 31])
    centres = rng.integers(0, distinct, (100, d)) / 7
    of = np.sort(rng.choice(100, 70, replace=False))
    expected = []
    for own in of:
        others = [i for i in range(100) if i != own and class_ids[i] == class_ids[own]]
        expected.append(min(others, key=lambda i: (sum((centres[i, j] - centres[own, j]) ** 2 for j in range(d)), i)))
    assert nearest_groups(centres, class_ids, of).tolist() == expected


def test_a_class_that_fails_as_a_whole_is_refused():
    values, class_ids, marks = made_up(40, 1)
    with pytest.raises(ValueError, match="a whole class fails"):
        grouped(values, class_ids, np.zeros_like(marks))


def test_nothing_changes_where_all_meet_it():
    of_record, class_ids = np.array([0, 0, 1, 1]), np.array([0, 0])
    found = merge_failing(of_record, class_ids, np.zeros((2, 1)), lambda records, of, n: np.ones(n, dtype=bool))
    assert found[0] is of_record
    assert found[1] is class_ids

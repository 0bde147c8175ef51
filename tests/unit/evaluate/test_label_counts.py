# SPDX-License-Identifier: Apache-2.0
"""Released records by label: all are counted once, the most frequent are shown, and none below k."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.evaluate.label_counts import MOST_LABELS, count_labels
from kepsilon.table.classes import AttributeLabels


def counted(of_class, sizes, *, k, most=MOST_LABELS):
    labels = tuple(f"label {i}" for i in range(max(of_class) + 1))
    nothing = np.zeros(len(of_class))
    attribute = AttributeLabels(
        labels=labels, of_class=np.array(of_class), loss=nothing, ncp=nothing, covered=nothing.astype(np.int64)
    )
    return count_labels(attribute, np.array(sizes), k=k, most=most)


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(1, 9)), min_size=1, max_size=20),
    st.integers(2, 6),
    st.integers(1, 5),
)
def test_counts_are_those_of_a_slow_count(classes, k, most):
    """Against counting records one by one, and with classes below k too, which no release has."""
    found = counted([label for label, _ in classes], [size for _, size in classes], k=k, most=most)
    slow = Counter(f"label {label}" for label, size in classes for _ in range(size))
    assert found.n_records == slow.total()
    assert all(slow[label] == count >= k for label, count in found.shown)
    assert len(found.shown) <= most
    assert [count for _, count in found.shown] == sorted((count for _, count in found.shown), reverse=True)
    assert found.n_more_labels == len(slow) - len(found.shown)
    hidden = [count for label, count in slow.items() if label not in dict(found.shown)]
    assert found.n_more_records == sum(hidden)
    if len(found.shown) == most:
        assert all(count <= found.shown[-1][1] for count in hidden)
    else:
        assert all(count < k for count in hidden)

# SPDX-License-Identifier: Apache-2.0
"""How many released records carry each label of a k-quasi, for the report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import IntArray
from kepsilon.table.classes import AttributeLabels
from kepsilon.table.codes import Label

MOST_LABELS = 20
"""Labels that are counted one by one, the most frequent ones; of others it is said how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelCounts:
    """The labels of one k-quasi that most records carry, and how many others there are."""

    shown: tuple[tuple[Label, int], ...] = ()
    """Labels with their records, the most frequent first; none is carried by fewer than k records."""
    n_more_labels: int = 0
    """Labels that are not shown, for they are rarer, or below k."""
    n_more_records: int = 0
    """Records that carry one of these."""

    @property
    def n_records(self) -> int:
        """All released records."""
        return sum(count for _, count in self.shown) + self.n_more_records


def count_labels(attribute: AttributeLabels, sizes: IntArray, *, k: int, most: int = MOST_LABELS) -> LabelCounts:
    """Records by label; `sizes` are the released records of every class, shape (n_classes,).

    Labels of equally many records stand in the order in which the recoding has them. Every class has at least k records,
    and so has every label; were there a rarer one, it would be among those that are not shown.
    """
    counts = np.bincount(attribute.of_class, weights=sizes, minlength=len(attribute.labels)).astype(np.int64)
    order = np.argsort(-counts, kind="stable")[:most]
    order = order[counts[order] >= k]
    return LabelCounts(
        shown=tuple((attribute.labels[i], int(counts[i])) for i in order.tolist()),
        n_more_labels=int(np.count_nonzero(counts)) - len(order),
        n_more_records=int(counts.sum() - counts[order].sum()),
    )

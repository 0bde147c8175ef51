# SPDX-License-Identifier: Apache-2.0
"""Joins groups that fail a requirement about sensitive values to their nearest group, until all groups meet it.

A class meets every requirement, so a class that is one group in the end does too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

GroupsMeet = Callable[[IntArray, IntArray, int], BoolArray]
"""Which groups meet everything that is required, shape (n_groups,).

Called with positions of records, the group of each of them, and the number of groups.
"""


def merge_failing(
    of_record: IntArray, class_ids: IntArray, centres: FloatArray, meets: GroupsMeet
) -> tuple[IntArray, IntArray]:
    """The group of each record, and the class of each group, once every group meets what is required or is its class.

    `class_ids` and `centres` are those of the groups, classes following one another. Raises ValueError where a whole class
    fails: it should not have been a class.
    """
    numbers = np.arange(len(of_record))
    while True:
        n_groups = len(class_ids)
        failing = np.flatnonzero(~meets(numbers, of_record, n_groups))
        if not failing.size:
            return of_record, class_ids
        alone = np.bincount(class_ids, minlength=int(class_ids.max()) + 1) == 1
        if alone[class_ids[failing]].any():
            raise ValueError("a whole class fails what every class was to meet")
        nearest = np.arange(n_groups)
        starts = np.searchsorted(class_ids, np.arange(int(class_ids.max()) + 2))
        for own in failing.tolist():
            first, last = starts[class_ids[own]], starts[class_ids[own] + 1]
            distances = ((centres[first:last] - centres[own]) ** 2).sum(axis=1)
            distances[own - first] = np.inf
            nearest[own] = first + int(distances.argmin())
        joined = _joined(nearest)
        sizes = np.bincount(of_record, minlength=n_groups).astype(np.float64)
        kept, new = np.unique(joined, return_inverse=True)
        together = np.bincount(new, weights=sizes)
        centres = np.column_stack(
            [np.bincount(new, weights=centres[:, j] * sizes) / together for j in range(centres.shape[1])]
        )
        of_record, class_ids = new[of_record], class_ids[kept]


def _joined(nearest: IntArray) -> IntArray:
    """The smallest number among all groups that are joined to each other; `nearest[i]` is what group i joins."""
    smallest = np.arange(len(nearest))
    while True:
        lower = smallest.copy()
        np.minimum.at(lower, nearest, smallest)
        lower = np.minimum(lower, lower[nearest])
        if np.array_equal(lower, smallest):
            return smallest
        smallest = lower

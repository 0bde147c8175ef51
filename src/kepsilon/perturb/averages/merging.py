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
        nearest[failing] = nearest_groups(centres, class_ids, failing)
        joined = _joined(nearest)
        sizes = np.bincount(of_record, minlength=n_groups).astype(np.float64)
        kept, new = np.unique(joined, return_inverse=True)
        together = np.bincount(new, weights=sizes)
        centres = np.column_stack(
            [np.bincount(new, weights=centres[:, j] * sizes) / together for j in range(centres.shape[1])]
        )
        of_record, class_ids = new[of_record], class_ids[kept]


def nearest_groups(centres: FloatArray, class_ids: IntArray, of: IntArray) -> IntArray:
    """The nearest other group of its class to each of some groups, the first one where several are as near; shaped like `of`.

    Groups are looked at by how far away they are in the widest ε-quasi alone, on both sides, until the next one is farther
    away in it than the nearest so far is in all.
    """
    widest = centres[:, int(np.ptp(centres, axis=0).argmax())]
    order = np.lexsort((widest, class_ids))
    place: IntArray = np.empty_like(order)
    place[order] = np.arange(len(order))
    columns = [np.ascontiguousarray(own) for own in centres.T]
    best = np.full(len(of), np.inf)
    nearest: IntArray = np.full(len(of), -1)
    for side in (1, -1):
        looking, at = np.arange(len(of)), place[of]
        while looking.size:
            at = at + side
            inside = (at >= 0) & (at < len(order))
            looking, at = looking[inside], at[inside]
            own, other = of[looking], order[at]
            goes_on = (class_ids[other] == class_ids[own]) & ((widest[other] - widest[own]) ** 2 <= best[looking])
            looking, at, own, other = looking[goes_on], at[goes_on], own[goes_on], other[goes_on]
            distances = np.zeros(len(own))
            for column in columns:
                distances += (column[other] - column[own]) ** 2
            is_nearer = (distances < best[looking]) | ((distances == best[looking]) & (other < nearest[looking]))
            found = looking[is_nearer]
            best[found], nearest[found] = distances[is_nearer], other[is_nearer]
    return nearest


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

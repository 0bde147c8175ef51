# SPDX-License-Identifier: Apache-2.0
"""Works out which class each combination of values went to, from the classes that cover it and their sizes.

All records of a combination went to one of the classes whose labels cover it, and no class has other records. So a
combination that only one class can take belongs to that class; a class that has all its records takes no more; and a
class whose remaining candidates are just enough takes all of them. Each of these steps may make another one possible.
"""

from __future__ import annotations

import numpy as np

from kepsilon.table.arrays import IntArray

UNKNOWN = -1
"""The class of a combination that more than one class could have taken."""

MOST_PAIRS = 20_000_000
"""Pairs of combination and class that are followed one by one; with more of them every combination stays UNKNOWN."""


def assign_classes(covered_by: list[IntArray], counts: IntArray, sizes: IntArray) -> IntArray:
    """Class of each combination, or UNKNOWN, shape (n_combinations,).

    `covered_by[c]` lists the combinations that class c covers, `counts` the records of each combination, and `sizes`
    the records of each class.
    """
    class_of = np.full(len(counts), UNKNOWN, dtype=np.int64)
    n_pairs = sum(map(len, covered_by))
    if n_pairs > MOST_PAIRS:
        return class_of
    candidates: list[set[int]] = [set() for _ in range(len(counts))]
    for c, inside in enumerate(covered_by):
        for combination in inside.tolist():
            candidates[combination].add(c)
    weight = counts.tolist()
    left = [set(inside.tolist()) for inside in covered_by]
    n_left = [int(counts[inside].sum()) for inside in covered_by]
    need = sizes.tolist()
    to_check = list(range(len(covered_by)))
    single = [combination for combination, classes in enumerate(candidates) if len(classes) == 1]

    def drop(combination: int, c: int) -> None:
        """Notes that class c does not take the combination."""
        candidates[combination].discard(c)
        left[c].discard(combination)
        n_left[c] -= weight[combination]
        to_check.append(c)
        if len(candidates[combination]) == 1:
            single.append(combination)

    def take(combination: int, c: int) -> None:
        """Notes that class c takes the combination, so that no other class does."""
        if class_of[combination] != UNKNOWN:
            return
        class_of[combination] = c
        need[c] -= weight[combination]
        for other in list(candidates[combination]):
            drop(combination, other)

    while single or to_check:
        while single:
            combination = single.pop()
            if class_of[combination] == UNKNOWN and candidates[combination]:
                take(combination, next(iter(candidates[combination])))
        if to_check:
            c = to_check.pop()
            if need[c] <= 0:
                for combination in list(left[c]):
                    drop(combination, c)
            elif n_left[c] == need[c]:
                for combination in list(left[c]):
                    take(combination, c)
    return class_of

# SPDX-License-Identifier: Apache-2.0
"""Which class each combination of values went to, from which classes cover it and how many records they have.

Every combination went to one of the classes whose labels cover it, whole, and no class has records from elsewhere. So a
combination that one class alone can take belongs to it; a class that has all its records takes no more; and a class for
which just enough is left takes all of it. Each step may make the next one possible.
"""

from __future__ import annotations

import numpy as np

from kepsilon.table.arrays import IntArray

UNKNOWN = -1

MOST_PAIRS = 20_000_000
"""Pairs of combination and class that are followed one by one; with more, only what is plain at once is known."""


def resolve(covered_by: list[IntArray], counts: IntArray, sizes: IntArray) -> IntArray:
    """Class of every combination, or UNKNOWN, shape (n_combinations,).

    `covered_by[c]` are the combinations that class c covers, `counts` their records, `sizes` the records of every class.
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
    looked_at = list(range(len(covered_by)))
    single = [combination for combination, classes in enumerate(candidates) if len(classes) == 1]

    def drop(combination: int, c: int) -> None:
        """Class c does not take the combination."""
        candidates[combination].discard(c)
        left[c].discard(combination)
        n_left[c] -= weight[combination]
        looked_at.append(c)
        if len(candidates[combination]) == 1:
            single.append(combination)

    def take(combination: int, c: int) -> None:
        if class_of[combination] != UNKNOWN:
            return
        class_of[combination] = c
        need[c] -= weight[combination]
        for other in list(candidates[combination]):
            drop(combination, other)

    while single or looked_at:
        while single:
            combination = single.pop()
            if class_of[combination] == UNKNOWN and candidates[combination]:
                take(combination, next(iter(candidates[combination])))
        if looked_at:
            c = looked_at.pop()
            if need[c] <= 0:
                for combination in list(left[c]):
                    drop(combination, c)
            elif n_left[c] == need[c]:
                for combination in list(left[c]):
                    take(combination, c)
    return class_of

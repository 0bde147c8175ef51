# SPDX-License-Identifier: Apache-2.0
"""Works out for the audit, as far as three simple rules allow, which class the records of each combination went to.

Known are: which combinations of values the labels of each class cover, how many originals have each combination, and how
many records each class has. No record was left out, and the records of a combination stay together: all went to one
class whose labels cover it. So

1. a combination that only one class can take went to that class;
2. a class that has all its records takes no further combination;
3. a class that needs all records of the combinations that it can still take takes all these combinations.

Each step may make another one possible. A puzzle that needs more than these rules stays open.
"""

from __future__ import annotations

import numpy as np

from kepsilon.table.arrays import IntArray

UNKNOWN = -1
"""Stands for the class of a combination where the rules do not decide it."""

MOST_PAIRS = 20_000_000
"""Most pairs of a class and a combination that it covers; beyond, nothing is worked out, to bound time and memory."""


def assign_classes(covered_by: list[IntArray], counts: IntArray, sizes: IntArray) -> IntArray:
    """Class of each combination, or UNKNOWN, shape (n_combinations,).

    `covered_by[c]` lists the combinations that class c covers, shape (n_covered,); `counts` is the number of originals of
    each combination, shape (n_combinations,), and `sizes` the number of records of each class, shape (n_classes,).
    Counts and sizes that contradict each other are not reported: the caller has to compare the result with `sizes`.
    """
    class_of = np.full(len(counts), UNKNOWN, dtype=np.int64)
    n_pairs = sum(map(len, covered_by))
    if n_pairs > MOST_PAIRS:
        return class_of
    can_go_to: list[set[int]] = [set() for _ in range(len(counts))]
    for c, covered in enumerate(covered_by):
        for combination in covered.tolist():
            can_go_to[combination].add(c)
    n_records = counts.tolist()
    can_take = [set(covered.tolist()) for covered in covered_by]
    records_to_take = [int(counts[covered].sum()) for covered in covered_by]
    records_needed = sizes.tolist()
    to_check = list(range(len(covered_by)))
    with_one_class = [combination for combination, classes in enumerate(can_go_to) if len(classes) == 1]

    def separate(combination: int, c: int) -> None:
        """Takes the combination off what class c can still take."""
        can_go_to[combination].discard(c)
        can_take[c].discard(combination)
        records_to_take[c] -= n_records[combination]
        to_check.append(c)
        if len(can_go_to[combination]) == 1:
            with_one_class.append(combination)

    def take(combination: int, c: int) -> None:
        """Puts the combination into class c, so that no class, c included, can still take it."""
        if class_of[combination] != UNKNOWN:
            return
        class_of[combination] = c
        records_needed[c] -= n_records[combination]
        for candidate in list(can_go_to[combination]):
            separate(combination, candidate)

    while with_one_class or to_check:
        while with_one_class:
            combination = with_one_class.pop()
            if class_of[combination] == UNKNOWN and can_go_to[combination]:
                take(combination, next(iter(can_go_to[combination])))
        if to_check:
            c = to_check.pop()
            if records_needed[c] <= 0:
                for combination in list(can_take[c]):
                    separate(combination, c)
            elif records_to_take[c] == records_needed[c]:
                for combination in list(can_take[c]):
                    take(combination, c)
    return class_of

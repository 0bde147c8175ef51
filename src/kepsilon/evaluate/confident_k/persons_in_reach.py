# SPDX-License-Identifier: Apache-2.0
"""ℓ_i by persons: how many persons have an original within reach of what was published of a record.

Paper §V-C, where a person may have several records. An attacker who finds five originals in reach, all of one patient, has
found the patient; so confident k counts persons.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from kepsilon.evaluate.confident_k.confident_k import values_in_reach
from kepsilon.evaluate.linking.several_attributes import by_record, originals_in_reach, with_slack
from kepsilon.evaluate.originals.members import MemberPoints, Members, member_points
from kepsilon.evaluate.originals.sorted_classes import SortedClasses
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.coded_values import without_missing


def persons_in_reach(
    classes: SortedClasses,
    published: FloatArray,
    members: Members,
    *,
    linking_ranges: FloatArray,
    precision: Fraction | None = None,
) -> IntArray:
    """ℓ_i of every record by persons, for one ε-quasi, exactly; arguments and order as for `originals_in_reach`.

    It is the number of originals in reach, less the pairs of neighbouring originals of one person that are both in reach,
    where the originals of a person are sorted by value: of j of them in reach, j − 1 pairs are. What is in reach moves up
    with the published value. So, with records sorted by published value, those that have a pair in reach follow each
    other: the first is the first that reaches up to the larger value, the last the last that reaches down to the smaller.
    """
    below, upto = values_in_reach(classes, published, linking_ranges=linking_ranges, precision=precision)
    n = len(below)
    centre = without_missing(published)[classes.order]
    by_centre = np.lexsort((centre, classes.class_ids[classes.place]))
    # Where doubles of very different sizes are added, an end may be rounded down where the value before was rounded up.
    below, upto = (np.maximum.accumulate(ends[by_centre]) for ends in (below, upto))
    in_order = members.of_record[classes.order]
    by_member = np.argsort(in_order, kind="stable")
    is_pair = in_order[by_member][1:] == in_order[by_member][:-1]
    places = classes.place[by_member]
    first = np.searchsorted(upto, places[1:][is_pair], side="right")
    end = np.searchsorted(below, places[:-1][is_pair], side="right")
    is_reached = first < end
    begun = np.bincount(first[is_reached], minlength=n + 1) - np.bincount(end[is_reached], minlength=n + 1)
    n_before = np.concatenate([[0], np.cumsum(classes.counts)])
    in_reach = np.empty(n, dtype=np.int64)
    in_reach[classes.order[by_centre]] = n_before[upto] - n_before[below] - np.cumsum(begun)[:n]
    return in_reach


def persons_in_reach_of_several(
    values: FloatArray,
    published: FloatArray,
    class_ids: IntArray,
    members: Members,
    *,
    linking_ranges: FloatArray,
    cap: int,
    precisions: Sequence[Fraction] | None = None,
) -> IntArray:
    """ℓ_i of every record by persons, for any number of ε-quasis, but never above `cap`.

    Arguments as for `several_attributes.originals_in_reach`. Persons have at most m records in a class, so whoever has more
    than m·(cap − 1) originals in reach has `cap` persons there. Only the other records are compared with every original.
    """
    most = int(members.counts.max(initial=1))
    enough = most * (cap - 1) + 1
    counts = originals_in_reach(
        values, published, class_ids, linking_ranges=linking_ranges, cap=enough, precisions=precisions
    )
    if most == 1:
        return counts
    open_ones = np.flatnonzero((counts > 0) & (counts < enough) & members.repeats[class_ids])
    counts = np.minimum(counts, cap)
    if open_ones.size:
        ids = class_ids[open_ones]
        r = by_record(linking_ranges, ids)
        x, v = published[open_ones].T, values[open_ones].T
        tells = ~np.isnan(r) & ~np.isnan(v)
        reach = np.where(tells, with_slack(r, x, precisions), np.inf)
        found = persons_in_boxes(member_points(values, members), ids, np.where(tells, x, 0.0), reach)
        counts[open_ones] = np.minimum(found, cap)
    return counts


def persons_in_boxes(originals: MemberPoints, class_ids: IntArray, centres: FloatArray, reach: FloatArray) -> IntArray:
    """How many persons of its class have an original within reach of each centre, shape (n_centres,).

    `centres` and `reach` have shape (n_attributes, n_centres), `class_ids` the shape (n_centres,). Every centre is compared
    with every original of its class.
    """
    counts = np.zeros(len(class_ids), dtype=np.int64)
    for pairs in originals.pairs(class_ids):
        inside = np.ones(len(pairs.row_of), dtype=np.bool_)
        for j in range(len(centres)):
            far = np.abs(originals.points[pairs.points, j] - centres[j, pairs.row_of])
            inside &= far <= reach[j, pairs.row_of]
        is_there = np.logical_or.reduceat(inside, pairs.member_starts)
        counts[pairs.rows] = np.add.reduceat(is_there, pairs.member_begins, dtype=np.int64)
    return counts

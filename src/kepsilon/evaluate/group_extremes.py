# SPDX-License-Identifier: Apache-2.0
"""Groups whose average gives a value away: those whose records all agree, and those with a value that stands out.

An average times the size of its group is a sum. Whoever knows the other records of the group roughly knows their sum
roughly, and so knows the value that is left. Two such attackers are looked at, and the better of them counts: one who
knows every other value to within WITHIN of itself, and one who knows between which values the others lie, and so knows
each to within half of that width. Rounding adds half a unit of the precision for each record. Both are worst cases:
errors that differ in sign cancel, and then the attacker comes nearer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.originals.members import Members
from kepsilon.evaluate.outliers import WITHIN
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class TellingGroups:
    """Which groups tell a value of one ε-quasi, each of shape (n_groups,)."""

    agreeing: BoolArray
    """All records of the group hold one value, which is the average."""
    extreme: BoolArray
    """One record's value, or one person's mean, is farther than WITHIN of itself from every other value of the group, and
    is worked out to within WITHIN by whoever knows the others roughly."""


def telling_groups(
    values: FloatArray, of_record: IntArray, sizes: IntArray, *, precision: float, members: Members | None = None
) -> TellingGroups:
    """Which groups tell a value. `values` and `of_record`, the group, are by record; NaN throughout a group without values.

    `members` says whose records the records of each group are; None where every record is a person.
    """
    if members is None and sizes.all() and _rises(values, of_record):
        return _telling_in_order(values, sizes, precision=precision)
    high = _largest(values, of_record, len(sizes))
    low = -_largest(-values, of_record, len(sizes))
    return TellingGroups(
        agreeing=high == low,
        extreme=_stands_out_above(values, of_record, sizes, precision=precision, members=members)
        | _stands_out_above(-values, of_record, sizes, precision=precision, members=members),
    )


def _rises(values: FloatArray, of_record: IntArray) -> bool:
    """Whether groups follow one another, and values rise inside each; none is NaN."""
    if len(values) and np.isnan(values[0]):
        return False
    is_next = of_record[1:] > of_record[:-1]
    is_same = of_record[1:] == of_record[:-1]
    return bool(np.all((is_next & (values[1:] == values[1:])) | (is_same & (values[1:] >= values[:-1]))))


def _telling_in_order(values: FloatArray, sizes: IntArray, *, precision: float) -> TellingGroups:
    """Which groups tell a value, where values rise inside groups: only those whose ends stand out are looked at closely."""
    lasts = np.cumsum(sizes) - 1
    firsts = lasts + 1 - sizes
    extreme = np.zeros(len(sizes), dtype=np.bool_)
    for sign, ends, inwards in ((1, lasts, -1), (-1, firsts, 1)):
        own = values[ends]
        second = values[np.where(sizes > 1, ends + inwards, ends)]
        chosen = np.flatnonzero(sign * (own - second) > WITHIN * np.abs(own))
        if chosen.size:
            own_sizes = sizes[chosen]
            groups = np.repeat(np.arange(len(chosen)), own_sizes)
            starts = np.cumsum(own_sizes) - own_sizes
            records = np.repeat(firsts[chosen] - starts, own_sizes) + np.arange(len(groups))
            extreme[chosen] |= _stands_out_above(
                sign * values[records], groups, own_sizes, precision=precision, members=None
            )
    return TellingGroups(agreeing=values[firsts] == values[lasts], extreme=extreme)


def _stands_out_above(
    values: FloatArray, of_record: IntArray, sizes: IntArray, *, precision: float, members: Members | None
) -> BoolArray:
    """Groups whose largest value stands out above all others, and is worked out by whoever knows these roughly."""
    n_groups = len(sizes)
    largest = np.zeros(n_groups, dtype=np.int64)
    at_largest = np.flatnonzero(values == _largest(values, of_record, n_groups)[of_record])
    largest[of_record[at_largest]] = at_largest
    n_own: IntArray
    if members is None:
        own, n_own = values[largest], np.ones_like(sizes)
        is_own = np.arange(len(values)) == largest[of_record]
    else:
        member = members.of_record[largest]
        n_own = members.counts[member]
        own = np.bincount(members.of_record, weights=values, minlength=len(members.counts))[member] / n_own
        is_own = members.of_record == member[of_record]
    others, groups = values[~is_own], of_record[~is_own]
    high = _largest(others, groups, n_groups)
    low = -_largest(-others, groups, n_groups)
    with np.errstate(invalid="ignore"):  # −∞ for a group of nobody else
        by_width = (sizes - n_own) * (high - low) / 2
        by_size = WITHIN * np.bincount(groups, weights=np.abs(others), minlength=n_groups)
        unsure = (np.minimum(by_width, by_size) + sizes * precision / 2) / n_own
        found: BoolArray = (own - high > WITHIN * np.abs(own)) & (unsure <= WITHIN * np.abs(own)) & np.isfinite(high)
    return found


def _largest(values: FloatArray, groups: IntArray, n_groups: int) -> FloatArray:
    """The largest value of each group; NaN where one is NaN, −∞ where there is none."""
    largest = np.full(n_groups, -np.inf)
    with np.errstate(invalid="ignore"):  # NaN is no mistake here
        if len(groups) and np.all(groups[1:] >= groups[:-1]):  # groups side by side: several times as fast
            firsts = np.flatnonzero(np.diff(groups, prepend=groups[0] - 1))
            largest[groups[firsts]] = np.maximum.reduceat(values, firsts)
        else:
            np.maximum.at(largest, groups, values)
    return largest

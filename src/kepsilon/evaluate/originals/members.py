# SPDX-License-Identifier: Apache-2.0
"""Whose records the records of each class are: the members of a class are the persons who have a record in it.

A person with records in two classes is a member of both, under two numbers. Nearly everything that is asked about persons
is asked class by class, and members are numbered so that it takes a count and no sort.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

_PAIRS = 1 << 17
"""Pairs of a record and an original at a time: few enough for their arrays to stay in a processor's cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """The members of some whole classes, one class after the other."""

    of_record: IntArray
    """Number of the member whom each record is about, shape (n_records,)."""
    class_ids: IntArray
    """The class of each member, rising, shape (n_members,)."""
    counts: IntArray
    """Records of each member, shape (n_members,)."""
    n_classes: int

    @property
    def n_persons(self) -> IntArray:
        """Distinct persons of every class, shape (n_classes,)."""
        n_persons: IntArray = np.bincount(self.class_ids, minlength=self.n_classes)
        return n_persons

    @property
    def sizes(self) -> IntArray:
        """Records of every class, shape (n_classes,)."""
        sizes: IntArray = np.bincount(self.class_ids, weights=self.counts, minlength=self.n_classes).astype(np.int64)
        return sizes

    @property
    def most(self) -> IntArray:
        """The largest number of records that one person has in each class, shape (n_classes,); 0 where it has no record."""
        most = np.zeros(self.n_classes, dtype=np.int64)
        np.maximum.at(most, self.class_ids, self.counts)
        return most

    @property
    def repeats(self) -> BoolArray:
        """Classes in which some person has several records, shape (n_classes,)."""
        repeats: BoolArray = self.most > 1
        return repeats

    def n_persons_among(self, chosen: BoolArray) -> IntArray:
        """Distinct persons of every class among the chosen records; `chosen` has shape (n_records,)."""
        is_there = np.zeros(len(self.class_ids), dtype=np.bool_)
        is_there[self.of_record[chosen]] = True
        n_persons: IntArray = np.bincount(self.class_ids[is_there], minlength=self.n_classes)
        return n_persons

    def of(self, records: IntArray, class_ids: IntArray, *, n_classes: int) -> Members:
        """The members of some of the records, whose classes are now called `class_ids`, from 0 to n_classes − 1.

        The same records may be chosen several times, under other class ids.
        """
        return members_of(self.of_record[records], class_ids, n_classes=n_classes)


def members_of(persons: IntArray, class_ids: IntArray, *, n_classes: int) -> Members:
    """The members of some whole classes, from the person and the class of every record, both of shape (n_records,).

    Two records are about one person if their entries of `persons` are equal. Members of a class are in the order of these.
    """
    if persons.shape != class_ids.shape:
        raise ValueError("every record needs a person and a class")
    order = np.lexsort((persons, class_ids))
    by_person, by_class = persons[order], class_ids[order]
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = (by_person[1:] != by_person[:-1]) | (by_class[1:] != by_class[:-1])
    firsts = np.flatnonzero(is_first)
    of_record = np.empty(len(order), dtype=np.int64)
    of_record[order] = np.cumsum(is_first) - 1
    return Members(
        of_record=of_record,
        class_ids=by_class[firsts],
        counts=np.diff(firsts, append=len(order)),
        n_classes=n_classes,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberPoints:
    """The distinct originals of every member of some classes, one member after the other."""

    points: FloatArray
    """Shape (n_points, n_attributes); 0 where values are missing."""
    counts: IntArray
    """Originals of the member at each point, shape (n_points,)."""
    member_starts: IntArray
    """Where the points of every member begin, and last the number of all points, shape (n_members + 1,)."""
    class_starts: IntArray
    """Where the members of every class begin, and last the number of all members, shape (n_classes + 1,)."""

    @property
    def n_points(self) -> IntArray:
        """Points of every class, shape (n_classes,)."""
        n_points: IntArray = np.diff(self.member_starts[self.class_starts])
        return n_points

    def pairs(self, class_ids: IntArray) -> Iterator[Pairs]:
        """Pairs of each of some rows with every point of its class, some rows at a time; `class_ids` has shape (n_rows,)."""
        first_points = self.member_starts[self.class_starts[:-1]]
        widths, n_members = self.n_points[class_ids], np.diff(self.class_starts)[class_ids]
        ends = np.cumsum(widths)
        first = 0
        while first < len(class_ids):
            done = int(ends[first]) - int(widths[first])
            last = max(first + 1, int(np.searchsorted(ends, done + _PAIRS, side="right")))
            rows, ids = slice(first, last), class_ids[first:last]
            begins = ends[rows] - widths[rows] - done
            row_of = np.repeat(np.arange(first, last), widths[rows])
            member_begins = np.cumsum(n_members[rows]) - n_members[rows]
            member_rows = np.repeat(np.arange(len(ids)), n_members[rows])
            members = self.class_starts[ids][member_rows] + np.arange(len(member_rows)) - member_begins[member_rows]
            yield Pairs(
                rows=rows,
                row_of=row_of,
                points=np.arange(len(row_of)) + np.repeat(first_points[ids] - begins, widths[rows]),
                begins=begins,
                member_starts=begins[member_rows] + self.member_starts[members] - first_points[ids][member_rows],
                member_begins=member_begins,
            )
            first = last


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Pairs of some rows with all points of their classes: one row after the other, and within it member after member."""

    rows: slice
    row_of: IntArray
    """The row of every pair, counted from the very first row, shape (n_pairs,)."""
    points: IntArray
    """The point of every pair, shape (n_pairs,)."""
    begins: IntArray
    """The first pair of every row."""
    member_starts: IntArray
    """The first pair of every member of every row."""
    member_begins: IntArray
    """The first of each row's members among those of all rows."""


def member_points(values: FloatArray, members: Members) -> MemberPoints:
    """The distinct originals of every member; `values` has shape (n_records, n_attributes)."""
    values = np.nan_to_num(values)
    order = np.lexsort((*values.T, members.of_record))
    by_member, sorted_values = members.of_record[order], values[order]
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = (by_member[1:] != by_member[:-1]) | np.any(sorted_values[1:] != sorted_values[:-1], axis=1)
    firsts = np.flatnonzero(is_first)
    return MemberPoints(
        points=sorted_values[firsts],
        counts=np.diff(firsts, append=len(order)),
        member_starts=np.searchsorted(by_member[firsts], np.arange(len(members.class_ids) + 1)),
        class_starts=np.searchsorted(members.class_ids, np.arange(members.n_classes + 1)),
    )

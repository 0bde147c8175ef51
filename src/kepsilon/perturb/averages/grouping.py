# SPDX-License-Identifier: Apache-2.0
"""Puts the records of each class into groups of at least g near neighbours, all ε-quasis of a record together.

Where persons are known, all records of a person in a class are one point, and a group has at least g persons. A class of
fewer than g is one group. Which values are averaged together depends on the values of a class alone, not on the order of
its records, nor on the classes that happen to be looked at with it, so that every engine finds the same groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kepsilon.perturb.averages.even_cuts import cut_evenly, n_groups_of, sorted_blocks
from kepsilon.perturb.averages.merging import GroupsMeet, merge_failing
from kepsilon.perturb.averages.points import FineSteps, fine_steps, spread_coordinates
from kepsilon.perturb.averages.resplits import split_again
from kepsilon.perturb.averages.segments import starts_of
from kepsilon.randomness import ByteSource, shuffled_positions
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.threads import each_of

_KEY_BITS = 63
"""Bits of a whole number that is not below 0."""

_TOGETHER = 1 << 16
"""Records of classes that are grouped together, about: what they need stays in the processor's cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The groups of all classes; groups of one class follow one another."""

    of_record: IntArray
    """The group of every record, in the order of the records, shape (n_records,)."""
    sizes: IntArray
    """Records of each group, shape (n_groups,)."""
    class_ids: IntArray
    """The class of each group, rising, shape (n_groups,)."""
    sums: IntArray
    """Sums of the records of each group in fine steps, shape (n_groups, n_attributes)."""
    bases: FloatArray
    """What fine steps are counted from, in whole units of the precision, by group; NaN where a class has no values."""
    bits: IntArray
    """A unit has 2 to this power fine steps; shaped like `sums`."""
    before_joining: IntArray | None = None
    """The group of every record before groups were joined, shaped like `of_record`, and −1 in classes where groups are the
    same in every draw. In the others chance decides which of some equal records are in which group, and so which groups have
    to be joined. None where that is no class."""

    @property
    def n_groups(self) -> int:
        return len(self.sizes)


def group_records(
    values: FloatArray,
    class_ids: IntArray,
    *,
    n_classes: int,
    group: int,
    precisions: Sequence[Fraction],
    persons: IntArray | None = None,
    meets: GroupsMeet | None = None,
    source: ByteSource | None = None,
) -> Groups:
    """Groups of at least `group` records, or persons, in each class.

    `values` has shape (n_records, n_attributes), NaN throughout a class where it has no values; `class_ids` and `persons`
    (n_records,). `meets` says which groups meet further requirements: one that does not joins its nearest in the class.
    Where a cut goes through equal values, `source` decides who of them comes to which side; it may be left out only where
    nothing is released.

    Raises TooWideError where values of a class are so far apart that their sum is no whole number of 64 bits.
    """
    if values.ndim != 2 or values.shape != (len(class_ids), len(precisions)) or not precisions:
        raise ValueError("every record needs a class, and every ε-quasi a value and a precision")
    if class_ids.size and not 0 <= class_ids.min() <= class_ids.max() < n_classes:
        raise ValueError("some records are in no class")
    order = _by_class(class_ids, values[:, 0], source)
    sizes = np.bincount(class_ids, minlength=n_classes)
    blocks = list(_blocks(sizes))

    def group_block(block: slice) -> Groups:
        first = int(sizes[: block.start].sum())
        records = order[first : first + int(sizes[block].sum())]
        return _group_block(
            values[records],
            sizes[block],
            group=group,
            precisions=precisions,
            persons=None if persons is None else persons[records],
            meets=None if meets is None else _of_records(meets, records),
        )

    return _together(list(each_of(blocks, group_block)), blocks, order)


def _by_class(class_ids: IntArray, values: FloatArray, source: ByteSource | None) -> IntArray:
    """Positions by class. With `source`, those of records that agree in all values are in random order.

    Where records come by class and value already, only runs of equal ones have to be put into random order; run, random
    label and position make one number then, and such numbers are sorted ten times as fast as positions.
    """
    n = len(class_ids)
    in_order = n > 0 and bool(np.all(class_ids[1:] >= class_ids[:-1]))
    if source is None:
        return np.arange(n) if in_order else np.argsort(class_ids, kind="stable")
    labels = shuffled_positions(n, random_bytes=source.bytes)
    is_next = class_ids[1:] > class_ids[:-1]
    width = max(1, n - 1).bit_length()
    if not (in_order and 3 * width <= _KEY_BITS and np.all(is_next | (values[1:] >= values[:-1]))):
        order: IntArray = labels[np.argsort(class_ids[labels], kind="stable")]
        return order
    runs = np.zeros(n, dtype=np.int64)
    np.cumsum(is_next | (values[1:] > values[:-1]), out=runs[1:])
    keys = (runs << 2 * width) | (labels << width) | np.arange(n)
    keys.sort()
    return keys & ((1 << width) - 1)


def _of_records(meets: GroupsMeet, records: IntArray) -> GroupsMeet:
    """A requirement on the records at some positions."""

    def own(numbers: IntArray, of_record: IntArray, n_groups: int) -> np.ndarray:
        return meets(records[numbers], of_record, n_groups)

    return own


def _blocks(sizes: IntArray) -> Iterator[slice]:
    """Runs of whole classes with about `_TOGETHER` records."""
    ends = np.cumsum(sizes)
    first = start = 0
    while first < len(sizes):
        last = max(first + 1, int(np.searchsorted(ends, start + _TOGETHER, side="right")))
        yield slice(first, last)
        first, start = last, int(ends[last - 1])


def _together(found: Sequence[Groups], blocks: Sequence[slice], order: IntArray) -> Groups:
    """The groups of all blocks; `order` says where the records of the blocks, one after another, stand among all."""
    of_record = np.empty(len(order), dtype=np.int64)
    n_before = starts_of(np.array([own.n_groups for own in found], dtype=np.int64)).tolist()
    if found:
        of_record[order] = np.concatenate([own.of_record + n for own, n in zip(found, n_before, strict=True)])
    before_joining = None
    if any(own.before_joining is not None for own in found):
        before_joining = np.empty_like(of_record)
        before_joining[order] = np.concatenate(_numbered_on(found))
    return Groups(
        before_joining=before_joining,
        of_record=of_record,
        sizes=np.concatenate([own.sizes for own in found]),
        class_ids=np.concatenate([own.class_ids + block.start for own, block in zip(found, blocks, strict=True)]),
        sums=np.concatenate([own.sums for own in found]),
        bases=np.concatenate([own.bases for own in found]),
        bits=np.concatenate([own.bits for own in found]),
    )


def _numbered_on(found: Sequence[Groups]) -> list[IntArray]:
    """The groups before they were joined, block by block, with a number of its own for each; −1 stays."""
    n_before = 0
    numbers = []
    for own in found:
        n = len(own.of_record)
        numbers.append(np.full(n, -1) if own.before_joining is None else own.before_joining.copy())
        numbers[-1][numbers[-1] >= 0] += n_before  # a block has no more groups than records
        n_before += n
    return numbers


def _group_block(
    values: FloatArray,
    sizes: IntArray,
    *,
    group: int,
    precisions: Sequence[Fraction],
    persons: IntArray | None,
    meets: GroupsMeet | None,
) -> Groups:
    """The groups of some classes whose records follow one another."""
    occurs = sizes > 0
    sizes_here = sizes[occurs]
    class_ids = np.repeat(np.arange(len(sizes_here)), sizes_here)
    columns = [
        fine_steps(values[:, j], class_ids, sizes_here, precision=precision, attribute=j)
        for j, precision in enumerate(precisions)
    ]
    points, before_joining = columns, None
    point_classes: IntArray = class_ids
    if persons is None:
        of_point, classes = _groups_of_points(columns, class_ids, sizes_here, group=group, values=values)
        of_record = of_point
    else:
        of_person, counts, points, point_classes = _points_of_persons(columns, class_ids, persons)
        n_persons = np.bincount(point_classes, minlength=len(sizes_here))
        of_point, classes = _groups_of_points(points, point_classes, n_persons, group=group, weights=counts)
        of_record = of_point[of_person]
    if meets is not None:
        is_open = _left_to_chance(points, point_classes, of_point)
        if is_open.any():
            before_joining = np.where(is_open[class_ids], of_record, -1)
        # Which group is nearest may hang on the last bit of a sum of doubles, and so on the order of the records.
        order = _order_of_values(columns, class_ids)
        places = spread_coordinates([own.taken(order) for own in columns], class_ids, sizes_here)
        centres = _centres(places, of_record[order], n_groups=len(classes))
        of_record, classes = merge_failing(of_record, classes, centres, meets)
    n_groups = len(classes)
    return Groups(
        of_record=of_record,
        sizes=np.bincount(of_record, minlength=n_groups),
        class_ids=np.flatnonzero(occurs)[classes],
        sums=np.column_stack([_whole_sums(own.steps, of_record, n_groups) for own in columns]),
        bases=np.column_stack([own.bases[classes] for own in columns]),
        bits=np.column_stack([own.bits[classes] for own in columns]),
        before_joining=before_joining,
    )


def _left_to_chance(columns: Sequence[FineSteps], class_ids: IntArray, groups: IntArray) -> BoolArray:
    """Classes in which equal points are in several groups, so that chance decides which of them is where; by class."""
    order = _order_of_values(columns, class_ids)
    is_open = np.zeros(int(class_ids.max(initial=-1)) + 1, dtype=np.bool_)
    own, of_point = class_ids[order], groups[order]
    are_apart = (own[1:] == own[:-1]) & (of_point[1:] != of_point[:-1])
    for column in columns:
        steps = column.steps[order]
        are_apart &= steps[1:] == steps[:-1]
    is_open[own[1:][are_apart]] = True
    return is_open


def _order_of_values(columns: Sequence[FineSteps], class_ids: IntArray, *, weights: IntArray | None = None) -> IntArray:
    """Positions by class, then by value; what agrees in all columns by weight, and then as it came."""
    further = () if weights is None else (weights,)
    order: IntArray = np.lexsort((*further, *(own.steps for own in reversed(columns)), class_ids))
    return order


def _groups_of_points(
    columns: Sequence[FineSteps],
    class_ids: IntArray,
    sizes: IntArray,
    *,
    group: int,
    values: FloatArray | None = None,
    weights: IntArray | None = None,
) -> tuple[IntArray, IntArray]:
    """The group of each point, and the class of each group; points of a class follow one another.

    `values` are those of the records, where every point is one; `weights` says how many records a point stands for
    otherwise, and of equal points the lighter come first.
    """
    if values is not None and len(columns) == 1:
        # What noise on sorted blocks promises needs blocks of the values themselves, which may be finer than fine steps.
        order: IntArray = np.lexsort((values[:, 0], class_ids))
    else:
        order = _order_of_values(columns, class_ids, weights=weights)
    n_groups = n_groups_of(sizes, group=group)
    classes: IntArray = np.repeat(np.arange(len(sizes)), n_groups)
    if len(columns) == 1:
        group_sizes = sorted_blocks(sizes, n_groups)
    else:
        points = spread_coordinates([own.taken(order) for own in columns], class_ids, sizes)
        along, group_sizes = cut_evenly(points, sizes, n_groups)
        along, group_sizes, classes = split_again(points, along, group_sizes, classes)
        order = order[along]
    of_point = np.empty(len(order), dtype=np.int64)
    of_point[order] = np.repeat(np.arange(len(group_sizes)), group_sizes)
    return of_point, classes


def _points_of_persons(
    columns: Sequence[FineSteps], class_ids: IntArray, persons: IntArray
) -> tuple[IntArray, IntArray, list[FineSteps], IntArray]:
    """All records of a person in a class as one point: the point of each record, and of each point its records, its place
    and its class."""
    _, numbers = np.unique(persons, return_inverse=True)
    keys = class_ids * np.int64(int(numbers.max(initial=0)) + 1) + numbers
    _, first, of_person, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    # Persons in the order in which they come first: that of their numbers could tell who they are.
    by_first = np.argsort(first)
    place: IntArray = np.empty_like(by_first)
    place[by_first] = np.arange(len(by_first))
    of_person, counts = place[of_person], counts[by_first]
    points = [
        FineSteps(
            steps=np.rint(_whole_sums(own.steps, of_person, len(counts)) / counts).astype(np.int64),
            bases=own.bases,
            bits=own.bits,
        )
        for own in columns
    ]
    return of_person, counts, points, class_ids[first[by_first]]


def _whole_sums(steps: IntArray, of_record: IntArray, n: int) -> IntArray:
    """Exact sums by group, shape (n,)."""
    order = np.argsort(of_record, kind="stable")
    counts = np.bincount(of_record, minlength=n)
    sums: IntArray = np.add.reduceat(steps[order], starts_of(counts))
    return sums


def _centres(points: FloatArray, of_record: IntArray, *, n_groups: int) -> FloatArray:
    """Averages of the points of each group, from shape (n_attributes, n_points) to (n_groups, n_attributes)."""
    counts = np.bincount(of_record, minlength=n_groups)
    sums = [np.bincount(of_record, weights=own, minlength=n_groups) for own in points]
    return np.column_stack(sums) / counts[:, np.newaxis]

# SPDX-License-Identifier: Apache-2.0
"""Strict Mondrian as in the textbook: recursion over lists of records, one partition at a time.

A record is a tuple of whole numbers that order its values; `positions[a][v]` says where value v of attribute a lies
when widths are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

Record = tuple[int, ...]

Meets = Callable[[Sequence[Record]], bool]
"""Whether the records of a part meet a requirement."""


def anything_goes(_: Sequence[Record]) -> bool:
    return True


def partition(
    records: Sequence[Record],
    *,
    k: int,
    positions: Sequence[Sequence[float]],
    fixed: Sequence[int] = (),
    meets: Meets = anything_goes,
    importance: Sequence[Fraction] | None = None,
) -> frozenset[frozenset[int]]:
    """The parts, as sets of positions in `records`; `importance` multiplies the relative width of each attribute."""
    first: dict[tuple[int, ...], list[int]] = {}
    for i, record in enumerate(records):
        first.setdefault(tuple(record[a] for a in fixed), []).append(i)
    parts: list[frozenset[int]] = []
    for members in first.values():
        _cut(members, records, k, positions, parts, meets, importance)
    return frozenset(parts)


def _cut(
    members: list[int],
    records: Sequence[Record],
    k: int,
    positions: Sequence[Sequence[float]],
    parts: list[frozenset[int]],
    meets: Meets,
    importance: Sequence[Fraction] | None,
) -> None:
    def width(attribute: int) -> Fraction:
        scale = [Fraction(x) for x in positions[attribute]]
        values = [scale[records[i][attribute]] for i in members]
        whole = max(scale) - min(scale)
        weight = Fraction(1) if importance is None else importance[attribute]
        return weight * (max(values) - min(values)) / whole if whole else Fraction(0)

    attributes = range(len(records[0]))
    for attribute in sorted(attributes, key=lambda a: -width(a)):  # sorted is stable: the first of equals
        values = sorted(records[i][attribute] for i in members)
        median = values[(len(values) - 1) // 2]
        for is_left in (lambda v, m=median: v <= m, lambda v, m=median: v < m):
            left = [i for i in members if is_left(records[i][attribute])]
            right = [i for i in members if not is_left(records[i][attribute])]
            sides_meet = all(len(side) >= k and meets([records[i] for i in side]) for side in (left, right))
            if sides_meet:
                _cut(left, records, k, positions, parts, meets, importance)
                _cut(right, records, k, positions, parts, meets, importance)
                return
    parts.append(frozenset(members))


def partition_by_persons(
    records: Sequence[Record],
    persons: Sequence[int],
    *,
    k: int,
    positions: Sequence[Sequence[float]],
    fixed: Sequence[int] = (),
) -> frozenset[frozenset[int]]:
    """The parts if both sides of a cut need k persons: of all thresholds that do it, the one nearest to the median."""
    first: dict[tuple[int, ...], list[int]] = {}
    for i, record in enumerate(records):
        first.setdefault(tuple(record[a] for a in fixed), []).append(i)
    parts = []
    waiting = list(first.values())
    while waiting:
        members = waiting.pop()
        sides = _sides_by_persons(members, records, persons, k, positions)
        if sides is None:
            parts.append(frozenset(members))
        else:
            waiting += sides
    return frozenset(parts)


def _sides_by_persons(
    members: list[int],
    records: Sequence[Record],
    persons: Sequence[int],
    k: int,
    positions: Sequence[Sequence[float]],
) -> tuple[list[int], list[int]] | None:
    def width(attribute: int) -> Fraction:
        scale = [Fraction(x) for x in positions[attribute]]
        values = [scale[records[i][attribute]] for i in members]
        whole = max(scale) - min(scale)
        return (max(values) - min(values)) / whole if whole else Fraction(0)

    for attribute in sorted(range(len(records[0])), key=lambda a: -width(a)):
        values = sorted(records[i][attribute] for i in members)
        median = values[(len(values) - 1) // 2]
        for threshold in sorted(range(values[0], values[-1]), key=lambda t: (abs(t - median), t)):
            left = [i for i in members if records[i][attribute] <= threshold]
            right = [i for i in members if records[i][attribute] > threshold]
            if all(len({persons[i] for i in side}) >= k for side in (left, right)):
                return left, right
    return None


def allowable_cut(members: Sequence[Record], *, k: int) -> tuple[int, int] | None:
    """An attribute and a threshold that would leave k records on both sides, tried one by one; None if there is none."""
    for attribute in range(len(members[0])):
        for threshold in {record[attribute] for record in members}:
            n_left = sum(record[attribute] <= threshold for record in members)
            if n_left >= k and len(members) - n_left >= k:
                return attribute, threshold
    return None

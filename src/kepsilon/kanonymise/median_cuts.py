# SPDX-License-Identifier: Apache-2.0
"""One round of strict Mondrian: cuts every part of the table at a median, all parts at once.

A part of the table is the combinations that earlier cuts left together. Combinations are ordered so that each part is a
run of neighbours. One sort puts every run in the order of the attribute that it is cut along, and a search in the
cumulative counts finds the medians. If any threshold leaves k records on both sides, so does one of the two at the
median, `<=` or `<`; so no other is tried. Where k counts persons, the thresholds that leave k persons on both sides are
an interval, and the one nearest to the median is tried. For other requirements no such thing is known: a part that could
be cut elsewhere may stay whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.codes import Domain
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.keys import sorted_keys

RelativeWidth = Callable[[IntArray, IntArray], FloatArray]
"""Distance between two codes of one attribute, as a share of that between the table's first and last code."""

PartsMeet = Callable[[IntArray, IntArray, int], BoolArray]
"""Tells whether each of some parts of the table meets every requirement beyond k records, shape (n_parts,).

Takes combinations, the part that each of them is in, and the number of parts.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Parts of the table as runs of combinations, and what is known about each part.

    A combination in a run is called its member.
    """

    combinations: IntArray
    """Positions of the combinations in the frequency table, part by part, shape (n_members,)."""
    codes: tuple[IntArray, ...]
    """Codes by attribute, each of shape (n_members,); places on the number line where the attribute has a step."""
    weights: IntArray
    """Number of records of each combination, shape (n_members,)."""
    lengths: IntArray
    """Number of combinations in each part, shape (n_parts,)."""
    sizes: IntArray
    """Number of records in each part, shape (n_parts,)."""

    @property
    def n_parts(self) -> int:
        return len(self.sizes)

    @property
    def starts(self) -> IntArray:
        """Position of the first member of each part, shape (n_parts,)."""
        return np.cumsum(self.lengths) - self.lengths

    def extremes(self) -> tuple[IntArray, IntArray]:
        """Smallest and largest code in every part, two arrays of shape (n_attributes, n_parts)."""
        starts = self.starts
        smallest: IntArray = np.empty((len(self.codes), self.n_parts), dtype=np.int32)
        largest: IntArray = np.empty((len(self.codes), self.n_parts), dtype=np.int32)
        for attribute, column in enumerate(self.codes):
            smallest[attribute] = np.minimum.reduceat(column, starts)
            largest[attribute] = np.maximum.reduceat(column, starts)
        return smallest, largest


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """Parts of the table that are not cut any more."""

    combinations: IntArray
    """Positions of the combinations in the frequency table, part by part, shape (n_members,)."""
    lengths: IntArray
    """Number of combinations in each part, shape (n_parts,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedMembers:
    """Members of some chosen parts, each part in the order of the attribute that it is to be cut along."""

    positions: IntArray
    """Positions of the members in the runs, shape (n,)."""
    keys: IntArray
    """The first key of the part plus the member's code, rising, shape (n,)."""
    first_keys: IntArray
    """First key of each part, shape (n_chosen,)."""
    parts: IntArray
    """Number of each member's part among the chosen ones, rising, shape (n,)."""
    bound: int
    """A number above all keys."""


class PersonsInParts(Protocol):
    """What a cut has to know about the persons of the parts."""

    def thresholds(
        self, chosen: IntArray, attribute_of: IntArray, *, members: SortedMembers
    ) -> tuple[IntArray, IntArray]:
        """Lowest and highest code that each chosen part may be cut after so that both sides have k persons.

        The lowest one is above the highest one where there is none. `chosen` are numbers of parts, and `attribute_of` is
        the attribute to cut each of them along, shape (n_chosen,).
        """


def places_of(table: FrequencyTable) -> tuple[IntArray, ...]:
    """Codes of the combinations by attribute, each of shape (n_combinations,); places where the attribute has a step."""
    return tuple(
        (column if domain.line is None else domain.line.places[column]).astype(np.int32)
        for domain, column in zip(table.domains, table.codes, strict=True)
    )


def runs_of(table: FrequencyTable, part_of: IntArray, *, n_parts: int) -> Runs:
    """Parts of the table as runs; `part_of` is the part of every combination, −1 for those in none."""
    return runs_of_codes(places_of(table), table.counts, part_of, n_parts=n_parts)


def runs_of_codes(codes: Sequence[IntArray], counts: IntArray, part_of: IntArray, *, n_parts: int) -> Runs:
    """Parts of combinations with these codes, by attribute, and so many records; no part is empty."""
    members = np.flatnonzero(part_of >= 0)
    order, own = sorted_keys(part_of[members], bound=n_parts)
    members = members[order]
    weights = counts.take(members).astype(np.int64)
    return Runs(
        combinations=members,
        codes=tuple(column.take(members) for column in codes),
        weights=weights,
        lengths=np.bincount(own, minlength=n_parts),
        sizes=np.bincount(own, weights=weights, minlength=n_parts).astype(np.int64),
    )


def relative_width(domain: Domain, *, weight: float = 1) -> RelativeWidth:
    """The function that measures widths in one attribute: by the numbers of cells where it has a step, else by code.

    Widths are multiplied by a weight.
    """
    if domain.line is not None:
        width = domain.line.relative_width()
        return lambda first, last: weight * width(first, last)
    whole = max(1, domain.n_values - 1)
    return lambda first, last: weight * (last - first) / whole


def cut(
    runs: Runs,
    *,
    smallest: IntArray,
    largest: IntArray,
    widths: Sequence[RelativeWidth],
    k: int,
    persons: PersonsInParts | None = None,
    parts_meet: PartsMeet | None = None,
) -> tuple[Runs, list[Finished], BoolArray]:
    """Cuts every part that can be cut; returns the sides that may be cut again, those that may not, and which parts were cut.

    Nothing can cut a single combination, or fewer than 2k records.

    `smallest` and `largest` are what `runs.extremes()` returns; `widths` measures widths, one function per attribute. Every
    attribute with two codes in a part is tried, also one whose width is 0 because its codes lie at one position. With
    `persons`, both sides of a cut have k persons, and with `parts_meet` they meet the further requirements too.
    """
    is_cut: BoolArray = np.zeros(runs.n_parts, dtype=np.bool_)
    candidates = np.flatnonzero(runs.sizes >= 2 * k)
    width_of = np.empty((len(runs.codes), len(candidates)))
    for attribute, relative in enumerate(widths):
        first, last = smallest[attribute, candidates], largest[attribute, candidates]
        width_of[attribute] = np.where(first < last, relative(first, last), -1.0)
    attempts = np.argsort(-width_of, axis=0, kind="stable")  # ties: first attribute
    width_of = np.take_along_axis(width_of, attempts, axis=0)
    sides: list[Runs] = []
    finished: list[Finished] = []
    for attribute_of, width in zip(attempts, width_of, strict=True):
        is_open = ~is_cut[candidates] & (width >= 0)
        if not is_open.any():
            continue
        chosen = candidates[is_open]
        again, done, works = _cut_along(
            runs, chosen, attribute_of[is_open], k=k, persons=persons, parts_meet=parts_meet
        )
        sides.append(again)
        finished.append(done)
        is_cut[chosen[works]] = True
    return _joined(sides, like=runs), finished, is_cut


def _cut_along(
    runs: Runs,
    chosen: IntArray,
    attribute_of: IntArray,
    *,
    k: int,
    persons: PersonsInParts | None,
    parts_meet: PartsMeet | None,
) -> tuple[Runs, Finished, BoolArray]:
    """Cuts each chosen part along its attribute, if both sides may be classes.

    Returns the sides that may be cut again, those that may not, and where cutting worked.

    `chosen` are numbers of parts, and `attribute_of` is the attribute to cut each of them along, shape (n_chosen,).
    """
    lengths = runs.lengths[chosen]
    members = _members(runs, chosen, lengths=lengths)
    code = chosen_codes(runs, members, lengths=lengths, attribute_of=attribute_of)
    n_codes = int(code.max()) + 1
    first_key = np.arange(len(chosen)) * n_codes
    code += np.repeat(first_key, lengths)
    order, key = sorted_keys(code, bound=len(chosen) * n_codes)
    members = order if members is None else members[order]
    ends = np.cumsum(lengths)
    starts = ends - lengths
    weights = runs.weights.take(members)
    # Number of records up to and including each member, and in front of each part.
    cumulative = np.cumsum(weights)
    total = runs.sizes[chosen]
    before = np.cumsum(total) - total

    def n_left_of(cut_at: IntArray) -> IntArray:
        """Number of records of each part in front of a member."""
        return np.where(cut_at > starts, cumulative[cut_at - 1] - before, 0)

    # The weighted median is the first code that has half of the records at or below it.
    median_key = key[np.searchsorted(cumulative, before + (total + 1) // 2)]
    if persons is None:
        attempts = [np.searchsorted(key, median_key, side=side) for side in ("right", "left")]
        allowed = [(n_left >= k) & (total - n_left >= k) for n_left in map(n_left_of, attempts)]
    else:
        in_order = SortedMembers(
            positions=members,
            keys=key,
            first_keys=first_key,
            parts=np.repeat(np.arange(len(chosen)), lengths),
            bound=len(chosen) * n_codes,
        )
        lowest, highest = persons.thresholds(chosen, attribute_of, members=in_order)
        # The allowed thresholds nearest to `<=` and to `<`; the second one matters only if further requirements fail at
        # the first.
        nearest = [np.clip(median_key - first_key - below, lowest, highest) for below in (0, 1)]
        attempts = [np.clip(np.searchsorted(key, first_key + at, side="right"), starts, ends) for at in nearest]
        allowed = [lowest <= highest] * 2
    works: BoolArray = np.zeros(len(chosen), dtype=np.bool_)
    cut_at = starts.copy()
    for attempt, is_allowed in zip(attempts, allowed, strict=True):
        is_cut = is_allowed & ~works
        if parts_meet is not None:
            is_cut &= _sides_meet(runs.combinations[members], attempt, starts=starts, ends=ends, parts_meet=parts_meet)
        cut_at[is_cut] = attempt[is_cut]
        works |= is_cut
    sizes_left = n_left_of(cut_at)[works]
    cut_at = cut_at[works]
    if not works.all():
        is_in_cut_part = np.repeat(works, lengths)
        members, weights = members[is_in_cut_part], weights[is_in_cut_part]
    side_lengths = np.column_stack((cut_at - starts[works], ends[works] - cut_at)).ravel()
    side_sizes = np.column_stack((sizes_left, total[works] - sizes_left)).ravel()
    combinations = runs.combinations.take(members)
    may_be_cut = (side_lengths > 1) & (side_sizes >= 2 * k)
    finished = Finished(combinations=combinations[:0], lengths=side_lengths[:0])
    if not may_be_cut.all():
        is_open = np.repeat(may_be_cut, side_lengths)
        finished = Finished(combinations=combinations[~is_open], lengths=side_lengths[~may_be_cut])
        combinations, members, weights = combinations[is_open], members[is_open], weights[is_open]
        side_lengths, side_sizes = side_lengths[may_be_cut], side_sizes[may_be_cut]
    sides = Runs(
        combinations=combinations,
        codes=tuple(column.take(members) for column in runs.codes),
        weights=weights,
        lengths=side_lengths,
        sizes=side_sizes,
    )
    return sides, finished, works


def _sides_meet(
    combinations: IntArray, cut_at: IntArray, *, starts: IntArray, ends: IntArray, parts_meet: PartsMeet
) -> BoolArray:
    """Whether both sides of every run meet the further requirements if the run is cut in front of `cut_at`."""
    lengths = np.column_stack((cut_at - starts, ends - cut_at)).ravel()
    side_of = np.repeat(np.arange(len(lengths)), lengths)
    meets = parts_meet(combinations, side_of, len(lengths))
    return meets[::2] & meets[1::2]


def _members(runs: Runs, chosen: IntArray, *, lengths: IntArray) -> IntArray | None:
    """Positions of the members of the chosen parts, run by run; None if all parts are chosen."""
    if len(chosen) == runs.n_parts:
        return None
    ends = np.cumsum(lengths)
    offsets = runs.starts[chosen] - (ends - lengths)
    members: IntArray = np.arange(int(ends[-1])) + np.repeat(offsets, lengths)
    return members


def chosen_codes(runs: Runs, members: IntArray | None, *, lengths: IntArray, attribute_of: IntArray) -> IntArray:
    """Code of each member in the attribute that its part is cut along; `members` of None means all.

    Members of parts that are cut along no attribute, −1, have any code.
    """
    code: IntArray = np.empty(int(lengths.sum()), dtype=np.int64)
    for attribute, column in enumerate(runs.codes):
        is_along = attribute_of == attribute
        if is_along.any():
            own = column if members is None else column.take(members)
            np.copyto(code, own, where=True if is_along.all() else np.repeat(is_along, lengths))
    return code


def _joined(sides: Sequence[Runs], *, like: Runs) -> Runs:
    """All runs in one; `like` gives the types of the arrays if there is nothing to join."""
    if len(sides) == 1:
        return sides[0]
    all_sides = [_none_of(like), *sides]
    return Runs(
        combinations=np.concatenate([side.combinations for side in all_sides]),
        codes=tuple(np.concatenate(columns) for columns in zip(*(side.codes for side in all_sides), strict=True)),
        weights=np.concatenate([side.weights for side in all_sides]),
        lengths=np.concatenate([side.lengths for side in all_sides]),
        sizes=np.concatenate([side.sizes for side in all_sides]),
    )


def _none_of(runs: Runs) -> Runs:
    """No runs, in arrays of the same types."""
    return Runs(
        combinations=runs.combinations[:0],
        codes=tuple(column[:0] for column in runs.codes),
        weights=runs.weights[:0],
        lengths=runs.lengths[:0],
        sizes=runs.sizes[:0],
    )

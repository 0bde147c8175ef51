# SPDX-License-Identifier: Apache-2.0
"""Strict Mondrian: cuts the table at medians until no cut leaves k records on both sides.

LeFevre et al. 2006. Each part of the table is cut at the weighted median of its widest attribute, relative to the range
of the whole table. If a side would have fewer than k records, or fail another requirement, the next widest attribute is
tried. Every record is released. Numbers with a public step are seen as cells of that step, so no cut divides a cell.

Where k counts persons, a part is cut at the threshold nearest to the median that leaves k persons on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kepsilon.errors import AnonymisationError, Problem, UnsatisfiableError
from kepsilon.kanonymise.algorithms.protocol import KAnonymised, Request
from kepsilon.kanonymise.median_cuts import PartsMeet, cut, places_of, relative_width, whole_table
from kepsilon.kanonymise.node_counts import sum_of_squares
from kepsilon.kanonymise.partitions import Partition, recode
from kepsilon.kanonymise.person_cuts import PersonPairs
from kepsilon.kanonymise.requirements.k_persons import KPersons
from kepsilon.kanonymise.requirements.protocol import Requirement, all_met
from kepsilon.kanonymise.table_parts import LabelStyle
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.classes import SUPPRESSED, Recoding
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.keys import number_by_first


class FixedPartTooSmallError(ValueError):
    """A part of the table that exists before the first cut has fewer than k records.

    If no attribute is fixed, that part is the whole table.
    """

    def __init__(self, *, n_records: int, n_parts: int) -> None:
        self.n_records = n_records
        self.n_parts = n_parts
        super().__init__(f"{n_records} records are in {n_parts} parts with fewer than k records each")


class FixedPartUnmetError(ValueError):
    """A part of the table that exists before the first cut fails a requirement beyond k records."""

    def __init__(self, *, requirement: Requirement, n_records: int) -> None:
        self.requirement = requirement
        self.n_records = n_records
        super().__init__(f"{n_records} records are in parts that fail “{requirement.name}” before any cut")


def partition(
    table: FrequencyTable, *, k: int, fixed: Sequence[int] = (), further: Sequence[Requirement] = ()
) -> Partition:
    """The parts of the table that strict Mondrian ends with: no cut would leave k records on both sides of any of them.

    If `further` asks for k persons, no cut would leave k persons on both sides.

    `fixed` lists attributes that must not be generalised: their values divide the table before the first cut. `further`
    holds the requirements beyond k records; they must hold for unions, because parts may be merged.
    Raises FixedPartTooSmallError if a part that exists before the first cut, which may be the whole table, has fewer than
    k records, and FixedPartUnmetError if such a part fails a further requirement.
    """
    if k < 1:
        raise ValueError("k is at least 1")
    if not all(requirement.holds_for_unions for requirement in further):
        raise ValueError("a requirement that does not hold for unions breaks when parts with equal labels are merged")
    runs = whole_table(table, fixed=fixed)
    too_small = runs.sizes < k
    if too_small.any():
        raise FixedPartTooSmallError(n_records=int(runs.sizes[too_small].sum()), n_parts=int(too_small.sum()))
    for requirement in further:
        meets = _parts_meet([requirement], table)(
            runs.combinations, np.repeat(np.arange(runs.n_parts), runs.lengths), runs.n_parts
        )
        if not meets.all():
            raise FixedPartUnmetError(requirement=requirement, n_records=int(runs.sizes[~meets].sum()))
    k_persons = KPersons(k=k)
    pairs = None
    if k_persons in further and table.persons is not None:
        pairs = PersonPairs(table.persons, places_of(table), k=k)
    others = [requirement for requirement in further if pairs is None or requirement != k_persons]
    parts_meet = _parts_meet(others, table) if others else None
    widths = [relative_width(domain) for domain in table.domains]
    part_of: IntArray = np.zeros(table.n_combinations, dtype=np.int64)
    sizes: list[IntArray] = [np.zeros(0, dtype=np.int64)]
    n_finished = 0
    while runs.n_parts:
        smallest, largest = runs.extremes()
        both_sides, is_cut = cut(
            runs,
            smallest=smallest,
            largest=largest,
            widths=widths,
            k=k,
            persons=None if pairs is None else pairs.of_round(runs),
            parts_meet=parts_meet,
        )
        done = np.flatnonzero(~is_cut)
        in_done = np.repeat(~is_cut, runs.lengths)
        numbers = np.arange(n_finished, n_finished + len(done))
        part_of[runs.combinations[in_done]] = np.repeat(numbers, runs.lengths[done])
        sizes.append(runs.sizes[done])
        n_finished += len(done)
        runs = both_sides
    # Parts are numbered by their first combination, which does not depend on the order of cuts.
    new = number_by_first(part_of, n_distinct=n_finished)
    old = np.empty_like(new)
    old[new] = np.arange(n_finished)
    return Partition(
        k=k,
        further=tuple(further),
        part_of=new.astype(np.int32)[part_of],
        sizes=np.concatenate(sizes)[old],
    )


def _parts_meet(requirements: Sequence[Requirement], table: FrequencyTable) -> PartsMeet:
    """The function that tells which parts of the table meet all requirements."""

    def parts_meet(combinations: IntArray, part_of: IntArray, n_parts: int) -> BoolArray:
        class_of: IntArray = np.full(table.n_combinations, SUPPRESSED, dtype=np.int64)
        class_of[combinations] = part_of
        return all_met(requirements, table, class_of, n_classes=n_parts)

    return parts_meet


def anonymise(
    table: FrequencyTable,
    *,
    k: int,
    labels: LabelStyle = "siblings",
    fixed: Sequence[int] = (),
    further: Sequence[Requirement] = (),
) -> Recoding:
    """The classes that strict Mondrian makes of a table; parameters as for `partition` and `recode`."""
    return recode(table, partition(table, k=k, fixed=fixed, further=further), labels=labels)


def find(table: FrequencyTable, request: Request) -> dict[int, KAnonymised | AnonymisationError]:
    """Classes for every k, or why there are none, as `Algorithm.find` describes; the table is cut anew for every k."""
    return {k: _answer(table, request, k, further) for k, further in request.beyond_k.items()}


def _answer(
    table: FrequencyTable, request: Request, k: int, further: Sequence[Requirement]
) -> KAnonymised | AnonymisationError:
    """The classes for one k, or the refusal."""
    for requirement in further:
        if not requirement.holds_for_unions:
            return _refusal(
                f"Mondrian cannot keep {requirement.claim}: it merges classes that end with equal labels.",
                'Use algorithm = "ola".',
            )
    try:
        recoding = anonymise(table, k=k, labels=request.policy.labels, fixed=request.fixed(table), further=further)
    except FixedPartTooSmallError as error:
        return _refusal(
            f"{error.n_records:,} records have values missing that fewer than k = {k} records miss together, and "
            "Mondrian leaves no record out.",
            'Leave records with missing values out: missing = "suppress"; or use algorithm = "ola".',
        )
    except FixedPartUnmetError as error:
        unmet = error.requirement
        return _refusal(
            f"{unmet.claim} cannot be met: before any cut, {error.n_records:,} records are in {unmet.unmet}, and Mondrian "
            "leaves no record out.",
            f"What would work: {unmet.remedy}.",
        )
    return KAnonymised(recoding=recoding, dm_star=sum_of_squares(recoding.sizes))


def _refusal(what: str, fix: str) -> UnsatisfiableError:
    return UnsatisfiableError(Problem(where="", what=what, fix=fix))

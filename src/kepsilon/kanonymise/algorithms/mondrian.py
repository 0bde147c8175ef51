# SPDX-License-Identifier: Apache-2.0
"""Strict Mondrian: cuts the table at medians until no cut leaves k records on both sides.

LeFevre et al. 2006. Each part of the table is cut at the weighted median of its widest attribute, relative to the range
of the whole table and weighted by its importance. If a side would have fewer than k records, or fail another requirement,
the next widest attribute is tried. Records are left out only before the first cut (`first_parts`). Numbers with a public
step are seen as cells of that step, so no cut divides a cell.

Where k counts persons, a part is cut at the threshold nearest to the median that leaves k persons on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kepsilon.errors import AnonymisationError
from kepsilon.kanonymise.algorithms.local_search import find_local
from kepsilon.kanonymise.algorithms.protocol import KAnonymised, Request
from kepsilon.kanonymise.first_parts import FirstParts, first_parts
from kepsilon.kanonymise.median_cuts import Finished, PartsMeet, cut, places_of, relative_width, runs_of
from kepsilon.kanonymise.partitions import Partition, partition_of, recode
from kepsilon.kanonymise.person_cuts import PersonPairs
from kepsilon.kanonymise.requirements.k_persons import KPersons
from kepsilon.kanonymise.requirements.protocol import Requirement, all_met
from kepsilon.kanonymise.table_parts import LabelStyle
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.classes import SUPPRESSED, Recoding
from kepsilon.table.frequency import FrequencyTable
from kepsilon.threads import go_on


def partition(
    table: FrequencyTable,
    *,
    k: int,
    fixed: Sequence[int] = (),
    further: Sequence[Requirement] = (),
    importance: Sequence[float] | None = None,
    max_levels: Sequence[int | None] | None = None,
    max_suppressed: int = 0,
) -> Partition:
    """The parts of the table that strict Mondrian ends with: no cut would leave k records on both sides of any of them.

    If `further` asks for k persons, no cut would leave k persons on both sides. `importance` is a weight for each
    attribute that its relative width is multiplied by. The other parameters, and what is raised, are as for
    `first_parts`.
    """
    parts = first_parts(table, k=k, further=further, fixed=fixed, max_levels=max_levels, max_suppressed=max_suppressed)
    return cut_at_medians(table, parts, k=k, further=further, importance=importance)


def cut_at_medians(
    table: FrequencyTable,
    parts: FirstParts,
    *,
    k: int,
    further: Sequence[Requirement] = (),
    importance: Sequence[float] | None = None,
) -> Partition:
    """The parts that strict Mondrian makes of the first ones; parameters as for `partition`."""
    runs = runs_of(table, parts.part_of, n_parts=parts.n_parts)
    k_persons = KPersons(k=k)
    pairs = None
    if k_persons in further and table.persons is not None:
        pairs = PersonPairs(table.persons, places_of(table), k=k)
    others = [requirement for requirement in further if pairs is None or requirement != k_persons]
    parts_meet = _parts_meet(others, table) if others else None
    weights = importance or (1,) * len(table.domains)
    widths = [relative_width(domain, weight=weight) for domain, weight in zip(table.domains, weights, strict=True)]
    part_of: IntArray = np.full(table.n_combinations, SUPPRESSED, dtype=np.int64)
    n_finished = 0
    while runs.n_parts:
        go_on()
        smallest, largest = runs.extremes()
        sides, finished, is_cut = cut(
            runs,
            smallest=smallest,
            largest=largest,
            widths=widths,
            k=k,
            persons=None if pairs is None else pairs.of_round(runs),
            parts_meet=parts_meet,
        )
        whole = np.repeat(~is_cut, runs.lengths)
        finished.append(Finished(combinations=runs.combinations[whole], lengths=runs.lengths[~is_cut]))
        for done in finished:
            part_of[done.combinations] = np.repeat(np.arange(n_finished, n_finished + len(done.lengths)), done.lengths)
            n_finished += len(done.lengths)
        runs = sides
    return partition_of(table, part_of, k=k, further=further)


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
    return find_local(table, request, _classes)


def _classes(
    table: FrequencyTable, request: Request, parts: FirstParts, k: int, further: Sequence[Requirement]
) -> Recoding:
    importance = [float(weight) for weight in request.importance(table)]
    partition = cut_at_medians(table, parts, k=k, further=further, importance=importance)
    return recode(table, partition, labels=request.policy.labels)

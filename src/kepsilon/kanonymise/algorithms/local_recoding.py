# SPDX-License-Identifier: Apache-2.0
"""Local recoding: classes of least loss (ncp), each with labels of its own, found on the frequency table.

1. *Cut*: the table is cut where that lowers the loss most, until no cut lowers it; and, unless it is large, once more by
   bits instead of loss.
2. *Place*: nodes of the attributes' levels are visited by rising loss, and every class among what is left that meets the
   requirements is kept; all nodes if there are few, otherwise those that the classes of step 1 lie at, and then once
   more with their neighbours. Of a very large table combinations that are classes by themselves are placed before step 1,
   and nothing else is: what is left is much smaller, and loses hardly more.
3. *Choose*: of these partitions and Mondrian's, the one whose labels lose least. It is cut until no cut lowers the loss,
   and classes with equal labels are merged. Where that raises the loss, the other partitions are finished too.

`candidate_cuts` says what a cut is. Nothing is drawn at random, and ties are broken by order, so that the result depends
on the records alone and not on their order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kepsilon.errors import AnonymisationError
from kepsilon.kanonymise.algorithms.local_search import find_local
from kepsilon.kanonymise.algorithms.mondrian import cut_at_medians
from kepsilon.kanonymise.algorithms.protocol import KAnonymised, Request
from kepsilon.kanonymise.best_cuts import PartsMeet, cut_to_the_end
from kepsilon.kanonymise.candidate_cuts import Guide, pairs_of
from kepsilon.kanonymise.first_parts import FirstParts, first_parts
from kepsilon.kanonymise.local_attributes import LocalAttribute, local_attributes
from kepsilon.kanonymise.median_cuts import runs_of_codes
from kepsilon.kanonymise.partitions import MOST_TOGETHER, Partition, partition_of, recode
from kepsilon.kanonymise.placing import place
from kepsilon.kanonymise.proposals import all_nodes, heaviest, records_by_node, with_neighbours
from kepsilon.kanonymise.requirements.protocol import Requirement, all_met
from kepsilon.kanonymise.table_parts import LabelStyle
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.classes import Recoding
from kepsilon.table.frequency import FrequencyTable
from kepsilon.threads import begun

FEW_NODES = 2_000
"""If there are at most this many nodes, all of them are visited."""

_MOST_COMPARISONS = 300_000_000
"""Nodes times combinations times attributes at the most, so that placing takes seconds on large tables too."""

_MANY_COMBINATIONS = 500_000
"""Combinations above which only single combinations are placed: searching would take many times as long as counting."""

_LARGE_TABLE = 250_000
"""Combinations times attributes above which the search by bits is left out: it takes longest, and wins on small tables."""

_WORTH_A_THREAD = 1 << 14
"""Combinations above which Mondrian's classes are found beside the others, and not after them."""

_ROUNDING = 1e-6
"""More than two sums of the same losses differ by."""

_FEW_ATTEMPTS = 5
"""How many cuts of a part are tried where requirements fail, in searches that are not the last."""


def anonymise(
    table: FrequencyTable,
    *,
    k: int,
    labels: LabelStyle = "siblings",
    fixed: Sequence[int] = (),
    further: Sequence[Requirement] = (),
    importance: Sequence[float] | None = None,
    max_levels: Sequence[int | None] | None = None,
    max_suppressed: int = 0,
) -> Recoding:
    """The classes that local recoding makes of a table; parameters as for `first_parts`, `importance` by attribute."""
    parts = first_parts(table, k=k, further=further, fixed=fixed, max_levels=max_levels, max_suppressed=max_suppressed)
    weights = importance or (1.0,) * len(table.domains)
    return best_classes(table, parts, k=k, labels=labels, fixed=fixed, further=further, importance=weights)


def find(table: FrequencyTable, request: Request) -> dict[int, KAnonymised | AnonymisationError]:
    """Classes for every k, or why there are none, as `Algorithm.find` describes; each k is searched for by itself."""
    return find_local(table, request, _classes)


def _classes(
    table: FrequencyTable, request: Request, parts: FirstParts, k: int, further: Sequence[Requirement]
) -> Recoding:
    importance = [float(weight) for weight in request.importance(table)]
    return best_classes(
        table,
        parts,
        k=k,
        labels=request.policy.labels,
        fixed=request.fixed(table),
        further=further,
        importance=importance,
    )


def best_classes(
    table: FrequencyTable,
    parts: FirstParts,
    *,
    k: int,
    labels: LabelStyle,
    fixed: Sequence[int],
    further: Sequence[Requirement],
    importance: Sequence[float],
) -> Recoding:
    """The classes that local recoding makes of the first parts of a table; parameters as for `anonymise`."""
    attributes = local_attributes(table, k=k, style=labels, importance=importance, fixed=fixed)
    counts = table.counts.astype(np.int64)
    parts_meet = _parts_meet(table, further) if further else None
    is_very_large = len(counts) > _MANY_COMBINATIONS
    begin = parts.part_of
    if is_very_large:
        begin = place(attributes, counts, begin, [(0,) * len(attributes)], k=k, parts_meet=parts_meet)

    def at_medians() -> Partition:
        return cut_at_medians(table, parts, k=k, further=further, importance=importance)

    with begun(at_medians, at_once=_WORTH_A_THREAD < len(counts) <= MOST_TOGETHER // 2) as mondrian:
        found = [
            cut_to_the_end(attributes, counts, begin, k=k, guide=guide, parts_meet=parts_meet, attempts=_FEW_ATTEMPTS)
            for guide in ((Guide.LOSS,) if len(counts) * len(attributes) > _LARGE_TABLE else (Guide.LOSS, Guide.BITS))
        ]
        if not is_very_large:
            found += _placed(attributes, counts, parts.part_of, found, k=k, parts_meet=parts_meet)
        by_mondrian = mondrian()
    found.append(by_mondrian.part_of)
    losses = [round(loss_of(attributes, counts, part_of), 9) for part_of in found]
    weights = [0.0 if position in fixed else weight for position, weight in enumerate(importance)]

    def finished(part_of: IntArray) -> Recoding:
        return _cut_and_labelled(
            table, attributes, part_of, k=k, labels=labels, further=further, parts_meet=parts_meet, importance=weights
        )

    def lost(recoding: Recoding) -> float:
        return published_loss(recoding, weights)

    # Merged classes lose more than their parts did where one text is a label at two levels, and never less. So the labels
    # decide, and what its parts lose tells that a partition cannot be better; mostly the first one is the best.
    order = np.argsort(losses, kind="stable").tolist()
    best = finished(found[order[0]])
    for i in order[1:]:
        if lost(best) <= losses[i] + _ROUNDING:
            break
        best = min(best, finished(found[i]), key=lost)
    if lost(best) <= losses[-1] + _ROUNDING:  # Mondrian's is the last one
        return best
    return min(best, recode(table, by_mondrian, labels=labels), key=lost)


def published_loss(recoding: Recoding, importance: Sequence[float]) -> float:
    """ncp of the labels of the classes, summed over records and attributes and weighted by importance, without rounding errors."""
    own = zip(recoding.attributes, importance, strict=True)
    # Not `np.dot`, whose threads take more of the processor than they save.
    return round(sum(weight * float((labels.ncp * recoding.sizes).sum()) for labels, weight in own), 9)


def _cut_and_labelled(
    table: FrequencyTable,
    attributes: Sequence[LocalAttribute],
    part_of: IntArray,
    *,
    k: int,
    labels: LabelStyle,
    further: Sequence[Requirement],
    parts_meet: PartsMeet | None,
    importance: Sequence[float],
) -> Recoding:
    """Classes that no cut makes better; parts with equal labels are merged, and what that makes cuttable is cut again.

    Where one text is a label at two levels, what is cut may be merged again. It ends when that lowers the loss no more, and
    a class may then have a cut left.
    """
    counts = table.counts.astype(np.int64)
    best: Recoding | None = None
    while True:
        part_of = cut_to_the_end(attributes, counts, part_of, k=k, guide=Guide.LOSS, parts_meet=parts_meet)
        recoding = recode(table, partition_of(table, part_of, k=k, further=further), labels=labels)
        if best is not None and published_loss(recoding, importance) >= published_loss(best, importance):
            return best
        if recoding.n_classes == part_of.max(initial=-1) + 1:
            return recoding
        best, part_of = recoding, recoding.class_of


def _placed(
    attributes: Sequence[LocalAttribute],
    counts: IntArray,
    part_of: IntArray,
    found: Sequence[IntArray],
    *,
    k: int,
    parts_meet: PartsMeet | None,
) -> list[IntArray]:
    """Partitions by placing; `found` are partitions that show which nodes are worth visiting."""
    most = max(20, min(FEW_NODES, _MOST_COMPARISONS // max(1, len(counts) * len(attributes))))
    nodes = all_nodes(attributes, most=most)
    if nodes is not None:
        return [place(attributes, counts, part_of, nodes, k=k, parts_meet=parts_meet)]
    nodes = heaviest([records_by_node(attributes, counts, own) for own in found], most=most)
    first = place(attributes, counts, part_of, nodes, k=k, parts_meet=parts_meet)
    more = with_neighbours(attributes, nodes, records_by_node(attributes, counts, first), most=2 * most)
    return [first, place(attributes, counts, part_of, more, k=k, parts_meet=parts_meet)]


def loss_of(attributes: Sequence[LocalAttribute], counts: IntArray, part_of: IntArray) -> float:
    """What the labels of the parts lose, summed over records and attributes and weighted by importance."""
    n_parts = int(part_of.max(initial=-1)) + 1
    runs = runs_of_codes([own.codes for own in attributes], counts, part_of, n_parts=n_parts)
    smallest, largest = runs.extremes()
    lost = 0.0
    for at, attribute in enumerate(attributes):
        has_one = smallest[at] == largest[at]
        by_part = attribute.ncp.of_nodes(0)[smallest[at]]
        if not has_one.all():
            own, several = np.flatnonzero(np.repeat(~has_one, runs.lengths)), np.flatnonzero(~has_one)
            pairs = pairs_of(
                runs.codes[at].take(own),
                runs.weights.take(own),
                lengths=runs.lengths[several],
                smallest=smallest[at, several],
                largest=largest[at, several],
            )
            by_part[several] = attribute.ncp.of(pairs).between(pairs.first, pairs.last)
        lost += float((by_part * runs.sizes).sum())
    return lost


def _parts_meet(table: FrequencyTable, further: Sequence[Requirement]) -> PartsMeet:
    """The function that tells which parts meet all requirements."""

    def parts_meet(part_of: IntArray, n_parts: int) -> BoolArray:
        return all_met(further, table, part_of, n_classes=n_parts)

    return parts_meet

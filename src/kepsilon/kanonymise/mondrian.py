# SPDX-License-Identifier: Apache-2.0
"""Median cuts until no cut leaves k records on both sides: strict Mondrian.

LeFevre et al. 2006. A partition is cut along its widest attribute, relative to the whole data's range, at its weighted
median; where a side would have fewer than k records, along the next widest. All partitions of one depth are cut at
once: combinations are kept so that every partition is a run, one sort per depth puts each run in the order of the
attribute it is cut along, and medians are looked up in the cumulative counts. If any threshold leaves k records on
both sides, so does one of the two at the median (`<=` or `<`); so no other has to be tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.kanonymise.class_labels import LabelStyle, PartCodes, label_parts, number_line, place_of_code
from kepsilon.kanonymise.keys import number, number_by_first
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.classes import AttributeLabels, Recoding
from kepsilon.table.codes import Domain
from kepsilon.table.frequency import FrequencyTable

_MAX_BITS = 62
"""Longest key that can carry its position along in one integer."""


class FixedPartTooSmallError(ValueError):
    """A part that exists before the first cut has fewer than k records.

    With no attribute held fixed that part is the whole table.
    """

    def __init__(self, *, n_records: int, n_parts: int) -> None:
        self.n_records = n_records
        self.n_parts = n_parts
        super().__init__(f"{n_records} records are in {n_parts} parts with fewer than k records each")


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """Where the cuts left every combination. Parts are numbered by their first combination.

    Places are codes, but for numeric attributes whose codes do not follow the number line (`place_of_code`).
    """

    k: int
    fixed: frozenset[int]
    part_of: IntArray
    """Part of every combination, shape (n_combinations,)."""
    sizes: IntArray
    """Records in every part, shape (n_parts,); none is below k."""
    smallest: IntArray
    """Smallest place among the records of every part, shape (n_attributes, n_parts)."""
    largest: IntArray
    low: IntArray
    """First place of the region that the cuts left to every part, shape (n_attributes, n_parts)."""
    high: IntArray
    """Last place of that region."""

    @property
    def n_parts(self) -> int:
        return len(self.sizes)


@dataclass(slots=True, kw_only=True)
class _Runs:
    """Combinations ordered so that each partition is a run, and what is known of each partition."""

    combinations: IntArray
    codes: list[IntArray]
    weights: IntArray
    lengths: IntArray
    sizes: IntArray
    low: IntArray
    high: IntArray

    @property
    def starts(self) -> IntArray:
        return np.cumsum(self.lengths) - self.lengths


def partition(table: FrequencyTable, *, k: int, fixed: Sequence[int] = ()) -> Partition:
    """The parts strict Mondrian ends with; none has a cut left that keeps k records on both sides.

    `fixed` lists attributes that must not be generalised: their values divide the table before the first cut.
    Raises FixedPartTooSmallError if a part that no cut has made, the whole table included, has fewer than k records.
    """
    if k < 1:
        raise ValueError("k is at least 1")
    runs = _whole_table(table, fixed=fixed)
    too_small = runs.sizes < k
    if too_small.any():
        raise FixedPartTooSmallError(n_records=int(runs.sizes[too_small].sum()), n_parts=int(too_small.sum()))
    part_of: IntArray = np.zeros(table.n_combinations, dtype=np.int64)
    finished: list[tuple[IntArray, IntArray, IntArray, IntArray, IntArray]] = []
    n_finished = 0
    while len(runs.sizes):
        smallest, largest = _extremes(runs)
        cuts, is_cut = _cut(runs, smallest=smallest, largest=largest, domains=table.domains, k=k)
        is_done = ~is_cut
        n_done = int(is_done.sum())
        numbers = n_finished + np.cumsum(is_done) - 1
        in_done = np.repeat(is_done, runs.lengths)
        part_of[runs.combinations[in_done]] = np.repeat(numbers[is_done], runs.lengths[is_done])
        finished.append(
            (
                runs.sizes[is_done],
                smallest[:, is_done],
                largest[:, is_done],
                runs.low[:, is_done],
                runs.high[:, is_done],
            )
        )
        n_finished += n_done
        runs = cuts
    return _in_order(table, finished, part_of=part_of, k=k, fixed=fixed)


def anonymise(table: FrequencyTable, *, k: int, labels: LabelStyle = "tight", fixed: Sequence[int] = ()) -> Recoding:
    """Strict Mondrian from table to classes: `partition`, then `recode`."""
    return recode(table, partition(table, k=k, fixed=fixed), labels=labels)


def recode(table: FrequencyTable, partition: Partition, *, labels: LabelStyle = "tight") -> Recoding:
    """Classes and their labels; parts that end with the same labels in every attribute become one class."""
    by_attribute: list[AttributeLabels] = []
    for attribute, domain in enumerate(table.domains):
        # An attribute that must not be generalised shows its value, whatever the style.
        is_tight = labels == "tight" or attribute in partition.fixed
        codes = PartCodes(
            part_of=partition.part_of,
            codes=table.codes[attribute],
            first=(partition.smallest if is_tight else partition.low)[attribute],
            last=(partition.largest if is_tight else partition.high)[attribute],
        )
        by_attribute.append(label_parts(domain, codes, style="tight" if is_tight else "cut"))
    class_of_part, n_classes = number(
        [labelled.of_class for labelled in by_attribute],
        sizes=[len(labelled.labels) for labelled in by_attribute],
        length=partition.n_parts,
    )
    class_of_part = number_by_first(class_of_part, n_distinct=n_classes)[class_of_part]
    sizes = np.bincount(class_of_part, weights=partition.sizes, minlength=n_classes).astype(np.int64)
    if (sizes < partition.k).any():
        raise RuntimeError("a class has fewer than k records; this is a bug, and nothing may be released")
    return Recoding(
        class_of=class_of_part.astype(np.int32)[partition.part_of],
        sizes=sizes,
        attributes=tuple(_merged(labelled, class_of_part, n_classes=n_classes) for labelled in by_attribute),
    )


def _whole_table(table: FrequencyTable, *, fixed: Sequence[int]) -> _Runs:
    codes = []
    for domain, column in zip(table.domains, table.codes, strict=True):
        places = place_of_code(domain)
        codes.append((column if places is None else places[column]).astype(np.int32))
    part_of, n_parts = number(
        [codes[attribute] for attribute in fixed],
        sizes=[table.domains[attribute].n_values for attribute in fixed],
        length=table.n_combinations,
    )
    order = np.argsort(part_of, kind="stable")
    lengths = np.bincount(part_of, minlength=n_parts)
    tops = np.array([domain.n_values - 1 for domain in table.domains], dtype=np.int64)
    runs = _Runs(
        combinations=order,
        codes=[column[order] for column in codes],
        weights=table.counts[order].astype(np.int64),
        lengths=lengths,
        sizes=np.bincount(part_of, weights=table.counts, minlength=n_parts).astype(np.int64),
        low=np.zeros((len(codes), n_parts), dtype=np.int64),
        high=np.repeat(tops[:, None], n_parts, axis=1),
    )
    for attribute in fixed:
        runs.low[attribute] = runs.high[attribute] = runs.codes[attribute][runs.starts]
    return runs


def _relative_widths(domain: Domain, first: IntArray, last: IntArray) -> FloatArray:
    """Width of every partition in one attribute, as a share of the whole data's."""
    if domain.positions is None:
        return (last - first) / max(1, domain.n_values - 1)
    return number_line(domain, domain.positions).shares(first, last)


def _extremes(runs: _Runs) -> tuple[IntArray, IntArray]:
    """Smallest and largest code in every partition, two arrays of shape (n_attributes, n_partitions)."""
    starts = runs.starts
    shape = (len(runs.codes), len(starts))
    smallest = np.empty(shape, dtype=np.int64)
    largest = np.empty(shape, dtype=np.int64)
    for attribute, column in enumerate(runs.codes):
        smallest[attribute] = np.minimum.reduceat(column, starts)
        largest[attribute] = np.maximum.reduceat(column, starts)
    return smallest, largest


def _cut(
    runs: _Runs, *, smallest: IntArray, largest: IntArray, domains: Sequence[Domain], k: int
) -> tuple[_Runs, BoolArray]:
    """The two sides of every partition that can be cut, and which can."""
    widths = np.empty(smallest.shape)
    for attribute, domain in enumerate(domains):
        widths[attribute] = _relative_widths(domain, smallest[attribute], largest[attribute])
    widths[smallest == largest] = -1.0
    attempts = np.argsort(-widths, axis=0, kind="stable")  # ties: first attribute
    is_cut = np.zeros(len(runs.sizes), dtype=np.bool_)
    sides: list[_Runs] = []
    candidates = np.flatnonzero(runs.sizes >= 2 * k)
    for attempt in range(len(runs.codes)):
        if not len(candidates):
            break
        attribute_of = attempts[attempt, candidates]
        is_open = widths[attribute_of, candidates] >= 0
        candidates, attribute_of = candidates[is_open], attribute_of[is_open]
        cut, works = _cut_along(runs, candidates, attribute_of, k=k)
        sides.append(cut)
        is_cut[candidates[works]] = True
        candidates = candidates[~works]
    return _joined(sides, n_attributes=len(runs.codes)), is_cut


def _cut_along(runs: _Runs, chosen: IntArray, attribute_of: IntArray, *, k: int) -> tuple[_Runs, BoolArray]:
    """Cuts each chosen partition along its attribute, where a cut leaves k records on both sides."""
    members, lengths = _members(runs, chosen)
    code = _chosen_codes(runs, members, lengths=lengths, attribute_of=attribute_of)
    n_codes = int(code.max(initial=0)) + 1
    partition_of = np.repeat(np.arange(len(chosen)), lengths)
    key: IntArray = partition_of * n_codes + code
    order, key = _sorted(key, bound=len(chosen) * n_codes)
    members = members[order]
    ends: IntArray = np.cumsum(lengths)
    starts: IntArray = ends - lengths
    # Records up to and including each member; `before` those in front of a partition.
    cumulative = np.cumsum(runs.weights[members])
    total = runs.sizes[chosen]
    before = np.cumsum(total) - total
    # The weighted median is the first code that has half of the records at or below it.
    median_at = np.searchsorted(cumulative, before + (total + 1) // 2)
    median_key = key[median_at]
    padded = np.concatenate(([0], cumulative))
    after_median = np.searchsorted(key, median_key, side="right")
    at_median = np.searchsorted(key, median_key, side="left")
    n_up_to = padded[after_median] - before
    n_below = padded[at_median] - before
    is_upper = (n_up_to >= k) & (total - n_up_to >= k)
    is_lower = ~is_upper & (n_below >= k) & (total - n_below >= k)
    works = is_upper | is_lower
    cut_at = np.where(is_upper, after_median, at_median)[works]
    n_left = np.where(is_upper, n_up_to, n_below)[works]
    # The last code on the left; `< median` ends just below the median in the whole domain.
    last_left = (median_key - np.arange(len(chosen)) * n_codes - is_lower)[works]

    starts, ends, total, attribute_of = starts[works], ends[works], total[works], attribute_of[works]
    low = np.repeat(runs.low[:, chosen[works]], 2, axis=1)
    high = np.repeat(runs.high[:, chosen[works]], 2, axis=1)
    left = 2 * np.arange(len(starts))
    high[attribute_of, left] = last_left
    low[attribute_of, left + 1] = last_left + 1
    kept = members[np.repeat(works, lengths)]
    return (
        _Runs(
            combinations=runs.combinations[kept],
            codes=[column[kept] for column in runs.codes],
            weights=runs.weights[kept],
            lengths=np.column_stack((cut_at - starts, ends - cut_at)).ravel(),
            sizes=np.column_stack((n_left, total - n_left)).ravel(),
            low=low,
            high=high,
        ),
        works,
    )


def _members(runs: _Runs, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """Positions of the chosen partitions' combinations, run by run, and the length of each run."""
    lengths = runs.lengths[chosen]
    if len(chosen) == len(runs.lengths):
        return np.arange(len(runs.combinations)), lengths
    ends = np.cumsum(lengths)
    offsets = runs.starts[chosen] - (ends - lengths)
    return np.arange(int(lengths.sum())) + np.repeat(offsets, lengths), lengths


def _chosen_codes(runs: _Runs, members: IntArray, *, lengths: IntArray, attribute_of: IntArray) -> IntArray:
    """Each member's code in the attribute its partition is cut along."""
    code: IntArray = np.zeros(len(members), dtype=np.int64)
    for attribute, column in enumerate(runs.codes):
        is_along = attribute_of == attribute
        if is_along.any():
            np.copyto(code, column[members], where=np.repeat(is_along, lengths))
    return code


def _sorted(key: IntArray, *, bound: int) -> tuple[IntArray, IntArray]:
    """The order that sorts the keys, which are below `bound`, and the sorted keys."""
    shift = len(key).bit_length()
    if bound.bit_length() + shift > _MAX_BITS:
        order = np.argsort(key)
        return order, key[order]
    # Sorting integers that carry their position is twice as fast as argsort.
    carried = np.sort((key << shift) | np.arange(len(key)))
    return carried & ((1 << shift) - 1), carried >> shift


def _joined(sides: Sequence[_Runs], *, n_attributes: int) -> _Runs:
    if len(sides) == 1:
        return sides[0]
    empty: IntArray = np.zeros(0, dtype=np.int64)
    no_bounds: IntArray = np.zeros((n_attributes, 0), dtype=np.int64)
    return _Runs(
        combinations=np.concatenate([empty, *(side.combinations for side in sides)]),
        codes=[np.concatenate([empty, *(side.codes[a] for side in sides)]) for a in range(n_attributes)],
        weights=np.concatenate([empty, *(side.weights for side in sides)]),
        lengths=np.concatenate([empty, *(side.lengths for side in sides)]),
        sizes=np.concatenate([empty, *(side.sizes for side in sides)]),
        low=np.concatenate([no_bounds, *(side.low for side in sides)], axis=1),
        high=np.concatenate([no_bounds, *(side.high for side in sides)], axis=1),
    )


def _in_order(
    table: FrequencyTable,
    finished: Sequence[tuple[IntArray, IntArray, IntArray, IntArray, IntArray]],
    *,
    part_of: IntArray,
    k: int,
    fixed: Sequence[int],
) -> Partition:
    """The finished parts, numbered by their first combination, which does not depend on the order of cuts."""
    n_attributes = len(table.domains)
    no_bounds: IntArray = np.zeros((n_attributes, 0), dtype=np.int64)
    sizes = np.concatenate([np.zeros(0, dtype=np.int64), *(part[0] for part in finished)])
    new = number_by_first(part_of, n_distinct=len(sizes))
    old = np.argsort(new)
    bounds = [np.concatenate([no_bounds, *(part[i] for part in finished)], axis=1)[:, old] for i in range(1, 5)]
    return Partition(
        k=k,
        fixed=frozenset(fixed),
        part_of=new.astype(np.int32)[part_of],
        sizes=sizes[old],
        smallest=bounds[0],
        largest=bounds[1],
        low=bounds[2],
        high=bounds[3],
    )


def _merged(labelled: AttributeLabels, class_of_part: IntArray, *, n_classes: int) -> AttributeLabels:
    of_class: IntArray = np.zeros(n_classes, dtype=np.int64)
    of_class[class_of_part] = labelled.of_class
    loss = np.zeros(n_classes)
    # One text can stand at two levels of a hierarchy; the class is then charged the coarser reading.
    np.maximum.at(loss, class_of_part, labelled.loss)
    return AttributeLabels(labels=labelled.labels, of_class=of_class, loss=loss)

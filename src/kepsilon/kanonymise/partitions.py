# SPDX-License-Identifier: Apache-2.0
"""A partition of a table into parts that meet the requirements, and the classes that its labels make of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kepsilon.kanonymise.class_labels import label_parts
from kepsilon.kanonymise.requirements.protocol import Requirement, all_met
from kepsilon.kanonymise.table_parts import LabelStyle, TableParts
from kepsilon.table.arrays import IntArray
from kepsilon.table.classes import SUPPRESSED, AttributeLabels, Recoding
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.keys import number, number_by_first, sorted_keys
from kepsilon.threads import each_of

MOST_TOGETHER = 1 << 18
"""Combinations that are worked on at a time, those of every thread counted: work takes a few hundred bytes for each of them, and
limits on memory reckon with one thread where tables are large."""

Figure = TypeVar("Figure", np.float64, np.integer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """The parts that a local algorithm ends with, numbered by their first combination."""

    k: int
    further: tuple[Requirement, ...]
    """The requirements beyond k records that every part meets."""
    part_of: IntArray
    """Part of every combination, or SUPPRESSED, shape (n_combinations,)."""
    sizes: IntArray
    """Number of records in every part, shape (n_parts,); none is below k."""

    @property
    def n_parts(self) -> int:
        return len(self.sizes)


def partition_of(table: FrequencyTable, part_of: IntArray, *, k: int, further: Sequence[Requirement] = ()) -> Partition:
    """The partition with these parts, numbered anew by their first combination; SUPPRESSED stays so."""
    released = np.flatnonzero(part_of != SUPPRESSED)
    own, n_parts = number([part_of[released]], sizes=[int(part_of.max(initial=-1)) + 1], length=len(released))
    own = number_by_first(own, n_distinct=n_parts)[own]
    numbered: IntArray = np.full(len(part_of), SUPPRESSED, dtype=np.int32)
    numbered[released] = own
    sizes = np.bincount(own, weights=table.counts[released], minlength=n_parts).astype(np.int64)
    return Partition(k=k, further=tuple(further), part_of=numbered, sizes=sizes)


def recode(table: FrequencyTable, partition: Partition, *, labels: LabelStyle = "siblings") -> Recoding:
    """Classes and their labels; parts with equal labels in every attribute become one class. `partition` is of this table."""
    released = np.flatnonzero(partition.part_of != SUPPRESSED)
    by_part, part_of = sorted_keys(partition.part_of[released], bound=partition.n_parts)
    released = released[by_part]
    starts = np.flatnonzero(np.diff(part_of, prepend=-1))

    def labelled(position: int) -> AttributeLabels:
        codes = table.codes[position]
        parts = TableParts(
            part_of=part_of,
            starts=starts,
            codes=codes.take(released),
            all_codes=codes,
            counts=table.counts,
            k=partition.k,
            persons=table.persons,
        )
        return label_parts(table.domains[position], parts, style=labels)

    work_sizes = [table.n_combinations] * len(table.domains)
    by_attribute = list(each_of(range(len(table.domains)), labelled, sizes=work_sizes, most=MOST_TOGETHER))
    class_of_part, n_classes = number(
        [own.of_class for own in by_attribute],
        sizes=[len(own.labels) for own in by_attribute],
        length=partition.n_parts,
    )
    class_of_part = number_by_first(class_of_part, n_distinct=n_classes)[class_of_part]
    sizes = np.bincount(class_of_part, weights=partition.sizes, minlength=n_classes).astype(np.int64)
    if (sizes < partition.k).any():
        raise RuntimeError("a class has fewer than k records; this is a bug, and nothing may be released")
    class_of: IntArray = np.full(table.n_combinations, SUPPRESSED, dtype=np.int32)
    class_of[released] = class_of_part[part_of]
    if not all_met(partition.further, table, class_of, n_classes=n_classes).all():
        raise RuntimeError("a class fails a requirement; this is a bug, and nothing may be released")
    return Recoding(
        class_of=class_of,
        sizes=sizes,
        attributes=tuple(_merged(own, class_of_part, n_classes=n_classes) for own in by_attribute),
    )


def _merged(labelled: AttributeLabels, class_of_part: IntArray, *, n_classes: int) -> AttributeLabels:
    """Labels of classes, from labels of the parts that they were merged from."""
    of_class: IntArray = np.zeros(n_classes, dtype=np.int64)
    of_class[class_of_part] = labelled.of_class
    return AttributeLabels(
        labels=labelled.labels,
        of_class=of_class,
        loss=_largest(labelled.loss, class_of_part, n_classes=n_classes),
        ncp=_largest(labelled.ncp, class_of_part, n_classes=n_classes),
        covered=_largest(labelled.covered, class_of_part, n_classes=n_classes),
    )


def _largest(of_part: NDArray[Figure], class_of_part: IntArray, *, n_classes: int) -> NDArray[Figure]:
    """The largest figure of the parts of each class; mostly they have the same, because their labels are the same.

    One text can be a label at two levels of a hierarchy; the class is then charged the larger loss.
    """
    found = np.zeros(n_classes, dtype=of_part.dtype)
    found[class_of_part] = of_part
    differs = np.flatnonzero(found[class_of_part] < of_part)
    np.maximum.at(found, class_of_part[differs], of_part[differs])
    return found

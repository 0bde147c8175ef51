# SPDX-License-Identifier: Apache-2.0
"""Which equivalence class each combination ends in, and what is published for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.codes import Label

SUPPRESSED = -1
"""The class id of combinations, and so of records, that are not released."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeLabels:
    """The label of one k-quasi in every class."""

    labels: tuple[Label, ...]
    """The distinct labels of the classes, without labels that only suppressed records would have had."""
    of_class: IntArray
    """Position in `labels`, shape (n_classes,)."""
    loss: FloatArray
    """Precision loss of the label of every class, 0 (the value itself) to 1, shape (n_classes,).

    OLA has level over height; local algorithms have the share of what occurs that the label covers.
    """
    ncp: FloatArray
    """Share of what occurs that the label of every class leaves open, 0 (one value) to 1, shape (n_classes,).

    For categories (values covered − 1)/(values − 1), for numbers the range covered over the range of all.
    """
    covered: IntArray
    """Records of the data, released or not, whose value the label of every class covers, shape (n_classes,)."""

    def where(self, is_left: BoolArray) -> AttributeLabels:
        """The labels of some classes, by a mask (n_classes,), without labels that no such class has."""
        used, of_class = np.unique(self.of_class[is_left], return_inverse=True)
        return AttributeLabels(
            labels=tuple(self.labels[i] for i in used.tolist()),
            of_class=of_class,
            loss=self.loss[is_left],
            ncp=self.ncp[is_left],
            covered=self.covered[is_left],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recoding:
    """The result of a search: the class of every combination, and the labels of every class."""

    class_of: IntArray
    """Class id of every combination, or SUPPRESSED, shape (n_combinations,)."""
    sizes: IntArray
    """Records in every class, shape (n_classes,)."""
    attributes: tuple[AttributeLabels, ...]
    """Labels by attribute, in the order of the frequency table's domains."""
    levels: tuple[int, ...] | None = None
    """The chosen node, one level per attribute; None where classes differ in level (local algorithms)."""

    @property
    def n_classes(self) -> int:
        return len(self.sizes)


def only_released(recoding: Recoding, sizes: IntArray) -> tuple[Recoding, IntArray]:
    """The recoding of the classes that still have records, and the new id of every class, or SUPPRESSED.

    `sizes` is the number of records of every class that are still released, shape (n_classes,). Classes without any are
    dropped, and with them labels that no other class has: files must not hold them. The new ids have shape
    (n_classes + 1,): the entry at the end is SUPPRESSED, so that an old id of SUPPRESSED, which is −1, finds it.
    """
    is_left = sizes > 0
    new_ids = np.append(np.where(is_left, np.cumsum(is_left) - 1, SUPPRESSED), SUPPRESSED)
    left = Recoding(
        class_of=new_ids[recoding.class_of],
        sizes=sizes[is_left],
        attributes=tuple(attribute.where(is_left) for attribute in recoding.attributes),
        levels=recoding.levels,
    )
    return left, new_ids


def distinct_labels(labels: Sequence[Label]) -> tuple[tuple[Label, ...], IntArray]:
    """The distinct labels by first appearance, and the position of each given label among them."""
    positions: dict[Label, int] = {}
    of_class = np.array([positions.setdefault(label, len(positions)) for label in labels], dtype=np.int64)
    return tuple(positions), of_class


def class_ranges(values: FloatArray, class_ids: IntArray, *, n_classes: int) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest value of one ε-quasi inside each class, two arrays of shape (n_classes,).

    `values` (NaN where missing) and `class_ids` have shape (n_records,).
    Their difference is the diameter of Paper Eq. (3), taken per class (§IV): the attacker already knows the class, so
    nothing outside it needs hiding, and the noise can be smaller. NaN where a class has no value at all.
    """
    present: BoolArray = ~np.isnan(values)
    if not present.all():
        values, class_ids = values[present], class_ids[present]
    low = np.full(n_classes, np.inf)
    high = np.full(n_classes, -np.inf)
    if len(class_ids) and np.all(class_ids[1:] >= class_ids[:-1]):  # classes side by side: several times as fast
        firsts = np.flatnonzero(np.diff(class_ids, prepend=class_ids[0] - 1))
        low[class_ids[firsts]] = np.minimum.reduceat(values, firsts)
        high[class_ids[firsts]] = np.maximum.reduceat(values, firsts)
    else:
        np.minimum.at(low, class_ids, values)
        np.maximum.at(high, class_ids, values)
    empty = low > high
    low[empty] = high[empty] = np.nan
    return low, high

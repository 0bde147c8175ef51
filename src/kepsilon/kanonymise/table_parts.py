# SPDX-License-Identifier: Apache-2.0
"""The parts of a table, seen in one attribute, and how their labels are put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from kepsilon.kanonymise.label_losses import Covered
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.classes import AttributeLabels, distinct_labels
from kepsilon.table.codes import Label
from kepsilon.table.keys import number
from kepsilon.table.persons import PersonCounts

LabelStyle = Literal["siblings", "ancestor"]

EVERYTHING = "*"
"""The label of a part that may hold any value, null included."""
NULL = "null"
"""How null is written inside a label; a part whose values are all null has null as its label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableParts:
    """The values of one attribute in every part, part by part; no part is empty."""

    part_of: IntArray
    """Part of every released combination, rising, shape (n_released,)."""
    starts: IntArray
    """Position of the first combination of each part, shape (n_parts,)."""
    codes: IntArray
    """Code of every released combination in the attribute, shape (n_released,)."""
    all_codes: IntArray
    """Code of every combination, released or not, shape (n_combinations,)."""
    counts: IntArray
    """Records of every combination, released or not, shape (n_combinations,)."""
    k: int
    """The smallest number of records, or of persons, that may be told apart."""
    persons: PersonCounts | None = None
    """Those of all combinations; None where every record is a person."""

    @property
    def n_parts(self) -> int:
        return len(self.starts)

    def holders(self, n_values: int) -> IntArray:
        """How many records, or persons, hold each value of the attribute in the whole data, shape (n_values,)."""
        if self.persons is not None:
            return self.persons.in_classes(self.all_codes, n_classes=n_values)
        return self.records(n_values)

    def records(self, n_values: int) -> IntArray:
        """How many records hold each value of the attribute in the whole data, shape (n_values,)."""
        return np.bincount(self.all_codes, weights=self.counts, minlength=n_values).astype(np.int64)

    def extremes(self, places: IntArray) -> tuple[IntArray, IntArray]:
        """Smallest and largest place in every part, two arrays (n_parts,); `places` are by code."""
        of_combination = places.take(self.codes)
        if not self.n_parts:
            return of_combination, of_combination
        return np.minimum.reduceat(of_combination, self.starts), np.maximum.reduceat(of_combination, self.starts)


def from_distinct(
    label: Callable[..., Label],
    columns: tuple[IntArray, ...],
    *,
    covers: Callable[..., Covered],
    loss: Callable[..., FloatArray] | None = None,
) -> AttributeLabels:
    """Labels of the parts, where `label`, `loss` and what a label covers are functions of some codes of the part.

    `label` is called once for each combination of codes that occurs; `covers` and `loss` are called once, with all of them
    in arrays of the shape (n_distinct,). Without `loss`, it is the ncp. The arrays of `columns` have the shape (n_parts,).
    """
    sizes = [int(column.max(initial=-1)) + 1 for column in columns]
    of_part, n_distinct = number(columns, sizes=sizes, length=len(columns[0]))
    an_example = np.empty(n_distinct, dtype=np.int64)
    an_example[of_part] = np.arange(len(of_part))
    distinct = [column[an_example] for column in columns]
    covered = covers(*distinct)
    lost = covered.ncp if loss is None else loss(*distinct)
    return without_repeats(
        [label(*codes) for codes in zip(*(column.tolist() for column in distinct), strict=True)],
        of_part,
        loss=lost[of_part],
        ncp=covered.ncp[of_part],
        covered=covered.n_records[of_part],
    )


def without_repeats(
    labels: list[Label], of_part: IntArray, *, loss: FloatArray, ncp: FloatArray, covered: IntArray
) -> AttributeLabels:
    """Labels of the parts, those with equal text numbered alike: different codes may have one text."""
    distinct, position = distinct_labels(labels)
    return AttributeLabels(labels=distinct, of_class=position[of_part], loss=loss, ncp=ncp, covered=covered)

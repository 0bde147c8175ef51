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
    """Which part every released combination is in, and which value of one attribute it has; no part is empty."""

    part_of: IntArray
    """Part of every released combination, shape (n_released,)."""
    n_parts: int
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
        of_combination = places[self.codes]
        first = np.full(self.n_parts, np.iinfo(np.int64).max)
        last = np.full(self.n_parts, -1)
        np.minimum.at(first, self.part_of, of_combination)
        np.maximum.at(last, self.part_of, of_combination)
        return first, last


def from_distinct(
    label: Callable[..., Label],
    columns: tuple[IntArray, ...],
    *,
    loss: Callable[..., float],
    covers: Callable[..., Covered],
) -> AttributeLabels:
    """Labels of the parts, where `label`, `loss` and what a label covers are functions of some codes of the part.

    They are called once for each combination of codes that occurs. The arrays of `columns` have the shape (n_parts,).
    """
    sizes = [int(column.max(initial=-1)) + 1 for column in columns]
    of_part, n_distinct = number(columns, sizes=sizes, length=len(columns[0]))
    an_example = np.empty(n_distinct, dtype=np.int64)
    an_example[of_part] = np.arange(len(of_part))
    distinct = list(zip(*(column[an_example].tolist() for column in columns), strict=True))
    losses = np.array([loss(*codes) for codes in distinct], dtype=np.float64)
    covered = [covers(*codes) for codes in distinct]
    return without_repeats(
        [label(*codes) for codes in distinct],
        of_part,
        loss=losses[of_part],
        ncp=np.array([own.ncp for own in covered], dtype=np.float64)[of_part],
        covered=np.array([own.n_records for own in covered], dtype=np.int64)[of_part],
    )


def without_repeats(
    labels: list[Label], of_part: IntArray, *, loss: FloatArray, ncp: FloatArray, covered: IntArray
) -> AttributeLabels:
    """Labels of the parts, those with equal text numbered alike: different codes may have one text."""
    distinct, position = distinct_labels(labels)
    return AttributeLabels(labels=distinct, of_class=position[of_part], loss=loss, ncp=ncp, covered=covered)

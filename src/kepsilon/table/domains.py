# SPDX-License-Identifier: Apache-2.0
"""Makes the domain of a k-quasi from its hierarchy and the values that occur; for the step that counts.

`place_values` asks the hierarchy for labels; `not_covered` says which values it does not list; once records with such
values are left out, `domain_of` gives codes to those that remain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.errors import DataError, PolicyError, Problem
from kepsilon.policy.hierarchies import Levels
from kepsilon.policy.hierarchies.intervals import parse_number
from kepsilon.policy.roles import KQuasi
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.codes import Domain, Label, NotNestedError, code_domain

LEADING_ZERO = re.compile(r"\s*[+-]?0\d")
"""Text that begins like a number with a needless zero, so it is a code such as a postal code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedValues:
    """The distinct values of one k-quasi, their labels in its hierarchy, and which values the hierarchy lists."""

    name: str
    values: tuple[Label, ...]
    levels: Levels
    """Labels of the values that are not null, in their order."""
    is_covered: BoolArray
    """Whether the hierarchy lists each value, shape (n_values,)."""
    generalises: bool
    """Whether there is a hierarchy."""


def place_values(name: str, attribute: KQuasi, values: Sequence[Label]) -> PlacedValues:
    """The distinct values of a k-quasi with their labels; `values` may hold one None, which no hierarchy has to list."""
    known = [value for value in values if value is not None]
    levels = _as_they_are(known) if attribute.hierarchy is None else attribute.hierarchy.place(known)
    is_covered = np.ones(len(values), dtype=np.bool_)
    of_known = np.flatnonzero(np.array([value is not None for value in values], dtype=np.bool_))
    is_covered[of_known[list(levels.not_covered)]] = False
    return PlacedValues(
        name=name,
        values=tuple(values),
        levels=levels,
        is_covered=is_covered,
        generalises=attribute.hierarchy is not None,
    )


def domain_of(placed: PlacedValues) -> tuple[Domain, IntArray]:
    """The domain, and the code of each value, shape (n_values,); the hierarchy has to list all values."""
    columns, positions = _columns(placed)
    try:
        return code_domain(placed.name, columns, positions=positions, generalises=placed.generalises)
    except NotNestedError as error:
        raise PolicyError(
            Problem(
                where=f"attributes.{placed.name}.hierarchy",
                what=f"level {error.level} divides what level {error.level - 1} had merged.",
                fix="A coarser level may only merge values.",
            )
        ) from None


def not_covered(placed: PlacedValues, counts: IntArray) -> DataError | None:
    """The error for values that the hierarchy does not list, by count, without the values; None if it lists all.

    Values that the hierarchy cannot place together are an error too, which leaving records out does not help.
    """
    if placed.levels.misfit is not None:
        return DataError(
            Problem(
                where=f'column "{placed.name}"',
                what=placed.levels.misfit,
                fix=f"State how many characters such a value can have: attributes.{placed.name}.hierarchy = {{ type = "
                '"mask", length = … }. It is public, and must not come from the data: shorter values are padded to it, longer '
                "ones are unlisted.",
            )
        )
    if placed.is_covered.all():
        return None
    n_values = int((~placed.is_covered).sum())
    n_records = int(counts[~placed.is_covered].sum())
    return DataError(
        Problem(
            where=f'column "{placed.name}"',
            what=f"{n_records:,} records hold {n_values:,} values that its hierarchy does not list.",
            fix="They are not shown, because they come from records. To see them here: "
            f"kepsilon check --show-values {placed.name}\n"
            f'Or leave those records out: attributes.{placed.name}.unlisted = "suppress"',
        )
    )


def _columns(placed: PlacedValues) -> tuple[list[list[Label]], FloatArray | None]:
    """Labels of all values by level, from level 0 on, and positions; null is put in where it occurs.

    Null has the labels that the hierarchy gives it. Without such labels it is labelled null, except at a top level that
    has one label for all values.
    """
    levels = placed.levels
    n_levels = len(levels.labels)
    null_labels: list[Label] = [None] * n_levels
    if levels.null_labels is not None:
        null_labels = list(levels.null_labels)
    elif levels.top is not None and n_levels:
        null_labels[-1] = levels.top

    of_known = iter(range(len(placed.values)))
    known = [None if value is None else next(of_known) for value in placed.values]
    columns: list[list[Label]] = [list(placed.values)]
    for level, labels in enumerate(levels.labels):
        columns.append([null_labels[level] if i is None else labels[i] for i in known])
    if levels.positions is None:
        return columns, None
    return columns, np.array([np.nan if i is None else levels.positions[i] for i in known], dtype=np.float64)


def _as_they_are(values: Sequence[str]) -> Levels:
    """The levels of an attribute without hierarchy: with positions if all values are numbers, else as text.

    "01234" is a code, not a number, so one such value makes the attribute text.
    """
    numbers = [None if LEADING_ZERO.match(value) else parse_number(value) for value in values]
    if values and all(number is not None for number in numbers):
        return Levels(labels=(), positions=tuple(float(number) for number in numbers if number is not None))
    return Levels(labels=())

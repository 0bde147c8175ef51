# SPDX-License-Identifier: Apache-2.0
"""Makes the domain of a k-quasi from its hierarchy, its step and the values that occur; for the step that counts.

`place_values` asks the hierarchy for labels and reads numbers; `refused_values` says which values it does not list and
which are no numbers; once records with such values are left out, `domain_of` gives codes to those that remain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from kepsilon.errors import PolicyError, Problem
from kepsilon.policy.hierarchies import Levels
from kepsilon.policy.names import shown_name
from kepsilon.policy.numbers import parse_number
from kepsilon.policy.reading import PLAIN, Reading, read_values
from kepsilon.policy.roles import KQuasi, fraction
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.codes import Domain, Label, NotNestedError, code_domain
from kepsilon.table.number_line import number_line

LEADING_ZERO = re.compile(r"\s*[+-]?0[0-9]")
"""Text that begins like a number with a needless zero, so it is a code such as a postal code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedValues:
    """The distinct values of one k-quasi, their labels in its hierarchy, and which values can be placed."""

    name: str
    values: tuple[Label, ...]
    """The values as they count: None where one means missing, and numbers that hierarchy or step read with a point."""
    levels: Levels
    """Labels of the values that are not null, in their order."""
    is_listed: BoolArray
    """Whether the hierarchy lists each value, shape (n_values,); true where there is no hierarchy."""
    is_number: BoolArray
    """Whether each value is null or a number, shape (n_values,); true where no number is asked for."""
    generalises: bool
    """Whether there is a hierarchy."""
    step: Fraction | None
    """The public step that numbers are cut and labelled on, if the policy has one."""
    are_numbers: bool
    """Whether step or hierarchy read the values as numbers."""
    lacks_step: bool
    """Whether the values are numbers and have neither a hierarchy nor a step, so that no safe label is known."""
    has_other_sign: bool
    """Whether some values would be numbers if the policy had not stated another decimal sign."""

    @property
    def is_covered(self) -> BoolArray:
        """Whether each value is listed, and a number where numbers are asked for, shape (n_values,)."""
        return self.is_listed & self.is_number


def place_values(
    name: str, attribute: KQuasi, values: Sequence[Label], *, reading: Reading = PLAIN, is_typed: bool = False
) -> PlacedValues:
    """The distinct values of a k-quasi with their labels.

    `values` may hold None for null, which no hierarchy has to list. A text that means missing by the `reading` counts as
    null. So does an empty text: a CSV file does not tell them apart, and what is one class there has to be one class
    everywhere. `is_typed` says that the column is one of numbers, not text.
    """
    values, is_wrong = read_values(values, reading, is_typed=is_typed, wants_numbers=attribute.reads_numbers)
    known = [value for value in values if value]
    has_step, has_hierarchy = attribute.step is not None, attribute.hierarchy is not None
    levels = Levels(labels=()) if attribute.hierarchy is None else attribute.hierarchy.place(known)
    is_listed, is_number = np.ones((2, len(values)), dtype=np.bool_)
    of_known = np.flatnonzero(np.array([bool(value) for value in values], dtype=np.bool_))
    is_listed[of_known[list(levels.not_covered)]] = False
    if has_step:
        is_number[of_known] = [parse_number(value) is not None for value in known]
    (is_number if has_step else is_listed)[is_wrong] = False
    return PlacedValues(
        name=name,
        values=tuple(values),
        levels=levels,
        is_listed=is_listed,
        is_number=is_number,
        generalises=has_hierarchy,
        step=None if attribute.step is None else fraction(attribute.step),
        are_numbers=attribute.reads_numbers,
        lacks_step=not has_step and not has_hierarchy and _are_numbers(known, PLAIN if is_typed else reading),
        has_other_sign=any(is_wrong),
    )


def domain_of(placed: PlacedValues) -> tuple[Domain, IntArray]:
    """The domain, and the code of each value, shape (n_values,); the hierarchy has to list all values."""
    columns, positions = _columns(placed)
    place: dict[Label, int] = {}
    of_value = [place.setdefault(value, len(place)) for value in columns[0]]  # null and empty text share a place
    if len(place) < len(of_value):
        first = np.unique(of_value, return_index=True)[1].tolist()
        columns = [[column[i] for i in first] for column in columns]
        positions = None if positions is None else positions[first]
    numbers = [None if value is None else parse_number(value) for value in place] if placed.step else []
    if placed.step is not None:
        positions = np.array([np.nan if number is None else float(number) for number in numbers], dtype=np.float64)
    try:
        domain, codes = code_domain(placed.name, columns, positions=positions, generalises=placed.generalises)
    except NotNestedError as error:
        raise PolicyError(
            Problem(
                where=f"attributes.{placed.name}.hierarchy",
                what=f"level {error.level} divides what level {error.level - 1} had merged.",
                fix="A coarser level may only merge values.",
            )
        ) from None
    if placed.step is None:
        if placed.are_numbers and positions is not None:
            domain = replace(domain, of_intervals=positions[np.argsort(codes)])
        return domain, codes[of_value]
    by_code = [numbers[i] for i in np.argsort(codes).tolist()]
    return replace(domain, line=number_line(by_code, step=placed.step)), codes[of_value]


def refused_values(placed: PlacedValues, counts: IntArray) -> list[Problem]:
    """What is wrong with values that cannot be placed, by count, without the values; empty if all can."""
    if placed.levels.misfit is not None:
        return []  # `unplaceable` says what is wrong
    problems = []
    not_numbers = placed.is_listed & ~placed.is_number
    if not placed.is_listed.all():
        problems.append(_refusal(placed, counts, ~placed.is_listed, "its hierarchy does not list"))
    if not_numbers.any():
        problems.append(
            _refusal(placed, counts, not_numbers, "are no finite numbers below 2^53, which its step asks for")
        )
    return problems


def unplaceable(placed: PlacedValues) -> list[Problem]:
    """Why no value of the k-quasi can be placed, which leaving records out does not help; empty if nothing is wrong."""
    name, misfit = placed.name, placed.levels.misfit
    problems = []
    if placed.lacks_step:
        what = (
            "holds numbers, and has neither a step nor a hierarchy. Labels made from the data alone would show the values of "
            "single records."
        )
        fix = (
            f"Write attributes.{name}.step = a round number that numbers are cut and labelled on, such as 5 for ages. It is "
            "published: choose it from what is publicly known, not from the data."
        )
        problems.append(Problem(where=f"attributes.{name}", what=what, fix=fix))
    if misfit is not None:
        fix = (
            f"State how many characters such a value can have: attributes.{name}.hierarchy = {{ type = "
            '"mask", length = … }. It is public, and must not come from the data: shorter values are padded to it, longer '
            "ones are unlisted."
        )
        problems.append(Problem(where=f'column "{name}"', what=misfit, fix=fix))
    return problems


def _refusal(placed: PlacedValues, counts: IntArray, refused: BoolArray, why: str) -> Problem:
    n_values, n_records = int(refused.sum()), int(counts[refused].sum())
    name = shown_name(placed.name)
    return Problem(
        where=f'column "{placed.name}"',
        what=f"{n_records:,} records hold {n_values:,} values that {why}.",
        fix="They are not shown, because they come from records. To see them here: "
        f"kepsilon check --show-values {name}\n"
        f'Or leave those records out: attributes.{name}.unlisted = "suppress"\n'
        f"Or, if they stand for missing values, list them: attributes.{name}.missing_values"
        + '\nBecause of decimal = "," a number with a decimal point is text.'
        * placed.has_other_sign,
    )


def _columns(placed: PlacedValues) -> tuple[list[list[Label]], FloatArray | None]:
    """Labels of all values by level, from level 0 on, and positions; null is put in where it occurs.

    An empty label is null. Null has the labels that the hierarchy gives it. Without such labels it is labelled null,
    except at a top level that has one label for all values.
    """
    levels = placed.levels
    n_levels = len(levels.labels)
    null_labels: list[Label] = [None] * n_levels
    if levels.null_labels is not None:
        null_labels = list(levels.null_labels)
    elif levels.top is not None and n_levels:
        null_labels[-1] = levels.top

    of_known = iter(range(len(placed.values)))
    known = [next(of_known) if value else None for value in placed.values]
    columns: list[list[Label]] = [[value or None for value in placed.values]]
    for level, labels in enumerate(levels.labels):
        columns.append([(null_labels[level] if i is None else labels[i]) or None for i in known])
    if levels.positions is None:
        return columns, None
    of_null = np.nan if levels.null_position is None else levels.null_position
    return columns, np.array([of_null if i is None else levels.positions[i] for i in known], dtype=np.float64)


def _are_numbers(values: Sequence[str], reading: Reading) -> bool:
    """Whether there are values and all of them are numbers, with the decimal sign of the reading.

    "01234" is a code, not a number, so one such value makes the attribute text.
    """
    texts = (reading.with_point(value) for value in values)
    are_all = all(
        text is not None and parse_number(text) is not None and not LEADING_ZERO.match(text) for text in texts
    )
    return bool(values) and are_all

# SPDX-License-Identifier: Apache-2.0
"""Codes of the values of an attribute: small integers in an order that fits its hierarchy.

Counting and the search work on codes alone. A `Domain` numbers the values of one k-quasi that occur in the data so that,
at every level of its hierarchy, values with one parent are neighbours. Therefore counts at the next level are a segmented
sum (`reduceat`), and the lowest common ancestor of a set of values is that of its smallest and its largest code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kepsilon.policy.numbers import parse_number
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.number_line import NumberLine

Label = str | None
"""A published value of a k-quasi; None is a null, which is a value like any other."""


class NotNestedError(ValueError):
    """A level divides values that a finer level had merged."""

    def __init__(self, level: int, label: Label, parents: tuple[Label, Label]) -> None:
        """`parents` are two labels that `level` gives to values with one `label` at the level below."""
        self.level = level
        self.label = label
        self.parents = parents
        super().__init__(f"level {level} gives one label of level {level - 1} two parents")


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """The values of one attribute, coded 0 … n_values − 1, with their labels at every level of its hierarchy."""

    name: str
    levels: tuple[tuple[Label, ...], ...]
    """Labels by level and code; level 0 holds the values themselves."""
    up: tuple[IntArray, ...]
    """`up[l]` maps codes of level l to codes of level l + 1; non-decreasing, and onto."""
    line: NumberLine | None = None
    """The number line of its values where the policy has a `step`: local algorithms then publish intervals."""
    of_intervals: FloatArray | None = None
    """The number of every code, NaN for null, where the hierarchy is one of intervals, shape (n_values,)."""
    generalises: bool = True
    """False where the attribute has no hierarchy: OLA refuses it, local algorithms publish intervals or sets of values."""

    @property
    def n_values(self) -> int:
        return len(self.levels[0])

    @property
    def n_levels(self) -> int:
        return len(self.levels)

    @property
    def numbers(self) -> FloatArray | None:
        """The number of every code, NaN for null, shape (n_values,); None where values are not read as numbers."""
        return self.of_intervals if self.line is None else self.line.positions

    def at_level(self, level: int) -> IntArray:
        """Code at `level` of every level-0 code, shape (n_values,); non-decreasing."""
        codes: IntArray = np.arange(self.n_values)
        for up in self.up[:level]:
            codes = up[codes]
        return codes


def code_domain(
    name: str,
    columns: Sequence[Sequence[Label]],
    *,
    positions: FloatArray | None = None,
    generalises: bool = True,
) -> tuple[Domain, IntArray]:
    """The domain of one attribute without a number line, and the code of each given value, shape (n_values,).

    `columns[l][i]` is the label of value i at level l; `columns[0]` holds the distinct values. `positions` say where values
    lie that are numbers or dates, or that the curator listed in an order. Values are first put in natural order: by
    `positions` if given, else numbers by size and then texts; null comes first unless it has a position. So the result
    does not depend on the order in which they are given. Then values of one parent are brought together, level by level
    from the top; each group goes where its first value was, and a group whose label is null before its siblings.

    Which of two siblings comes first must not depend on what else occurs, or the order inside a published set would tell.
    """
    values = columns[0]
    natural = _natural_order(values, positions)
    labels = [[column[i] for i in natural] for column in columns]
    _refuse_unless_nested(labels)
    # Groups are numbered by their first value in natural order, so these numbers are the sort key of a level; `lexsort`
    # sorts by the last key first, which is the top level.
    groups = [_group_numbers(level) for level in labels]
    order = np.lexsort(groups) if values else np.zeros(0, dtype=np.int64)

    codes_by_level: list[IntArray] = []
    labels_by_level: list[tuple[Label, ...]] = []
    up: list[IntArray] = []
    for level, numbers in enumerate(groups):
        is_first = np.diff(numbers[order], prepend=-1) != 0
        starts = np.flatnonzero(is_first)
        codes = np.cumsum(is_first) - 1
        labels_by_level.append(tuple(labels[level][order[start]] for start in starts))
        if level:
            finer_starts = np.flatnonzero(np.diff(codes_by_level[-1], prepend=-1))
            up.append(codes[finer_starts])
        codes_by_level.append(codes)

    final = natural[order]
    code_of_value = np.empty(len(values), dtype=np.int64)
    code_of_value[final] = np.arange(len(values))
    domain = Domain(
        name=name,
        levels=tuple(labels_by_level),
        up=tuple(up),
        generalises=generalises,
    )
    return domain, code_of_value


def _natural_order(values: Sequence[Label], positions: FloatArray | None) -> IntArray:
    """The order of values: null without a position, then by position if there are any, else numbers and then texts.

    Without positions, which of two values comes first depends on these two alone: if it depended on whether all values of
    the data are numbers, the order inside a published set would tell.
    """

    def key(i: int) -> tuple[bool, bool, Fraction | float, str]:
        value = values[i]
        if positions is not None and not np.isnan(positions[i]):
            return (True, False, float(positions[i]), value or "")
        if value is None:
            return (False, False, 0.0, "")
        number = parse_number(value)
        return (True, number is None, number or 0, value)

    return np.array(sorted(range(len(values)), key=key), dtype=np.int64)


def _group_numbers(labels: Sequence[Label]) -> IntArray:
    """The number of each label; equal labels share one. Null has 0, the others follow in the order they first appear."""
    numbers: dict[Label, int] = {None: 0}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)


def _refuse_unless_nested(labels: Sequence[Sequence[Label]]) -> None:
    """Raises NotNestedError where values with one label at a level have different labels at the next."""
    for level in range(1, len(labels)):
        parents: dict[Label, Label] = {}
        for child, parent in zip(labels[level - 1], labels[level], strict=True):
            if parents.setdefault(child, parent) != parent:
                raise NotNestedError(level, child, (parents[child], parent))

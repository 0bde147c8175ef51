# SPDX-License-Identifier: Apache-2.0
"""A hierarchy of numbers: the value, then intervals of growing width aligned at an origin, then one label for all."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from kepsilon.policy.exact_bounds import EXACT
from kepsilon.policy.hierarchies.levels import Labels, Levels, Specification, levels_below_label
from kepsilon.policy.numbers import parse_number

Width = Annotated[int | float, Field(gt=1e-30, lt=EXACT)]
Origin = Annotated[int | float, Field(gt=-EXACT, lt=EXACT)]


class IntervalsHierarchy(Specification):
    type: Literal["intervals"]
    widths: Annotated[tuple[Width, ...], Field(min_length=1)]
    origin: Origin = 0
    label: str = "*"

    @model_validator(mode="after")
    def _each_width_divides_the_next(self) -> Self:
        for fine, coarse in zip(self.widths, self.widths[1:], strict=False):
            if coarse <= fine or exact(coarse) % exact(fine) != 0:
                raise PydanticCustomError(
                    "not_nested",
                    "width {coarse} is not a larger multiple of {fine}, so that an interval of {fine} could lie across "
                    "two of {coarse}; a coarser level may only merge",
                    {"fine": fine, "coarse": coarse},
                )
        return self

    @property
    def height(self) -> int:
        """The highest level, the one label for all."""
        return len(self.widths) + 1

    def level_in_words(self, level: int) -> str:
        return f"intervals of {plain(exact(self.widths[level - 1]))}" if level <= len(self.widths) else ""

    def place(self, values: Sequence[str]) -> Levels:
        numbers = [parse_number(value) for value in values]
        placed = [Fraction(0) if number is None else number for number in numbers]
        labels = [tuple(self._interval(number, exact(width)) for number in placed) for width in self.widths]
        return Levels(
            labels=(*labels, (self.label,) * len(values)),
            not_covered=tuple(i for i, number in enumerate(numbers) if number is None),
            positions=tuple(map(float, placed)),
            top=self.label,
        )

    def levels_of(self, labels: Labels) -> tuple[int, ...]:
        """Levels at which these can be the labels of a column; nothing but the top label is the top level."""
        return levels_below_label(labels, len(self.widths) + 1, label=self.label, allows=self._allows)

    def _allows(self, label: str | None, level: int) -> bool:
        """Whether a column below the top level can have this label."""
        if label is None:
            return True
        if level == 0:
            return parse_number(label) is not None
        low = re.match(r"\[([^,]*),", label)
        number = None if low is None else parse_number(low[1])
        return number is not None and self._interval(number, exact(self.widths[level - 1])) == label

    def _interval(self, number: Fraction, width: Fraction) -> str:
        """The label of an interval, `[low, high)`; in brackets, because a spreadsheet reads 10-12 as a date."""
        origin = exact(self.origin)
        low = origin + width * math.floor((number - origin) / width)
        return f"[{plain(low)}, {plain(low + width)})"


def exact(number: float) -> Fraction:
    """The number exactly as it was written: 0.1 is one tenth, not the nearest double."""
    return Fraction(str(number))


def plain(number: Fraction) -> str:
    """The number as text without exponent and trailing zeros; it must have finitely many decimals."""
    digits = 0
    while number.denominator != 1:
        number *= 10
        digits += 1
    sign, text = "-" * (number < 0), str(abs(number.numerator)).rjust(digits + 1, "0")
    return f"{sign}{text[:-digits]}.{text[-digits:]}" if digits else f"{sign}{text}"

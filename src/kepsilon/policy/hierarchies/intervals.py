# SPDX-License-Identifier: Apache-2.0
"""Numbers: the value, then intervals of growing width aligned at an origin, then one label."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from kepsilon.policy.hierarchies.levels import Levels, Specification

Width = Annotated[int | float, Field(gt=0)]


class IntervalsHierarchy(Specification):
    type: Literal["intervals"]
    widths: Annotated[tuple[Width, ...], Field(min_length=1)]
    origin: int | float = 0
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

    def place(self, values: Sequence[str]) -> Levels:
        numbers = [parse_number(value) for value in values]
        placed = [Decimal(0) if number is None else number for number in numbers]
        labels = [tuple(self._interval(number, exact(width)) for number in placed) for width in self.widths]
        return Levels(
            labels=(*labels, (self.label,) * len(values)),
            not_covered=tuple(i for i, number in enumerate(numbers) if number is None),
            positions=tuple(map(float, placed)),
            top=self.label,
        )

    def _interval(self, number: Decimal, width: Decimal) -> str:
        """`[low, high)`: brackets, because a spreadsheet reads 10-12 as a date."""
        origin = exact(self.origin)
        steps = (number - origin) / width
        low = origin + width * steps.to_integral_value(rounding="ROUND_FLOOR")
        return f"[{plain(low)}, {plain(low + width)})"


def exact(number: float) -> Decimal:
    """The number as it was written: 0.1 is one tenth, not the nearest double."""
    return Decimal(str(number))


def plain(number: Decimal) -> str:
    """Without exponent and without trailing zeros."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def parse_number(text: str) -> Decimal | None:
    """A finite number written in the ordinary way, or None."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    # Beyond what a double tells apart there is no order to keep, and Decimal's own precision would round.
    return number if number.is_finite() and abs(number) < Decimal(2**53) else None

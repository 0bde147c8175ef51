# SPDX-License-Identifier: Apache-2.0
"""A hierarchy of dates: the value, then calendar units of growing length, then one label for all."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from kepsilon.policy.hierarchies.levels import Labels, Levels, Specification, levels_below_label

Unit = Literal["day", "week", "month", "quarter", "year", "decade"]

# Not with strftime, which writes the year 987 with three digits on some systems and with four on others.
LABELS: dict[str, Callable[[datetime], str]] = {
    "day": lambda date: date.date().isoformat(),
    "week": lambda date: f"{date.isocalendar().year:04}-W{date.isocalendar().week:02}",
    "month": lambda date: f"{date.year:04}-{date.month:02}",
    "quarter": lambda date: f"{date.year:04}-Q{(date.month + 2) // 3}",
    "year": lambda date: f"{date.year:04}",
    "decade": lambda date: f"{date.year // 10 * 10:04}s",
}
ORDER = tuple(LABELS)


class DatesHierarchy(Specification):
    type: Literal["dates"]
    units: Annotated[tuple[Unit, ...], Field(min_length=1)]
    format: str | None = None
    """How dates are written in the data, as in strptime; ISO 8601 (2026-11-16) by default."""
    label: str = "*"

    @model_validator(mode="after")
    def _each_unit_is_made_of_whole_finer_ones(self) -> Self:
        for fine, coarse in zip(self.units, self.units[1:], strict=False):
            if ORDER.index(coarse) <= ORDER.index(fine) or fine == "week":
                raise PydanticCustomError(
                    "not_nested",
                    "{fine} cannot be followed by {coarse}: a {coarse} is not made of whole {fine}s; the order is day, "
                    "month, quarter, year, decade, and week can only stand last",
                    {"fine": fine, "coarse": coarse},
                )
        return self

    @model_validator(mode="after")
    def _format_can_be_read(self) -> Self:
        example = datetime(2000, 12, 31)  # noqa: DTZ001 (dates have no zone)
        try:
            if self.format is not None:
                datetime.strptime(example.strftime(self.format), self.format)  # noqa: DTZ007 (dates have no zone)
        except (ValueError, re.error):  # the second where a part is named twice
            raise PydanticCustomError("format", "format is not a way of writing dates that strptime can read") from None
        return self

    @property
    def height(self) -> int:
        """The highest level, the one label for all."""
        return len(self.units) + 1

    def level_in_words(self, level: int) -> str:
        return self.units[level - 1] if level <= len(self.units) else ""

    def place(self, values: Sequence[str]) -> Levels:
        dates = [self._parse(value) for value in values]
        placed = [datetime.min if date is None else date for date in dates]  # noqa: DTZ901 (all dates are naive)
        labels = [tuple(LABELS[unit](date) for date in placed) for unit in self.units]
        return Levels(
            labels=(*labels, (self.label,) * len(values)),
            not_covered=tuple(i for i, date in enumerate(dates) if date is None),
            positions=tuple((date - datetime.min).total_seconds() for date in placed),  # noqa: DTZ901 (all dates are naive)
            top=self.label,
        )

    def levels_of(self, labels: Labels) -> tuple[int, ...]:
        """Levels at which these can be the labels of a column; nothing but the top label is the top level."""
        return levels_below_label(labels, len(self.units) + 1, label=self.label, allows=self._allows)

    def _allows(self, label: str | None, level: int) -> bool:
        """Whether a column below the top level can have this label."""
        if label is None:
            return True
        if level == 0:
            return self._parse(label) is not None
        unit = self.units[level - 1]
        date = day_of(unit, label)
        return date is not None and LABELS[unit](date) == label

    def _parse(self, text: str) -> datetime | None:
        """The moment that a text states, without zone; None if it is no date. Digits are 0 to 9, as in numbers."""
        if any(character.isdecimal() and not character.isascii() for character in text):
            return None
        try:
            date = (
                datetime.fromisoformat(text.strip())
                if self.format is None
                else datetime.strptime(text.strip(), self.format)  # noqa: DTZ007 (dates have no zone)
            )
            return date if date.tzinfo is None else date.astimezone(UTC).replace(tzinfo=None)
        except (ValueError, OverflowError):
            return None


def day_of(unit: str, label: str) -> datetime | None:
    """A day of the day, week, month, quarter, year or decade that a label names; None if it names none."""
    numbers = [int(digits) for digits in re.findall(r"[0-9]{1,4}", label)]
    year, *rest = numbers or [0]
    try:
        if unit == "week":
            return datetime.fromisocalendar(
                year, rest[0], 4
            )  # a Thursday, which is in the year that the week counts to
        month = rest[0] * 3 - 2 if unit == "quarter" else rest[0] if unit in ("day", "month") else 1
        return datetime(max(1, year), month, rest[1] if unit == "day" else 1)  # noqa: DTZ001 (dates have no zone)
    except (ValueError, IndexError, OverflowError):
        return None

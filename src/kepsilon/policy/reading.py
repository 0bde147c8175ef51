# SPDX-License-Identifier: Apache-2.0
"""How the cells of a quasi-identifier are read: which of them mean missing, and which sign stands before decimals.

Every engine, `init`, `--show-values` and the audit of an original ask a `Reading`. It holds no records, and it does not
concern releases: there a missing value is null, and numbers have a decimal point.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from kepsilon.policy.numbers import parse_double, parse_number


def _refuse_other_than_texts(value: object) -> object:
    """The value if it is a list of texts; 99 without quotes is refused, because 99 and 099 may be different texts."""
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise PydanticCustomError("missing_values", 'should be a list of texts in quotes, such as ["?", "99"]')
    return value


MissingValues = Annotated[tuple[str, ...], BeforeValidator(_refuse_other_than_texts)]
DecimalSign = Literal[".", ","]
_MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[ T]([0-9]{2}:[0-9]{2})(:[0-9]{2})?(\.[0-9]+)?)?")
"""A date, or a moment without a time zone: day, hours and minutes, seconds, fraction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The texts of one quasi-identifier that mean missing, and the decimal sign of its numbers.

    Null and the empty text are always missing. Blanks around a text that is listed do not matter. Where values are numbers,
    a number that is listed stands for every way to write it: "99" for 99, 99.0 and +99. A date that is listed stands for
    its midnight too, and a moment for every way to write it with more or fewer zeros. Columns of numbers, not text, have
    decimal points, and so do codes for them.
    """

    missing_values: tuple[str, ...] = ("",)
    decimal: DecimalSign = "."
    texts: frozenset[str] = field(init=False, repr=False, compare=False)
    """Texts that mean missing, without blanks around them; the empty text is left out."""
    numbers: frozenset[Fraction] = field(init=False, repr=False, compare=False)
    """Those of them that are numbers in a column of text, exactly."""
    typed_numbers: frozenset[Fraction] = field(init=False, repr=False, compare=False)
    """Those of them that are numbers in a column of numbers, where the decimal sign is a point."""
    moments: frozenset[str] = field(init=False, repr=False, compare=False)
    """Those of them that are dates or moments, each in the shortest way to write it."""

    def __post_init__(self) -> None:
        trimmed = [text.strip() for text in self.missing_values]
        object.__setattr__(self, "texts", frozenset(text for text in trimmed if text))
        written = [self.with_point(text) for text in self.texts]
        object.__setattr__(self, "numbers", frozenset(Fraction(text) for text in written if text is not None))
        typed = [text for text in self.texts if parse_double(text) is not None]
        object.__setattr__(self, "typed_numbers", frozenset(map(Fraction, typed)))
        object.__setattr__(
            self, "moments", frozenset(_shortest(text) for text in self.texts if _MOMENT.fullmatch(text))
        )

    def with_point(self, text: str) -> str | None:
        """A text that is a number, with a point for its decimal sign; None if it is no number.

        With a decimal comma "1.500" is no number: it might be fifteen hundred or one and a half, and that is not guessed.
        """
        if self.decimal == ",":
            if "." in text:
                return None
            text = text.replace(",", ".")
        return None if parse_double(text) is None else text

    def means_missing(self, text: str) -> bool:
        """Whether a text means missing as it is written, or as a moment."""
        if not text or text in self.missing_values or text.strip() in self.texts:
            return True
        return bool(self.moments) and _shortest(text.strip()) in self.moments

    def is_missing_number(self, text: str, *, is_typed: bool) -> bool:
        """Whether a text, with a decimal point where it has decimals, is a number that means missing.

        `is_typed` says that the column is one of numbers, not text.
        """
        listed = self.typed_numbers if is_typed else self.numbers
        return bool(listed) and parse_double(text) is not None and Fraction(text.strip()) in listed

    @property
    def lists_nan(self) -> bool:
        """Whether NaN in a column of numbers means missing, because the list has it in any spelling."""
        return any(text.lower() == "nan" for text in self.texts)

    @property
    def concerns_numbers(self) -> bool:
        """Whether some values of a column of numbers mean missing."""
        return bool(self.typed_numbers) or self.lists_nan


def _shortest(text: str) -> str:
    """A moment in the shortest way to write it: without zeros after its seconds, and midnight as the date alone."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        return text
    day, time, seconds, fraction = found.groups()
    time, fraction = f"{time or '00:00'}{seconds or ':00'}", (fraction or "").rstrip("0").rstrip(".")
    return day if time == "00:00:00" and not fraction else f"{day} {time}{fraction}"


PLAIN = Reading()
"""Only empty cells are missing, and numbers have a decimal point; releases are always read so."""


def read_values(
    values: Sequence[str | None], reading: Reading, *, is_typed: bool, wants_numbers: bool
) -> tuple[list[str | None], list[bool]]:
    """The distinct values of a k-quasi as they count, None for missing, and which are numbers with the wrong decimal sign.

    `is_typed` says that the column is one of numbers, not text; its values have a decimal point whatever the reading.
    `wants_numbers` says that hierarchy or step read the values as numbers: texts that are numbers then get a point.
    """
    read: list[str | None] = []
    is_wrong: list[bool] = []
    for value in values:
        own: str | None = None if value is None or reading.means_missing(value) else value
        wrong = False
        if own is not None and (is_typed or wants_numbers):
            number = own if is_typed or reading.decimal == "." else reading.with_point(own)
            if number is None:
                wrong = parse_number(own) is not None
            else:
                is_missing = reading.is_missing_number(number, is_typed=is_typed)
                is_missing |= is_typed and own == "nan" and reading.lists_nan
                own = None if is_missing else number
        read.append(own)
        is_wrong.append(wrong)
    return read, is_wrong

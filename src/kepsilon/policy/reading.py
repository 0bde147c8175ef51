# SPDX-License-Identifier: Apache-2.0
"""How the cells of a quasi-identifier are read: which of them mean missing, and which sign stands before decimals.

Every engine, `init`, `--show-values` and the audit of an original ask a `Reading`. It holds no records, and it does not
concern releases: there a missing value is null, and numbers have a decimal point.
"""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The texts of one quasi-identifier that mean missing, and the decimal sign of its numbers.

    Null and the empty text are always missing. Blanks around a text that is listed do not matter. Where values are numbers,
    a number that is listed stands for every way to write it: "99" for 99, 99.0 and +99.
    """

    missing_values: tuple[str, ...] = ("",)
    decimal: DecimalSign = "."
    texts: frozenset[str] = field(init=False, repr=False, compare=False)
    """Texts that mean missing, without blanks around them; the empty text is left out."""
    numbers: frozenset[Fraction] = field(init=False, repr=False, compare=False)
    """Those of them that are numbers, exactly."""

    def __post_init__(self) -> None:
        trimmed = [text.strip() for text in self.missing_values]
        object.__setattr__(self, "texts", frozenset(text for text in trimmed if text))
        written = [self.with_point(text) for text in self.texts]
        object.__setattr__(self, "numbers", frozenset(Fraction(text) for text in written if text is not None))

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
        """Whether a text of a column whose values are no numbers means missing."""
        return not text or text in self.missing_values or text.strip() in self.texts

    def is_missing_number(self, text: str) -> bool:
        """Whether a text, with a decimal point where it has decimals, is a number that means missing."""
        return bool(self.numbers) and parse_double(text) is not None and Fraction(text.strip()) in self.numbers

    @property
    def lists_nan(self) -> bool:
        """Whether NaN in a column of numbers means missing, because the list has it in any spelling."""
        return any(text.lower() == "nan" for text in self.texts)

    @property
    def concerns_numbers(self) -> bool:
        """Whether some values of a column of numbers mean missing."""
        return bool(self.numbers) or self.lists_nan


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
                is_missing = reading.is_missing_number(number) or (is_typed and own == "nan" and reading.lists_nan)
                own = None if is_missing else number
        read.append(own)
        is_wrong.append(wrong)
    return read, is_wrong

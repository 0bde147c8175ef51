# SPDX-License-Identifier: Apache-2.0
"""Reads texts as numbers or dates in the ways in which people write them, to see what an attacker would see in them.

Nothing that is published depends on it: here a text that is read as a number by mistake costs little, and one that is not
read hides a leak.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import partial

from kepsilon.policy.numbers import parse_double

Parse = Callable[[str], float | None]
"""The number of a text, or None."""

_N_TRIED = 200
"""Texts, from the first to the last, by which the letters around a number are found."""

_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_GROUPS = re.compile(r"[+-]?[0-9]{1,3}(?:[.,][0-9]{3}){2,}")
_BETWEEN_DIGITS = re.compile(r"(?<=[0-9])[ '’\u00a0\u202f](?=[0-9]{3})")
_AFFIXED = re.compile(r"([^0-9+.,-]{0,4})([+-]?[0-9](?:[0-9., '’\u00a0\u202f]*[0-9])?)([^0-9]{0,12})")
"""A number with a unit, a currency or some letters before or after it."""

_DATE = re.compile(
    r"([0-9]{1,4})([-./])([0-9]{1,2})\2([0-9]{1,4})"
    r"(?:[T ]+([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}(?:[.,][0-9]{1,9})?))?)? ?(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2})?"
)
"""A date in figures, with the time of day or without; the zone is passed over."""
_MONTH = re.compile(r"((?:1[89]|20)[0-9]{2})[-/.]([0-9]{1,2})|([0-9]{1,2})[-/.]((?:1[89]|20)[0-9]{2})")
_DAY_NAME_YEAR = re.compile(r"([0-9]{1,2})\.?[ -]?([^\W\d_]{3,9})\.?,?[ -]?([0-9]{4})")
_NAME_DAY_YEAR = re.compile(r"([^\W\d_]{3,9})\.? ?([0-9]{1,2}),? ([0-9]{4})")
_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_OF_NAME = {name: i + 1 for i, name in enumerate(_NAMES)} | {"mär": 3, "mrz": 3, "mai": 5, "okt": 10, "dez": 12}

_EPOCH = date(1970, 1, 1).toordinal()
_DIGITS_OF_YEAR, _DIGITS_OF_SHORT_YEAR = 4, 2
_FIRST_SHORT_YEAR = 1930
"""Years of two digits are those of the hundred years from this one on."""
_SECONDS_PER_DAY = 86_400


def ways_to_read_numbers(texts: Sequence[str]) -> Iterator[Parse]:
    """Ways to read some texts as numbers that are nothing but numbers, the likeliest first."""
    if _have_thousands(texts):
        yield _with_thousands
    yield _number


def ways_to_read_dates() -> Iterator[Parse]:
    """Ways to read texts as days since 1970. 03/04/2026 is read with the month first, unless more fit the other way."""
    yield partial(_days, day_first=False)
    yield partial(_days, day_first=True)


def ways_to_read_around_numbers(texts: Sequence[str]) -> Iterator[Parse]:
    """A way to read texts as numbers that all have the same letters around them, such as a unit, or thousands apart."""
    tried = texts[:: max(1, len(texts) // _N_TRIED)]
    found = Counter((own[1], own[3]) for text in tried if (own := _AFFIXED.fullmatch(text.strip())))
    if found:
        (before, after), _ = found.most_common(1)[0]
        yield partial(_around, before=before, after=after)


def _number(text: str) -> float | None:
    """The number that a text is, with a decimal point or a decimal comma."""
    number = parse_double(text)
    return parse_double(text.replace(",", ".")) if number is None and text.count(",") == 1 else number


def _have_thousands(texts: Sequence[str]) -> bool:
    """Whether commas can only stand between thousands: three digits after each, and some numbers with none, or two."""
    with_comma = [text.strip() for text in texts if "," in text]
    differ = len(with_comma) < len(texts) or any(text.count(",") > 1 for text in with_comma)
    return bool(with_comma) and differ and all(_THOUSANDS.fullmatch(text) for text in with_comma)


def _with_thousands(text: str) -> float | None:
    return parse_double(text.replace(",", ""))


def _around(text: str, *, before: str, after: str) -> float | None:
    """The number between the letters before and after it, whatever stands between its thousands."""
    text = text.strip()
    if not (text.startswith(before) and text.endswith(after)) or len(text) <= len(before) + len(after):
        return None
    core = _BETWEEN_DIGITS.sub("", text[len(before) : len(text) - len(after)])
    comma, point = core.rfind(","), core.rfind(".")
    if comma >= 0 and point >= 0:  # the last one is the decimal sign
        thousands, decimal = (",", ".") if comma < point else (".", ",")
        core = core.replace(thousands, "").replace(decimal, ".")
    elif _GROUPS.fullmatch(core) or _THOUSANDS.fullmatch(core):
        core = core.replace(",", "").replace(".", "")
    return parse_double(core.replace(",", "."))


def _days(text: str, *, day_first: bool) -> float | None:
    """Days since 1970 of a date; with dots the day always stands before the month. A month is its first day."""
    text = text.strip()
    found = _DATE.fullmatch(text)
    if found is None:
        return _days_of_month(text)
    first, mark, second, third, hour, minute, second_of_minute = found.groups()
    if len(first) == _DIGITS_OF_YEAR:
        year, month, day = int(first), second, third
    elif len(third) == _DIGITS_OF_YEAR or (len(third) == _DIGITS_OF_SHORT_YEAR and mark in "./"):
        year, (day, month) = int(third), (first, second) if day_first or mark == "." else (second, first)
        if len(third) == _DIGITS_OF_SHORT_YEAR:
            year = _FIRST_SHORT_YEAR + (year - _FIRST_SHORT_YEAR) % 100
    else:
        return None
    days = _since_1970(year, int(month), int(day))
    seconds = 3600 * int(hour or 0) + 60 * int(minute or 0) + float((second_of_minute or "0").replace(",", "."))
    return None if days is None else days + seconds / _SECONDS_PER_DAY


def _days_of_month(text: str) -> float | None:
    """Days since 1970 of a month in figures, or of a date with the name of its month, in English or German."""
    if found := _MONTH.fullmatch(text):
        return _since_1970(int(found[1] or found[4]), int(found[2] or found[3]), 1)
    if found := _DAY_NAME_YEAR.fullmatch(text):
        day, name, year = found.groups()
    elif found := _NAME_DAY_YEAR.fullmatch(text):
        name, day, year = found.groups()
    else:
        return None
    month = _MONTH_OF_NAME.get(name[:3].lower())
    return None if month is None else _since_1970(int(year), month, int(day))


def _since_1970(year: int, month: int, day: int) -> float | None:
    try:
        return float(date(year, month, day).toordinal() - _EPOCH)
    except ValueError:
        return None

# SPDX-License-Identifier: Apache-2.0
"""Whether a published label covers an original value: read from the documentation of labels, slowly, record by record."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from oracles.read_label import set_members

Hierarchy = Mapping[str, Any]


def covers(label: str | None, value: Any, hierarchy: Hierarchy | None, files: Mapping[str, str]) -> bool:
    """Whether a label covers a value (None where it is missing); `files` holds the hierarchy files by name."""
    own = list(ancestors(value, hierarchy, files))
    if label in own or label == "*":
        return True
    if label is not None and label.startswith("null or "):
        return value is None or covers(label.removeprefix("null or "), value, hierarchy, files)
    if hierarchy is not None and hierarchy["type"] == "mask" and _is_masked(label, as_text(value), hierarchy):
        return True
    if label is None:
        return value is None
    if value is not None and _is_same(label, value):
        return True
    if label.startswith("{") and label.endswith("}"):
        return any(covers(member, value, hierarchy, files) for member in _members(label) if member != label)
    return value is not None and _is_between(label, value, hierarchy)


def as_text(value: Any) -> str | None:
    """A value as the package reads it into text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, timedelta):
        return str(value // timedelta(seconds=1))  # columns of durations count seconds
    return value.isoformat() if isinstance(value, date) else str(value)


def ancestors(value: Any, hierarchy: Hierarchy | None, files: Mapping[str, str]) -> Iterator[str | None]:
    """The labels that stand for a value: itself, and one for each level of its hierarchy. Masks are read, not listed."""
    text = as_text(value)
    yield text
    if hierarchy is None:
        return
    kind = hierarchy["type"]
    if kind == "groups":
        for groups in hierarchy["levels"]:
            text = next((label for label, members in groups.items() if text in map(str, members)), None)
            yield text
    elif kind == "file":
        rows = [
            row
            for row in csv.reader(io.StringIO(files[hierarchy["path"]]), delimiter=_mark(files[hierarchy["path"]]))
            if row
        ]
        yield from next((row[1:] for row in rows if row[0] == (text or "")), [])
        tops = {row[-1] for row in rows}
        yield from tops if len(tops) == 1 else ()
    elif kind == "intervals" and value is not None:
        yield from (_interval(number_of(value), width, hierarchy.get("origin", 0)) for width in hierarchy["widths"])
    elif kind == "dates" and value is not None:
        yield from (_calendar(moment_of(value, hierarchy), unit) for unit in hierarchy["units"])
    if kind != "file":
        yield hierarchy.get("label", "*")


def _mark(text: str) -> str:
    return ";" if ";" in text.partition("\n")[0] else ","


def _is_masked(label: str | None, text: str | None, hierarchy: Hierarchy) -> bool:
    """Whether a label shows a part of the text, and the mask character in all other places."""
    char = hierarchy.get("char", "*")
    if label is not None and set(label) <= {char}:
        return True
    if label is None or text is None:
        return False
    length = max(len(label), len(text))
    if hierarchy.get("side", "right") == "right":
        padded, shown = text.ljust(length, char), label.rstrip(char)
        return padded.startswith(shown) or padded == label
    padded, shown = text.rjust(length, char), label.lstrip(char)
    return padded.endswith(shown) or padded == label


def _members(label: str) -> list[str | None]:
    try:
        return set_members(label)
    except (AssertionError, ValueError):
        return []


WRITTEN_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


def number_of(value: Any) -> Fraction | None:
    """A value or a text as an exact number; a double stands for the shortest decimal that gives it.

    docs/reference/policy.md says what a number is; Python takes more texts for numbers, such as 1_000 and digits of other scripts.
    An exponent of many digits is text, because the number would fill the memory.
    """
    text = str(value).strip()
    if len(text) > 300 or WRITTEN_NUMBER.fullmatch(text) is None:
        return None
    exponent = int(text.lower().partition("e")[2] or 0)
    return Fraction(text) if abs(exponent) < 400 and math.isfinite(float(text)) else None


def moment_of(value: Any, hierarchy: Hierarchy | None) -> datetime | None:
    """A value or a text as a moment."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    form = None if hierarchy is None else hierarchy.get("format")
    for read in ([lambda t: datetime.strptime(t, form)] if form else []) + [datetime.fromisoformat]:
        try:
            moment = read(str(value).strip())
        except ValueError:
            continue
        return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    return None


def _is_same(label: str, value: Any) -> bool:
    """Whether a label is a value in other words: 1.50 for 1.5, or a moment with more or fewer zeros."""
    if isinstance(value, datetime):
        return moment_of(label, None) == value
    number = number_of(label)
    return number is not None and number == number_of(value)


def _interval(number: Fraction | None, width: Any, origin: Any) -> str | None:
    if number is None:
        return None
    width, origin = Fraction(str(width)), Fraction(str(origin))
    low = origin + width * math.floor((number - origin) / width)
    return f"[{_plain(low)}, {_plain(low + width)})"


def _plain(number: Fraction) -> str:
    digits = next(d for d in range(60) if (number * 10**d).denominator == 1)
    return f"{Decimal(int(number * 10**digits)).scaleb(-digits):f}"


def _calendar(moment: datetime | None, unit: str) -> str | None:
    if moment is None:
        return None
    year, week, _ = moment.isocalendar()
    return {
        "day": f"{moment.year:04}-{moment.month:02}-{moment.day:02}",
        "week": f"{year:04}-W{week:02}",
        "month": f"{moment.year:04}-{moment.month:02}",
        "quarter": f"{moment.year:04}-Q{(moment.month - 1) // 3 + 1}",
        "year": f"{moment.year:04}",
        "decade": f"{moment.year // 10 * 10:04}s",
    }[unit]


def _is_between(label: str, value: Any, hierarchy: Hierarchy | None) -> bool:
    """Whether a number or a moment lies in a published interval: [a, b], (a, b], [a, b), <= a, > a, or "not null"."""
    if label == "not null":
        return True
    for read in (number_of, lambda text: moment_of(text, hierarchy)):
        own: Any = read(value)
        if own is None:
            continue
        for sign, holds in (("<= ", own.__le__), (">= ", own.__ge__), ("< ", own.__lt__), ("> ", own.__gt__)):
            bound = read(label.removeprefix(sign)) if label.startswith(sign) else None
            if bound is not None:
                return bool(holds(bound))
        if label[:1] not in "[(" or label[-1:] not in "])":
            continue
        parts = label[1:-1].split(", ")
        for cut in range(1, len(parts)):
            low, high = read(", ".join(parts[:cut])), read(", ".join(parts[cut:]))
            if low is None or high is None:
                continue
            above = low <= own if label[0] == "[" else low < own
            below = own <= high if label[-1] == "]" else own < high
            if above and below:
                return True
    return False

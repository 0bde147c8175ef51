# SPDX-License-Identifier: Apache-2.0
"""Figures of one column of a table, all with as many decimals, so that they can be compared by eye."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from kepsilon.pages.wording import NOTHING

_DIGITS = 3
"""Of the largest figure of a column, where it is below 1."""
_MOST_DECIMALS = 3
"""One record of the largest data set is 0.0007 %; files have every digit."""

PER_CENT = (
    "Per cent: the closed form, then in brackets the mean of the runs ± the standard deviation of a single run. Whiskers in "
    "the charts are twice as long; one that leaves the axis ends in an arrow."
)


def known(number: float | None) -> float | None:
    return None if number is None or math.isnan(number) else number


def decimals(numbers: Sequence[float]) -> int:
    """Two, fewer for hundreds and more for what is below 1."""
    largest = max((abs(number) for number in numbers), default=0.0)
    if largest == 0:
        return 0
    if largest >= 1:
        return 2 if largest < 100 else 1 if largest < 1000 else 0
    return min(_DIGITS - 1 - math.floor(math.log10(largest)), _MOST_DECIMALS)


def column(spreads: Sequence[Mapping[str, Any]]) -> list[str]:
    """In per cent: closed form (mean ± deviation)."""
    rows = [tuple(known(one.get(key)) for key in ("expected", "mean", "deviation")) for one in spreads]
    digits = decimals([100 * number for row in rows for number in row[:2] if number is not None])

    def words(number: float | None) -> str:
        return NOTHING if number is None else f"{100 * number:,.{digits}f}"

    found = []
    for closed, mean, deviation in rows:
        runs = "" if mean is None else f" ({words(mean)}{'' if deviation is None else f' ± {words(deviation)}'})"
        found.append(words(closed) + runs)
    return found


def plain_column(numbers: Sequence[float | None], *, times: float = 1.0) -> list[str]:
    shown = [None if (one := known(number)) is None else times * one for number in numbers]
    digits = decimals([number for number in shown if number is not None])
    return [NOTHING if number is None else f"{number:,.{digits}f}" for number in shown]


def shares(numbers: Sequence[float | None]) -> list[str]:
    """In per cent."""
    return plain_column(numbers, times=100)


def across(columns: Sequence[Sequence[str]]) -> list[list[str]]:
    """Rows of a table from its columns."""
    return [list(row) for row in zip(*columns, strict=True)]


def tidied(words: str) -> str:
    """A minus before a number, and a space before per cent."""
    return re.sub(r"(?<=\d)%", " %", re.sub(r"(?<![\w.)-])-(?=\d)", "\N{MINUS SIGN}", words))

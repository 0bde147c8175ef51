# SPDX-License-Identifier: Apache-2.0
"""How data sets, attributes and figures are written on the page; all figures of one column have as many decimals."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from kepsilon.json_values import Json
from kepsilon.pages.figures.figure import Table
from kepsilon.pages.wording import NOTHING
from kepsilon.reproduce.scope import ALGORITHM_NAMES

TITLES = {"adult": "Adult", "florida": "Florida", "michigan": "Michigan"}
STAND_INS = frozenset({"florida", "michigan"})
STAND_IN = "(stand-in)"
EPSILON_QUASIS = {"adult": "height", "florida": "height", "michigan": "weight"}
"""The attribute that gets noise, and that is the extra k-quasi where that is tried."""

_DIGITS = 3
"""Digits of the largest figure of a column, where it is below 1."""
_MOST_DECIMALS = 3
"""One record of the largest data set is 0.0007 %; files have every digit."""


def title_of(data_set: str, title: str | None = None, *, is_stand_in: bool | None = None) -> str:
    """A data set's title; a stand-in's always says what it is."""
    title = title or TITLES.get(data_set, data_set)
    made_up = data_set in STAND_INS if is_stand_in is None else is_stand_in
    return f"{title} {STAND_IN}" if made_up and "stand-in" not in title else title


def data_set_title(measured: Json) -> str:
    """The title of the data set that was measured."""
    return title_of(measured["data_set"], measured.get("title"), is_stand_in=measured.get("is_stand_in"))


def panel_title(measured: Json) -> str:
    """The data set's title and, where one was used, the algorithm's."""
    algorithm = measured.get("algorithm")
    of = data_set_title(measured)
    return f"{of}, {ALGORITHM_NAMES.get(algorithm, algorithm)}" if algorithm else of


def attribute_name(name: str) -> str:
    """An attribute's name as people write it."""
    return "ZIP code" if name == "zip" else name.replace("_", " ")


def levels_words(levels: Json | None) -> str | None:
    """The level of every attribute's hierarchy, in one line."""
    return None if levels is None else ", ".join(f"{attribute_name(name)} {level}" for name, level in levels.items())


def known(number: float | None) -> float | None:
    """The number; None if it is not one."""
    return None if number is None or math.isnan(number) else number


def decimals(numbers: Sequence[float]) -> int:
    """How many decimals a column shows: two, fewer for hundreds and more for what is below 1."""
    largest = max((abs(number) for number in numbers), default=0.0)
    if largest == 0:
        return 0
    if largest >= 1:
        return 2 if largest < 100 else 1 if largest < 1000 else 0
    return min(_DIGITS - 1 - math.floor(math.log10(largest)), _MOST_DECIMALS)


def spread_words(spreads: Sequence[Mapping[str, Any]]) -> list[str]:
    """A column in per cent: closed form (mean ± deviation)."""
    rows = [[known(one.get(key)) for key in ("expected", "mean", "deviation")] for one in spreads]
    digits = decimals([100 * number for row in rows for number in row[:2] if number is not None])
    found = []
    for row in rows:
        closed, mean, deviation = (NOTHING if number is None else f"{100 * number:,.{digits}f}" for number in row)
        spread = "" if row[2] is None else f" ± {deviation}"
        found.append(closed if row[1] is None else f"{closed} ({mean}{spread})")
    return found


def numbers(found: Sequence[float | None], *, times: float = 1.0) -> list[str]:
    """A column of numbers, each multiplied by `times`."""
    shown = [None if (one := known(number)) is None else times * one for number in found]
    digits = decimals([number for number in shown if number is not None])
    return [NOTHING if number is None else f"{number:,.{digits}f}" for number in shown]


def shares(found: Sequence[float | None]) -> list[str]:
    """A column of shares in per cent."""
    return numbers(found, times=100)


def table_of(columns: Mapping[str, Sequence[str]], *, n_words: int = 0) -> Table:
    """A table from its columns under their headers; the first `n_words` of them are words."""
    return Table(headers=[*columns], rows=[[*row] for row in zip(*columns.values(), strict=True)], n_words=n_words)


def tidied(words: str) -> str:
    """The words with a minus before a number, and a space before per cent."""
    return re.sub(r"(?<=\d)%", " %", re.sub(r"(?<![\w.)-])-(?=\d)", "\N{MINUS SIGN}", words))

# SPDX-License-Identifier: Apache-2.0
"""Whether numbers that are stored as text are written in one way, with no digits that the number itself does not have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation

_MOST_DIGITS = 17
"""Significant digits that tell every double from every other."""

Style = Callable[[float], str]


def are_written_in_one_way(texts: Sequence[str], rendered: Sequence[str]) -> bool:
    """Whether one rule turns every number into the text that stands there.

    `rendered` are the texts that a release would have for the same numbers. Other programs write as many decimals for every
    number, as many significant digits, or the fewest that tell doubles apart.
    """
    if list(texts) == list(rendered):
        return True
    try:
        numbers = [float(text) for text in texts]
        return any(
            all(_writes(style, x, text) for x, text in zip(numbers, texts, strict=True)) for style in _styles(texts)
        )
    except (ValueError, OverflowError, InvalidOperation):
        return False


def _writes(style: Style, number: float, text: str) -> bool:
    return style(number) == text


def _styles(texts: Sequence[str]) -> list[Style]:
    n_decimals = {len(text.partition(".")[2]) for text in texts}
    styles: list[Style] = [repr, _whole_or_shortest]
    if len(n_decimals) == 1:
        (n,) = n_decimals
        styles += [lambda x: f"{Decimal(repr(x)):.{n}f}", lambda x: f"{x:.{n}f}"]
    styles += [_significant(n) for n in range(1, _MOST_DIGITS + 1)]
    return styles


def _whole_or_shortest(number: float) -> str:
    return str(int(number)) if number.is_integer() else repr(number)


def _significant(n: int) -> Style:
    return lambda x: f"{x:.{n}g}"

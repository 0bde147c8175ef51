# SPDX-License-Identifier: Apache-2.0
"""Numbers and lists as text for the pages, which a data-protection officer reads."""

from __future__ import annotations

from collections.abc import Sequence

from kepsilon.rounding import UNDEFINED, number, out_of
from kepsilon.rounding import percent as rounded_percent

NOTHING = UNDEFINED
NO_BREAK = "\N{NO-BREAK SPACE}"

__all__ = [
    "NOTHING",
    "NO_BREAK",
    "capital",
    "counted_by_value",
    "distortion",
    "exact",
    "give",
    "listed",
    "number",
    "out_of",
    "percent",
    "plural",
]


def percent(share: float | None) -> str:
    """A share in per cent by the common rule, on one line with its sign."""
    return rounded_percent(share).replace(" %", f"{NO_BREAK}%")


def counted_by_value(n: int, k: int) -> str:
    """A number of records with certain values; "fewer than k" in place of 1 to k − 1."""
    return f"fewer than {k}" if 0 < n < k else f"{n:,}"


def give(standard_error: float | None) -> str:
    """Two standard errors of a simulated figure, such as " ± 0.3 %"; empty for an exact figure."""
    return f" ± {percent(2 * standard_error)}" if standard_error else ""


def distortion(value: float | None) -> str:
    """A distortion with three decimals, as on the terminal."""
    return "undefined" if value is None else f"{value:.3f}"


def exact(value: float | None) -> str:
    """A parameter as it was set; a rounded one would be another parameter."""
    if value is None:
        return NOTHING
    return f"{value:,}" if isinstance(value, int) else f"{int(value):,}" if value == int(value) else repr(value)


def listed(names: Sequence[str]) -> str:
    """Names as a list in a sentence: "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def plural(n: int, one: str, many: str | None = None) -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def capital(words: str) -> str:
    """Words as a sentence begins: with a capital letter."""
    return words[:1].upper() + words[1:]

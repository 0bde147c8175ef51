# SPDX-License-Identifier: Apache-2.0
"""Numbers and lists as text for the pages, which a data-protection officer reads."""

from __future__ import annotations

from collections.abc import Sequence

NOTHING = "–"
NO_BREAK = "\N{NO-BREAK SPACE}"


def percent(share: float | None) -> str:
    """A share in per cent with one decimal; below 1 % with two digits, and never rounded to 0 % or 100 %."""
    if share is None:
        return NOTHING
    value = 100 * share
    if 99 < value < 100:
        digits = f"{min(value, 99.99):.2f}"
    elif 0 < value < 0.001:
        digits = "under 0.001"
    elif value < 1:
        digits = f"{float(f'{value:.2g}'):g}"
    else:
        digits = f"{value:,.0f}" if value >= 1000 else f"{value:.1f}".removesuffix(".0")
    return digits + NO_BREAK + "%"


def out_of(share: float) -> str:
    """A share as a number in 100, 1,000 and so on, such as "3 in 1,000"."""
    if share <= 0:
        return "none"
    for base in (100, 1_000, 10_000, 100_000, 1_000_000):
        if share * base >= 0.995:
            many = share * base
            return f"{f'{many:.0f}' if many >= 9.95 else f'{many:.1f}'.removesuffix('.0')} in {base:,}"
    return "fewer than 1 in 1,000,000"


def counted_by_value(n: int, k: int) -> str:
    """A number of records with certain values; "fewer than k" in place of 1 to k − 1."""
    return f"fewer than {k}" if 0 < n < k else f"{n:,}"


def give(standard_error: float | None) -> str:
    """Two standard errors of a simulated figure, such as " ± 0.3 %"; empty for an exact figure."""
    return f" ± {percent(2 * standard_error)}" if standard_error else ""


def distortion(value: float | None) -> str:
    """A distortion with three decimals, as on the terminal."""
    return "undefined" if value is None else f"{value:.3f}"


def number(value: float | None, digits: int = 3) -> str:
    if value is None:
        return NOTHING
    if isinstance(value, int) or abs(value) >= 10**digits:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


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

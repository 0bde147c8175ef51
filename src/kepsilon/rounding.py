# SPDX-License-Identifier: Apache-2.0
"""The one way in which numbers are rounded for people to read: on screens, in pages and in sentences.

Numbers in JSON are never rounded, and neither are settings: a rounded k or ε would be another one.
"""

from __future__ import annotations

import math

UNDEFINED = "–"
"""What stands for a figure that is undefined."""
_MINUS = "\N{MINUS SIGN}"


def percent(share: float | None) -> str:
    """A share in per cent with one decimal; below 1 % with two digits, and never rounded to 0 % or 100 %."""
    if share is None or math.isnan(share):
        return UNDEFINED
    if share < 0:
        return _MINUS + percent(-share)
    value = 100 * share
    if 99 < value < 100:
        digits = f"{min(value, 99.99):.2f}".rstrip("0").rstrip(".")
    elif 0 < value < 0.001:
        digits = "under 0.001"
    elif value < 1:
        digits = f"{float(f'{value:.2g}'):g}"
    else:
        digits = f"{value:,.0f}" if value >= 1000 else f"{value:.1f}".removesuffix(".0")
    return f"{digits} %"


def percent_at_most(share: float) -> str:
    """A bound in per cent, rounded up as far as `percent` shows digits: what is said to be at most this much is no more."""
    value = 100 * share
    if value <= 0:
        return "0 %"
    unit = 10.0 ** (math.floor(math.log10(value)) - 1) if value < 1 else 0.1 if value <= 99 else 0.01
    return f"{min(100.0, float(f'{math.ceil(value / unit - 1e-9) * unit:.12g}')):g} %"


def percent_above(share: float, limit: float) -> str:
    """A share above a limit in per cent, with as many digits as show that it is above: 5.03 % where 5 % is allowed."""
    shown = percent(share)
    if share > limit and shown == percent(limit):
        value = 100 * share
        digits = (decimals for decimals in range(1, 8) if round(value, decimals) > round(100 * limit, decimals))
        shown = f"{value:.{next(digits, 8)}f} %"
    return shown


def out_of(share: float) -> str:
    """A share as a number in 100, 1,000 and so on, such as "3 in 1,000"."""
    if share <= 0:
        return "none"
    for base in (100, 1_000, 10_000, 100_000, 1_000_000):
        if share * base >= 0.995:
            many = share * base
            return f"{f'{many:.0f}' if many >= 9.95 else f'{many:.1f}'.removesuffix('.0')} in {base:,}"
    return "fewer than 1 in 1,000,000"


def number(figure: float | None, *, finer: int = 0) -> str:
    """A figure with three significant digits, or `finer` more, and all digits before the point; whole counts as they are."""
    if figure is None or math.isnan(figure):
        return UNDEFINED
    size = abs(figure)
    if isinstance(figure, int) or math.isinf(size):
        return f"{figure:,}".replace("-", _MINUS)
    if size == 0:
        return "0"
    if size < 1e-4 or size >= 1e15:
        return f"{figure:.{2 + finer}e}".replace("-", _MINUS)
    decimals = max(0, 2 + finer - math.floor(math.log10(size) + 1e-4))
    return f"{figure:,.{decimals}f}".replace("-", _MINUS)


def told_apart(one: float, other: float) -> tuple[str, str]:
    """Two figures with as many digits as show how far they are apart, at most six."""
    distance, size = abs(one - other), max(abs(one), abs(other))
    finer = min(3, max(0, math.ceil(math.log10(size / distance)) - 2)) if 0 < distance < math.inf else 0
    return number(one, finer=finer), number(other, finer=finer)

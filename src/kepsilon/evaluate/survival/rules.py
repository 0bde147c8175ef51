# SPDX-License-Identifier: Apache-2.0
"""The rules by which a statistic of a release may be used instead of that of the original.

Each function returns the change of a statistic as a multiple of what is allowed: at most 1, and it may be used. None where
the statistic is undefined.
"""

from __future__ import annotations

import math

LARGEST_SHIFT = 0.1
"""A mean or a quantile may move by this share of the spread before: half of what is called a small effect."""
LARGEST_STRETCH = 0.1
"""A spread may change by this share of itself."""
LARGEST_CORRELATION_SHIFT = 0.05
"""Signs then differ only where both correlations are next to nothing."""
LARGEST_SLOPE_CHANGE = 0.1
"""A slope may change by this share of itself, or by its standard error before: chance would move it as far."""
LEAST_CORRELATION = 0.7
"""Inside classes, published values tell more than half of how true ones vary from this correlation on: its square is ½."""


def shift(before: float | None, after: float | None, *, spread: float | None) -> float | None:
    """The shift of a mean or a quantile; `spread` is that before."""
    if before is None or spread is None:
        return None
    return math.inf if after is None else _share(abs(after - before), LARGEST_SHIFT * spread)


def stretch(before: float | None, after: float | None) -> float | None:
    """The change of a spread."""
    if before is None:
        return None
    return math.inf if after is None else _share(abs(after - before), LARGEST_STRETCH * before)


def correlation_shift(before: float | None, after: float | None) -> float | None:
    """The change of a correlation."""
    if before is None:
        return None
    return math.inf if after is None else _share(abs(after - before), LARGEST_CORRELATION_SHIFT)


def slope_change(before: float | None, after: float | None, *, standard_error: float) -> float | None:
    """The change of a slope, whose standard error before is given."""
    if before is None:
        return None
    allowed = max(LARGEST_SLOPE_CHANGE * abs(before), standard_error)
    return math.inf if after is None else _share(abs(after - before), allowed)


def deafness(correlation: float | None) -> float | None:
    """How far published values are from following the true ones inside classes."""
    if correlation is None:
        return None
    return LEAST_CORRELATION / correlation if correlation > 0 else math.inf


def tells_more_than_class(error: float | None, *, of_constant: float | None) -> bool | None:
    """Whether published values tell more about single records than the best constant per class would; None where undefined.

    A column that is published as it is has no error, and tells all, also where every class is constant.
    """
    if error is None or of_constant is None:
        return None
    return error == 0 or error < of_constant


def usable(change: float | None) -> bool | None:
    """Whether a change, as the functions here return it, leaves a statistic that may be used; None where undefined."""
    return None if change is None else change <= 1 + 1e-9  # for the rounding of doubles


def _share(change: float, allowed: float) -> float:
    """The change in units of what is allowed."""
    if change == 0:
        return 0.0
    return change / allowed if allowed > 0 else math.inf

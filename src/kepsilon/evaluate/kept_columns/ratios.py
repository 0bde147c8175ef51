# SPDX-License-Identifier: Apache-2.0
"""The attacker who divides a kept number by a quasi: the most frequent quotient shows a copy in other units.

He finds it, too, where only a part of the records holds the copy, which would spoil a formula for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.kept_columns.coding import is_measured, numbers_of
from kepsilon.evaluate.kept_columns.guesses import FEWEST_SHOWN, Guess
from kepsilon.evaluate.kept_columns.links import NOBODY, on_grid
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.whole_records import WholeColumn

STEP = 0.004
"""Quotients are counted in steps of their logarithm: about as fine as rounding leaves those of a copy in other units."""
FEWEST_ALIKE = 0.02
"""A most frequent quotient that a smaller share of the records has links too few of them to matter."""

_TAIL = 0.0005


@dataclass(frozen=True, slots=True, kw_only=True)
class Divisor:
    """A quasi with many distinct numbers, as quotients need it."""

    name: str
    logarithms: FloatArray
    """Logarithms of the numbers without their sign, NaN for 0 and where missing, shape (n_records,)."""
    signs: FloatArray
    low: float
    high: float
    """Nearly all numbers are between these, which are shares of `largest`."""
    log_largest: float
    known: IntArray
    """The numbers on the grid of links."""
    ranking: IntArray


def divisor_of(name: str, quasi: WholeColumn) -> Divisor | None:
    """The quasi as a divisor; None where it has few distinct numbers, or hardly any that differ."""
    values = numbers_of(quasi)
    if values is None or not is_measured(quasi):
        return None
    largest = float(np.nanmax(np.abs(values)))
    scaled = values / largest
    low, high = (float(own) for own in np.nanquantile(scaled, [_TAIL, 1 - _TAIL]))
    if not high - low > np.finfo(np.float64).tiny:
        return None
    known = on_grid(np.nan_to_num(scaled), low=low, high=high)
    known[np.isnan(values)] = NOBODY
    logarithms, signs = _logarithms(values)
    return Divisor(
        name=name,
        logarithms=logarithms,
        signs=signs,
        low=low,
        high=high,
        log_largest=float(np.log(largest)),
        known=known,
        ranking=np.argsort(known).astype(np.int32),
    )


def ratio_guesses(column: WholeColumn, divisors: list[Divisor]) -> list[Guess]:
    """A guess for each divisor that has a frequent quotient with the column."""
    values = numbers_of(column)
    if values is None or not is_measured(column):
        return []
    logarithms, signs = _logarithms(values)
    found = []
    for divisor in divisors:
        quotients = logarithms - divisor.logarithms
        is_shown = ~np.isnan(quotients) & (signs == divisor.signs)
        modal = _modal(quotients[is_shown])
        if modal is None:
            continue
        # Beyond e^700 a double overflows; what is that far is moved to the end of the grid anyway.
        sizes = np.exp(np.clip(np.nan_to_num(logarithms - modal - divisor.log_largest), -700.0, 700.0))
        found.append(
            Guess(
                shown=on_grid(signs * sizes, low=divisor.low, high=divisor.high),
                known=divisor.known,
                is_shown=is_shown,
                ranking=divisor.ranking,
                by="ratio",
                of=divisor.name,
            )
        )
    return found


def _logarithms(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Logarithms without the sign, NaN where there is none, and the signs."""
    signs = np.sign(np.nan_to_num(values))
    return np.log(np.where(signs == 0, np.nan, np.abs(values))), signs


def _modal(quotients: FloatArray) -> float | None:
    """The most frequent logarithm of a quotient; None where too few records share it."""
    if len(quotients) < FEWEST_SHOWN:
        return None
    steps = np.floor(quotients / STEP).astype(np.int64)
    steps -= steps.min()
    counts = np.bincount(steps, minlength=int(steps.max()) + 2)
    # Two neighbouring steps together, so that none is missed for lying on a boundary.
    mode = int((counts[:-1] + counts[1:]).argmax())
    alike = quotients[(steps == mode) | (steps == mode + 1)]
    return float(np.median(alike)) if len(alike) >= max(FEWEST_SHOWN, FEWEST_ALIKE * len(quotients)) else None

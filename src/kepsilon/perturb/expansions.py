# SPDX-License-Identifier: Apache-2.0
"""The binary expansions of the probabilities that noise is drawn with, every digit of them certain.

A geometric variable cut into groups of digits has independent groups, and a group with value v has probability
proportional to exp(−step·v). Its distribution function is computed here in integers that enclose it from below and
above; a digit is used only where both agree. No floating-point exponential is involved, so nothing rests on how well
a platform's mathematical library rounds.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

GROUP_VALUES = 256
"""A group is eight binary digits."""


def cumulative(step: Fraction, *, is_top: bool, bits: int, n_values: int = GROUP_VALUES) -> tuple[int, ...]:
    """⌊2^bits · P(group < v)⌋ for v = 1, 2, …: where a uniform number passes from value v − 1 to value v.

    A group below the top has the values 0 … n − 1, n being 256 or a smaller power of two, and P(group < v) =
    (1 − e^(−step·v)) / (1 − e^(−n·step)), so n − 1 boundaries. The top group is the rest of the geometric variable,
    P(group < v) = 1 − e^(−step·v), up to v = n; beyond the last boundary lies "n or more".

    e^(−step) is irrational (Lindemann) and so is every boundary: none of them lies on a multiple of 2^−bits, and the
    search for enough working digits ends.
    """
    spare = 128
    while (found := _cumulative(step, is_top=is_top, bits=bits, working_bits=bits + spare, n_values=n_values)) is None:
        spare *= 2
    return found


def _cumulative(
    step: Fraction, *, is_top: bool, bits: int, working_bits: int, n_values: int = GROUP_VALUES
) -> tuple[int, ...] | None:
    """The boundaries of `cumulative`, or None if the working digits leave the floor of one in doubt."""
    one = 1 << working_bits
    lows, highs = [one], [one]
    low, high = exp_minus(step, bits=working_bits)
    for _ in range(n_values):
        lows.append(lows[-1] * low >> working_bits)
        highs.append(-(-highs[-1] * high >> working_bits))
    whole_low, whole_high = (one, one) if is_top else (one - highs[n_values], one - lows[n_values])
    # A probability below 1 never fills all its digits with a carry: it is cut off at 2^bits − 1.
    largest = (1 << bits) - 1
    boundaries = []
    for v in range(1, n_values + is_top):
        floor = min(((one - highs[v]) << bits) // whole_high, largest)
        if floor != min(((one - lows[v]) << bits) // whole_low, largest):
            return None
        boundaries.append(floor)
    return tuple(boundaries)


def exp_minus(x: Fraction, *, bits: int) -> tuple[int, int]:
    """Integers that enclose 2^bits · e^(−x), for x > 0."""
    precision = math.ceil(bits * math.log10(2)) + 8
    down = Context(prec=precision, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)
    up = Context(prec=precision, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
    numerator, denominator = Decimal(-x.numerator), Decimal(x.denominator)
    # `exp` is specified to round correctly to nearest, so its neighbours enclose the true value.
    low = down.next_minus(down.exp(down.divide(numerator, denominator)))
    high = up.next_plus(up.exp(up.divide(numerator, denominator)))
    return math.floor(Fraction(low) * 2**bits), math.ceil(Fraction(high) * 2**bits)

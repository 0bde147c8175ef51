# SPDX-License-Identifier: Apache-2.0
"""The law of `bounded-laplace` on small grids, point by point, with as many digits as asked for."""

from __future__ import annotations

from decimal import Decimal, localcontext

DIGITS = 60


def law(n, n_steps, epsilon):
    """P(y | n) for y = 0 … n_steps, n being the place of the value."""
    with localcontext() as exact:
        exact.prec = DIGITS
        t = Decimal(epsilon.numerator) / Decimal(epsilon.denominator) / n_steps
        weights = [(-t * abs(y - n)).exp() for y in range(n_steps + 1)]
        whole = sum(weights)
        return [weight / whole for weight in weights]


def largest_log_ratio(laws):
    """The largest of ln P(y | n) − ln P(y | n') over all outputs and pairs of places."""
    with localcontext() as exact:
        exact.prec = DIGITS
        return max((max(column) / min(column)).ln() for column in zip(*laws, strict=True))

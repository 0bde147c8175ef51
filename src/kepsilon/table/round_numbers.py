# SPDX-License-Identifier: Apache-2.0
"""Round numbers for the widths of bins and the steps of axes, so that these tell nothing about the data."""

from __future__ import annotations

import math


def nice_step(target: float) -> float:
    """The smallest 1, 2 or 5 times a power of ten that is at least `target`."""
    power = math.floor(math.log10(target))
    steps = (float(f"{m}e{e}") for e in (power, power + 1) for m in (1, 2, 5))
    return next(step for step in steps if step >= target * (1 - 1e-9))

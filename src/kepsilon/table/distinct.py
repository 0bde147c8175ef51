# SPDX-License-Identifier: Apache-2.0
"""How many distinct values or combinations a table has, from a sample of its records."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import IntArray

_STANDARD_ERRORS = 5
"""What `at_least` allows for chance: one sample in some three million would say too much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctCount:
    """What a sample tells of how many there are."""

    seen: int
    """In the sample; there are no fewer."""
    at_least: int
    """Beyond chance, if the records were drawn at random."""
    low: int
    """On average no more than there are."""
    high: int
    """May be more or fewer than there are."""

    @property
    def about(self) -> int:
        """Between the two, off by no more than the square root of what the wrong one of them is off by."""
        return round(math.sqrt(self.low * self.high))


def estimate_distinct(counts: IntArray, *, n_records: int) -> DistinctCount:
    """From how often each one came up in a sample of a table of `n_records` records, drawn without replacement.

    `low` is Chao's estimator for samples without replacement [Chao & Lin 2012]: with f₁ that came up once, f₂ twice, and a
    sampled share q of the records, at least f₁² / (2 f₂ + f₁ q/(1 − q)) never came up. It follows from the inequality of
    Cauchy and Schwarz whatever the frequencies are, so that its bias is known: never upwards but for chance, nothing where all
    are equally frequent, and downwards the more they differ. `at_least` is the same with f₁ and f₂ five standard errors
    in the cautious direction; neither varies more than a Poisson variable.

    `high` is GEE [Charikar et al. 2000], which takes those that came up once for √(1/q) each. It is never off by more than
    about that factor, and no estimator can promise less; where most are rare, as combinations are, it is the nearer one.

    Records that lie side by side in sorted files are alike, which makes all of them lower. What was never seen cannot be more than
    the records that were not looked at.
    """
    seen, n_sampled = len(counts), int(counts.sum())
    n_left = n_records - n_sampled
    if n_left <= 0 or not seen:
        return DistinctCount(seen=seen, at_least=seen, low=seen, high=seen)
    once, twice = (float(np.count_nonzero(counts == n)) for n in (1, 2))
    share = n_sampled / n_left

    def unseen(once: float, twice: float) -> int:
        return min(n_left, int(once**2 / (2 * twice + share * once))) if once > 0 else 0

    fewer_once = once - _STANDARD_ERRORS * math.sqrt(once)
    more_twice = twice + _STANDARD_ERRORS * math.sqrt(twice) + _STANDARD_ERRORS**2
    low = seen + unseen(once, max(twice, 0.5))
    of_rare = seen + min(n_left, int((math.sqrt(n_records / n_sampled) - 1) * once))
    return DistinctCount(seen=seen, at_least=seen + unseen(fewer_once, more_twice), low=low, high=max(low, of_rare))

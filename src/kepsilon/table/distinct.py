# SPDX-License-Identifier: Apache-2.0
"""How many distinct values or combinations a table has, from a sample of its records."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctCount:
    """What a sample tells of how many there are."""

    seen: int
    """In the sample; there are no fewer."""
    low: int
    """On average no more than there are, if the records were drawn at random."""
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
    Cauchy and Schwarz whatever the frequencies are, so that its bias is known where records are drawn at random from all of the
    table: never upwards but for chance, nothing where all are equally frequent, and downwards the more they differ.

    `high` is GEE [Charikar et al. 2000], which takes those that came up once for √(1/q) each. It is never off by more than
    about that factor, and no estimator can promise less; where most are rare, as combinations are, it is the nearer one.

    A sample of the first records of each row group is random only as far as the order of the files is. Where those that lie side
    by side are alike, as in sorted files, both come out lower; where the records that were not looked at are more alike than
    those that were, both come out higher, and by any factor. What was never seen cannot be more than the records that were
    not looked at.
    """
    seen, n_sampled = len(counts), int(counts.sum())
    n_left = n_records - n_sampled
    if n_left <= 0 or not seen:
        return DistinctCount(seen=seen, low=seen, high=seen)
    once, twice = (float(np.count_nonzero(counts == n)) for n in (1, 2))
    share = n_sampled / n_left
    low = seen + min(n_left, int(once**2 / (2 * max(twice, 0.5) + share * once)))
    of_rare = seen + min(n_left, int((math.sqrt(n_records / n_sampled) - 1) * once))
    return DistinctCount(seen=seen, low=low, high=max(low, of_rare))

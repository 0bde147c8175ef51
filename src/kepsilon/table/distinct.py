# SPDX-License-Identifier: Apache-2.0
"""Estimates how many distinct values or combinations a table has, from a sample of its records.

Engines that work under a limit on memory foresee with it whether a table will fit, before they read all of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctCount:
    """How many distinct values or combinations a sample has, and estimates for the whole table."""

    seen: int
    """The number in the sample; the table has no fewer."""
    low: int
    """The lower estimate: on average no more than the table has, if the records were drawn at random."""
    high: int
    """The higher estimate, which may be more or fewer than the table has."""

    @property
    def about(self) -> int:
        """The geometric mean: if one estimate is right, it is off by the square root of the other one's factor."""
        return round(math.sqrt(self.low * self.high))


def estimate_distinct(counts: IntArray, *, n_records: int) -> DistinctCount:
    """Estimates for a table of `n_records` records, from a sample of its records.

    `counts` is how many sampled records have each distinct value or combination, shape (n_seen,).

    `low` is Chao's estimator for samples without replacement [Chao & Lin 2012]: with f₁ values that came up once, f₂
    twice, and a sampled share q of the records, at least f₁² / (2 f₂ + f₁ q/(1 − q)) never came up. It follows from the
    inequality of Cauchy and Schwarz whatever the frequencies are. So its bias is known where records are drawn at random
    from the whole table: none where all values are equally frequent, downwards the more they differ, never upwards.

    `high` is GEE [Charikar et al. 2000], which counts each value that came up once as √(1/q) values. It is never off by
    more than about that factor, and no estimator can promise less. Where most values are rare, as combinations are, it is
    the better one.

    A sample of the first records of each row group is random only as far as the order of the files is. Where neighbouring
    records are alike, as in sorted files, both estimates are too low. Where the records outside the sample are more alike
    than those in it, both are too high, by any factor. There cannot be more unseen values than records outside the sample.
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

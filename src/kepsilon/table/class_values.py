# SPDX-License-Identifier: Apache-2.0
"""Which values of a sensitive column occur in each class and how often, and how varied and how telling they are.

Whether a class is varied enough is decided by whole numbers, without any rounding; for entropy, which is a logarithm,
up to `ENTROPY_ROUNDING`. All figures of all classes are computed at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.sensitive import MISSING, SensitiveCounts

ENTROPY_ROUNDING = 1e-12
"""An entropy may be so far below what is asked for and still meet it: a class of exactly ℓ equally frequent values must
not fail because its logarithms were rounded. The rounding error of some hundred values is a tenth of this."""

_SLOTS_PER_PAIR = 8
"""Adding up in so many slots takes as long as sorting one pair; measured."""

_LARGEST = 1 << 62
"""Products below this fit into 64 bits, also where two of them are added; larger ones are Python's integers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassValues:
    """The values of one sensitive column in some classes: pairs of class and value, sorted by class and then by value."""

    class_ids: IntArray
    """Class of each pair, rising, shape (n_pairs,)."""
    codes: IntArray
    """Code of the value of each pair, shape (n_pairs,)."""
    counts: IntArray
    """Records with the class and the value, shape (n_pairs,), at least 1."""
    n_classes: int

    @property
    def n_distinct(self) -> IntArray:
        """Number of distinct values in each class, shape (n_classes,)."""
        return np.bincount(self.class_ids, minlength=self.n_classes)

    @property
    def totals(self) -> IntArray:
        """Number of records with a value in each class, shape (n_classes,)."""
        return _sums(self.counts, self.class_ids, n_classes=self.n_classes)

    def entropies(self) -> FloatArray:
        """Entropy of the values of each class, in nats, shape (n_classes,); −∞ where a class has no value."""
        totals = self.totals
        shares = self.counts / totals[self.class_ids]
        sums = np.bincount(self.class_ids, weights=-shares * np.log(shares), minlength=self.n_classes)
        found: FloatArray = np.where(totals > 0, sums, -np.inf)
        return found

    def are_entropy_diverse(self, least: float) -> BoolArray:
        """Whether the entropy of each class is at least that of `least` equally frequent values; never without a value."""
        return self.entropies() >= math.log(least) - ENTROPY_ROUNDING

    def are_recursively_diverse(self, c: Fraction, least: int) -> BoolArray:
        """Whether r₁ < c·(r_ℓ + … + r_m) in each class, where r are the counts of its m values, falling, and ℓ is `least`.

        Machanavajjhala et al. 2007. A class with fewer than ℓ values fails, because the sum is then empty.
        """
        order = np.lexsort((-self.counts, self.class_ids))
        counts = self.counts[order]
        n_distinct = self.n_distinct
        starts = np.cumsum(n_distinct) - n_distinct
        place = np.arange(len(counts)) - starts[self.class_ids]  # sorting within classes leaves class_ids as they are
        is_first, is_rest = place == 0, place >= least - 1
        first = _sums(counts[is_first], self.class_ids[is_first], n_classes=self.n_classes)
        rest = _sums(counts[is_rest], self.class_ids[is_rest], n_classes=self.n_classes)
        return is_less(first, rest, ratio=c)


def is_less(left: IntArray, right: IntArray, *, ratio: Fraction, or_equal: bool = False) -> BoolArray:
    """Whether left < ratio · right, or ≤ with `or_equal`, decided without rounding; arrays of integers of one shape."""
    largest = max(int(left.max(initial=0)), int(right.max(initial=0))) * max(ratio.numerator, ratio.denominator)
    dtype: Any = np.int64 if largest < _LARGEST else np.object_
    scaled_left: Any = left.astype(dtype) * ratio.denominator
    scaled_right: Any = right.astype(dtype) * ratio.numerator
    verdict: BoolArray = np.asarray(
        scaled_left <= scaled_right if or_equal else scaled_left < scaled_right, dtype=np.bool_
    )
    return verdict


def values_in_classes(
    class_ids: IntArray, codes: IntArray, *, n_classes: int, n_values: int, counts: IntArray | None = None
) -> ClassValues:
    """The values by class, from the class and the code of every record, or of entries that stand for `counts` records.

    All have one shape. What has no class (SUPPRESSED, −1) or no value (MISSING) is not counted. Codes are below `n_values`.
    """
    is_counted = (class_ids >= 0) & (codes != MISSING)
    if not is_counted.all():
        class_ids, codes = class_ids[is_counted], codes[is_counted]
        counts = None if counts is None else counts[is_counted]
    width = max(1, n_values)
    keys = class_ids * np.int64(width) + codes
    if n_classes * width <= _SLOTS_PER_PAIR * len(keys):
        in_slot = np.bincount(keys, weights=counts, minlength=n_classes * width)
        distinct = np.flatnonzero(in_slot)
        sums = in_slot[distinct]
    else:
        distinct, position = np.unique(keys, return_inverse=True)
        sums = np.bincount(position, weights=counts, minlength=len(distinct))
    found, own = np.divmod(distinct, width)
    return ClassValues(class_ids=found, codes=own, counts=sums.astype(np.int64), n_classes=n_classes)


def values_of_table(counts: SensitiveCounts, class_of: IntArray, *, n_classes: int) -> ClassValues:
    """The values by class, from those of the combinations of a table and the class of every combination."""
    return values_in_classes(
        class_of[counts.combinations],
        counts.codes,
        n_classes=n_classes,
        n_values=counts.n_values,
        counts=counts.counts,
    )


def _sums(counts: IntArray, class_ids: IntArray, *, n_classes: int) -> IntArray:
    """Sum of the counts of each class, shape (n_classes,); exact below 2**53."""
    return np.bincount(class_ids, weights=counts, minlength=n_classes).astype(np.int64)

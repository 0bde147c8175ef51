# SPDX-License-Identifier: Apache-2.0
"""The median of many numbers, and their mean distance from it, from cells that add up over batches.

A cell holds the numbers whose doubles begin with the same bits: sign, exponent and twelve more, so that those of one cell
differ by less than 1/4000 of themselves. Cells are counted and summed, and what is found does not depend on how records
are divided into batches, nor on their order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from kepsilon.table.arrays import FloatArray, IntArray

_LEFT_OUT_BITS = 40
"""The last bits of a double, which cells do not look at: 12 of the 52 behind its exponent are left."""
_NUDGE = 1 << 20
"""Added to the bits before they are cut, so that round numbers, and what rounding makes of them, are in one cell."""
_DENSE = 4
"""Cells are counted in one array if it has at most this many places for each number, which is faster than sorting."""
_CLOSE = 0.001
"""The largest error of a mean distance that is due to the width of cells, as a share of it."""


def _no_ints() -> IntArray:
    return np.zeros(0, dtype=np.int64)


def _no_floats() -> FloatArray:
    return np.zeros(0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ValueCells:
    """Numbers, counted and summed in cells; all arrays have shape (n_cells,)."""

    keys: IntArray = field(default_factory=_no_ints)
    """What tells cells apart, in rising order, which is that of the numbers."""
    counts: IntArray = field(default_factory=_no_ints)
    """Numbers in every cell."""
    sums: FloatArray = field(default_factory=_no_floats)
    """The sum of the numbers of every cell."""
    low: FloatArray = field(default_factory=_no_floats)
    """The smallest number of every cell."""
    high: FloatArray = field(default_factory=_no_floats)
    """The largest number of every cell."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ValueCells):
            return NotImplemented
        pairs = (
            (self.keys, other.keys),
            (self.counts, other.counts),
            (self.sums, other.sums),
            (self.low, other.low),
            (self.high, other.high),
        )
        return all(np.array_equal(one, another) for one, another in pairs)

    __hash__ = None  # type: ignore[assignment]  # arrays have no hash

    @classmethod
    def of(cls, numbers: FloatArray, counts: IntArray | None = None) -> ValueCells:
        """The cells of some numbers, shape (n,); NaN is left out. `counts` says how often each occurs, once without it."""
        present = ~np.isnan(numbers)
        if not present.all():
            numbers, counts = numbers[present], None if counts is None else counts[present]
        with np.errstate(over="ignore"):  # sums beyond the largest double are infinite
            sums = numbers if counts is None else numbers * counts
        return _merged(_keys_of(numbers), counts, sums, numbers, numbers)

    def __add__(self, other: ValueCells) -> ValueCells:
        if not self.keys.size or not other.keys.size:
            return self if self.keys.size else other
        return sum_of_cells((self, other))

    def over(self, divisor: float) -> ValueCells:
        """The cells with every number divided by one that is above 0; they stay in order and keep their keys.

        What is beyond the largest double becomes infinite.
        """
        with np.errstate(over="ignore"):
            return ValueCells(
                keys=self.keys,
                counts=self.counts,
                sums=self.sums / divisor,
                low=self.low / divisor,
                high=self.high / divisor,
            )

    @property
    def n_values(self) -> int:
        """How many numbers there are."""
        return int(self.counts.sum())

    @property
    def median(self) -> float | None:
        """The mean of the cell that holds the lower median; None where there is no number, or it is infinite."""
        if not self.keys.size:
            return None
        place = self._place
        is_one = self.low[place] == self.high[place]  # a sum of equal numbers may be rounded
        found = float(self.low[place] if is_one else self.sums[place] / self.counts[place])
        return found if math.isfinite(found) else None

    @property
    def mean_deviation(self) -> float | None:
        """The mean distance of the numbers from their median; None where that is undefined or overflows.

        Numbers in the cell of the median count as equal to it; all others are exact.
        """
        middle = self.median
        if middle is None:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            distances = np.where(
                self.low == self.high, self.counts * np.abs(self.low - middle), np.abs(self.sums - self.counts * middle)
            )
            distances[self._place] = 0.0
            found = float(distances.sum() / self.n_values)
        return found if math.isfinite(found) else None

    @property
    def are_fine_enough(self) -> bool:
        """Whether `mean_deviation` is exact but for a small share: not where all numbers are far from 0 and close together."""
        deviation = self.mean_deviation
        if deviation is None:
            return True
        place = self._place
        wrong_by = float(self.counts[place] * (self.high[place] - self.low[place])) / self.n_values
        return wrong_by <= _CLOSE * deviation

    @property
    def _place(self) -> int:
        """The position of the cell that holds the lower median."""
        passed = np.cumsum(self.counts)
        return int(np.searchsorted(passed, (passed[-1] + 1) // 2))


def sum_of_cells(parts: Iterable[ValueCells]) -> ValueCells:
    """The cells of several sets of numbers together."""
    own = [part for part in parts if part.keys.size]
    if len(own) < 2:
        return own[0] if own else ValueCells()
    return _merged(
        np.concatenate([part.keys for part in own]),
        np.concatenate([part.counts for part in own]),
        np.concatenate([part.sums for part in own]),
        np.concatenate([part.low for part in own]),
        np.concatenate([part.high for part in own]),
    )


def _keys_of(numbers: FloatArray) -> IntArray:
    """A whole number for every number, rising with it, that is the same for those of one cell."""
    sizes = (np.abs(numbers).view(np.int64) + _NUDGE) >> _LEFT_OUT_BITS
    keys: IntArray = np.where(numbers < 0, -sizes, sizes)
    return keys


def _merged(keys: IntArray, counts: IntArray | None, sums: FloatArray, low: FloatArray, high: FloatArray) -> ValueCells:
    """One cell for each distinct key; `counts` are ones where they are None."""
    if not keys.size:
        return ValueCells()
    first, last = int(keys.min()), int(keys.max())
    if first == 0 and last > 0:  # the key of 0 is far from all others: it gets the place before theirs
        first = int(keys[keys > 0].min()) - 1
    if last - first < _DENSE * len(keys):
        places = np.maximum(keys - first, 0)
        in_places = np.bincount(places)
        used = np.flatnonzero(in_places)
        renumbered = np.zeros(len(in_places), dtype=np.int64)
        renumbered[used] = np.arange(len(used))
        found, places = used + first, renumbered[places]
        found[0] = keys.min()
    else:
        found, places = np.unique(keys, return_inverse=True)
    n_cells = len(found)
    smallest, largest = np.full(n_cells, np.inf), np.full(n_cells, -np.inf)
    np.minimum.at(smallest, places, low)
    np.maximum.at(largest, places, high)
    if counts is None:
        numbers = np.bincount(places, minlength=n_cells)
    else:
        numbers = np.zeros(n_cells, dtype=np.int64)
        np.add.at(numbers, places, counts)
    totals: FloatArray = np.bincount(places, weights=sums, minlength=n_cells).astype(np.float64)
    return ValueCells(
        keys=found,
        counts=numbers,
        sums=totals,
        low=smallest,
        high=largest,
    )

# SPDX-License-Identifier: Apache-2.0
"""The number line of a k-quasi: the cells of a public step that its values lie in.

Cell j holds the numbers from j·step up to, not including, (j + 1)·step. Local algorithms see cells instead of values, so
that no cut divides a cell and no label has a bound inside one. A bound is then a multiple of a step that the curator
chose without looking at the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kepsilon.policy.hierarchies.intervals import plain
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberLine:
    """The cells that the values of an attribute lie in, in rising order; null, if it occurs, stands before them.

    The place of a value is the rank of its cell among those that occur. If null occurs it has place 0.
    """

    step: Fraction
    has_null: bool
    places: IntArray
    """Place of every code, shape (n_values,)."""
    cells: tuple[int, ...]
    """Numbers of the cells that occur; the first is that of the first place after null. Whole numbers of any size."""
    positions: FloatArray
    """The number that every code stands for, NaN for null, shape (n_values,)."""

    @property
    def n_places(self) -> int:
        return len(self.cells) + self.has_null

    @property
    def data_range(self) -> float:
        """Largest minus smallest number; 0 where there is none."""
        return float(np.nanmax(self.positions) - np.nanmin(self.positions)) if self.cells else 0.0

    def relative_width(self) -> Callable[[IntArray, IntArray], FloatArray]:
        """The function that gives the distance of two places, as a share of that between the smallest and largest cell.

        Null lies where the smallest cell does. Numbers of cells are subtracted before they are divided, so that equal
        widths give equal shares.
        """
        first = self.cells[0] if self.cells else 0
        offsets = np.array([0.0] * self.has_null + [float(cell - first) for cell in self.cells])
        whole = float(offsets.max(initial=0.0)) or 1.0
        return lambda one, other: (offsets[other] - offsets[one]) / whole

    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest number that occurs at every place, two arrays (n_places,); null counts as the smallest."""
        lowest = np.nanmin(self.positions) if self.cells else 0.0
        positions = np.where(np.isnan(self.positions), lowest, self.positions)
        smallest, largest = np.full(self.n_places, np.inf), np.full(self.n_places, -np.inf)
        np.minimum.at(smallest, self.places, positions)
        np.maximum.at(largest, self.places, positions)
        return smallest, largest

    def has_one_number(self) -> BoolArray:
        """Whether a single number occurs at each place, so that whoever knows the cell knows the value; null does not count."""
        smallest, largest = self.extremes()
        alone: BoolArray = smallest == largest
        alone[: self.has_null] = False
        return alone

    def interval(self, first: int, last: int) -> str:
        """Label of the numbers from cell `first` to cell `last`, `[low, high)`; both bounds are multiples of the step."""
        return f"[{plain(first * self.step)}, {plain((last + 1) * self.step)})"


def number_line(numbers: Sequence[Fraction | None], *, step: Fraction) -> NumberLine:
    """The number line of an attribute whose code i stands for `numbers[i]`, None for null."""
    cell_of = [None if number is None else math.floor(number / step) for number in numbers]
    cells = tuple(sorted({cell for cell in cell_of if cell is not None}))
    has_null = None in cell_of
    place = {cell: rank for rank, cell in enumerate(cells, start=int(has_null))}
    return NumberLine(
        step=step,
        has_null=has_null,
        places=np.array([0 if cell is None else place[cell] for cell in cell_of], dtype=np.int64),
        cells=cells,
        positions=np.array([np.nan if number is None else float(number) for number in numbers], dtype=np.float64),
    )

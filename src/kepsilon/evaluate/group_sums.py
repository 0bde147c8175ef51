# SPDX-License-Identifier: Apache-2.0
"""Groups whose averages are published, counted, and how far their records are from the averages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSums:
    """Groups of some classes as sums and extremes; those of different batches are added."""

    n_groups: int = 0
    smallest: int = 0
    """Records of the smallest group, or persons where it is known whom records are about; 0 where there is no group."""
    largest: int = 0
    n_values: tuple[int, ...] = ()
    """Records that hold a value, by ε-quasi."""
    n_short: int = 0
    """Groups of fewer than were asked for: whole classes that are too small."""
    n_agreeing: tuple[int, ...] = ()
    """Groups whose records all agree, by ε-quasi."""
    n_extreme: tuple[int, ...] = ()
    """Groups with a value that stands out and that the average gives away, by ε-quasi; see `group_extremes`."""
    squares: FloatArray | None = None
    """Sums of products of distances from the group's average, shape (n_attributes, n_attributes)."""

    def __add__(self, other: GroupSums) -> GroupSums:
        if not self.n_groups or not other.n_groups:
            return self if self.n_groups else other
        return GroupSums(
            n_groups=self.n_groups + other.n_groups,
            smallest=min(self.smallest, other.smallest),
            largest=max(self.largest, other.largest),
            n_values=_added(self.n_values, other.n_values),
            n_short=self.n_short + other.n_short,
            n_agreeing=_added(self.n_agreeing, other.n_agreeing),
            n_extreme=_added(self.n_extreme, other.n_extreme),
            squares=other.squares if self.squares is None or other.squares is None else self.squares + other.squares,
        )

    @property
    def within(self) -> FloatArray:
        """W: mean products of distances from the group's average, shape (n_attributes, n_attributes)."""
        if self.squares is None:
            return np.zeros((0, 0))
        n = np.array(self.n_values, dtype=np.float64)
        # The geometric mean keeps W a matrix of mean products, which draws need, also where some lack one of the values.
        within: FloatArray = self.squares / np.maximum(np.sqrt(np.outer(n, n)), 1)
        return within


def _added(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip(one, other, strict=True))

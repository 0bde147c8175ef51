# SPDX-License-Identifier: Apache-2.0
"""Links to the nearest original of a group, for many small groups at once: each record is paired with its whole group."""

from __future__ import annotations

import numpy as np

from kepsilon.auditing.nearest_links import BINARY_ERROR, INDISTINCT, Links
from kepsilon.table.arrays import FloatArray, IntArray

PAIRS_AT_ONCE = 1 << 20
"""So many pairs of a record and an original, about, are compared at a time."""


class GroupedOriginals:
    """Originals in groups, put in order so that the members of each group stand side by side."""

    def __init__(self, values: FloatArray, ranges: FloatArray, groups: IntArray) -> None:
        """`values` and `ranges` (R of the class of each) have shape (n_originals, n_epsilon_quasis); `groups`, (n_originals,)."""
        self._values, self._ranges = values, ranges
        self._groups = groups
        self._order = np.argsort(groups, kind="stable")
        self._sizes = np.bincount(groups)
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._place = np.empty(len(groups), dtype=np.int64)
        self._place[self._order] = np.arange(len(groups)) - self._starts[groups[self._order]]
        self._largest = np.zeros((len(self._sizes), values.shape[1]))
        np.maximum.at(self._largest, groups, np.nan_to_num(np.abs(values)))

    def attack(self, published: FloatArray, own: IntArray) -> tuple[Links, Links, Links]:
        """Links of some published records, and those of records that doubles cannot decide, as counted and at most.

        `published` has shape (n_records, n_epsilon_quasis), and `own` is the position of each record's own original.
        """
        totals = [Links()] * 3
        n_pairs = np.cumsum(self._sizes[self._groups[own]])
        cuts = np.searchsorted(n_pairs, np.arange(PAIRS_AT_ONCE, int(n_pairs[-1]) if own.size else 0, PAIRS_AT_ONCE))
        for part in np.split(np.arange(len(own)), np.unique(cuts)):
            if part.size:
                found = self._attack(published[part], own[part])
                totals = [one + more for one, more in zip(totals, found, strict=True)]
        return totals[0], totals[1], totals[2]

    def _attack(self, published: FloatArray, own: IntArray) -> tuple[Links, Links, Links]:
        group, ranges = self._groups[own], self._ranges[own]
        sizes = self._sizes[group]
        ends = np.cumsum(sizes)
        starts = ends - sizes
        record = np.repeat(np.arange(len(own)), sizes)
        original = self._order[np.arange(int(ends[-1])) + np.repeat(self._starts[group] - starts, sizes)]
        distances = np.zeros(len(record))
        slack = np.zeros(len(own))
        for j in range(published.shape[1]):
            scale = np.where(ranges[:, j] > 0, ranges[:, j], np.inf)  # an ε-quasi without noise tells nothing
            gaps = np.abs(published[record, j] - self._values[original, j])
            np.fmax(distances, gaps / scale[record], out=distances)  # skips missing values
            sizes_of_values = np.nan_to_num(np.abs(published[:, j])) + self._largest[group, j]
            np.maximum(slack, sizes_of_values / scale, out=slack)
        slack *= BINARY_ERROR
        nearest = np.minimum.reduceat(distances, starts) + slack
        is_nearest = distances <= nearest[record]
        is_link = is_nearest[starts + self._place[own]]
        fair = is_link / np.add.reduceat(is_nearest, starts, dtype=np.int64)
        links = Links(float(fair.sum()), float(is_link.sum()))
        if published.shape[1] != 1:
            return links, Links(), Links()
        alike = self._n_with_own_value(own, nearest=INDISTINCT * slack * ranges[:, 0])
        undecided = (alike > 0) & (ranges[:, 0] > 0)
        return (
            links,
            Links(float(fair[undecided].sum()), float(is_link[undecided].sum())),
            Links(float((1 / alike[undecided]).sum()), float(np.count_nonzero(undecided))),
        )

    def _n_with_own_value(self, own: IntArray, *, nearest: FloatArray) -> IntArray:
        """Originals of the group with each record's own value, if another value is at most `nearest` away; otherwise 0."""
        values = self._values[:, 0]
        order = np.lexsort((values, self._groups))
        ordered, group = values[order], self._groups[order]
        is_new_group = np.diff(group, prepend=-1) != 0
        is_new = is_new_group | (np.diff(ordered, prepend=np.nan) != 0)
        number = np.empty(len(order), dtype=np.int64)
        number[order] = np.cumsum(is_new) - 1
        distinct, begins_group = ordered[is_new], is_new_group[is_new]
        below = np.where(begins_group, np.inf, np.diff(distinct, prepend=-np.inf))
        above = np.append(np.where(begins_group[1:], np.inf, below[1:]), np.inf)
        counts = np.bincount(number)
        of_own = number[own]
        alike: IntArray = np.where(np.minimum(below, above)[of_own] <= nearest, counts[of_own], 0)
        return alike

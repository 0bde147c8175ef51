# SPDX-License-Identifier: Apache-2.0
"""How much of an ε-quasi a kept column tells by itself: a copy in other units, a function of it, bands of it.

In a large class many records share a value, so that even a copy links few of them. But whoever sees the release reads the
ε-quasi from it, whatever noise its own column has. Measured is the share of the variance of the ranks within classes that
lies between records that show different values; ranks, so that one outlier does not decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kepsilon.evaluate.kept_columns.bits import OrderedCodes
from kepsilon.evaluate.kept_columns.class_order import ClassOrder
from kepsilon.table.arrays import FloatArray, IntArray

FEWEST_FREE = 50
"""So many records, at least, beyond the first of each class and value: with them, chance does not tell half of anything."""

MOST_EMPTY = 8
"""Numbers of groups for each record beyond which they are numbered anew, without gaps."""


_NO_DIFFERENCE = 1e-12
"""A share of the differences that rounding alone may leave."""


class RankCounter:
    """Ranks of all ε-quasis in one partition."""

    def __init__(
        self, epsilon_quasis: Mapping[str, OrderedCodes], classes: ClassOrder, *, among: ClassOrder | None = None
    ) -> None:
        """What differs in `classes` is looked at, as a share of what differs in the classes `among` that these are parts of."""
        self._classes = classes
        among = among or classes
        self._ranks: dict[str, FloatArray] = {}
        self._totals: dict[str, float] = {}
        self._weights: dict[str, float] = {}
        for name, quasi in epsilon_quasis.items():
            ranks = ranks_within(quasi, among)
            # Sums of products, because a dot product waits for threads, which takes longer than itself.
            in_all = float((ranks * ranks).sum())
            if among is not classes:
                ranks = ranks - (np.bincount(classes.ids, weights=ranks) / classes.sizes)[classes.ids]
            total = float((ranks * ranks).sum())
            if total > _NO_DIFFERENCE * in_all:
                self._ranks[name], self._totals[name], self._weights[name] = ranks, total, total / in_all

    def largest(self, codings: Sequence[OrderedCodes]) -> tuple[float, str | None]:
        """The largest share of an ε-quasi that a column tells, and whose it is; 0 where there are too few records.

        `codings` are ways to look at the column; the one that tells most counts.
        """
        best: tuple[float, str | None] = (0.0, None)
        for coding in codings if self._ranks else ():
            for name, share in self._shares(coding).items():
                if share > best[0]:
                    best = (share, name)
        return best

    def _shares(self, coding: OrderedCodes) -> dict[str, float]:
        """1 − V(rank | class, shown) / V(rank | class) for each ε-quasi, both without bias."""
        shown = coding.in_classes(self._classes)
        groups: IntArray = self._classes.ids * (int(shown.max(initial=0)) + 1) + shown
        if int(groups.max(initial=0)) > MOST_EMPTY * len(groups):
            groups = np.unique(groups, return_inverse=True)[1]
        sizes = np.bincount(groups)
        free = len(shown) - int(np.count_nonzero(sizes))
        if free < FEWEST_FREE:
            return {}
        free_in_classes = len(shown) - self._classes.n_classes
        found = {}
        for name, ranks in self._ranks.items():
            total = self._totals[name]
            between = float((np.square(np.bincount(groups, weights=ranks)) / np.maximum(sizes, 1)).sum())
            share = 1 - (max(total - between, 0.0) / free) / (total / free_in_classes)
            found[name] = self._weights[name] * share
        return found


def ranks_within(quasi: OrderedCodes, classes: ClassOrder) -> FloatArray:
    """Ranks of the records in their classes, from −½ to ½, mean 0, equal values alike; in the order of `classes`."""
    if quasi.ranking is None:
        raise ValueError("ranks need an order")
    at = classes.sorted_as(quasi.ranking)
    own, ids = quasi.codes[at], classes.ids
    begins = np.ones(len(at), dtype=np.bool_)
    begins[1:] = (own[1:] != own[:-1]) | (ids[1:] != ids[:-1])
    run: IntArray = np.cumsum(begins) - 1
    first = np.flatnonzero(begins)
    middle = first + (np.diff(np.append(first, len(at))) - 1) / 2
    ranks = middle[run] - classes.starts[ids] - (classes.sizes[ids] - 1) / 2
    found = np.empty(len(quasi.codes))
    found[at] = ranks / classes.sizes[ids]
    return found[classes.records]

# SPDX-License-Identifier: Apache-2.0
"""Records in classes of fewer than k persons at a node, counted only as exactly as OLA needs it.

Mostly the bounds of `person_bounds` tell whether a node passes; only if the limit lies between them are persons counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kepsilon.kanonymise.lattice import Node
from kepsilon.kanonymise.node_classes import NodeSlots
from kepsilon.kanonymise.node_counts import sum_of_squares
from kepsilon.table.arrays import FloatArray
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.person_bounds import ClassBounds
from kepsilon.table.persons import PersonCounts


class PersonCounter:
    """Tells of nodes what `NodeCounter` tells, with classes of fewer than k persons left out."""

    def __init__(self, table: FrequencyTable, persons: PersonCounts, *, ks: Sequence[int]) -> None:
        """`persons` are those of the table; `ks` are the k that will be asked about."""
        self._ks = tuple(sorted(set(ks)))
        self._slots = NodeSlots(table)
        self._bounds = persons.bounds
        self._counts: FloatArray = table.counts.astype(np.float64)
        self._dm_star: dict[Node, int] = {}
        self._outcomes: dict[tuple[Node, int], tuple[int, int]] = {}
        """What `outcome` returned, by its arguments."""

    @property
    def n_counted(self) -> int:
        """Number of nodes whose classes were counted so far."""
        return len(self._dm_star)

    def dm_star(self, node: Node) -> int:
        """Sum of squared numbers of records over all classes at a node, those to be suppressed included."""
        if node not in self._dm_star:
            self._classes(node)
        return self._dm_star[node]

    def passing(self, node: Node, *, max_suppressed: int) -> dict[int, bool]:
        """By k: whether no more records than that are in classes of fewer than k persons."""
        sizes, bounds = self._classes(node)
        passes, undecided = {}, []
        for k in self._ks:
            passes[k] = bool(sizes[~bounds.surely_have(k)].sum() <= max_suppressed)
            if not passes[k] and sizes[~bounds.may_have(k)].sum() <= max_suppressed:
                undecided.append(k)
        self._count(node, sizes, bounds, ks=undecided)
        return passes | {k: self._outcomes[node, k][0] <= max_suppressed for k in undecided}

    def outcome(self, node: Node, *, k: int) -> tuple[int, int]:
        """Records in classes of fewer than k persons, and the number of other classes."""
        if (node, k) not in self._outcomes:
            self._count(node, *self._classes(node), ks=[k])
        return self._outcomes[node, k]

    def _classes(self, node: Node) -> tuple[FloatArray, ClassBounds]:
        """Records and bounds of the classes at a node; some may be empty."""
        class_of, n_slots = self._slots.at(node)
        sizes = np.asarray(np.bincount(class_of, weights=self._counts, minlength=n_slots), dtype=np.float64)
        self._dm_star[node] = sum_of_squares(sizes.astype(np.int64))
        return sizes, self._bounds.of_classes(class_of, n_classes=n_slots)

    def _count(self, node: Node, sizes: FloatArray, bounds: ClassBounds, *, ks: Sequence[int]) -> None:
        """Stores the outcomes of a node for some k."""
        for k, have in bounds.have(ks).items() if ks else ():
            self._outcomes[node, k] = (int(sizes[~have].sum()), int(np.count_nonzero(have)))

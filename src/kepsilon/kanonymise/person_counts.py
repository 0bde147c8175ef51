# SPDX-License-Identifier: Apache-2.0
"""Records in classes of fewer than k persons at a node, counted only as exactly as OLA needs it.

Mostly the bounds of `person_bounds` tell whether a node passes; only if the limit lies between them are persons counted.
The bounds add up as records do, so those of a node are rolled up from a finer node that was asked about before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from kepsilon.kanonymise.lattice import Node, is_finer, lattice_of
from kepsilon.kanonymise.node_counts import records_by_label, sum_of_squares
from kepsilon.kanonymise.node_slots import GroupedCodes, NodeSlots
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.person_bounds import ClassBounds, sums_of, surely_have
from kepsilon.table.persons import PersonCounts

MOST_NUMBERS_HELD = 1 << 25
"""Most numbers stored in classes of nodes (256 MB)."""

FEWER_BY = 2
"""A node is stored for others to be rolled up from if it has at most one class for so many combinations."""


Statistic = Literal["records", "most persons", "shares of persons"]
"""What adds up over combinations and classes: records, and the two bounds of `person_bounds`."""


class _Rows:
    """Combinations, or the classes at a node, with their statistics; none is empty."""

    def __init__(self, codes: GroupedCodes, *, n_rows: int, statistic: Callable[[Statistic], FloatArray]) -> None:
        """`codes` are those of the combinations; those of a class are the codes of one of its combinations."""
        self.codes = codes
        self.n_rows = n_rows
        self.statistic = statistic
        """Returns a statistic of every row, shape (n_rows,)."""


class _Classes:
    """The classes at a node, made of rows of a finer one; some may be empty.

    A statistic is added up when it is first asked for: records alone tell that many nodes fail, and the lower bound of
    persons that many pass.
    """

    def __init__(self, made_of: _Rows, class_of: IntArray, *, n_classes: int) -> None:
        """`class_of` is the class of each row, shape (n_rows,)."""
        self.made_of = made_of
        self.class_of = class_of
        self._n_classes = n_classes
        self._sums: dict[Statistic, FloatArray] = {}
        self.n_occurring = int(np.count_nonzero(self.sizes))

    def statistic(self, name: Statistic) -> FloatArray:
        """A statistic of each class, shape (n_classes,)."""
        if name not in self._sums:
            self._sums[name] = sums_of(self.made_of.statistic(name), self.class_of, n_classes=self._n_classes)
        return self._sums[name]

    @property
    def sizes(self) -> FloatArray:
        return self.statistic("records")

    def suppressed(self, is_left_out: BoolArray) -> int:
        """Records of the classes that are left out."""
        return int(self.sizes[is_left_out].sum())

    @property
    def bounds(self) -> ClassBounds:
        return ClassBounds(most=self.statistic("most persons"), shares=self.statistic("shares of persons"))

    @property
    def n_numbers(self) -> int:
        """How many numbers are held for these classes at the most, with the codes of `as_rows`."""
        return len(self.class_of) + 3 * self._n_classes + len(self.made_of.codes) * self.n_occurring

    @cached_property
    def as_rows(self) -> _Rows:
        """The classes that are not empty, for the classes at higher nodes to be made of."""
        occurring = np.flatnonzero(self.sizes)
        example: IntArray = np.zeros(self._n_classes, dtype=np.intp)
        example[self.class_of] = np.arange(self.made_of.n_rows)  # any row of the class will do
        example = example[occurring]
        return _Rows(
            tuple(codes[example] for codes in self.made_of.codes),
            n_rows=len(occurring),
            statistic=lambda name: self.statistic(name)[occurring],
        )


class PersonCounter:
    """Tells of nodes what `NodeCounter` tells, with classes of fewer than k persons left out."""

    def __init__(self, table: FrequencyTable, persons: PersonCounts, *, ks: Sequence[int]) -> None:
        """`persons` are those of the table; `ks` are the k that will be asked about."""
        self._table = table
        self._ks = tuple(sorted(set(ks)))
        self._slots = NodeSlots(table)
        self._top = lattice_of(table.domains).top
        self._of_table = persons.bounds
        of_combination: dict[Statistic, FloatArray] = {
            "records": table.counts.astype(np.float64),
            "most persons": persons.bounds.most,
            "shares of persons": persons.bounds.shares,
        }
        self._combinations = _Rows(self._slots.codes, n_rows=table.n_combinations, statistic=of_combination.__getitem__)
        self._stored: dict[Node, _Classes] = {}
        """Classes at some nodes that were asked about, or that others are rolled up from."""
        self._n_numbers_held = 0
        self._dm_star: dict[Node, int] = {}
        self._outcomes: dict[tuple[Node, int], tuple[int, int]] = {}
        """What `outcome` returned, by its arguments."""

    @property
    def n_counted(self) -> int:
        """Number of nodes that were asked about so far."""
        return len(self._dm_star)

    def dm_star(self, node: Node) -> int:
        """Sum of squared numbers of records over all classes at a node, those to be suppressed included."""
        if node not in self._dm_star:
            self._classes(node)
        return self._dm_star[node]

    def passing(self, node: Node, *, max_suppressed: int) -> dict[int, bool]:
        """By k: whether no more records than that are in classes of fewer than k persons."""
        classes = self._classes(node)
        passes, undecided = {}, []
        for k in self._ks:
            passes[k] = False
            # No class has more persons than records.
            if classes.suppressed(classes.statistic("records") < k) > max_suppressed:
                continue
            if classes.suppressed(~surely_have(k, classes.statistic("shares of persons"))) <= max_suppressed:
                passes[k] = True
            elif classes.suppressed(classes.statistic("most persons") < k) <= max_suppressed:
                undecided.append(k)
        if undecided:
            self._count(node, classes, ks=undecided)
        return passes | {k: self._outcomes[node, k][0] <= max_suppressed for k in undecided}

    def outcome(self, node: Node, *, k: int) -> tuple[int, int]:
        """Records in classes of fewer than k persons, and the number of other classes."""
        if (node, k) not in self._outcomes:
            self._count(node, self._classes(node), ks=[k])
        return self._outcomes[node, k]

    def left_out(self, node: Node, *, k: int) -> tuple[IntArray, ...]:
        """Records in classes of fewer than k persons, by their label at the node: one array per attribute."""
        classes = self._classes(node)
        class_of = self._class_of(node, classes)
        is_left_out = ~self._of_table.have([k], classes.bounds, class_of)[k][class_of]
        codes = [
            domain.at_level(level)[column[is_left_out]]
            for domain, level, column in zip(self._table.domains, node, self._table.codes, strict=True)
        ]
        return records_by_label(codes, self._table.counts[is_left_out], domains=self._table.domains, node=node)

    def _class_of(self, node: Node, classes: _Classes) -> IntArray:
        """The class of every combination at a node, shape (n_combinations,)."""
        return classes.class_of if classes.made_of is self._combinations else self._slots.at(node)[0]

    def _count(self, node: Node, classes: _Classes, *, ks: Sequence[int]) -> None:
        """Stores the outcomes of a node for some k."""
        class_of = self._class_of(node, classes)
        for k, have in self._of_table.have(ks, classes.bounds, class_of).items():
            self._outcomes[node, k] = (classes.suppressed(~have), int(np.count_nonzero(have)))

    def _classes(self, node: Node) -> _Classes:
        """The classes at a node that is asked about, by the numbers that `NodeSlots.at` gives."""
        classes = self._stored.get(node)
        if classes is None:
            n_slots = self._slots.n_slots(node)
            if n_slots is None:
                class_of, n_classes = self._slots.at(node)
                classes = self._store(node, _Classes(self._combinations, class_of, n_classes=n_classes))
            else:
                classes = self._made_of(self._finer_rows(node), node, n_slots=n_slots)
        if node not in self._dm_star:
            self._dm_star[node] = sum_of_squares(classes.sizes.astype(np.int64))
        return classes

    def _finer_rows(self, node: Node) -> _Rows:
        """The fewest classes at a stored node, or else the combinations, that the classes at the node can be made of.

        If nothing is stored that helps, the node is stored that has the same attributes at their top, and the others at
        their bottom, provided it has few classes: many nodes can be rolled up from it.
        """
        finer = [classes for other, classes in self._stored.items() if is_finer(other, node)]
        if finer:
            return min(finer, key=lambda classes: classes.n_occurring).as_rows
        below = tuple(level if level == top else 0 for level, top in zip(node, self._top, strict=True))
        n_slots = self._slots.n_slots(below)
        rows = self._combinations
        if below == node or n_slots is None or FEWER_BY * n_slots > rows.n_rows:
            return rows
        return self._made_of(rows, below, n_slots=n_slots).as_rows

    def _made_of(self, rows: _Rows, node: Node, *, n_slots: int) -> _Classes:
        """The classes at a node, made of rows of a finer one."""
        class_of = self._slots.of(rows.codes, node, length=rows.n_rows)
        return self._store(node, _Classes(rows, class_of, n_classes=n_slots))

    def _store(self, node: Node, classes: _Classes) -> _Classes:
        """Stores the classes at a node, unless there are too many already; returns them."""
        if self._n_numbers_held + classes.n_numbers <= MOST_NUMBERS_HELD:
            self._stored[node] = classes
            self._n_numbers_held += classes.n_numbers
        return classes

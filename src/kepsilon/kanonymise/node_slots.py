# SPDX-License-Identifier: Apache-2.0
"""Numbers the classes at many nodes of one table fast, from the combinations or from the classes at a finer node."""

from __future__ import annotations

import math

import numpy as np

from kepsilon.kanonymise.lattice import Node
from kepsilon.kanonymise.node_classes import classes_at
from kepsilon.table.arrays import IntArray
from kepsilon.table.frequency import FrequencyTable

SLOTS_PER_COMBINATION = 4
"""Empty slots cost less than numbering the classes, up to so many slots per combination; measured."""

MOST_TOGETHER = 1 << 16
"""Most combinations of values of attributes that are coded together, so that their numbers stay in a fast cache."""

GroupedCodes = tuple[IntArray, ...]
"""Codes of some combinations in each group of attributes."""


class NodeSlots:
    """Numbers the classes at nodes of one table; some of the numbered classes may be empty.

    Neighbouring attributes are coded together while few enough combinations of their values are possible. The class of a
    combination is then the sum of one number from a small table per group of attributes.
    """

    def __init__(self, table: FrequencyTable) -> None:
        self._table = table
        self._groups: list[list[int]] = []
        """Positions of the attributes of each group."""
        codes: list[IntArray] = []
        n_possible = 1
        for attribute, (domain, column) in enumerate(zip(table.domains, table.codes, strict=True)):
            n_possible *= domain.n_values
            if n_possible > MOST_TOGETHER or not self._groups:
                self._groups.append([])
                codes.append(np.zeros(table.n_combinations, dtype=np.intp))
                n_possible = domain.n_values
            self._groups[-1].append(attribute)
            codes[-1] *= domain.n_values
            codes[-1] += column
        self.codes: GroupedCodes = tuple(codes)
        """Codes of all combinations, each of shape (n_combinations,)."""

    def n_slots(self, node: Node) -> int | None:
        """How many classes are possible at a node; None if so many that they are numbered as they occur."""
        found = math.prod(self._n_labels(node))
        return found if found <= SLOTS_PER_COMBINATION * self._table.n_combinations else None

    def at(self, node: Node) -> tuple[IntArray, int]:
        """The class of every combination at a node, shape (n_combinations,), and a number above all of them."""
        n_slots = self.n_slots(node)
        if n_slots is None:
            _, class_of, n_classes = classes_at(self._table, node)
            return class_of, n_classes
        return self.of(self.codes, node, length=self._table.n_combinations), n_slots

    def of(self, codes: GroupedCodes, node: Node, *, length: int) -> IntArray:
        """The class at a node of each of some combinations, shape (length,); only where `n_slots` knows how many."""
        n_labels = self._n_labels(node)
        class_of: IntArray | None = None
        for group, own in zip(self._groups, codes, strict=True):
            number_of: IntArray = np.zeros(1, dtype=np.intp)
            for attribute in group:
                stride = math.prod(n_labels[attribute + 1 :])
                above = self._table.domains[attribute].at_level(node[attribute]) * stride
                number_of = np.add.outer(number_of, above).ravel()
            part = number_of.take(own)
            class_of = part if class_of is None else np.add(class_of, part, out=class_of)
        return np.zeros(length, dtype=np.intp) if class_of is None else class_of

    def _n_labels(self, node: Node) -> list[int]:
        return [len(domain.levels[level]) for domain, level in zip(self._table.domains, node, strict=True)]

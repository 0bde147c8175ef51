# SPDX-License-Identifier: Apache-2.0
"""What OLA asks about nodes, and the fastest counter that can answer it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from kepsilon.kanonymise.lattice import Node
from kepsilon.kanonymise.node_classes import RequirementCounter
from kepsilon.kanonymise.node_counts import NodeCounter
from kepsilon.kanonymise.person_counts import PersonCounter
from kepsilon.kanonymise.requirements.k_persons import KPersons
from kepsilon.kanonymise.requirements.protocol import Requirement
from kepsilon.table.arrays import IntArray
from kepsilon.table.frequency import FrequencyTable


class Counter(Protocol):
    """Tells how the classes at a node of one table meet their requirements, for several k."""

    @property
    def n_counted(self) -> int:
        """Number of nodes whose classes were counted so far."""

    def dm_star(self, node: Node) -> int:
        """Sum of squared class sizes over all classes at a node, those to be left out included."""

    def passing(self, node: Node, *, max_suppressed: int) -> dict[int, bool]:
        """By k: whether no more records than that are in classes to be left out."""

    def outcome(self, node: Node, *, k: int) -> tuple[int, int]:
        """Records in classes to be left out, and the number of other classes."""

    def left_out(self, node: Node, *, k: int) -> tuple[IntArray, ...]:
        """Records in classes to be left out, by their label at the node: one array (n_labels,) per attribute."""


def counter_for(table: FrequencyTable, *, further: Mapping[int, Sequence[Requirement]], max_slots: int) -> Counter:
    """The fastest counter that knows all requirements; `further` has those beyond k records for every k."""
    if table.persons is not None and all(own == (KPersons(k=k),) for k, own in further.items()):
        return PersonCounter(table, table.persons, ks=tuple(further))
    sizes = NodeCounter(table, ks=tuple(further), max_slots=max_slots)
    return RequirementCounter(table, sizes, further=further) if any(further.values()) else sizes

# SPDX-License-Identifier: Apache-2.0
"""The classes at a node, made from the table, and what OLA leaves out if they must meet requirements besides k records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kepsilon.kanonymise.lattice import Node
from kepsilon.kanonymise.node_counts import NodeCounter, NodeSummary, records_by_label
from kepsilon.kanonymise.requirements.protocol import Requirement, class_sums
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.keys import number


def classes_at(table: FrequencyTable, node: Node) -> tuple[list[IntArray], IntArray, int]:
    """Classes at a node.

    Returns the codes of all combinations at the node's levels, one array per attribute; the class of every combination,
    shape (n_combinations,); and the number of classes.
    """
    codes = [
        domain.at_level(level)[column] for domain, level, column in zip(table.domains, node, table.codes, strict=True)
    ]
    n_labels = [len(domain.levels[level]) for domain, level in zip(table.domains, node, strict=True)]
    class_of, n_classes = number(codes, sizes=n_labels, length=table.n_combinations)
    return codes, class_of, n_classes


class RequirementCounter:
    """Summarises nodes as `NodeCounter` does, and also leaves out classes that fail a requirement besides k records.

    `NodeCounter` derives the counts of a node from those of a finer one. A requirement has to see the combinations of a
    class, so here the classes of every node are made from the table.
    """

    def __init__(
        self, table: FrequencyTable, counter: NodeCounter, *, further: Mapping[int, Sequence[Requirement]]
    ) -> None:
        """`further` has every k that will be asked about, with its requirements besides k records, possibly none."""
        self._table = table
        self._counter = counter
        self._further = further
        self._summaries: dict[Node, NodeSummary] = {}
        self._last: tuple[Node, tuple[list[IntArray], IntArray, dict[int, BoolArray]]] | None = None

    @property
    def n_counted(self) -> int:
        """Number of nodes whose classes were counted so far."""
        return self._counter.n_counted

    def dm_star(self, node: Node) -> int:
        """Sum of squared class sizes over all classes at a node, those to be suppressed included."""
        return self._counter.dm_star(node)

    def passing(self, node: Node, *, max_suppressed: int) -> dict[int, bool]:
        """By k: whether no more records than that are in classes that are smaller than k or fail a requirement."""
        by_records = self._counter.passing(node, max_suppressed=max_suppressed)
        if not any(by_records.values()):
            return by_records  # what is left out for its size alone is too much
        return {k: suppressed <= max_suppressed for k, suppressed in self.summary(node).suppressed.items()}

    def outcome(self, node: Node, *, k: int) -> tuple[int, int]:
        """Records in classes that are smaller than k or fail a requirement, and the number of other classes."""
        summary = self.summary(node)
        return summary.suppressed[k], summary.n_classes[k]

    def left_out(self, node: Node, *, k: int) -> tuple[IntArray, ...]:
        """Records in classes that are smaller than k or fail a requirement, by their label: one array per attribute."""
        codes, class_of, released = self._released(node)
        is_left_out = ~released[k][class_of]
        return records_by_label(
            [column[is_left_out] for column in codes],
            self._table.counts[is_left_out],
            domains=self._table.domains,
            node=node,
        )

    def summary(self, node: Node) -> NodeSummary:
        """Records suppressed and classes released at a node, for every k, and its DM*, which counts all classes."""
        if node not in self._summaries:
            self._summaries[node] = self._summarise(node)
        return self._summaries[node]

    def _summarise(self, node: Node) -> NodeSummary:
        _, class_of, released = self._released(node)
        n_classes = len(next(iter(released.values()), ()))
        sizes = class_sums(self._table.counts, class_of, n_classes=n_classes)
        return NodeSummary(
            dm_star=self.dm_star(node),
            suppressed={k: int(sizes[~own].sum()) for k, own in released.items()},
            n_classes={k: int(np.count_nonzero(own)) for k, own in released.items()},
        )

    def _released(self, node: Node) -> tuple[list[IntArray], IntArray, dict[int, BoolArray]]:
        """The classes at a node, and by k which of them are released, shape (n_classes,).

        Returns the codes of all combinations at the node's levels, one array per attribute, and the class of every
        combination first. The node asked about last is remembered.
        """
        if self._last is None or self._last[0] != node:
            codes, class_of, n_classes = classes_at(self._table, node)
            sizes = class_sums(self._table.counts, class_of, n_classes=n_classes)
            verdicts: dict[Requirement, BoolArray] = {}  # several k may have a requirement in common
            released = {}
            for k, requirements in self._further.items():
                released[k] = sizes >= k
                for requirement in requirements:
                    if requirement not in verdicts:
                        verdicts[requirement] = requirement.met_by(self._table, class_of, n_classes=n_classes)
                    released[k] &= verdicts[requirement]
            self._last = node, (codes, class_of, released)
        return self._last[1]

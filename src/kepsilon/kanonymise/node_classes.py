# SPDX-License-Identifier: Apache-2.0
"""Which class every combination is in at a node, and what a node leaves out where k records are not all that is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kepsilon.kanonymise.lattice import Node
from kepsilon.kanonymise.node_counts import NodeCounter, NodeSummary
from kepsilon.kanonymise.requirements.protocol import Requirement, class_sums
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.keys import number


def classes_at(table: FrequencyTable, node: Node) -> tuple[list[IntArray], IntArray, int]:
    """Codes of every combination at the node's levels, by attribute; its class, shape (n_combinations,); and how many."""
    codes = [
        domain.at_level(level)[column] for domain, level, column in zip(table.domains, node, table.codes, strict=True)
    ]
    n_labels = [len(domain.levels[level]) for domain, level in zip(table.domains, node, strict=True)]
    class_of, n_classes = number(codes, sizes=n_labels, length=table.n_combinations)
    return codes, class_of, n_classes


class RequirementCounter:
    """Counts nodes as `NodeCounter` does, but a class that fails a further requirement is left out like a small one.

    What a requirement looks at is not rolled up from other nodes: every node's classes are made from the table.
    """

    def __init__(
        self, table: FrequencyTable, counter: NodeCounter, *, further: Mapping[int, Sequence[Requirement]]
    ) -> None:
        """`further` holds, by k, what is asked of a class apart from having k records."""
        self._table = table
        self._counter = counter
        self._further = further
        self._summaries: dict[Node, NodeSummary] = {}

    @property
    def n_counted(self) -> int:
        """How many nodes were looked at so far."""
        return self._counter.n_counted

    def summary(self, node: Node) -> NodeSummary:
        if node not in self._summaries:
            self._summaries[node] = self._judged(node)
        return self._summaries[node]

    def _judged(self, node: Node) -> NodeSummary:
        _, class_of, n_distinct = classes_at(self._table, node)
        sizes = class_sums(self._table.counts, class_of, n_classes=n_distinct)
        verdicts: dict[Requirement, BoolArray] = {}  # several k may ask for one requirement
        suppressed, n_classes = {}, {}
        for k, requirements in self._further.items():
            released = sizes >= k
            for requirement in requirements:
                if requirement not in verdicts:
                    verdicts[requirement] = requirement.met_by(self._table, class_of, n_classes=n_distinct)
                released &= verdicts[requirement]
            suppressed[k] = int(sizes[~released].sum())
            n_classes[k] = int(np.count_nonzero(released))
        return NodeSummary(dm_star=self._counter.summary(node).dm_star, suppressed=suppressed, n_classes=n_classes)

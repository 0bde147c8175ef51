# SPDX-License-Identifier: Apache-2.0
"""The cheapest node that meets k within the suppression limit: Optimal Lattice Anonymization.

El Emam et al. 2009. A node passes if the records in classes smaller than k are within the limit. Going up the lattice,
classes only merge: what lies above a passing node passes, what lies below a failing one fails. Both are tagged
without being counted, and the nodes left are found by bisection, along chains from the lowest undecided node up to
the highest (Kohlmayer et al. 2012; fewer visits than bisecting every sublattice, and about as many counts).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.kanonymise.lattice import (
    Lattice,
    Node,
    at_or_above,
    at_or_below,
    first_node,
    height,
    lattice_of,
    minimal_nodes,
)
from kepsilon.kanonymise.losses import LOSSES
from kepsilon.kanonymise.node_counts import MAX_CELLS, NodeCounter
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.classes import SUPPRESSED, AttributeLabels, Recoding
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.keys import number, rank

MAX_NODES = 1 << 24
"""Most nodes of a lattice that is searched; two bytes per node and k are held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OlaResult:
    """The best node for one k, and how it was found."""

    node: Node
    suppressed: int
    """Records in classes smaller than k, which are left out."""
    n_classes: int
    """Classes released; 0 where the limit lets every record go, which the caller has to refuse."""
    loss: int | float
    dm_star: int
    k_minimal: tuple[Node, ...]
    """All passing nodes without a passing node below, in lexicographic order."""
    nodes_counted: int
    """Nodes whose classes were counted, in the whole search, for all k together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmet:
    """No node passes for one k, not even the top; the figures for the refusal."""

    suppressed: int
    """Records in classes smaller than k at the top node: more than may be left out."""
    n_labels: tuple[int, ...]
    """Labels each attribute keeps at its top level; more than one stands in the way of larger classes."""
    nodes_counted: int


class LatticeTooLargeError(ValueError):
    """The hierarchies have too many levels together to be searched."""

    def __init__(self, n_nodes: int) -> None:
        self.n_nodes = n_nodes
        super().__init__(f"a lattice of {n_nodes} nodes is larger than the {MAX_NODES} that are searched")


def search(
    table: FrequencyTable, *, ks: Sequence[int], max_suppressed: int, loss: str, max_cells: int = MAX_CELLS
) -> dict[int, OlaResult | Unmet]:
    """The best node for every k, in one sweep: a node's class sizes do not depend on k.

    The best is the k-minimal node of least loss; then fewest suppressed records, lowest, lexicographically first. The
    loss never falls on the way up, so no passing node beats all minimal ones. `max_suppressed` counts records.
    """
    if any(k < 1 for k in ks) or max_suppressed < 0:
        raise ValueError("k is at least 1, and the number of records to be left out at least 0")
    node_loss = LOSSES[loss].for_table(table)
    lattice = lattice_of(table.domains)
    if lattice.n_nodes > MAX_NODES:
        raise LatticeTooLargeError(lattice.n_nodes)
    counter = NodeCounter(table, ks=ks, max_cells=max_cells)
    tags = {k: _Tags(lattice) for k in ks}
    for k, tags_of_k in tags.items():
        while (lowest := first_node(~tags_of_k.decided)) is not None:
            chain = _chain(lattice, lowest, undecided=~tags_of_k.decided)
            low, high = 0, len(chain)
            while low < high:
                middle = (low + high) // 2
                suppressed = counter.summary(chain[middle]).suppressed
                for other_k, others in tags.items():
                    others.tag(chain[middle], passes=suppressed[other_k] <= max_suppressed)
                low, high = (low, middle) if suppressed[k] <= max_suppressed else (middle + 1, high)

    results: dict[int, OlaResult | Unmet] = {}
    for k in ks:
        k_minimal = minimal_nodes(tags[k].passes)
        if not k_minimal:
            results[k] = Unmet(
                suppressed=counter.summary(lattice.top).suppressed[k],
                n_labels=tuple(len(domain.levels[-1]) for domain in table.domains),
                nodes_counted=counter.n_counted,
            )
            continue
        # A minimal node has no passing node below that could have tagged it, so it was counted itself.
        _, suppressed_records, _, node = min(
            (node_loss(node, summary), summary.suppressed[k], height(node), node)
            for node, summary in ((node, counter.summary(node)) for node in k_minimal)
        )
        summary = counter.summary(node)
        results[k] = OlaResult(
            node=node,
            suppressed=suppressed_records,
            n_classes=summary.n_classes[k],
            loss=node_loss(node, summary),
            dm_star=summary.dm_star,
            k_minimal=k_minimal,
            nodes_counted=counter.n_counted,
        )
    return results


class _Tags:
    """What is known so far about every node, for one k."""

    def __init__(self, lattice: Lattice) -> None:
        self.decided: BoolArray = np.zeros(lattice.n_levels, dtype=np.bool_)
        self.passes: BoolArray = np.zeros(lattice.n_levels, dtype=np.bool_)

    def tag(self, node: Node, *, passes: bool) -> None:
        region = at_or_above(node) if passes else at_or_below(node)
        self.decided[region] = True
        if passes:
            self.passes[region] = True


def _chain(lattice: Lattice, start: Node, *, undecided: BoolArray) -> list[Node]:
    """Undecided nodes from `start` upwards, one level at a time, the attributes taking turns.

    Taking turns keeps the chain near the middle of the lattice, where a verdict tags most nodes.
    """
    chain = [start]
    turn = 0
    n_attributes = len(start)
    while True:
        node = chain[-1]
        for step in range(n_attributes):
            attribute = (turn + step) % n_attributes
            level = node[attribute] + 1
            higher = (*node[:attribute], level, *node[attribute + 1 :])
            if level < lattice.n_levels[attribute] and undecided[higher]:
                chain.append(higher)
                turn = attribute + 1
                break
        else:
            return chain


def recode(table: FrequencyTable, node: Node, *, k: int) -> Recoding:
    """The classes of a node, those smaller than k suppressed, in lexicographic order of their codes."""
    if k < 1:
        raise ValueError("k is at least 1")
    codes = [
        domain.at_level(level)[column] for domain, level, column in zip(table.domains, node, table.codes, strict=True)
    ]
    n_labels = [len(domain.levels[level]) for domain, level in zip(table.domains, node, strict=True)]
    class_of, n_distinct = number(codes, sizes=n_labels, length=table.n_combinations)
    sizes = np.bincount(class_of, weights=table.counts, minlength=n_distinct).astype(np.int64)
    released = sizes >= k
    new_ids = np.where(released, np.cumsum(released) - 1, SUPPRESSED).astype(np.int32)
    class_of = new_ids[class_of]
    n_classes = int(released.sum())
    is_released = class_of != SUPPRESSED
    attributes = []
    for domain, level, column in zip(table.domains, node, codes, strict=True):
        code_of_class: IntArray = np.zeros(n_classes, dtype=np.int64)
        code_of_class[class_of[is_released]] = column[is_released]
        shown, of_class = rank(code_of_class)
        attributes.append(
            AttributeLabels(
                labels=tuple(domain.levels[level][code] for code in shown.tolist()),
                of_class=of_class,
                loss=np.full(n_classes, level / max(1, domain.n_levels - 1)),
            )
        )
    return Recoding(class_of=class_of, sizes=sizes[released], attributes=tuple(attributes), levels=node)

# SPDX-License-Identifier: Apache-2.0
"""What a search in a lattice asks about nodes: whether one passes, and how it ranks."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from kepsilon.kanonymise.counting import Counter
from kepsilon.kanonymise.lattice import Lattice, Node, height
from kepsilon.kanonymise.losses import ChargedLoss, MonotoneLoss


@dataclass(frozen=True, slots=True, order=True)
class RankedNode:
    """A node with what it is ranked by; the smaller one is the better one."""

    loss: int | float | Fraction
    suppressed: int
    height: int
    node: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """The nodes of one table, and what a passing node is."""

    lattice: Lattice
    counter: Counter
    loss: ChargedLoss | MonotoneLoss
    max_suppressed: int
    """How many records may be left out."""
    may_conclude: bool
    """Whether all nodes above a passing node pass, and whoever is left out at a node is left out at every finer one."""

    def passes(self, node: Node, *, k: int) -> bool:
        return self.counter.passing(node, max_suppressed=self.max_suppressed)[k]

    def ranked(self, node: Node, *, k: int) -> RankedNode:
        """A node with its loss; its classes are counted."""
        suppressed, _ = self.counter.outcome(node, k=k)
        if isinstance(self.loss, ChargedLoss):
            loss = self.loss.of(node, self.counter.left_out(node, k=k) if suppressed else None)
        else:
            loss = self.loss.at(node, self.counter.dm_star(node))
        return RankedNode(loss, suppressed, height(node), node)

    def bound(self, node: Node) -> int | float | Fraction:
        """What the node and every node above it lose at least."""
        if isinstance(self.loss, ChargedLoss):
            return self.loss.of(node)
        return self.loss.at(node, self.counter.dm_star(node))

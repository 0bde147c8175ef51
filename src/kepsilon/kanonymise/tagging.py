# SPDX-License-Identifier: Apache-2.0
"""Finds out which nodes of a lattice pass, and counts few of them for it.

From a node to those above it classes only merge: all nodes above a passing node pass, and all nodes below a failing one
fail. Such nodes are tagged without being counted. Which nodes to count is found by bisection, along chains from the lowest
undecided node up to the highest (Kohlmayer et al. 2012; fewer visits than bisecting every sublattice, and about as many
counts). Where requirements do not allow such conclusions, every node is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from kepsilon.kanonymise.counting import Counter
from kepsilon.kanonymise.lattice import Lattice, Node, at_or_above, at_or_below, first_node
from kepsilon.kanonymise.requirements.protocol import Requirement
from kepsilon.table.arrays import BoolArray


def may_tag(requirements: Iterable[Requirement], *, max_suppressed: int) -> bool:
    """Whether all nodes above a passing node pass, and all nodes below a failing node fail.

    This is true of requirements that are monotone under suppression, as k records is. If no record may be left out, it is
    also true of requirements that hold for unions, because at a passing node every class meets them.
    """
    return all(
        requirement.is_monotone_under_suppression or (max_suppressed == 0 and requirement.holds_for_unions)
        for requirement in requirements
    )


def passing_by_bisection(
    lattice: Lattice, counter: Counter, *, ks: Sequence[int], max_suppressed: int
) -> dict[int, BoolArray]:
    """By k: whether each node passes, found by counting few nodes; only where `may_tag` is true."""
    tags = {k: _Tags(lattice) for k in ks}
    for k, tags_of_k in tags.items():
        while (lowest := first_node(~tags_of_k.decided)) is not None:
            chain = _chain(lattice, lowest, undecided=~tags_of_k.decided)
            low, high = 0, len(chain)
            while low < high:
                middle = (low + high) // 2
                passing = counter.passing(chain[middle], max_suppressed=max_suppressed)
                for other_k, others in tags.items():
                    others.tag(chain[middle], passes=passing[other_k])
                low, high = (low, middle) if passing[k] else (middle + 1, high)
    return {k: own.passes for k, own in tags.items()}


def passing_one_by_one(
    lattice: Lattice, counter: Counter, *, ks: Sequence[int], max_suppressed: int
) -> dict[int, BoolArray]:
    """By k: whether each node passes, found by counting every node."""
    passes = {k: np.zeros(lattice.n_levels, dtype=np.bool_) for k in ks}
    for node in lattice.nodes():
        passing = counter.passing(node, max_suppressed=max_suppressed)
        for k, own in passes.items():
            own[node] = passing[k]
    return passes


class _Tags:
    """What is known so far about every node for one k: whether it is decided, and whether it passes."""

    def __init__(self, lattice: Lattice) -> None:
        self.decided: BoolArray = np.zeros(lattice.n_levels, dtype=np.bool_)
        self.passes: BoolArray = np.zeros(lattice.n_levels, dtype=np.bool_)

    def tag(self, node: Node, *, passes: bool) -> None:
        """Decides a counted node, and with it all nodes above it if it passes, or below it if it fails."""
        region = at_or_above(node) if passes else at_or_below(node)
        self.decided[region] = True
        if passes:
            self.passes[region] = True


def _chain(lattice: Lattice, start: Node, *, undecided: BoolArray) -> list[Node]:
    """Undecided nodes from `start` upwards, each one level above the one before, with attributes taking turns.

    As attributes take turns, the chain stays near the middle of the lattice, where one count tags most nodes.
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

# SPDX-License-Identifier: Apache-2.0
"""The nodes of the generalisation lattice and their order.

A node holds one level per attribute. It is finer than another node if none of its levels is higher; from a node to those
above it classes only merge. A set of nodes is a boolean array with one axis per attribute, so that all nodes above a
node, or below it, are one slice.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import BoolArray
from kepsilon.table.codes import Domain

Node = tuple[int, ...]
"""One level per attribute, in the order of the table's attributes."""

NodeSlices = tuple[slice, ...]
"""Selects some nodes of an array that has one axis per attribute and one slot per node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lattice:
    """The generalisation lattice of attributes that have so many levels each."""

    n_levels: tuple[int, ...]

    @property
    def bottom(self) -> Node:
        return (0,) * len(self.n_levels)

    @property
    def top(self) -> Node:
        return tuple(n - 1 for n in self.n_levels)

    @property
    def n_nodes(self) -> int:
        return math.prod(self.n_levels)

    def nodes(self) -> Iterator[Node]:
        """Every node, in lexicographic order."""
        return iter(np.ndindex(*self.n_levels))

    def successors(self, node: Node) -> Iterator[Node]:
        """Nodes that are one level higher in one attribute, in the order of the attributes."""
        for attribute, level in enumerate(node):
            if level + 1 < self.n_levels[attribute]:
                yield (*node[:attribute], level + 1, *node[attribute + 1 :])


def lattice_of(domains: Sequence[Domain], *, max_levels: Sequence[int | None] | None = None) -> Lattice:
    """The generalisation lattice of some attributes, without the levels above `max_levels`."""
    highest = max_levels or (None,) * len(domains)
    own = zip(domains, highest, strict=True)
    return Lattice(n_levels=tuple(d.n_levels if top is None else min(d.n_levels, top + 1) for d, top in own))


def height(node: Node) -> int:
    """Number of steps of one level from the bottom to the node."""
    return sum(node)


def is_finer(node: Node, other: Node) -> bool:
    """Whether no level of `node` is higher than that of `other`; true if both are the same node."""
    return all(map(operator.le, node, other))


def at_or_above(node: Node) -> NodeSlices:
    """The node and all nodes above it."""
    return tuple(slice(level, None) for level in node)


def at_or_below(node: Node) -> NodeSlices:
    """The node and all nodes below it."""
    return tuple(slice(None, level + 1) for level in node)


def minimal_nodes(members: BoolArray) -> tuple[Node, ...]:
    """Nodes of an upward closed set with no node of the set below them, in lexicographic order.

    One step down in each attribute is enough to test, because every node above a member is a member too.
    """
    has_lower = np.zeros_like(members)
    for axis in range(members.ndim):
        upper = (slice(None),) * axis + (slice(1, None),)
        lower = (slice(None),) * axis + (slice(None, -1),)
        has_lower[upper] |= members[lower]
    return tuple(tuple(node) for node in np.argwhere(members & ~has_lower).tolist())


def closed_upwards(members: BoolArray) -> BoolArray:
    """The members and all nodes above them; this does not change which nodes are minimal."""
    for axis in range(members.ndim):
        members = np.logical_or.accumulate(members, axis=axis)
    return members


def first_node(members: BoolArray) -> Node | None:
    """The lexicographically first member, which has no member below it; None if the set is empty."""
    flat = members.ravel()
    position = int(flat.argmax())
    if not flat[position]:
        return None
    return tuple(int(level) for level in np.unravel_index(position, members.shape))

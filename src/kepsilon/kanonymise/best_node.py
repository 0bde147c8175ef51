# SPDX-License-Identifier: Apache-2.0
"""The best of the nodes that pass: least loss, then fewest records left out, then lowest, then lexicographically first.

A loss that never falls on the way up has its best node among the minimal ones. A charged loss need not: a higher node leaves
fewer records out. But what all records lose if none is left out, the *plain* loss, is a lower bound that is known for every
node without counting. So nodes are counted by rising bound until the bound passes the best loss found; mostly that takes
few counts.

A count also raises the bounds of all nodes below: who is left out at a node is left out at every finer one, and is
charged at least as much more than its plain loss there.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from kepsilon.kanonymise.lattice import Node, height
from kepsilon.kanonymise.lookup import Lookup, RankedNode
from kepsilon.kanonymise.losses import ChargedLoss
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray


def best_node(lookup: Lookup, passes: BoolArray, k_minimal: Sequence[Node], *, k: int) -> RankedNode:
    """The best of the nodes that pass, of which there has to be one; `passes` has one axis per attribute."""
    if isinstance(lookup.loss, ChargedLoss):
        return _least_charged(lookup, lookup.loss, passes, k=k)
    # A minimal node was counted: no passing node lies below it from which it could have been tagged.
    candidates = k_minimal if lookup.may_conclude else tuple(map(tuple, np.argwhere(passes).tolist()))
    losses = {node: lookup.loss.at(node, lookup.counter.dm_star(node)) for node in candidates}
    least = min(losses.values())
    # How many records are left out can be costly to count, so only nodes that tie are asked.
    return min(lookup.ranked(node, k=k) for node, own in losses.items() if own == least)


def _least_charged(lookup: Lookup, loss: ChargedLoss, passes: BoolArray, *, k: int) -> RankedNode:
    """The best of the nodes that pass by a charged loss, of which few are counted."""
    plain = [levels[:n] for levels, n in zip(loss.plain, passes.shape, strict=True)]
    best = lookup.ranked(_first_of_least_plain(passes, plain), k=k)
    nodes, bounds = _candidates(passes, plain, up_to=float(best.loss) + loss.tolerance)
    order = np.lexsort((*nodes.T[::-1], nodes.sum(axis=1), bounds))
    nodes, bounds = nodes[order], bounds[order]
    raised = bounds.copy()
    for i, node in enumerate(map(tuple, nodes.tolist())):
        limit = float(best.loss) + loss.tolerance
        if bounds[i] > limit:
            break
        if raised[i] > limit or _can_only_tie(node, best, loss):
            continue
        own = lookup.ranked(node, k=k)
        best = min(best, own)
        if lookup.may_conclude and own.suppressed:
            is_below = (nodes <= nodes[i]).all(axis=1)
            raised[is_below] = np.maximum(raised[is_below], bounds[is_below] + (float(own.loss) - bounds[i]))
    return best


def _can_only_tie(node: Node, best: RankedNode, loss: ChargedLoss) -> bool:
    """Whether a node loses at least as much as the best one, which leaves nobody out and is lower or comes first."""
    is_behind = best.suppressed == 0 and (best.height, best.node) <= (height(node), node)
    return is_behind and loss.of(node) >= best.loss


def _first_of_least_plain(passes: BoolArray, plain: list[FloatArray]) -> Node:
    """A passing node of least plain loss; one has to be there."""
    rest = _sums(plain[1:])
    least: tuple[float, int] | None = None
    found: Node = ()
    for level, first in enumerate(plain[0] if plain else ()):
        own = np.where(passes[level], rest, np.inf)
        position = int(own.argmin())
        value = float(first + own.flat[position])
        if value < np.inf and (least is None or (value, level) < least):
            least = (value, level)
            found = (level, *(int(at) for at in np.unravel_index(position, rest.shape)))
    return found


def _candidates(passes: BoolArray, plain: list[FloatArray], *, up_to: float) -> tuple[IntArray, FloatArray]:
    """The passing nodes whose plain loss is at most so large, shape (n, n_attributes), and their plain losses."""
    if not plain:
        return np.zeros((1, 0), dtype=np.int64), np.zeros(1)
    rest = _sums(plain[1:])
    nodes, bounds = [], []
    # One level of the first attribute after the other, so that no array has a number for every node.
    for level, first in enumerate(plain[0].tolist()):
        is_near = passes[level] & (first + rest <= up_to)
        others = np.argwhere(is_near)
        nodes.append(np.column_stack([np.full(len(others), level, dtype=np.int64), others]))
        bounds.append(first + rest[is_near])
    return np.concatenate(nodes), np.concatenate(bounds)


def _sums(plain: list[FloatArray]) -> FloatArray:
    """The plain loss of every node of some attributes, with one axis per attribute."""
    return functools.reduce(np.add.outer, plain) if plain else np.zeros(())

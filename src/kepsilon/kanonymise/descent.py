# SPDX-License-Identifier: Apache-2.0
"""A good node of a lattice that is too large to be searched, and how good any node could be.

*Descent* starts at the top and goes down one level at a time, in the attribute where that lowers the loss most. Where no
step down helps, one attribute goes down and another one up. The node that is found is not proven to be the best.

What is proven is a bound. If the top fails as soon as one attribute is below some level, every node that passes has that
attribute at this level or above; so no node that passes loses less than the node at which every attribute has its own
such level, if nobody were left out there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from kepsilon.kanonymise.lattice import Node
from kepsilon.kanonymise.lookup import Lookup, RankedNode
from kepsilon.kanonymise.losses import ChargedLoss

WORTH_A_DESCENT = 0.1
"""A limit on records left out that could cost less than this share of everything is searched as it is."""

MOST_COUNTS = 20_000
"""Most nodes that a descent counts; the time it takes is bounded, whatever the table."""


def descend(lookup: Lookup, *, k: int) -> RankedNode:
    """A good node that passes; the top has to pass. Deterministic, whatever the order of the records."""
    best = lookup.ranked(lookup.lattice.top, k=k)
    fails: set[Node] = set()
    most = lookup.counter.n_counted + MOST_COUNTS
    while lookup.counter.n_counted < most:
        better = _best_of(_steps_down(best.node), best, lookup, fails, k=k)
        if better is None:
            better = _best_of(_exchanges(best.node, lookup.lattice.top), best, lookup, fails, k=k)
        if better is None:
            break
        best = better
    return best


def worth_leaving_out(lookup: Lookup, ks: Sequence[int]) -> int:
    """How many records a node can leave out and still be the best for one of the k; at most as many as are allowed.

    A charged loss that descent finds is one that the best node does not exceed, and every record that is left out adds to
    it. Where few are allowed, nothing is gained, and no node is counted.
    """
    if not isinstance(lookup.loss, ChargedLoss) or not lookup.may_conclude:
        return lookup.max_suppressed
    least = lookup.loss.least_charge
    if lookup.max_suppressed * least <= WORTH_A_DESCENT * lookup.loss.most:
        return lookup.max_suppressed
    most = 0
    for k in ks:
        if not lookup.passes(lookup.lattice.top, k=k):
            continue
        most = max(most, math.floor(float(descend(lookup, k=k).loss) / least * (1 + 1e-9)) + 1)
    return min(lookup.max_suppressed, most)


def loss_bound(lookup: Lookup, *, k: int) -> int | float:
    """What every node that passes loses at least; the top has to pass."""
    node = list(lookup.lattice.bottom)
    for attribute in range(len(node)) if lookup.may_conclude else ():
        low, high = 0, lookup.lattice.top[attribute]
        while low < high:
            middle = (low + high) // 2
            if lookup.passes(_at(lookup.lattice.top, attribute, middle), k=k):
                high = middle
            else:
                low = middle + 1
        node[attribute] = low
    bound = lookup.bound(tuple(node))
    return float(bound) if isinstance(bound, Fraction) else bound


def _best_of(nodes: Iterable[Node], best: RankedNode, lookup: Lookup, fails: set[Node], *, k: int) -> RankedNode | None:
    """The best of some nodes that pass, if it is better than the best so far; few are counted.

    `fails` holds nodes that were found not to pass; those found here are added.
    """
    found = None
    # What a node loses at least is known before its classes are counted, so the most promising nodes come first.
    for bound, node in sorted((lookup.bound(node), node) for node in nodes if node not in fails):
        least = best if found is None else found
        if bound > least.loss:
            break
        if not lookup.passes(node, k=k):
            fails.add(node)
            continue
        own = lookup.ranked(node, k=k)
        if own < least:
            found = own
    return found


def _steps_down(node: Node) -> Iterator[Node]:
    """Nodes that are one level lower in one attribute."""
    for attribute, level in enumerate(node):
        if level:
            yield _at(node, attribute, level - 1)


def _exchanges(node: Node, top: Node) -> Iterator[Node]:
    """Nodes that are one level lower in one attribute, and one level higher in another."""
    for lower in _steps_down(node):
        for attribute, level in enumerate(lower):
            if level == node[attribute] < top[attribute]:
                yield _at(lower, attribute, level + 1)


def _at(node: Node, attribute: int, level: int) -> Node:
    """The node with another level of one attribute."""
    return (*node[:attribute], level, *node[attribute + 1 :])

# SPDX-License-Identifier: Apache-2.0
"""Which nodes are worth visiting when combinations are placed: all of them, or those that classes found so far lie at."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from kepsilon.kanonymise.local_attributes import LocalAttribute
from kepsilon.kanonymise.placing import Node
from kepsilon.kanonymise.run_losses import common_level
from kepsilon.table.arrays import IntArray
from kepsilon.table.keys import number


def all_nodes(attributes: Sequence[LocalAttribute], *, most: int) -> list[Node] | None:
    """Every node; None if there are more than `most`."""
    heights = [len(attribute.levels) for attribute in attributes]
    return None if math.prod(heights) > most else list(itertools.product(*map(range, heights)))


def records_by_node(attributes: Sequence[LocalAttribute], counts: IntArray, class_of: IntArray) -> dict[Node, int]:
    """By node, the records of classes that lie at it: of each attribute, the level of the lowest common ancestor."""
    inside = np.flatnonzero(class_of >= 0)
    own = class_of[inside]
    n_classes = int(own.max(initial=-1)) + 1
    levels = []
    for attribute in attributes:
        codes = attribute.codes[inside]
        first = np.full(n_classes, attribute.n_codes - 1)
        last = np.zeros(n_classes, dtype=np.int64)
        np.minimum.at(first, own, codes)
        np.maximum.at(last, own, codes)
        levels.append(common_level(attribute.levels, first, last))
    records = np.bincount(own, weights=counts[inside], minlength=n_classes)
    sizes = [len(attribute.levels) for attribute in attributes]
    node_of, n_nodes = number(levels, sizes=sizes, length=n_classes)
    example = np.zeros(n_nodes, dtype=np.int64)
    example[node_of] = np.arange(n_classes)
    totals = np.bincount(node_of, weights=records, minlength=n_nodes)
    nodes = zip(*(column[example].tolist() for column in levels), strict=True) if levels else [()] * n_nodes
    return dict(zip(nodes, totals.astype(np.int64).tolist(), strict=True))


def heaviest(found: Iterable[Mapping[Node, int]], *, most: int) -> list[Node]:
    """The nodes that carry most records in one of several partitions, `most` of them at the most."""
    weight: dict[Node, int] = {}
    for records in found:
        for node, n in records.items():
            weight[node] = max(n, weight.get(node, 0))
    return sorted(weight, key=lambda node: (-weight[node], node))[:most]


def with_neighbours(
    attributes: Sequence[LocalAttribute], nodes: Iterable[Node], carried: Mapping[Node, int], *, most: int
) -> set[Node]:
    """The nodes, and those one level away from nodes that classes lie at, the heaviest first, until there are `most`."""
    found = set(nodes)
    for node in heaviest([carried], most=len(carried)):
        if len(found) >= most:
            break
        for position, attribute in enumerate(attributes):
            for level in (node[position] - 1, node[position] + 1):
                if 0 <= level <= attribute.top:
                    found.add((*node[:position], level, *node[position + 1 :]))
    return found

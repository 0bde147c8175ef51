# SPDX-License-Identifier: Apache-2.0
"""OLA by looking at every node, from the records themselves.

Hierarchies are given as a mapping from value to its labels, one per level.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

Labels = Mapping[str | None, Sequence[str | None]]
Node = tuple[int, ...]
Column = Sequence[str | None]

Numbers = Sequence[Mapping[str | None, float] | None]
"""By attribute: the number of every value but null; None for categories."""

CHARGED = ("ncp", "entropy")
"""Losses at which a record that is left out costs all it has."""


@dataclass(frozen=True)
class Best:
    node: Node
    suppressed: int
    n_classes: int
    loss: object
    k_minimal: frozenset[Node]


def all_nodes(hierarchies: Sequence[Labels], max_levels: Sequence[int | None] | None = None) -> list[Node]:
    heights = [len(next(iter(h.values()))) for h in hierarchies]
    own = zip(heights, max_levels or [None] * len(heights), strict=True)
    return list(itertools.product(*(range(n if top is None else min(n, top + 1)) for n, top in own)))


def shown_at(record: tuple, hierarchies: Sequence[Labels], node: Node) -> tuple:
    """The labels of a record at a node."""
    return tuple(h[value][level] for h, level, value in zip(hierarchies, node, record, strict=True))


def class_sizes(records: Sequence[tuple], hierarchies: Sequence[Labels], node: Node) -> Counter:
    """Records by the labels they show at the node."""
    return Counter(shown_at(record, hierarchies, node) for record in records)


Meets = Callable[[Sequence[tuple]], bool]
"""Whether the records of a class meet a requirement."""


def anything_goes(_: Sequence[tuple]) -> bool:
    return True


def released_classes(
    records: Sequence[tuple], hierarchies: Sequence[Labels], node: Node, k: int, meets: Meets = anything_goes
) -> dict[tuple, int]:
    """Sizes of the classes that have k records and meet the requirement, by their labels."""
    classes: dict[tuple, list[tuple]] = {}
    for record in records:
        classes.setdefault(shown_at(record, hierarchies, node), []).append(record)
    return {shown: len(members) for shown, members in classes.items() if len(members) >= k and meets(members)}


def released_sizes(
    records: Sequence[tuple], hierarchies: Sequence[Labels], node: Node, k: int, meets: Meets = anything_goes
) -> list[int]:
    return list(released_classes(records, hierarchies, node, k, meets).values())


def suppressed_at(
    records: Sequence[tuple], hierarchies: Sequence[Labels], node: Node, k: int, meets: Meets = anything_goes
) -> int:
    return len(records) - sum(released_sizes(records, hierarchies, node, k, meets))


def exact_loss(
    name: str,
    records: Sequence[tuple],
    hierarchies: Sequence[Labels],
    node: Node,
    *,
    released: Sequence[bool] | None = None,
    numbers: Numbers | None = None,
    importance: Sequence[int] | None = None,
) -> Fraction:
    """A number that orders nodes as the loss does, without rounding; for entropy 2 to the power of the loss.

    `released` says of every record whether it is released; all are by default.
    """
    weights = importance or [1] * len(hierarchies)
    stays = released or [True] * len(records)
    columns = list(zip(*records, strict=True)) if records else [()] * len(hierarchies)
    if name == "dm*":
        return Fraction(sum(size**2 for size in class_sizes(records, hierarchies, node).values()))
    if name == "precision":
        tops = [len(next(iter(h.values()))) - 1 for h in hierarchies]
        own = zip(node, tops, weights, strict=True)
        return Fraction(sum(w * Fraction(level, top) for level, top, w in own if top)) / (sum(weights) or 1)
    if name == "ncp":
        total = Fraction(0)
        for column, h, level, w, own in zip(
            columns, hierarchies, node, weights, numbers or [None] * len(node), strict=True
        ):
            total += w * sum(map(Fraction, ncp_of_records(column, h, level, own, stays)))
        return total / (len(records) * sum(weights) or 1)
    product = Fraction(1)
    for column, h, level, w in zip(columns, hierarchies, node, weights, strict=True):
        values = Counter(column)
        labels = Counter(h[value][level] for value in column)
        for value, is_released in zip(column, stays, strict=True):
            hides_among = labels[h[value][level]] if is_released else len(records)
            product *= Fraction(hides_among, values[value]) ** w
    return product


def ncp_of_records(
    column: Column,
    hierarchy: Labels,
    level: int,
    numbers: Mapping[str | None, float] | None,
    released: Sequence[bool],
) -> list[Fraction]:
    """What each record loses: the share of what occurs that its label covers, or 1 if it is left out."""
    values = set(column)
    place = {} if numbers is None else _places(values, numbers)
    lost = []
    for value, is_released in zip(column, released, strict=True):
        together = [other for other in values if hierarchy[other][level] == hierarchy[value][level]]
        if not is_released:
            lost.append(Fraction(1))
        elif numbers is None:
            lost.append(Fraction(len(together) - 1, max(1, len(values) - 1)))
        else:
            whole = max(place.values()) - min(place.values())
            lost.append((max(map(place.get, together)) - min(map(place.get, together))) / (whole or 1))
    return lost


def _places(values: set[str | None], numbers: Mapping[str | None, float]) -> dict[str | None, Fraction]:
    """Where values lie on the number line; null lies where the smallest number does."""
    known = {value: Fraction(numbers[value]) for value in values if value is not None}
    return {**known, **({None: min(known.values(), default=Fraction(0))} if None in values else {})}


def loss_value(name: str, exact: Fraction) -> float:
    return math.log2(exact) if name == "entropy" else float(exact)


def search(
    records: Sequence[tuple],
    hierarchies: Sequence[Labels],
    *,
    k: int,
    max_suppressed: int,
    loss: str,
    meets: Meets = anything_goes,
    numbers: Numbers | None = None,
    importance: Sequence[int] | None = None,
    max_levels: Sequence[int | None] | None = None,
) -> Best | None:
    """The best of the nodes that pass, or None if none does."""
    nodes = all_nodes(hierarchies, max_levels)
    released = {node: released_classes(records, hierarchies, node, k, meets) for node in nodes}
    suppressed = {node: len(records) - sum(own.values()) for node, own in released.items()}
    passing = {node for node in nodes if suppressed[node] <= max_suppressed}
    k_minimal = {
        node
        for node in passing
        if not any(other != node and all(a <= b for a, b in zip(other, node, strict=True)) for other in passing)
    }
    if not passing:
        return None

    def loss_at(node: Node) -> Fraction:
        stays = [shown_at(record, hierarchies, node) in released[node] for record in records]
        return exact_loss(
            loss,
            records,
            hierarchies,
            node,
            released=stays if loss in CHARGED else None,
            numbers=numbers,
            importance=importance,
        )

    keys = {node: (loss_at(node), suppressed[node], sum(node), node) for node in passing}
    best = min(passing, key=keys.__getitem__)  # of all that pass, not only of the minimal ones
    return Best(
        node=best,
        suppressed=suppressed[best],
        n_classes=len(released[best]),
        loss=loss_value(loss, keys[best][0]),
        k_minimal=frozenset(k_minimal),
    )

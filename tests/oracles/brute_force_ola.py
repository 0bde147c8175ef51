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


@dataclass(frozen=True)
class Best:
    node: tuple[int, ...]
    suppressed: int
    n_classes: int
    loss: object
    k_minimal: frozenset[tuple[int, ...]]


def all_nodes(hierarchies: Sequence[Labels]) -> list[tuple[int, ...]]:
    return list(itertools.product(*(range(len(next(iter(h.values())))) for h in hierarchies)))


def class_sizes(records: Sequence[tuple], hierarchies: Sequence[Labels], node: tuple[int, ...]) -> Counter:
    """Records by the labels they show at the node."""
    return Counter(
        tuple(h[value][level] for h, level, value in zip(hierarchies, node, record, strict=True)) for record in records
    )


Meets = Callable[[Sequence[tuple]], bool]
"""Whether the records of a class meet a requirement."""


def anything_goes(_: Sequence[tuple]) -> bool:
    return True


def released_sizes(
    records: Sequence[tuple], hierarchies: Sequence[Labels], node: tuple[int, ...], k: int, meets: Meets = anything_goes
) -> list[int]:
    """Sizes of the classes that have k records and meet the requirement."""
    classes: dict[tuple, list[tuple]] = {}
    for record in records:
        shown = tuple(h[value][level] for h, level, value in zip(hierarchies, node, record, strict=True))
        classes.setdefault(shown, []).append(record)
    return [len(members) for members in classes.values() if len(members) >= k and meets(members)]


def suppressed_at(
    records: Sequence[tuple], hierarchies: Sequence[Labels], node: tuple[int, ...], k: int, meets: Meets = anything_goes
) -> int:
    return len(records) - sum(released_sizes(records, hierarchies, node, k, meets))


Numbers = Sequence[Mapping[str | None, float] | None]
"""By attribute: the number of every value but null; None for categories."""


def exact_loss(
    name: str,
    records: Sequence[tuple],
    hierarchies: Sequence[Labels],
    node: tuple[int, ...],
    *,
    numbers: Numbers | None = None,
) -> Fraction:
    """A number that orders nodes as the loss does, without rounding; for entropy 2 to the power of the loss."""
    if name == "dm*":
        return Fraction(sum(size**2 for size in class_sizes(records, hierarchies, node).values()))
    if name == "precision":
        total = Fraction(0)
        for level, h in zip(node, hierarchies, strict=True):
            top = len(next(iter(h.values()))) - 1
            total += Fraction(level, top) if top else Fraction(0)
        return total / len(hierarchies) if hierarchies else Fraction(0)
    if name == "ncp":
        by_attribute = enumerate(zip(hierarchies, node, numbers or [None] * len(node), strict=True))
        return sum((_ncp([record[i] for record in records], *own) for i, own in by_attribute), Fraction(0))
    product = Fraction(1)
    for i, (level, h) in enumerate(zip(node, hierarchies, strict=True)):
        values = Counter(record[i] for record in records)
        labels = Counter(h[record[i]][level] for record in records)
        for record in records:
            product *= Fraction(labels[h[record[i]][level]], values[record[i]])
    return product


def _ncp(
    column: Sequence[str | None], hierarchy: Labels, level: int, numbers: Mapping[str | None, float] | None
) -> Fraction:
    """Sum over records of the share of what occurs that the label covers."""
    values = set(column)
    place = {value: Fraction(1) for value in values} if numbers is None else _places(values, numbers)
    total = Fraction(0)
    for value in column:
        together = [other for other in values if hierarchy[other][level] == hierarchy[value][level]]
        if numbers is None:
            total += Fraction(len(together) - 1, max(1, len(values) - 1))
        else:
            whole = max(place.values()) - min(place.values())
            total += (max(map(place.get, together)) - min(map(place.get, together))) / (whole or 1)
    return total


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
) -> Best | None:
    """The best of the nodes that pass, or None if none does."""
    nodes = all_nodes(hierarchies)
    suppressed = {node: suppressed_at(records, hierarchies, node, k, meets) for node in nodes}
    passing = {node for node in nodes if suppressed[node] <= max_suppressed}
    k_minimal = {
        node
        for node in passing
        if not any(other != node and all(a <= b for a, b in zip(other, node, strict=True)) for other in passing)
    }
    if not passing:
        return None
    keys = {n: (exact_loss(loss, records, hierarchies, n, numbers=numbers), suppressed[n], sum(n), n) for n in passing}
    best = min(passing, key=keys.__getitem__)  # of all that pass, not only of the minimal ones
    return Best(
        node=best,
        suppressed=suppressed[best],
        n_classes=len(released_sizes(records, hierarchies, best, k, meets)),
        loss=loss_value(loss, keys[best][0]),
        k_minimal=frozenset(k_minimal),
    )

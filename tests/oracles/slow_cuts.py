# SPDX-License-Identifier: Apache-2.0
"""The cuts of one class, tried one by one on its records, and what each of them gains; from the sentences of the docs.

A cut is a threshold in the order of the values, or, for categories, one child of the lowest common ancestor against the
others. It gains what the labels of the attribute lose less, summed over records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from oracles import slow_labels
from strategies import Attribute, Value

Meets = Callable[[Sequence[int]], bool]
"""Whether records, given by their positions, may be a class."""


def loss(values: Sequence[Value], attribute: Attribute, column: Sequence[Value], *, k: int, style: str) -> Fraction:
    """What the label of a class loses; `column` holds the values of all records."""
    if attribute.numbers is not None and attribute.step is not None:
        label = slow_labels.numbers(values, step=attribute.step, style=style)
        return slow_labels.loss_of_numbers(label, column, [_is_in_interval(value, label) for value in column])
    if not attribute.generalises:
        label = slow_labels.without_hierarchy(values, column, k=k, style=style)
        is_everything = label == "*" and len(set(values)) > 1
        return slow_labels.loss_of_categories(column, [is_everything or value in values for value in column])
    level, _ = ancestor(values, attribute)
    children = children_of(values, attribute)
    if style == "siblings" and 2 <= len(children) <= 4:
        covers = [attribute.labels[value][level - 1] in children for value in column]
    else:
        covers = [_node(value, attribute, level) == _node(values[0], attribute, level) for value in column]
    if attribute.numbers is not None:
        known = [Fraction(value) for value in column if value is not None]
        covered = [value for value, is_in in zip(column, covers, strict=True) if is_in]
        inside = [min(known) if value is None else Fraction(value) for value in covered] if known else [Fraction(0)]
        whole = max(known) - min(known) if known else 0
        return (max(inside) - min(inside)) / whole if whole else Fraction(0)
    return slow_labels.loss_of_categories(column, covers)


def ancestor(values: Sequence[Value], attribute: Attribute) -> tuple[int, Value]:
    """The lowest level at which all values have one label, and the label; one above the top if there is none."""
    for level in range(attribute.n_levels):
        if len({attribute.labels[value][level] for value in values}) == 1:
            return level, attribute.labels[values[0]][level]
    return attribute.n_levels, "*"


def children_of(values: Sequence[Value], attribute: Attribute) -> list[Value]:
    """The children of the lowest common ancestor that occur; empty where there is a single value."""
    level, _ = ancestor(values, attribute)
    return list(dict.fromkeys(attribute.labels[value][level - 1] for value in values)) if level else []


def cuts(
    members: Sequence[int], values: Sequence[Value], places: Sequence[int], attribute: Attribute
) -> Iterator[tuple[list[int], list[int]]]:
    """Both sides of every cut of a class along one attribute, whether or not they may be classes.

    `members` are the positions of its records; `values` and `places` (whole numbers in the order of the values) are those of
    all records.
    """
    own = sorted({places[i] for i in members})
    for threshold in own[:-1]:
        yield [i for i in members if places[i] <= threshold], [i for i in members if places[i] > threshold]
    if attribute.numbers is None or attribute.step is None:
        held = [values[i] for i in members]
        level, _ = ancestor(held, attribute)
        for child in children_of(held, attribute):
            inside = [i for i in members if attribute.labels[values[i]][level - 1] == child]
            yield inside, [i for i in members if i not in set(inside)]


def gain(
    sides: Sequence[Sequence[int]], values: Sequence[Value], attribute: Attribute, *, k: int, style: str
) -> Fraction:
    """How much less the labels of the sides lose than the label of the class that they make up."""

    def lost(members: Sequence[int]) -> Fraction:
        return len(members) * loss([values[i] for i in members], attribute, values, k=k, style=style)

    return lost([i for side in sides for i in side]) - sum(map(lost, sides))


def cut_left(
    members: Sequence[int],
    columns: Sequence[Sequence[Value]],
    places: Sequence[Sequence[int]],
    attributes: Sequence[Attribute],
    *,
    k: int,
    style: str,
    meets: Meets,
) -> tuple[str, Fraction] | None:
    """An attribute and the gain of a cut that both sides of meet the requirements, and that gains; None if there is none."""
    for attribute, values, own in zip(attributes, columns, places, strict=True):
        for sides in cuts(members, values, own, attribute):
            if all(len(side) >= k and meets(side) for side in sides):
                gained = gain(sides, values, attribute, k=k, style=style)
                if gained > Fraction(1, 10**8):
                    return attribute.name, gained
    return None


def _node(value: Value, attribute: Attribute, level: int) -> Value:
    return attribute.labels[value][level] if level < attribute.n_levels else "*"


def _is_in_interval(value: Value, label: Value) -> bool:
    """Whether a label such as "null or [2, 4)" covers a value."""
    if label in (None, "*"):
        return label == "*" or value is None
    text = label.removeprefix("null or ")
    if value is None:
        return text != label
    low, high = map(Fraction, text[1:-1].split(", "))
    return low <= math.floor(Fraction(value) * 10**6) / Fraction(10**6) < high

# SPDX-License-Identifier: Apache-2.0
"""Places combinations bottom-up: at one node after the other, every class that meets the requirements is kept.

A node is one level per attribute. Nodes are visited by rising loss, and only combinations that no earlier node placed are
looked at. What is left of a part that was there from the beginning never fails a requirement, so the last node, at which
all of a part is one class, places all that is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from kepsilon.kanonymise.best_cuts import PartsMeet
from kepsilon.kanonymise.local_attributes import LocalAttribute
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.keys import number

Node = tuple[int, ...]
"""One level per attribute."""


def place(
    attributes: Sequence[LocalAttribute],
    counts: IntArray,
    part_of: IntArray,
    nodes: Iterable[Node],
    *,
    k: int,
    parts_meet: PartsMeet | None = None,
) -> IntArray:
    """Class of every combination, shape (n_combinations,); −1 where `part_of`, the parts to begin with, is −1."""
    found: IntArray = np.full(len(part_of), -1, dtype=np.int64)
    left = np.flatnonzero(part_of >= 0)
    parts: IntArray = part_of[left].astype(np.int64)
    weights: IntArray = counts[left].astype(np.int64)
    codes = [attribute.codes[left] for attribute in attributes]
    n_parts, n_found = int(parts.max(initial=-1)) + 1, 0
    top = tuple(attribute.top for attribute in attributes)
    for node in [*in_order(attributes, nodes), top]:
        if not len(left):
            break
        columns: list[IntArray] = [parts]
        sizes = [n_parts]
        for attribute, own, level in zip(attributes, codes, node, strict=True):
            if level < attribute.top:
                columns.append(attribute.levels[level][own] if level else own)
                sizes.append(int(attribute.levels[level][-1]) + 1)
        class_of, n_classes = number(columns, sizes=sizes, length=len(left))
        n_records = np.bincount(class_of, weights=weights, minlength=n_classes).astype(np.int64)
        kept = n_records >= k
        if kept.any() and parts_meet is not None:
            kept &= _meet(class_of, left, kept, len(part_of), parts_meet)
        if not kept.any():
            continue
        if node != top:
            kept = _leaving_enough(
                kept, class_of, n_records, parts, weights, left, len(part_of), n_parts, k, parts_meet
            )
        is_kept = kept[class_of]
        found[left[is_kept]] = n_found + (np.cumsum(kept) - 1)[class_of[is_kept]]
        n_found += int(kept.sum())
        stays = ~is_kept
        left, parts, weights = left[stays], parts[stays], weights[stays]
        codes = [own[stays] for own in codes]
    return found


def in_order(attributes: Sequence[LocalAttribute], nodes: Iterable[Node]) -> list[Node]:
    """The nodes by rising loss, and in lexicographic order where losses are equal but for rounding errors."""
    listed = sorted(set(nodes))
    losses = np.zeros(len(listed))
    for attribute, levels in zip(attributes, np.array(listed, dtype=np.int64).reshape(len(listed), -1).T, strict=True):
        losses += attribute.by_level[levels]
    return [listed[i] for i in np.argsort(np.round(losses, 9), kind="stable").tolist()]


def _leaving_enough(
    kept: BoolArray,
    class_of: IntArray,
    n_records: IntArray,
    parts: IntArray,
    weights: IntArray,
    left: IntArray,
    n_combinations: int,
    n_parts: int,
    k: int,
    parts_meet: PartsMeet | None,
) -> BoolArray:
    """The classes to keep so that what is left of every part is nothing, or meets the requirements.

    Where it would not, the smallest class of the part is put back; if that is not enough, all of them are.
    """
    part_of_class: IntArray = np.zeros(len(kept), dtype=np.int64)
    part_of_class[class_of] = parts
    for is_last_try in (False, True):
        stays = ~kept[class_of]
        rest = np.bincount(parts[stays], weights=weights[stays], minlength=n_parts)
        fails = (rest > 0) & (rest < k)
        if parts_meet is not None:
            left_of: IntArray = np.full(n_combinations, -1, dtype=np.int64)
            left_of[left[stays]] = parts[stays]
            fails |= (rest > 0) & ~parts_meet(left_of, n_parts)
        back = np.flatnonzero(kept & fails[part_of_class])
        if not len(back):
            break
        if not is_last_try:
            back = back[np.lexsort((n_records[back], part_of_class[back]))]
            back = back[np.diff(part_of_class[back], prepend=-1) != 0]
        kept = kept.copy()
        kept[back] = False
    return kept


def _meet(
    class_of: IntArray, left: IntArray, is_large: BoolArray, n_combinations: int, parts_meet: PartsMeet
) -> BoolArray:
    """Whether each class that is large enough meets the requirements beyond k records."""
    numbers = np.where(is_large, np.cumsum(is_large) - 1, -1)
    large_of: IntArray = np.full(n_combinations, -1, dtype=np.int64)
    large_of[left] = numbers[class_of]
    meets: BoolArray = np.zeros(len(is_large), dtype=np.bool_)
    meets[is_large] = parts_meet(large_of, int(is_large.sum()))
    return meets

# SPDX-License-Identifier: Apache-2.0
"""Labels of categories: nodes of a hierarchy and sets of siblings, or sets of values where there is no hierarchy.

A lowest common ancestor alone marks the rare: if all but a few records of a column fit into classes of one value, `*`
means "one of the others". So a `siblings` label names the children of the lowest common ancestor that occur in the part,
as a set such as `{a, b}`, up to four of them; if more occur, it is the ancestor. A hierarchy may have several top labels.
These are then siblings under nothing, and `*` stands for all of them.

Without a hierarchy nobody has said which values may be shown side by side. A part is labelled with the set of its values
only if at least k records of the data hold each of them, otherwise with `*`; k persons, where persons have several records.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from kepsilon.kanonymise.label_losses import Coverage, Covered
from kepsilon.kanonymise.table_parts import (
    EVERYTHING,
    NULL,
    LabelStyle,
    TableParts,
    from_distinct,
    without_repeats,
)
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.classes import AttributeLabels
from kepsilon.table.codes import Domain, Label
from kepsilon.table.keys import distinct

MOST_SIBLINGS = 4
"""The largest number of siblings that a label names."""


def node_labels(domain: Domain, parts: TableParts, *, style: LabelStyle) -> AttributeLabels:
    """Label and loss of every part of an attribute with a hierarchy.

    The loss is (values covered − 1) / (values − 1), of the values that occur in the data.
    """
    level, ancestor = _common_ancestors(domain, parts)
    siblings = _siblings(domain, parts, level) if style == "siblings" else ()
    # Codes at level 0 from which on the labels of each level stand; values of one label are neighbours. One label more stands
    # above the levels for everything.
    n_values = [np.bincount(domain.at_level(at), minlength=len(labels)) for at, labels in enumerate(domain.levels)]
    n_values.append(np.array([domain.n_values]))
    first_node = np.cumsum([0, *map(len, n_values[:-1])])
    start_of = np.concatenate([np.cumsum(own) - own for own in n_values])
    end_of = np.concatenate([np.cumsum(own) for own in n_values])
    texts = [[""] * len(own) for own in domain.levels]  # of nodes that sets name, once they are needed

    def label(level: int, ancestor: int, *siblings: int) -> Label:
        if not siblings or not siblings[0]:
            return EVERYTHING if level == domain.n_levels else alone(domain.levels[level][ancestor])
        own = texts[level - 1]
        for one in siblings:
            if one and not own[one - 1]:
                own[one - 1] = _quoted(domain.levels[level - 1][one - 1])
        return set_of([own[one - 1] for one in siblings if one])

    def shown(
        level: IntArray, ancestor: IntArray, first: IntArray | None = None, *others: IntArray
    ) -> tuple[IntArray, IntArray]:
        """First code, and the one after the last, of each node that labels name, shape (n_nodes, n_labels)."""
        whole = first_node[level] + ancestor
        if first is None:
            return start_of[whole][np.newaxis], end_of[whole][np.newaxis]
        below = first_node[np.maximum(level - 1, 0)]
        nodes = np.stack([np.where(first > 0, below + first - 1, whole), *(below + one - 1 for one in others)])
        is_there = np.stack([np.ones(len(level), dtype=np.bool_), *(one > 0 for one in others)])
        nodes[~is_there] = 0
        return np.where(is_there, start_of[nodes], 0), np.where(is_there, end_of[nodes], 0)

    def loss(*codes: IntArray) -> FloatArray:
        starts, ends = shown(*codes)
        return _loss((ends - starts).sum(axis=0), domain)

    coverage = Coverage(domain, parts.records(domain.n_values))

    def covers(*codes: IntArray) -> Covered:
        return coverage.of(*shown(*codes))

    return from_distinct(label, (level, ancestor, *siblings), loss=loss, covers=covers)


def set_labels(domain: Domain, parts: TableParts, *, style: LabelStyle) -> AttributeLabels:
    """Label and loss of every part of an attribute without a hierarchy; the loss is that of `node_labels`."""
    holders = parts.holders(domain.n_values)
    part, code = _occurring(parts.part_of, parts.codes, domain.n_values)
    n_values = np.bincount(part, minlength=parts.n_parts)
    n_rare = np.bincount(part, weights=holders[code] < parts.k, minlength=parts.n_parts)
    tells_all = n_values == 1
    if style == "siblings":
        tells_all |= n_rare == 0
    ends = np.cumsum(n_values).tolist()
    numbers: dict[bytes, int] = {}
    of_part: IntArray = np.empty(parts.n_parts, dtype=np.int64)
    labels: list[Label] = []
    for position, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        shown = code[start:end] if tells_all[position] else code[:0]
        key = shown.tobytes()
        if key not in numbers:
            numbers[key] = len(numbers)
            labels.append(_set_or_value([domain.levels[0][i] for i in shown.tolist()]))
        of_part[position] = numbers[key]
    n_covered = np.where(tells_all, n_values, domain.n_values)
    loss = _loss(n_covered, domain)
    records = parts.records(domain.n_values)
    of_values = np.bincount(part, weights=records[code], minlength=parts.n_parts).astype(np.int64)
    covered = np.where(tells_all, of_values, records.sum())
    return without_repeats(labels, of_part, loss=loss, ncp=loss, covered=covered)


def _set_or_value(values: Sequence[Label]) -> Label:
    """The label of a part without hierarchy that shows these values; none are shown if the part may hold any value."""
    if len(values) != 1:
        return set_text(values) if values else EVERYTHING
    (value,) = values
    return set_text([value]) if value == EVERYTHING else alone(value)


def set_text(values: Sequence[Label]) -> str:
    """A set of values as a label, such as "{a, b}"."""
    return set_of([_quoted(value) for value in values])


def set_of(texts: Sequence[str]) -> str:
    """A set of values as a label, from the texts of its values, in quotes where they need them."""
    return "{" + ", ".join(texts) + "}"


def alone(value: Label) -> Label:
    """The label of a part with a single value or node: the value itself, or a set of one if it looks like a set."""
    looks_like_set = value is not None and value.startswith("{") and value.endswith("}")
    return set_text([value]) if looks_like_set else value


def _common_ancestors(domain: Domain, parts: TableParts) -> tuple[IntArray, IntArray]:
    """Level and code of the lowest common ancestor of every part; level `n_levels` and code 0 where there is none.

    Values of one parent are neighbours, so all values of a part agree at a level if the first and the last do.
    """
    first, last = parts.extremes(np.arange(domain.n_values))
    level_of = np.full(parts.n_parts, domain.n_levels)
    code_of = np.zeros(parts.n_parts, dtype=np.int64)
    for level in reversed(range(domain.n_levels)):
        codes = domain.at_level(level)
        agree = codes[first] == codes[last]
        level_of[agree] = level
        code_of[agree] = codes[first[agree]]
    return level_of, code_of


def _siblings(domain: Domain, parts: TableParts, level: IntArray) -> IntArray:
    """The children of each part's common ancestor that occur in it, in rising order, shape (MOST_SIBLINGS, n_parts).

    Each is one more than a code of the level below `level`, which is the ancestor's; 0 stands where there are no more. All
    are 0 where there are too many children, and where the part has a single value.
    """
    siblings = np.zeros((MOST_SIBLINGS, parts.n_parts), dtype=np.int32)
    lengths = np.diff(parts.starts, append=len(parts.part_of))
    for below in range(domain.n_levels):
        is_here = level == below + 1
        if not is_here.any():
            continue
        of_here = np.flatnonzero(np.repeat(is_here, lengths))
        nodes = domain.at_level(below).take(parts.codes.take(of_here))
        part, node = _occurring(parts.part_of.take(of_here), nodes, len(domain.levels[below]))
        first = np.flatnonzero(np.diff(part, prepend=-1))
        n_nodes = np.diff(first, append=len(part))
        rank = np.arange(len(part)) - np.repeat(first, n_nodes)
        is_shown = np.repeat(n_nodes <= MOST_SIBLINGS, n_nodes)
        siblings[rank[is_shown], part[is_shown]] = node[is_shown] + 1
    return siblings


def _occurring(part_of: IntArray, codes: IntArray, n_codes: int) -> tuple[IntArray, IntArray]:
    """The distinct pairs of a part and a code that occurs in it, in rising order; both are given by combination."""
    width = max(1, n_codes - 1).bit_length()
    pairs: IntArray = part_of.astype(np.int64)
    pairs <<= width
    pairs |= codes
    pairs = distinct(pairs)
    return pairs >> width, pairs & ((1 << width) - 1)


def _loss(n_covered: IntArray, domain: Domain) -> FloatArray:
    """(values covered − 1) / (values − 1) of labels that cover so many values; 0 where the data has one value."""
    lost: FloatArray = (n_covered - 1) / max(1, domain.n_values - 1)
    return lost


def _quoted(value: Label) -> str:
    """A value as it stands in a set, in quotes where it could be taken for something else."""
    if value is None:
        return NULL
    is_plain = value == value.strip() and value not in ("", NULL) and not any(c in value for c in ',{}"')
    return value if is_plain else json.dumps(value, ensure_ascii=False)

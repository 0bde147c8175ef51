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
from kepsilon.table.arrays import IntArray
from kepsilon.table.classes import AttributeLabels
from kepsilon.table.codes import Domain, Label

MOST_SIBLINGS = 4
"""The largest number of siblings that a label names."""


def node_labels(domain: Domain, parts: TableParts, *, style: LabelStyle) -> AttributeLabels:
    """Label and loss of every part of an attribute with a hierarchy.

    The loss is (values covered − 1) / (values − 1), of the values that occur in the data.
    """
    level, ancestor = _common_ancestors(domain, parts)
    siblings = _siblings(domain, parts, level) if style == "siblings" else ()
    n_values = [np.bincount(domain.at_level(at), minlength=len(labels)) for at, labels in enumerate(domain.levels)]

    def label(level: int, ancestor: int, *siblings: int) -> Label:
        named = [domain.levels[level - 1][one - 1] for one in siblings if one]
        if named:
            return set_text(named)
        return EVERYTHING if level == domain.n_levels else alone(domain.levels[level][ancestor])

    def loss(level: int, ancestor: int, *siblings: int) -> float:
        n_covered = sum(int(n_values[level - 1][one - 1]) for one in siblings if one)
        if not n_covered:
            n_covered = domain.n_values if level == domain.n_levels else int(n_values[level][ancestor])
        return _loss(n_covered, domain)

    coverage = Coverage(domain, parts.records(domain.n_values))
    # Codes at level 0 from which on the labels of each level stand; values of one label are neighbours.
    starts = [np.append(np.cumsum(own) - own, domain.n_values).tolist() for own in n_values]

    def covers(level: int, ancestor: int, *siblings: int) -> Covered:
        nodes = [(level - 1, one - 1) for one in siblings if one]
        if not nodes and level == domain.n_levels:
            return coverage.of([(0, domain.n_values)])
        return coverage.of((starts[at][node], starts[at][node + 1]) for at, node in nodes or [(level, ancestor)])

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
    loss = np.array([_loss(n, domain) for n in n_covered.tolist()], dtype=float)
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
    return "{" + ", ".join(_quoted(value) for value in values) + "}"


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
    siblings = np.zeros((MOST_SIBLINGS, parts.n_parts), dtype=np.int64)
    for below in range(domain.n_levels):
        is_here = (level == below + 1)[parts.part_of]
        nodes = domain.at_level(below)[parts.codes[is_here]]
        part, node = _occurring(parts.part_of[is_here], nodes, len(domain.levels[below]))
        n_nodes = np.bincount(part, minlength=parts.n_parts)
        is_shown = n_nodes[part] <= MOST_SIBLINGS
        rank = np.arange(len(part)) - (np.cumsum(n_nodes) - n_nodes)[part]
        siblings[rank[is_shown], part[is_shown]] = node[is_shown] + 1
    return siblings


def _occurring(part_of: IntArray, codes: IntArray, n_codes: int) -> tuple[IntArray, IntArray]:
    """The distinct pairs of a part and a code that occurs in it, in rising order; both are given by combination."""
    pairs = np.unique(part_of.astype(np.int64) * max(1, n_codes) + codes)
    part, code = np.divmod(pairs, max(1, n_codes))
    return part, code


def _loss(n_covered: int, domain: Domain) -> float:
    """(values covered − 1) / (values − 1); 0 where the data has one value."""
    return (n_covered - 1) / max(1, domain.n_values - 1)


def _quoted(value: Label) -> str:
    """A value as it stands in a set, in quotes where it could be taken for something else."""
    if value is None:
        return NULL
    is_plain = value == value.strip() and value not in ("", NULL) and not any(c in value for c in ',{}"')
    return value if is_plain else json.dumps(value, ensure_ascii=False)

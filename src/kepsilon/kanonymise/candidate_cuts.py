# SPDX-License-Identifier: Apache-2.0
"""The cuts of the parts of a table along one attribute, and how much each of them gains.

A cut is

- a *threshold*: the codes up to one of them are one side, the others the other side; or, for categories,
- a *child*: one child of the part's lowest common ancestor is one side, its other children are the other side.

Both sides need k records, and the loss of the attribute's labels has to fall. A search may also take an ancestor *apart*
in one step: every child with k records becomes a part, and the others stay together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kepsilon.kanonymise.local_attributes import LocalAttribute
from kepsilon.kanonymise.median_cuts import sorted_keys
from kepsilon.kanonymise.run_losses import CategoryRuns, Pairs
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

APART = -1
"""First and last pair of a cut that takes the ancestor apart."""

_SLOTS_PER_MEMBER = 8
"""Marking this many slots takes as long as sorting one combination; measured."""

_LEAST_GAIN = 1e-9
"""A cut that gains less than this share of the records' number gains nothing; rounding makes it look so."""

_Columns = tuple[IntArray, IntArray, IntArray, FloatArray, FloatArray]
"""Of some cuts: part, first and last pair of the run, gain, and bits that tell the sides apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guide:
    """What a search prefers among the cuts of a part."""

    entropy: bool = False
    """Whether losses are counted in bits; otherwise by what labels cover (ncp)."""
    per_bit: bool = False
    """Whether what a cut gains is divided by the bits that tell its sides apart: uneven cuts then count for more."""

    def score(self, gain: FloatArray, bits: FloatArray) -> FloatArray:
        """How good cuts are. Few digits, so that cuts that are equally good tie in spite of rounding errors."""
        score = gain / np.maximum(bits, 1e-12) if self.per_bit else gain
        return score.astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateCuts:
    """Cuts of parts along one attribute, each into a run of pairs and the rest."""

    parts: IntArray
    """Part of each cut, shape (n_cuts,)."""
    first: IntArray
    """First pair of the run, or APART, shape (n_cuts,)."""
    last: IntArray
    """Last pair of the run, or APART, shape (n_cuts,)."""
    score: FloatArray
    """How good it is, shape (n_cuts,)."""
    pieces: IntArray
    """Where an ancestor is taken apart: piece of each pair in its part, shape (n_pairs,); empty for numbers."""

    def best_of_each_part(self) -> CandidateCuts:
        """The best cut of each part that has any; of equally good ones the first."""
        order = np.lexsort((-self.score, self.parts))
        chosen = order[np.diff(self.parts[order], prepend=-1) != 0]
        return replace(
            self, parts=self.parts[chosen], first=self.first[chosen], last=self.last[chosen], score=self.score[chosen]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Children:
    """The children of every part's lowest common ancestor that occur in it; none for parts with a single code."""

    parts: IntArray
    """Part of each child, rising, shape (n_children,)."""
    first: IntArray
    """First pair of each child, shape (n_children,)."""
    last: IntArray
    """Last pair of each child, shape (n_children,)."""
    counts: IntArray
    """Records of each child, shape (n_children,)."""
    starts: IntArray
    """Position of the first child of each part that has children, shape (n_with_children,)."""
    covered: FloatArray
    """Values, or records, that the child covers, shape (n_children,)."""
    is_rare: BoolArray
    """Whether the child keeps a set from being named, shape (n_children,)."""
    ancestor: FloatArray
    """What the ancestor covers, by child, shape (n_children,)."""

    def of_parts(self, column: IntArray | FloatArray) -> IntArray | FloatArray:
        """The sum over the children of each part that has any, shape (n_with_children,)."""
        return np.add.reduceat(column, self.starts) if len(column) else column

    def spread(self, column: IntArray | FloatArray | BoolArray) -> IntArray | FloatArray | BoolArray:
        """What holds for a part, for each of its children, shape (n_children,)."""
        return np.repeat(column, np.diff(self.starts, append=len(self.parts)))

    def at_start(self, column: IntArray | FloatArray) -> IntArray | FloatArray:
        """What is equal for all children of a part, by part, shape (n_with_children,)."""
        return column[self.starts]

    def sums(self, chosen: BoolArray) -> tuple[IntArray, FloatArray, IntArray]:
        """How many children of the part are chosen, what they cover and how many are rare, each of shape (n_children,)."""
        n_chosen, covered, n_rare = (
            self.spread(self.of_parts(np.where(chosen, column, 0)))
            for column in (np.ones(len(chosen), dtype=np.int64), self.covered, self.is_rare.astype(np.int64))
        )
        return n_chosen, covered, n_rare


def pairs_of(codes: IntArray, parts: IntArray, weights: IntArray, *, n_codes: int, n_parts: int) -> Pairs:
    """The pairs of a part and a code that occur; `codes`, `parts` and `weights` (records) are those of the members."""
    key = parts * np.int64(n_codes) + codes
    n_slots = n_parts * n_codes
    if n_slots <= _SLOTS_PER_MEMBER * len(key):
        counts = np.bincount(key, weights=weights, minlength=n_slots)
        keys = np.flatnonzero(counts)
        counts = counts[keys].astype(np.int64)
        position: IntArray = np.zeros(n_slots, dtype=np.int64)
        position[keys] = np.arange(len(keys))
        of_member = position[key]
    else:
        order, in_order = sorted_keys(key, bound=n_slots)
        is_new = np.diff(in_order, prepend=-1) != 0
        starts = np.flatnonzero(is_new)
        keys = in_order[starts]
        counts = np.add.reduceat(weights[order].astype(np.int64), starts)
        of_member = np.empty(len(key), dtype=np.int64)
        of_member[order] = np.cumsum(is_new) - 1
    part, code = np.divmod(keys, n_codes)
    first = np.flatnonzero(np.diff(part, prepend=-1))
    return Pairs(
        parts=part, codes=code, counts=counts, first=first, last=np.append(first[1:], len(part)) - 1, of_member=of_member
    )


def candidates_of(
    attribute: LocalAttribute, pairs: Pairs, *, sizes: IntArray, k: int, guide: Guide
) -> CandidateCuts:
    """All cuts of the parts along an attribute with k records on both sides that gain something.

    `sizes` are the records of the parts.
    """
    runs = (attribute.entropy if guide.entropy else attribute.ncp).of(pairs)
    whole = runs.between(pairs.first, pairs.last)
    before = np.cumsum(pairs.counts) - pairs.counts
    left = before + pairs.counts - before[pairs.first][pairs.parts]
    at = np.flatnonzero((left >= k) & (sizes[pairs.parts] - left >= k))
    parts, left = pairs.parts[at], left[at]
    first, size = pairs.first[parts], sizes[parts]
    lost = left * runs.between(first, at) + (size - left) * runs.between(at + 1, pairs.last[parts])
    found = [(parts, first, at, size * whole[parts] - lost, bits(size) - bits(left) - bits(size - left))]
    pieces: IntArray = np.zeros(0, dtype=np.int64)
    if isinstance(runs, CategoryRuns):
        children = children_of(pairs, runs)
        found.append(_single_children(runs, children, whole, sizes=sizes, k=k))
        apart, pieces = _apart(pairs, runs, children, whole, sizes=sizes, k=k)
        found.append(apart)
    parts, first, last, gain, cost = (np.concatenate(column) for column in zip(*found, strict=True))
    gains = gain > _LEAST_GAIN * sizes[parts]
    return CandidateCuts(
        parts=parts[gains],
        first=first[gains],
        last=last[gains],
        score=guide.score(gain[gains], cost[gains]),
        pieces=pieces,
    )


def _single_children(
    runs: CategoryRuns, children: Children, whole: FloatArray, *, sizes: IntArray, k: int
) -> _Columns:
    """One child on one side, the others on the other; with two children this is a threshold, so there are three."""
    n_children, covered, n_rare = children.sums(np.ones(len(children.parts), dtype=np.bool_))
    size = sizes[children.parts]
    at = np.flatnonzero((n_children > 2) & (children.counts >= k) & (size - children.counts >= k))
    size, inside, parts = size[at], children.counts[at], children.parts[at]
    others = runs.losses.of_sets(
        n_children[at] - 1, (covered - children.covered)[at], (n_rare - children.is_rare)[at], children.ancestor[at]
    )
    first, last = children.first[at], children.last[at]
    lost = inside * runs.between(first, last) + (size - inside) * others
    return parts, first, last, size * whole[parts] - lost, bits(size) - bits(inside) - bits(size - inside)


def _apart(
    pairs: Pairs, runs: CategoryRuns, children: Children, whole: FloatArray, *, sizes: IntArray, k: int
) -> tuple[_Columns, IntArray]:
    """Every child of k records as a part of its own, and the piece of each pair in its part; 0 are the small children.

    If the small children together have fewer than k records, the smallest of the others joins them.
    """
    counts, starts = children.counts, children.starts
    stays = counts < k
    rest = children.of_parts(np.where(stays, counts, 0))
    lacks = (rest > 0) & (rest < k)
    if lacks.any():
        joins = np.flatnonzero(~stays & children.spread(lacks))
        joins = joins[np.lexsort((counts[joins], children.parts[joins]))]
        stays[joins[np.diff(children.parts[joins], prepend=-1) != 0]] = True
        rest = children.of_parts(np.where(stays, counts, 0))
    n_stay, covered, n_rare = (children.at_start(column) for column in children.sums(stays))
    ancestor = children.ancestor[starts]
    alone = runs.between(children.first, children.last)
    # A single child that stays has the label that it would have alone.
    only_one = children.of_parts(np.where(stays, alone, 0.0))
    together = np.where(n_stay == 1, only_one, runs.losses.of_sets(n_stay, covered, n_rare, ancestor))
    parts = children.parts[starts]
    size = sizes[parts]
    lost = children.of_parts(np.where(stays, 0.0, counts * alone)) + rest * np.where(n_stay > 0, together, 0.0)
    cost = bits(size) - children.of_parts(np.where(stays, 0.0, bits(counts))) - bits(rest)
    n_pieces = children.of_parts((~stays).astype(np.int64)) + (n_stay > 0)
    can = np.flatnonzero((n_pieces > 2) & ((rest == 0) | (rest >= k)))
    marker: IntArray = np.full(len(can), APART, dtype=np.int64)
    numbers = np.cumsum(~stays)
    numbers = np.where(stays, 0, numbers - children.spread((numbers - ~stays)[starts]))
    pieces: IntArray = np.zeros(len(pairs.parts), dtype=np.int64)
    lengths = children.last - children.first + 1
    offsets = np.repeat(children.first - (np.cumsum(lengths) - lengths), lengths)
    pieces[np.arange(len(offsets)) + offsets] = np.repeat(numbers, lengths)
    columns = (parts[can], marker, marker, (size * whole[parts] - lost)[can], cost[can])
    return columns, pieces


def children_of(pairs: Pairs, runs: CategoryRuns) -> Children:
    """The children of every part's lowest common ancestor."""
    level = runs.level_between(pairs.first, pairs.last)
    inside = np.flatnonzero((level > 0)[pairs.parts])
    below = level[pairs.parts[inside]] - 1
    code, part = pairs.codes[inside], pairs.parts[inside]
    nodes = runs.losses.levels[below, code]
    is_new = np.ones(len(inside), dtype=np.bool_)
    is_new[1:] = (nodes[1:] != nodes[:-1]) | (part[1:] != part[:-1])
    starts = np.flatnonzero(is_new)
    counts = np.add.reduceat(pairs.counts[inside], starts) if len(starts) else pairs.counts[:0]
    is_rare = runs.losses.is_rare
    return Children(
        parts=part[starts],
        first=inside[starts],
        last=inside[np.append(starts[1:], len(inside)) - 1] if len(starts) else starts,
        counts=counts,
        starts=np.flatnonzero(np.diff(part[starts], prepend=-1)),
        covered=runs.losses.mass[below[starts], code[starts]],
        is_rare=np.zeros(len(starts), dtype=np.bool_) if is_rare is None else is_rare[code[starts]],
        ancestor=runs.losses.mass[below[starts] + 1, code[starts]],
    )


def bits(size: IntArray) -> FloatArray:
    """Size times its logarithm: what telling apart all records of parts of these sizes would take."""
    return size * np.log2(np.maximum(size, 1))

# SPDX-License-Identifier: Apache-2.0
"""The cuts of the parts of a table along one attribute, and how much each of them gains.

A cut is

- a *threshold*: the codes up to one of them are one side, the others the other side; or, for categories,
- a *child*: one child of the part's lowest common ancestor is one side, its other children are the other side.

Both sides need k records, and the loss of the attribute's labels has to fall.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from kepsilon.kanonymise.local_attributes import LocalAttribute
from kepsilon.kanonymise.run_losses import CategoryRuns, Pairs, RunLosses
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.keys import sorted_keys

_SLOTS_PER_MEMBER = 8
"""Marking this many slots takes as long as sorting one combination; measured."""

_LEAST_GAIN = 1e-9
"""A cut that gains less than this share of what its part loses gains nothing; rounding makes it look so."""

_Columns = tuple[IntArray, IntArray, IntArray, FloatArray, FloatArray]
"""Of some cuts: part, first and last pair of the run, gain, and bits that tell the sides apart."""


class Guide(Enum):
    """What a search prefers among the cuts of a part."""

    LOSS = "loss"
    """Cuts that lower the loss of the published labels (ncp) most."""
    BITS = "bits"
    """Cuts that save most bits that labels lose, for each bit that tells the sides apart; uneven cuts cost fewer."""

    def losses_of(self, attribute: LocalAttribute) -> RunLosses:
        """The losses that cuts along an attribute are to lower."""
        return attribute.ncp if self is Guide.LOSS else attribute.entropy

    def score(self, gain: FloatArray, bits: FloatArray) -> FloatArray:
        """How good cuts are. Few digits, so that cuts that are equally good tie in spite of rounding errors."""
        score = gain if self is Guide.LOSS else gain / np.maximum(bits, 1.0)
        return score.astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateCuts:
    """Cuts of parts along one attribute, each into a run of pairs and the rest."""

    parts: IntArray
    """Part of each cut, shape (n_cuts,)."""
    first: IntArray
    """First pair of the run, shape (n_cuts,)."""
    last: IntArray
    """Last pair of the run, shape (n_cuts,)."""
    score: FloatArray
    """How good it is, shape (n_cuts,)."""

    def best_of_each_part(self, *, n_parts: int) -> CandidateCuts:
        """The best cut of each part that has any; of equally good ones the first."""
        best = np.zeros(n_parts, dtype=self.score.dtype)
        starts = np.flatnonzero(np.diff(self.parts, prepend=-1))  # cuts of one part are neighbours, mostly
        if len(starts):
            np.maximum.at(best, self.parts[starts], np.maximum.reduceat(self.score, starts))
        is_best = np.flatnonzero(self.score == best[self.parts])
        chosen: IntArray = np.full(n_parts, -1, dtype=np.int64)
        chosen[self.parts[is_best[::-1]]] = is_best[
            ::-1
        ]  # of several assignments the last one, of the first cut, holds
        chosen = chosen[chosen >= 0]
        return CandidateCuts(
            parts=self.parts[chosen], first=self.first[chosen], last=self.last[chosen], score=self.score[chosen]
        )


def pairs_of(
    codes: IntArray, weights: IntArray | FloatArray, *, lengths: IntArray, smallest: IntArray, largest: IntArray
) -> Pairs:
    """The pairs of a part and a code that occur.

    `codes` and `weights` (records) are those of the members, part by part, and `lengths` the members of every part, at
    least one; `smallest` and `largest` are the extreme codes of every part.
    """
    widths = largest.astype(np.int64) - smallest + 1
    end_slots = np.cumsum(widths)
    # What makes a slot of a code of the part: parts have slots for the codes between their extremes only.
    shift = end_slots - widths - smallest
    n_slots = int(end_slots[-1]) if len(widths) else 0
    key = codes + np.repeat(shift, lengths)
    if n_slots <= _SLOTS_PER_MEMBER * len(key):
        counts = np.bincount(key, weights=weights, minlength=n_slots)
        keys: IntArray = np.flatnonzero(counts)
        counts = counts[keys].astype(np.int64)
    else:
        order, in_order = sorted_keys(key, bound=n_slots)
        starts = np.flatnonzero(np.diff(in_order, prepend=-1))
        keys = in_order[starts]
        counts = np.add.reduceat(weights[order], starts).astype(np.int64)
    end_pairs = np.searchsorted(keys, end_slots)
    n_pairs = np.diff(end_pairs, prepend=0)
    return Pairs(
        parts=np.repeat(np.arange(len(widths)), n_pairs),
        codes=keys - np.repeat(shift, n_pairs),
        counts=counts,
        first=end_pairs - n_pairs,
        last=end_pairs - 1,
    )


def candidates_of(attribute: LocalAttribute, pairs: Pairs, *, sizes: IntArray, k: int, guide: Guide) -> CandidateCuts:
    """All cuts of the parts along an attribute with k records on both sides that gain something.

    `sizes` are the records of the parts.
    """
    runs = guide.losses_of(attribute).of(pairs)
    whole = runs.between(pairs.first, pairs.last)
    before = np.cumsum(pairs.counts) - pairs.counts
    left = before + pairs.counts - before[pairs.first][pairs.parts]
    at: IntArray = np.flatnonzero((left >= k) & (sizes[pairs.parts] - left >= k))
    parts, left = pairs.parts[at], left[at]
    first, size = pairs.first[parts], sizes[parts]
    lost = left * runs.between(first, at) + (size - left) * runs.between(at + 1, pairs.last[parts])
    found = [(parts, first, at, size * whole[parts] - lost, bits(size) - bits(left) - bits(size - left))]
    if isinstance(runs, CategoryRuns):
        found.append(_single_children(pairs, runs, whole, sizes=sizes, k=k))
    parts, first, last, gain, cost = (np.concatenate(column) for column in zip(*found, strict=True))
    gains = gain > _LEAST_GAIN * sizes[parts] * whole[parts]
    return CandidateCuts(
        parts=parts[gains],
        first=first[gains],
        last=last[gains],
        score=guide.score(gain[gains], cost[gains]),
    )


def _single_children(pairs: Pairs, runs: CategoryRuns, whole: FloatArray, *, sizes: IntArray, k: int) -> _Columns:
    """One child of the lowest common ancestor on one side, at least two others on the other side.

    With a single other child it is a threshold.
    """
    level = runs.level_between(pairs.first, pairs.last)
    n_children, _, _ = runs.nodes_between(pairs.first, pairs.last, np.maximum(level - 1, 0))
    inside = np.flatnonzero(((level > 0) & (n_children > 2))[pairs.parts])
    parts, code = pairs.parts[inside], pairs.codes[inside]
    below = level[parts] - 1
    nodes = runs.losses.levels[below, code]
    is_new: BoolArray = np.ones(len(inside), dtype=np.bool_)
    is_new[1:] = (nodes[1:] != nodes[:-1]) | (parts[1:] != parts[:-1])
    starts = np.flatnonzero(is_new)
    after = np.cumsum(pairs.counts[inside])
    ends = np.append(starts[1:], len(inside))[: len(starts)] - 1
    n_inside = np.diff(after[ends], prepend=0)
    size = sizes[parts[starts]]
    chosen = np.flatnonzero((n_inside >= k) & (size - n_inside >= k))
    n_inside, size, at = n_inside[chosen], size[chosen], starts[chosen]
    parts = parts[at]
    first, last = inside[at], inside[ends[chosen]]
    others = runs.without_child(pairs.first[parts], pairs.last[parts], first, last)
    lost = n_inside * runs.between(first, last) + (size - n_inside) * others
    return parts, first, last, size * whole[parts] - lost, bits(size) - bits(n_inside) - bits(size - n_inside)


def bits(size: IntArray) -> FloatArray:
    """Size times its logarithm: what telling apart all records of parts of these sizes would take."""
    sizes = size.astype(np.float64)
    return sizes * np.log2(np.maximum(sizes, 1.0))

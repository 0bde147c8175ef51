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
from kepsilon.kanonymise.median_cuts import sorted_keys
from kepsilon.kanonymise.run_losses import CategoryRuns, IntervalRuns, Pairs, RunLosses
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

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
        np.maximum.at(best, self.parts, self.score)
        is_best = np.flatnonzero(self.score == best[self.parts])
        chosen: IntArray = np.full(n_parts, -1, dtype=np.int64)
        chosen[self.parts[is_best[::-1]]] = is_best[
            ::-1
        ]  # of several assignments the last one, of the first cut, holds
        chosen = chosen[chosen >= 0]
        return CandidateCuts(
            parts=self.parts[chosen], first=self.first[chosen], last=self.last[chosen], score=self.score[chosen]
        )


def pairs_of(codes: IntArray, parts: IntArray, weights: IntArray, *, n_codes: int, n_parts: int) -> Pairs:
    """The pairs of a part and a code that occur; `codes`, `parts` and `weights` (records) are those of the members."""
    key = parts * np.int64(n_codes) + codes
    n_slots = n_parts * n_codes
    if n_slots <= _SLOTS_PER_MEMBER * len(key):
        counts = np.bincount(key, weights=weights, minlength=n_slots)
        keys: IntArray = np.flatnonzero(counts)
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
        parts=part,
        codes=code,
        counts=counts,
        first=first,
        last=np.append(first[1:], len(part)) - 1,
        of_member=of_member,
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
    if isinstance(runs, CategoryRuns | IntervalRuns):
        found.append(_single_children(pairs, runs, whole, sizes=sizes, k=k))
    parts, first, last, gain, cost = (np.concatenate(column) for column in zip(*found, strict=True))
    gains = gain > _LEAST_GAIN * sizes[parts] * whole[parts]
    return CandidateCuts(
        parts=parts[gains],
        first=first[gains],
        last=last[gains],
        score=guide.score(gain[gains], cost[gains]),
    )


def _single_children(
    pairs: Pairs, runs: CategoryRuns | IntervalRuns, whole: FloatArray, *, sizes: IntArray, k: int
) -> _Columns:
    """One child of the lowest common ancestor on one side, at least two others on the other side.

    With a single other child it is a threshold; so is the first or last child, which is left out here.
    """
    levels = runs.losses.levels
    level = runs.level_between(pairs.first, pairs.last)
    n_children = runs.n_children(pairs.first, pairs.last, level)
    inside = np.flatnonzero(((level > 0) & (n_children > 2))[pairs.parts])
    parts = pairs.parts[inside]
    nodes = levels[level[parts] - 1, pairs.codes[inside]]
    is_new: BoolArray = np.ones(len(inside), dtype=np.bool_)
    is_new[1:] = (nodes[1:] != nodes[:-1]) | (parts[1:] != parts[:-1])
    starts = np.flatnonzero(is_new)
    ends = np.append(starts[1:], len(inside))[: len(starts)] - 1
    first, last, parts = inside[starts], inside[ends], parts[starts]
    n_inside = np.diff(np.cumsum(pairs.counts[inside])[ends], prepend=0)
    size = sizes[parts]
    is_between = (first > pairs.first[parts]) & (last < pairs.last[parts])
    chosen = np.flatnonzero(is_between & (n_inside >= k) & (size - n_inside >= k))
    n_inside, size, parts = n_inside[chosen], size[chosen], parts[chosen]
    first, last = first[chosen], last[chosen]
    others = runs.without(pairs.first[parts], pairs.last[parts], first)
    lost = n_inside * runs.between(first, last) + (size - n_inside) * others
    return parts, first, last, size * whole[parts] - lost, bits(size) - bits(n_inside) - bits(size - n_inside)


def bits(size: IntArray) -> FloatArray:
    """Size times its logarithm: what telling apart all records of parts of these sizes would take."""
    sizes = size.astype(np.float64)
    return sizes * np.log2(np.maximum(sizes, 1.0))

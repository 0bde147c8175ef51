# SPDX-License-Identifier: Apache-2.0
"""What the label of a part loses, for many parts at once: a part is a run of neighbouring codes, or some nodes of one parent.

Losses are those of the labels that are published (`category_labels`, `interval_labels`), or, as another guide for the
search, the bits that such labels lose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kepsilon.kanonymise.category_labels import MOST_SIBLINGS
from kepsilon.kanonymise.table_parts import LabelStyle
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.number_line import NumberLine


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """The distinct pairs of a part and a code that occurs in it, in rising order; no part is without any."""

    parts: IntArray
    """Part of each pair, shape (n_pairs,)."""
    codes: IntArray
    counts: IntArray
    """Records of each pair, shape (n_pairs,)."""
    first: IntArray
    """Position of the first pair of each part, shape (n_parts,)."""
    last: IntArray
    """Position of the last pair of each part, shape (n_parts,)."""


class Runs(Protocol):
    """The losses of runs of pairs."""

    def between(self, first: IntArray, last: IntArray) -> FloatArray:
        """Loss of the label of a part that holds the pairs from `first` to `last`, ends included; shape of the arguments."""


class RunLosses(Protocol):
    """How much the labels of one attribute lose."""

    def of(self, pairs: Pairs) -> Runs:
        """The losses of runs of these pairs."""

    def of_nodes(self, level: int) -> FloatArray:
        """Loss of the node of each code at a level, shape (n_codes,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberLosses:
    """Losses of intervals: the distance from the lowest to the highest number that the label covers, times a factor."""

    low: FloatArray
    """Lowest number of each code's node at each level, shape (n_levels, n_codes)."""
    high: FloatArray
    """Highest number, likewise."""
    levels: IntArray | None
    """Node of every code at each level where labels are nodes; None where they reach from first to last code."""
    has_null: bool
    factor: float
    in_bits: bool = False

    @classmethod
    def of_line(cls, line: NumberLine, levels: IntArray, *, style: LabelStyle, weight: float) -> NumberLosses:
        """Losses of the published intervals: the share of the data's range that they cover."""
        smallest, largest = line.extremes()
        low, high = np.empty(levels.shape), np.empty(levels.shape)
        for level, nodes in enumerate(levels):
            starts = np.flatnonzero(np.diff(nodes, prepend=-1))
            low[level] = np.minimum.reduceat(smallest, starts)[nodes] if len(starts) else smallest
            high[level] = np.maximum.reduceat(largest, starts)[nodes] if len(starts) else largest
        return cls(
            low=low,
            high=high,
            levels=levels if style == "ancestor" else None,
            has_null=line.has_null,
            factor=weight / (line.data_range or 1.0),
        )

    @classmethod
    def of_records(cls, records: FloatArray, *, weight: float) -> NumberLosses:
        """Losses in bits of intervals from first to last code; `records` are those of each code."""
        after = np.cumsum(records)
        return cls(
            low=(after - records)[np.newaxis],
            high=after[np.newaxis],
            levels=None,
            has_null=False,
            factor=weight / _bits_of(records),
            in_bits=True,
        )

    def of(self, pairs: Pairs) -> NumberRuns:
        return NumberRuns(losses=self, codes=pairs.codes)

    def of_nodes(self, level: int) -> FloatArray:
        lost: FloatArray = (self.high[level] - self.low[level]) * self.factor
        return lost


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberRuns:
    """The losses of runs of numbers."""

    losses: NumberLosses
    codes: IntArray

    def between(self, first: IntArray, last: IntArray) -> FloatArray:
        losses = self.losses
        start, end = self.codes[first], self.codes[last]
        low = losses.low[0, start]
        if losses.levels is None:
            covered = losses.high[0, end] - low
        else:
            # A label such as "null or [8, 16)" shows the node of the numbers, and null counts as the lowest number.
            is_with_null = losses.has_null & (start == 0) & (start < end)
            number = np.where(is_with_null, self.codes[np.minimum(first + 1, last)], start)
            level = common_level(losses.levels, number, end)
            covered = losses.high[level, end] - np.where(is_with_null, low, losses.low[level, number])
        lost: FloatArray = (np.log2(np.maximum(covered, 1.0)) if losses.in_bits else covered) * losses.factor
        return lost


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryLosses:
    """Losses of nodes and sets: what the label covers, less one value and times a factor, or its logarithm."""

    levels: IntArray
    """Node of every code at each level, shape (n_levels, n_codes)."""
    mass: FloatArray
    """Values, or records, of each code's node at each level, shape (n_levels, n_codes)."""
    is_rare: BoolArray | None
    """Whether each code keeps a set from being named, shape (n_codes,); None where there is a hierarchy."""
    names_sets: bool
    factor: float
    in_bits: bool = False

    @classmethod
    def of_values(
        cls, levels: IntArray, *, is_rare: BoolArray | None, style: LabelStyle, weight: float
    ) -> CategoryLosses:
        """Losses of the published labels: (values covered − 1) / (values − 1)."""
        n_values = levels.shape[1]
        return cls(
            levels=levels,
            mass=_masses(levels, np.ones(n_values)),
            is_rare=is_rare,
            names_sets=style == "siblings",
            factor=weight / max(1, n_values - 1),
        )

    @classmethod
    def of_records(
        cls, records: FloatArray, levels: IntArray, *, is_rare: BoolArray | None, style: LabelStyle, weight: float
    ) -> CategoryLosses:
        """Losses of these labels in bits; `records` are those of each code."""
        return cls(
            levels=levels,
            mass=_masses(levels, records),
            is_rare=is_rare,
            names_sets=style == "siblings",
            factor=weight / _bits_of(records),
            in_bits=True,
        )

    def of(self, pairs: Pairs) -> CategoryRuns:
        # Of levels above those at which the codes of every part are one node, nothing is asked.
        level = int(common_level(self.levels, pairs.codes[pairs.first], pairs.codes[pairs.last]).max(initial=0))
        n_rows = min(max(1, level), len(self.levels) - 1)
        n_nodes = np.empty((n_rows, len(pairs.codes)), dtype=np.int32)
        covered = np.empty((n_rows, len(pairs.codes)))
        is_new = np.ones(len(pairs.codes), dtype=np.bool_)
        for row in range(n_rows):
            nodes = self.levels[row].take(pairs.codes)
            np.not_equal(nodes[1:], nodes[:-1], out=is_new[1:])
            is_new[pairs.first] = True
            np.cumsum(is_new, out=n_nodes[row])
            np.cumsum(self.mass[row].take(pairs.codes) * is_new, out=covered[row])
        return CategoryRuns(
            losses=self,
            codes=pairs.codes,
            n_nodes=n_nodes,
            covered=covered,
            n_rare=None if self.is_rare is None else np.cumsum(self.is_rare[pairs.codes]),
        )

    def of_nodes(self, level: int) -> FloatArray:
        return self.of_masses(self.mass[level])

    def of_masses(self, mass: FloatArray) -> FloatArray:
        """The loss of labels that cover so many values, or records."""
        return (np.log2(np.maximum(mass, 1.0)) if self.in_bits else mass - 1) * self.factor

    def of_sets(self, n_nodes: IntArray, covered: FloatArray, n_rare: IntArray, ancestor: FloatArray) -> FloatArray:
        """The loss of sets of at least two siblings, which the ancestor stands for where they are not named."""
        return self.of_masses(np.where(self.are_named(n_nodes, n_rare), covered, ancestor))

    def are_named(self, n_nodes: IntArray, n_rare: IntArray) -> BoolArray:
        """Whether labels name so many siblings, some of them rare, and not their ancestor."""
        is_named: BoolArray = n_nodes <= MOST_SIBLINGS if self.is_rare is None else n_rare == 0
        return is_named & self.names_sets


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryRuns:
    """The losses of runs of categories."""

    losses: CategoryLosses
    codes: IntArray
    n_nodes: IntArray
    """Nodes that began up to each pair at each level below the common one of a part, shape (n_rows, n_pairs)."""
    covered: FloatArray
    """Values, or records, of these nodes, likewise."""
    n_rare: IntArray | None
    """Rare codes up to each pair, shape (n_pairs,)."""

    def level_between(self, first: IntArray, last: IntArray) -> IntArray:
        """The lowest level at which two codes are one node."""
        return common_level(self.losses.levels, self.codes[first], self.codes[last])

    def between(self, first: IntArray, last: IntArray) -> FloatArray:
        level = self.level_between(first, last)
        n_nodes, covered, n_rare = self.nodes_between(first, last, np.maximum(level - 1, 0))
        ancestor = self.losses.mass[level, self.codes[first]]
        return np.where(
            level == 0, self.losses.of_masses(ancestor), self.losses.of_sets(n_nodes, covered, n_rare, ancestor)
        )

    def without_child(self, start: IntArray, end: IntArray, first: IntArray, last: IntArray) -> FloatArray:  # noqa: ARG002
        """Loss of the part from `start` to `end` without one child of its ancestor, which reaches from `first` to `last`."""
        level = self.level_between(start, end)
        n_nodes, covered, n_rare = self.nodes_between(start, end, level - 1)
        losses, code = self.losses, self.codes[first]
        return losses.of_sets(
            n_nodes - 1,
            covered - losses.mass[level - 1, code],
            n_rare - (0 if losses.is_rare is None else losses.is_rare[code]),
            losses.mass[level, code],
        )

    def nodes_between(self, first: IntArray, last: IntArray, level: IntArray) -> tuple[IntArray, FloatArray, IntArray]:
        """Nodes of a level from one pair of a part to another, what they cover, and how many of them are rare."""
        if not len(self.n_nodes):
            none = np.zeros(len(first), dtype=np.int64)
            return none + 1, np.ones(len(first)), none
        code = self.codes[first]
        n_nodes = self.n_nodes[level, last] - self.n_nodes[level, first] + 1
        covered = self.covered[level, last] - self.covered[level, first] + self.losses.mass[level, code]
        if self.n_rare is None or self.losses.is_rare is None:
            return n_nodes, covered, np.zeros(len(first), dtype=np.int64)
        return n_nodes, covered, self.n_rare[last] - self.n_rare[first] + self.losses.is_rare[code]


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalLosses(CategoryLosses):
    """Losses of nodes of a hierarchy of intervals, and of sets of them: the distance from lowest to highest number covered.

    Codes are in the order of the numbers, null first, which counts as the lowest number.
    """

    low: FloatArray
    """Lowest number of each code's node at each level, shape (n_levels, n_codes)."""
    high: FloatArray
    """Highest number, likewise."""

    @classmethod
    def of_numbers(cls, numbers: FloatArray, levels: IntArray, *, style: LabelStyle, weight: float) -> IntervalLosses:
        """Losses of the published labels, as a share of the data's range; `numbers` are those of the codes, rising."""
        starts = [np.flatnonzero(np.diff(nodes, prepend=-1)) for nodes in levels]
        ends = [np.append(own[1:], len(numbers))[: len(own)] - 1 for own in starts]
        return cls(
            levels=levels,
            mass=_masses(levels, np.ones(len(numbers))),
            is_rare=None,
            names_sets=style == "siblings",
            factor=weight / ((float(np.ptp(numbers)) if len(numbers) else 0.0) or 1.0),
            low=np.stack([numbers[own][nodes] for own, nodes in zip(starts, levels, strict=True)]),
            high=np.stack([numbers[own][nodes] for own, nodes in zip(ends, levels, strict=True)]),
        )

    def of(self, pairs: Pairs) -> IntervalRuns:
        # Without the zero-argument super(), which classes with slots do not have.
        counted = CategoryLosses.of(self, pairs)
        return IntervalRuns(
            losses=self,
            codes=pairs.codes,
            n_nodes=counted.n_nodes,
            covered=counted.covered,
            n_rare=None,
            intervals=self,
        )

    def of_nodes(self, level: int) -> FloatArray:
        lost: FloatArray = (self.high[level] - self.low[level]) * self.factor
        return lost


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalRuns(CategoryRuns):
    """The losses of runs of numbers that have a hierarchy of intervals."""

    intervals: IntervalLosses

    def between(self, first: IntArray, last: IntArray) -> FloatArray:
        level = self.level_between(first, last)
        n_nodes, _, n_rare = self.nodes_between(first, last, np.maximum(level - 1, 0))
        return self._of_siblings(first, last, level, n_nodes, n_rare)

    def without_child(self, start: IntArray, end: IntArray, first: IntArray, last: IntArray) -> FloatArray:
        level = self.level_between(start, end)
        n_nodes, _, n_rare = self.nodes_between(start, end, level - 1)
        start, end = np.where(first == start, last + 1, start), np.where(last == end, first - 1, end)
        return self._of_siblings(start, end, level, n_nodes - 1, n_rare)

    def _of_siblings(
        self, start: IntArray, end: IntArray, level: IntArray, n_nodes: IntArray, n_rare: IntArray
    ) -> FloatArray:
        """Loss of the label of some children of a node of a level, from that of one pair to that of another."""
        losses = self.intervals
        shown = np.where(losses.are_named(n_nodes, n_rare), np.maximum(level - 1, 0), level)
        lost: FloatArray = losses.high[shown, self.codes[end]] - losses.low[shown, self.codes[start]]
        return lost * losses.factor


def common_level(levels: IntArray, one: IntArray, other: IntArray) -> IntArray:
    """The lowest level at which two codes are one node, for many pairs of codes; `levels` are nested."""
    level: IntArray = np.zeros(len(one), dtype=np.int64)
    for nodes in levels[:-1]:
        level += nodes[one] != nodes[other]
    return level


def _masses(levels: IntArray, of_code: FloatArray) -> FloatArray:
    """By level, what the node of each code holds together, shape (n_levels, n_codes)."""
    return np.stack([np.bincount(nodes, weights=of_code, minlength=1)[nodes] for nodes in levels])


def _bits_of(records: FloatArray) -> float:
    """Bits of an attribute per record, that is its entropy; 1 where it has a single value."""
    share = records[records > 0] / max(1.0, records.sum())
    return float(-(share * np.log2(share)).sum()) or 1.0

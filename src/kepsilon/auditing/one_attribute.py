# SPDX-License-Identifier: Apache-2.0
"""Attacks on records of classes with one ε-quasi, from sorted values instead of all pairs of records and originals.

The answers are those of all pairs: only the values on either side of what is published can be the nearest, and sums of
likelihoods over the originals on one side are running sums. All classes are worked on together, and none is told apart
from another by arithmetic on values, which would round them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.auditing.nearest_links import BINARY_ERROR, INDISTINCT
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedClasses:
    """The originals of some classes by value. Each class has one at least; missing values are its last ones."""

    values: FloatArray
    """Distinct values of every class, rising, one class after the other, shape (n_distinct,)."""
    class_ids: IntArray
    """The class of each of them, rising from 0."""
    counts: IntArray
    """Originals that hold each of them."""
    of_original: IntArray
    """Where the value of each original stands among them, shape (n_originals,)."""

    @classmethod
    def of(cls, values: FloatArray, class_ids: IntArray) -> OrderedClasses:
        """`values` and `class_ids` have shape (n_originals,); ids are 0 to n_classes − 1."""
        order = np.lexsort((values, class_ids))
        ordered, ids = values[order], class_ids[order]
        is_new = np.ones(len(order), dtype=np.bool_)
        is_new[1:] = (ordered[1:] != ordered[:-1]) | (ids[1:] != ids[:-1])
        firsts = np.flatnonzero(is_new)
        of_original = np.empty(len(order), dtype=np.int64)
        of_original[order] = np.cumsum(is_new) - 1
        return cls(
            values=ordered[firsts],
            class_ids=ids[firsts],
            counts=np.diff(firsts, append=len(order)),
            of_original=of_original,
        )

    @property
    def starts(self) -> IntArray:
        """Where the values of every class begin, and last how many there are, shape (n_classes + 1,)."""
        n_values = np.bincount(self.class_ids)
        return np.concatenate([[0], np.cumsum(n_values)])

    def links(
        self, published: FloatArray, own: IntArray, *, reach: FloatArray, slack: FloatArray
    ) -> tuple[FloatArray, BoolArray]:
        """What `nearest_links` returns; `own` is the original of each published value, `reach` the range of each class.

        Different values of a class have to be farther apart than distances are rounded.
        """
        place = self.of_original[own]
        ids = self.class_ids[place]
        first, last = self._ends(ids)
        right = self._searched(published, first, last, include_equal=False)
        left = np.maximum(right - 1, first)
        right = np.minimum(right, last - 1)
        to_left, to_right = (np.abs(published - self.values[side]) / reach[ids] for side in (left, right))
        nearest = np.minimum(to_left, to_right) + slack
        is_left, is_right = to_left <= nearest, (to_right <= nearest) & (right != left)
        is_link: BoolArray = (is_left & (place == left)) | (is_right & (place == right))
        return is_link / (is_left * self.counts[left] + is_right * self.counts[right]), is_link

    def posteriors(self, published: FloatArray, own: IntArray, *, reach: FloatArray, epsilon: float) -> FloatArray:
        """The posterior of each record's own original: e^(−ε·distance) over the sum of that for all originals.

        Beyond the outermost values all posteriors are those at the outermost value, so that no number grows beyond e^ε.
        """
        heights, growing, falling = self._running(reach, epsilon)
        place = self.of_original[own]
        ids = self.class_ids[place]
        first, last = self._ends(ids)
        inside = np.clip(published, self.values[first], self.values[last - 1])
        height = epsilon * ((inside - self.values[first]) / reach[ids])
        n_left = np.maximum(self._searched(inside, first, last, include_equal=True), first + 1)
        power = np.exp(height)
        total = (
            growing[n_left - 1] / power + np.where(n_left < last, falling[np.minimum(n_left, last - 1)], 0.0) * power
        )
        posterior: FloatArray = np.exp(-np.abs(height - heights[place])) / total
        return posterior

    def largest_posterior(self, *, epsilon: float, reach: FloatArray) -> float:
        """The largest posterior that any published value can give an original of any class."""
        heights, growing, falling = self._running(reach, epsilon)
        powers = np.exp(heights)
        return float(1 / (growing / powers + falling * powers - self.counts).min())

    def can_be_ordered(
        self, published: FloatArray, own: IntArray, *, reach: FloatArray, slack: FloatArray
    ) -> BoolArray:
        """Which classes have noise, no missing value, and no values that distances cannot tell apart, (n_classes,)."""
        n_classes = len(reach)
        can: BoolArray = reach > 0
        can[self.class_ids[np.isnan(self.values)]] = False
        of_record = self.class_ids[self.of_original[own]]
        can[of_record[np.isnan(published)]] = False
        widest = np.zeros(n_classes)
        np.maximum.at(widest, of_record, slack)
        is_within = self.class_ids[1:] == self.class_ids[:-1]
        ids = self.class_ids[1:][is_within]
        gaps = np.diff(self.values)[is_within]
        can[ids[gaps <= INDISTINCT * widest[ids] * reach[ids]]] = False
        return can

    def binary_errors(self, published: FloatArray, own: IntArray, *, reach: FloatArray) -> FloatArray:
        """What `binary_error_of_distances` returns for each record and its class."""
        largest = np.maximum.reduceat(np.nan_to_num(np.abs(self.values)), self.starts[:-1])
        ids = self.class_ids[self.of_original[own]]
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = BINARY_ERROR * ((np.nan_to_num(np.abs(published)) + largest[ids]) / reach[ids])
        return np.where(reach[ids] > 0, errors, 0.0)

    def _ends(self, ids: IntArray) -> tuple[IntArray, IntArray]:
        """Where the values of some classes begin and end."""
        starts = self.starts
        return starts[ids], starts[ids + 1]

    def _searched(self, wanted: FloatArray, first: IntArray, last: IntArray, *, include_equal: bool) -> IntArray:
        """For each number the first value from `first` to `last` that is not below it (or above it), by halving."""
        is_before = np.less_equal if include_equal else np.less
        low, high = first.copy(), last.copy()
        for _ in range(int((last - first).max(initial=0)).bit_length()):
            middle = (low + high) >> 1
            is_open = low < high
            before = is_open & is_before(self.values[np.minimum(middle, len(self.values) - 1)], wanted)
            low = np.where(before, middle + 1, low)
            high = np.where(is_open & ~before, middle, high)
        return low

    def _running(self, reach: FloatArray, epsilon: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Heights of all values, sums of count·e^height up to each, and of count·e^−height from each on, by class."""
        starts = self.starts
        apart = self.values - self.values[starts[:-1]][self.class_ids]
        has_noise = reach[self.class_ids] > 0  # the others are attacked from all pairs
        heights = epsilon * np.divide(apart, reach[self.class_ids], out=np.zeros_like(apart), where=has_noise)
        powers = np.exp(heights)
        places = np.arange(len(heights))
        growing = _sums_so_far(powers * self.counts, places - starts[:-1][self.class_ids])
        falling = _sums_so_far((self.counts / powers)[::-1], (starts[1:][self.class_ids] - 1 - places)[::-1])[::-1]
        return heights, growing, falling


def _sums_so_far(terms: FloatArray, places: IntArray) -> FloatArray:
    """Sums of the terms of each class up to and with each; `places` are the places of terms in their class, from 0.

    By sums of 1, 2, 4, … terms, so that a small class does not drown in the rounding of those before it.
    """
    sums = terms.copy()
    step, longest = 1, int(places.max(initial=0))
    while step <= longest:
        sums[step:] += np.where(places[step:] >= step, sums[:-step], 0.0)
        step *= 2
    return sums

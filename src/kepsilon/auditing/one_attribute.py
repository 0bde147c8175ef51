# SPDX-License-Identifier: Apache-2.0
"""Attacks on records of a class with one ε-quasi, from its sorted values instead of all pairs of records and originals.

The answers are those of all pairs: only the values on either side of what is published can be the nearest, and sums of
likelihoods over the originals on one side are running sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.auditing.nearest_links import INDISTINCT
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedClass:
    """The originals of one class by value, in units of its range."""

    values: FloatArray
    """Distinct values, rising."""
    counts: IntArray
    """Originals that hold each of them."""
    of_original: IntArray
    """Where the value of each original stands among them."""

    @classmethod
    def of(cls, values: FloatArray) -> OrderedClass:
        distinct, of_original, counts = np.unique(values, return_inverse=True, return_counts=True)
        return cls(values=distinct, counts=counts, of_original=of_original)

    def links(
        self, published: FloatArray, own: IntArray, *, reach: float, slack: FloatArray
    ) -> tuple[FloatArray, BoolArray]:
        """What `nearest_links` returns; `own` is the original of each published value, and `reach` the range of the class.

        Different values have to be farther apart than distances are rounded.
        """
        right = np.searchsorted(self.values, published)
        left = np.maximum(right - 1, 0)
        right = np.minimum(right, len(self.values) - 1)
        to_left, to_right = (np.abs(published - self.values[side]) / reach for side in (left, right))
        nearest = np.minimum(to_left, to_right) + slack
        is_left, is_right = to_left <= nearest, (to_right <= nearest) & (right != left)
        place = self.of_original[own]
        is_link: BoolArray = (is_left & (place == left)) | (is_right & (place == right))
        return is_link / (is_left * self.counts[left] + is_right * self.counts[right]), is_link

    def posteriors(self, published: FloatArray, own: IntArray, *, reach: float, epsilon: float) -> FloatArray:
        """The posterior of each record's own original: e^(−ε·distance) over the sum of that for all originals.

        Beyond the outermost values all posteriors are those at the outermost value, so that no number grows beyond e^ε.
        """
        heights = epsilon * ((self.values - self.values[0]) / reach)
        powers = np.exp(heights)
        growing = np.cumsum(self.counts * powers)
        falling = np.append(np.cumsum((self.counts / powers)[::-1])[::-1], 0.0)
        height = epsilon * ((np.clip(published, self.values[0], self.values[-1]) - self.values[0]) / reach)
        n_left = np.maximum(np.searchsorted(heights, height, side="right"), 1)
        power = np.exp(height)
        total = growing[n_left - 1] / power + falling[n_left] * power
        posterior: FloatArray = np.exp(-np.abs(height - heights[self.of_original[own]])) / total
        return posterior

    def largest_posterior(self, *, epsilon: float, reach: float) -> float:
        """The largest posterior that any published value can give an original."""
        heights = epsilon * ((self.values - self.values[0]) / reach)
        powers = np.exp(heights)
        growing = np.cumsum(self.counts * powers) / powers
        falling = np.cumsum((self.counts / powers)[::-1])[::-1] * powers
        return float(1 / (growing + falling - self.counts).min())


def can_be_ordered(values: FloatArray, published: FloatArray, reach: float, slack: FloatArray) -> bool:
    """Whether a class has noise on its only ε-quasi, no missing value, and no values that distances cannot tell apart."""
    if not reach > 0 or np.isnan(values).any() or np.isnan(published).any():
        return False
    ordered = np.sort(values)
    gaps = np.diff(ordered)
    return not bool((gaps[gaps > 0] <= INDISTINCT * float(slack.max(initial=0.0)) * reach).any())

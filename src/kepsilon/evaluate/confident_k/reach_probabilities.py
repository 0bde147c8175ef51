# SPDX-License-Identifier: Apache-2.0
"""How probable it is, before noise is drawn, that at least n originals of its class lie in reach of a published value.

For exponential noise on one ε-quasi; `expected_suppression` asks for n = 1 and n = k. In what follows v_1 ≤ v_2 ≤ … are
the originals of a class and lo the smallest of them, x is a published value, r the reach of the class, b the scale of its
noise, and ℓ(x) the number of originals with |x − v_i| ≤ r.

ℓ(x) ≥ n where x is in reach of some n neighbours, that is in the union of [v_{i+n−1} − r, v_i + r] over all i. Both ends
rise with i, so the union is read off in one pass; it nearly always is one interval. The probability that a record is
published in the union is the sum, over its intervals, of differences of the distribution function around the record's own
value, whose tails are ½·e^(−t). A height is (x − lo)/b: a place in units of the noise, counted from the smallest value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.noise_law import ExponentialLaw
from kepsilon.evaluate.originals.class_values import ClassValues, running_sums
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.steps import Steps

_FAR = 40.0
"""Noise of more scales than this has a probability below 1e-17."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowds:
    """Distances across n neighbouring originals, wherever they stand in their class: what a record hides among.

    They depend on n, but not on noise or reach. Where records share a value, only the n neighbours that begin with the
    first of these records matter: those that begin with another reach further to the right.
    """

    spans: FloatArray
    """Distance from each distinct value to the n-th record from there; infinite where the class ends before, (n_distinct,)."""
    joins: FloatArray
    """Distance from each distinct value to the n-th record from the next value on, or infinite, shape (n_distinct,)."""
    first: FloatArray
    """Distance from the smallest value of every class to its n-th smallest; 0 with fewer records. Shape (n_classes,)."""
    last: FloatArray
    """Distance from the smallest value of every class to its n-th largest; 0 with fewer records. Shape (n_classes,)."""
    covering: FloatArray
    """The smallest reach for which one interval of the union holds all values of the class, shape (n_classes,)."""

    def of(self, classes: slice, positions: slice) -> Crowds:
        """The distances of some classes only, whose distinct values are at `positions`."""
        return Crowds(
            spans=self.spans[positions],
            joins=self.joins[positions],
            first=self.first[classes],
            last=self.last[classes],
            covering=self.covering[classes],
        )


def crowds_of(classes: ClassValues, *, n: int) -> Crowds:
    """Distances across n neighbouring originals of every class."""
    before = np.concatenate([[0], np.cumsum(classes.counts)])
    bounds = before[classes.starts]
    nth = before[:-1] + (n - 1)
    is_crowd = nth < bounds[1:][classes.class_ids]
    # The search is for rising numbers, which makes it fast.
    place = np.searchsorted(before[1:], nth, side="right") if n > 1 else np.arange(len(nth))
    reached = classes.values[np.minimum(place, len(nth) - 1)]
    spans = np.where(is_crowd, reached - classes.values, np.inf)
    joins = np.full(len(spans), np.inf)
    if len(spans):
        goes_on = is_crowd[1:] & (classes.class_ids[1:] == classes.class_ids[:-1])
        joins[:-1] = np.where(goes_on, reached[1:] - classes.values[:-1], np.inf)
    first, last, covering = np.zeros((3, classes.n_classes))
    has_crowd = np.flatnonzero(np.diff(bounds) >= n)
    if len(has_crowd):
        low, high = classes.values[classes.starts[has_crowd]], classes.values[classes.starts[has_crowd + 1] - 1]
        ends = np.searchsorted(before[1:], [bounds[has_crowd] + n - 1, bounds[has_crowd + 1] - n], side="right")
        first[has_crowd], last[has_crowd] = classes.values[ends] - low
        deciding = np.where(np.isfinite(joins), joins, np.where(is_crowd, spans, 0.0))
        has_values = np.flatnonzero(np.diff(classes.starts))
        covering[has_values] = np.maximum.reduceat(deciding, classes.starts[has_values]) / 2
        outside = np.maximum(first[has_crowd], high - low - last[has_crowd])
        covering[has_crowd] = np.maximum(covering[has_crowd], outside)
    return Crowds(spans=spans, joins=joins, first=first, last=last, covering=covering)


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """The noise of some classes, and the distinct values it is added to.

    Arrays are by class, shape (n_classes,), or by distinct value, shape (n_distinct,).
    """

    scales: FloatArray
    """b of every class, infinite if there is nothing to work out."""
    reach: FloatArray
    """r of every class."""
    ids: IntArray
    """The class of every distinct value, counted from 0 among these."""
    heights: FloatArray
    """The height of every distinct value; from 0 to ε, because noise is scaled to no less than the diameter."""
    powers: FloatArray
    """e^height of every distinct value."""
    low: FloatArray
    """Smallest value of every class."""
    widths: FloatArray
    """Distance from the smallest to the largest value of every class."""
    law: ExponentialLaw
    steps: Steps | None = None
    """How values are rounded and clamped; None where they are not."""

    def as_published(self, opens: FloatArray, closes: FloatArray, ids: IntArray) -> tuple[FloatArray, FloatArray]:
        """Intervals of noisy heights that are rounded and clamped into the given intervals of published heights.

        `ids` is the class of each interval; all arrays have shape (n_intervals,). Where nothing is published, an interval
        is empty. None goes on where noise on no value of its class ends.
        """
        if self.steps is None:
            return opens, closes
        low, scales = self.low[ids], self.scales[ids]
        begin, end = self.steps.leading_into(low + opens * scales, low + closes * scales)
        highest = self.widths[ids] / scales + _FAR
        return np.clip((begin - low) / scales, -_FAR, highest), np.clip((end - low) / scales, -_FAR, highest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """The interval of every class in which ℓ ≥ n, known by the chance to be published beyond its ends.

    All arrays have shape (n_classes,), and have no meaning where there is no noise.
    """

    is_open: BoolArray
    """Whether ℓ ≥ n in no single interval that holds all values of the class, so that `below` and `above` are not enough."""
    below: FloatArray
    """P(published below the interval) of a record, times e^height."""
    above: FloatArray
    """P(published above the interval) of a record, times e^−height."""

    def n_outside(self, growing: FloatArray, falling: FloatArray) -> FloatArray:
        """Expected records with ℓ < n of every class, from its sums of e^height and e^−height; not where `is_open`."""
        return self.below * falling + self.above * growing


def outer_ends(crowds: Crowds, noise: Noise) -> Ends:
    """The interval of every class in which ℓ ≥ n, from the outermost crowds."""
    opens, closes = (crowds.first - noise.reach) / noise.scales, (crowds.last + noise.reach) / noise.scales
    is_moved = noise.scales < np.inf
    if noise.steps is not None:
        moved = np.flatnonzero(is_moved)
        opens[moved], closes[moved] = noise.as_published(opens[moved], closes[moved], moved)
    is_inside = (crowds.covering <= noise.reach) & (opens <= 0) & (closes >= noise.widths / noise.scales)
    return Ends(is_open=~is_inside & is_moved, below=np.exp(opens) / 2, above=np.exp(-closes) / 2)


def chance_at_least(crowds: Crowds, noise: Noise, ends: Ends, chosen: IntArray) -> FloatArray:
    """P(ℓ ≥ n) for a record of each chosen distinct value; without meaning where a class has fewer than n records.

    `chosen` are rising positions of distinct values; of a class with `is_open` all have to be among them.
    """
    ids, powers = noise.ids[chosen], noise.powers[chosen]
    probability: FloatArray = 1 - ends.below[ids] / powers - ends.above[ids] * powers
    within = np.flatnonzero(ends.is_open[ids])
    if within.size:
        probability[within] = _in_any_intervals(crowds, noise, chosen[within], ranks=np.cumsum(ends.is_open) - 1)
    return probability


def _in_any_intervals(crowds: Crowds, noise: Noise, chosen: IntArray, *, ranks: IntArray) -> FloatArray:
    """P(ℓ ≥ n) where a class has several intervals, none, or values outside them; time is proportional to their number.

    `chosen` are all distinct values of these classes; `ranks` numbers these classes, shape (n_classes,).
    Intervals left and right of a value weigh as sums of exponentials, taken once per class. They cannot overflow: a
    reach that does not cover a class is shorter than it is wide, so heights lie between −ε and 2ε, or where published
    values are clamped not much further out. The sums have positive
    terms, so nothing cancels.
    """
    ids = noise.ids[chosen]
    own, heights = ranks[ids], noise.heights[chosen]
    spans, joins, double = crowds.spans[chosen], crowds.joins[chosen], 2 * noise.reach[ids]
    is_crowd, goes_on = spans <= double, joins <= double  # goes_on implies is_crowd, of this value and of the next
    is_last = is_crowd & ~goes_on
    is_first = is_crowd
    is_first[1:] &= ~goes_on[:-1]
    begin, end = np.flatnonzero(is_first), np.flatnonzero(is_last)
    rank, scales = (
        own[begin],
        noise.scales[ids[begin]],
    )  # `end` would give the same: a class has as many ends as beginnings
    reach = double[begin] / 2 / scales
    opens = heights[begin] + spans[begin] / scales - reach
    closes = heights[end] + reach
    if noise.steps is None:
        # Not as the difference of these, in which an interval much shorter than the noise would be lost.
        widths = np.expm1(heights[end] - heights[begin] + (double[begin] - spans[begin]) / scales)
    else:
        opens, closes = noise.as_published(opens, closes, ids[begin])
        # Where nothing is published, such as beyond the domain, there is no interval; it would stand inside another one.
        is_some = opens < closes
        rank, opens, closes = rank[is_some], opens[is_some], closes[is_some]
        widths = np.expm1(closes - opens)

    # Every class has a slot for each of its intervals, and an empty one, infinitely far to the right.
    n_slots = np.bincount(rank, minlength=own[-1] + 1) + 1
    slots = np.arange(len(rank)) + rank
    slot_opens, slot_closes = np.full((2, int(n_slots.sum())), np.inf)
    slot_opens[slots], slot_closes[slots] = opens, closes
    # One search for all classes, in heights with an offset. It rounds; but the two branches of the distribution function
    # agree in value and slope where they meet, so that a height on the wrong side by δ costs δ².
    beyond = max(heights.max(), closes.max(initial=0.0)) + 1
    offsets = np.repeat(np.arange(len(n_slots)) * (beyond + 1), n_slots)
    following = np.searchsorted(offsets + np.minimum(slot_closes, beyond), own * (beyond + 1) + heights)
    probability = noise.law.below(slot_closes[following] - heights) - noise.law.below(slot_opens[following] - heights)

    growing, falling = np.zeros((2, len(slot_opens)))
    growing[slots + 1] = np.exp(opens) * widths
    has_left = np.flatnonzero(rank[1:] == rank[:-1]) + 1
    falling[slots[has_left] - 1] = (np.exp(-closes) * widths)[has_left]
    to_the_left, to_the_right = running_sums(growing, falling, n_slots)
    powers = noise.powers[chosen]
    probability += (to_the_left[following] / powers + to_the_right[following] * powers) / 2
    return probability

# SPDX-License-Identifier: Apache-2.0
"""Links of an attacker who holds the originals and picks, in a record's class, the nearest of them.

Paper §V-B, for one ε-quasi with exponential noise, so that the nearest original is the most likely one. Departure D8: the
paper counts every tie as a link, so that a constant class scores 100 %; here a tie of t originals counts as 1/t, and the
figure by the paper's rule is given too. `ranges` is always the R that set the noise of each class: its diameter, or something
wider.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.noise_law import ExponentialLaw
from kepsilon.evaluate.originals.class_values import ClassValues, running_sums
from kepsilon.evaluate.originals.sorted_classes import ROUNDING, SortedClasses
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.coded_values import without_missing

ABOVE = 1 + 1e-9
"""A posterior is above a bound only if it is by more than rounding: 1/2, rounded up, is not more than one half."""


_NONE = Estimate()


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSums:
    """Realised links summed over classes, and how sure the attacker is; those of different batches are added."""

    fair: float = 0.0
    """A tie of t originals is worth 1/t."""
    paper: float = 0.0
    """Every tie is worth 1."""
    largest: float = 0.0
    """The largest posterior of a record's true original."""
    n_over_half: int = 0
    """Records whose true original has a posterior above 0.5."""
    n_over_nine_tenths: int = 0
    """Records whose true original has a posterior above 0.9."""

    def __add__(self, other: LinkSums) -> LinkSums:
        return LinkSums(
            fair=self.fair + other.fair,
            paper=self.paper + other.paper,
            largest=max(self.largest, other.largest),
            n_over_half=self.n_over_half + other.n_over_half,
            n_over_nine_tenths=self.n_over_nine_tenths + other.n_over_nine_tenths,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedLinks:
    """Expected links, summed over classes; those of different batches are added."""

    fair: Estimate = _NONE
    """A tie of t originals is worth 1/t."""
    paper: Estimate = _NONE
    """Every tie is worth 1."""

    def __add__(self, other: ExpectedLinks) -> ExpectedLinks:
        return ExpectedLinks(fair=self.fair + other.fair, paper=self.paper + other.paper)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkGaps:
    """The gaps between neighbouring values of every class, from which expected links follow for any ε, exactly.

    An original is nearest to its own published value if noise moves it by at most half the gap to the next value on that
    side. Let a = P(|Z| ≤ ε·gap/(2R)) for a gap, with noise Z in units of R/ε, and a = 1 on the outward side of the smallest
    and of the largest value. Noise is as likely to go left as right, so the probability is ½(a_left + a_right). Summed over
    distinct values that is 1 + Σ a over the gaps; weighed with the records that share a value it is the paper's count. Both
    are for noise that is not yet rounded to the precision or clamped to a domain.
    """

    half_gaps: FloatArray
    """gap/(2R), shape (n_gaps,)."""
    weights: FloatArray
    """Mean number of records that hold the value on either side of the gap, shape (n_gaps,)."""
    class_ids: IntArray
    """The class of each gap, shape (n_gaps,)."""
    outward_fair: FloatArray
    """What the outward sides contribute at any ε: 1 in a class that has records, shape (n_classes,)."""
    outward_paper: FloatArray
    """What they contribute by the paper's rule."""
    law: ExponentialLaw

    def expected(self, epsilon: float) -> ExpectedLinks:
        """Expected links at one ε, summed over classes."""
        within = self.law.within(epsilon * self.half_gaps)
        return ExpectedLinks(
            fair=Estimate(total=float(self.outward_fair.sum() + within.sum())),
            paper=Estimate(total=float(self.outward_paper.sum() + np.einsum("i,i->", within, self.weights))),
        )

    def by_class(self, epsilon: float) -> tuple[FloatArray, FloatArray]:
        """Expected links of every class, a tie worth 1/t and by the paper's rule: two arrays of shape (n_classes,)."""
        within = self.law.within(epsilon * self.half_gaps)
        n_classes = len(self.outward_fair)
        fair = self.outward_fair + np.bincount(self.class_ids, weights=within, minlength=n_classes)
        paper = self.outward_paper + np.bincount(self.class_ids, weights=within * self.weights, minlength=n_classes)
        return fair, paper


def link_gaps(classes: ClassValues, *, ranges: FloatArray, law: ExponentialLaw) -> LinkGaps:
    """The gaps of all classes; `ranges` has shape (n_classes,)."""
    gaps, before = classes.gaps()
    class_ids = classes.class_ids[before]
    has_records = classes.n_distinct > 0
    outward_paper = np.zeros(classes.n_classes)
    firsts, lasts = classes.starts[:-1][has_records], classes.starts[1:][has_records] - 1
    outward_paper[has_records] = (classes.counts[firsts] + classes.counts[lasts]) / 2
    return LinkGaps(
        half_gaps=gaps / ranges[class_ids] / 2,
        weights=(classes.counts[before] + classes.counts[before + 1]) / 2,
        class_ids=class_ids,
        outward_fair=has_records.astype(np.float64),
        outward_paper=outward_paper,
        law=law,
    )


def link_sums(
    classes: SortedClasses,
    published: FloatArray,
    *,
    ranges: FloatArray,
    epsilon: float,
    stays: BoolArray | None = None,
    largest_elsewhere: float = 0.0,
) -> LinkSums:
    """Realised links and posteriors, summed over classes. `published` has the order of the records.

    Records that do not stay are not released, so nobody links them; their originals are candidates all the same.
    A posterior is worked out only where it may exceed one half, or `largest_elsewhere`, the largest of other classes; the
    `largest` returned is never below the latter.
    """
    in_order = without_missing(published)[classes.order]
    fair, paper = _links_in_order(classes, in_order)
    weights = _weigh(classes, ranges=ranges, epsilon=epsilon)
    matters = (weights.largest_posteriors() > min(0.5, largest_elsewhere) * (1 - 1e-9))[classes.place]
    if stays is not None:
        released = stays[classes.order]
        fair, paper, matters = fair[released], paper[released], matters & released
    posterior = _posteriors_of(classes, weights, in_order, np.flatnonzero(matters))
    return LinkSums(
        fair=float(fair.sum()),
        paper=float(paper.sum()),
        largest=float(posterior.max(initial=largest_elsewhere)),
        n_over_half=int(np.count_nonzero(posterior > 0.5 * ABOVE)),
        n_over_nine_tenths=int(np.count_nonzero(posterior > 0.9 * ABOVE)),
    )


def realised_links(classes: SortedClasses, published: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The links of each record: 1/t, and by the paper's rule 1, if its original is among the nearest t, and 0 otherwise.

    Two arrays in the order of the records.
    """
    shares = _links_in_order(classes, without_missing(published)[classes.order])
    return _in_order_of_records(classes, shares[0]), _in_order_of_records(classes, shares[1])


def posteriors(classes: SortedClasses, published: FloatArray, *, ranges: FloatArray, epsilon: float) -> FloatArray:
    """The posterior of each record's own original, given what was published of the record, in the order of the records.

    exp(−ε|x − v|/R) over the sum of the same for all originals of the class: Bayes' rule with a uniform prior.
    """
    weights = _weigh(classes, ranges=ranges, epsilon=epsilon)
    in_order = without_missing(published)[classes.order]
    return _in_order_of_records(classes, _posteriors_of(classes, weights, in_order, np.arange(len(in_order))))


def _links_in_order(classes: SortedClasses, published: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What `realised_links` returns, for records and results in the sorted order of the classes.

    Only the neighbours of a record's own original are compared: if none of them is nearer, nothing in the class is.
    """
    place = classes.place
    own = classes.values[place]
    towards = place + np.where(published > own, 1, -1)
    np.clip(towards, 0, len(classes.values) - 1, out=towards)
    has_rival = classes.class_ids[towards] == classes.class_ids[place]
    has_rival &= towards != place
    rival = classes.values[towards]
    margin = np.abs(published - rival) - np.abs(published - own)
    tolerance = ROUNDING * np.maximum(np.abs(published), np.maximum(np.abs(own), np.abs(rival)))
    # Among large values with fine steps the tolerance could exceed the steps themselves, and make neighbours into ties.
    np.minimum(tolerance, np.abs(rival - own) / 4, out=tolerance)
    wins = ~has_rival | (margin > tolerance)
    ties = ~wins & (margin >= -tolerance)
    n_nearest = classes.counts[place] + np.where(ties, classes.counts[towards], 0)
    is_link = wins | ties
    return is_link / n_nearest, is_link.astype(np.float64)


def largest_posteriors(classes: ClassValues, *, ranges: FloatArray, epsilon: float) -> FloatArray:
    """The most that noise can make the original of each distinct value probable, shape (n_distinct,).

    1/Σ_j exp(−ε|v − v_j|/R) over the originals of its class, itself included.
    """
    return _weigh(classes, ranges=ranges, epsilon=epsilon).largest_posteriors()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Weights:
    """Running sums of likelihoods over the distinct values of each class.

    A height is ε·(v − lo)/R, from 0 to ε at most, so that its exponential never overflows. The sum over the originals to
    the left of a height is a running sum of growing terms, and likewise to the right, so nothing cancels.
    """

    ranges: FloatArray
    """R, or infinite without noise, shape (n_classes,)."""
    epsilon: float
    heights: FloatArray
    """ε·(v − lo)/R, shape (n_distinct,), like the arrays below."""
    powers: FloatArray
    """e^height."""
    growing: FloatArray
    """Σ count·e^height over the class up to and with each value."""
    falling: FloatArray
    """Σ count·e^−height over the class from each value on."""
    counts: FloatArray

    def largest_posteriors(self) -> FloatArray:
        """The posterior of each value if exactly this value is published: the largest, because |x − u| ≤ |x − v| + |v − u|."""
        bound: FloatArray = 1 / (self.growing / self.powers + self.falling * self.powers - self.counts)
        return bound


def _weigh(classes: ClassValues, *, ranges: FloatArray, epsilon: float) -> _Weights:
    """The running sums of all classes at one ε."""
    low, _ = classes.extremes()
    # Divided by R first: for a range that is next to nothing ε/R overflows, and R/ε has too few digits.
    ranges = np.where(ranges > 0, ranges, np.inf)
    heights = epsilon * ((classes.values - low[classes.class_ids]) / ranges[classes.class_ids])
    powers, counts = np.exp(heights), classes.counts.astype(np.float64)
    growing, falling = running_sums(counts * powers, counts / powers, classes.n_distinct)
    return _Weights(
        ranges=ranges,
        epsilon=epsilon,
        heights=heights,
        powers=powers,
        growing=growing,
        falling=falling,
        counts=counts,
    )


def _posteriors_of(classes: SortedClasses, weights: _Weights, published: FloatArray, chosen: IntArray) -> FloatArray:
    """Posteriors of the chosen records, which are positions in the sorted order of the classes, like `published`.

    A value published outside the values of its class gives the same posteriors as the nearest end, so it is moved there.
    """
    if not chosen.size:
        return np.empty(0)
    place = classes.place[chosen]
    ids = classes.class_ids[place]
    low, high = classes.extremes()
    moved = np.clip(published[chosen], low[ids], high[ids])
    height = weights.epsilon * ((moved - low[ids]) / weights.ranges[ids])
    split = classes.n_distinct_up_to(moved, ids, include_equal=True)
    power = np.exp(height)
    # The smallest value is never above what was moved, so split − 1 is in the class; beyond the largest there is nothing.
    has_right = split < classes.starts[ids + 1]
    total = weights.growing[split - 1] / power
    total += np.where(has_right, weights.falling[np.minimum(split, len(classes.values) - 1)] * power, 0.0)
    posterior: FloatArray = np.exp(-np.abs(height - weights.heights[place])) / total
    return posterior


def _in_order_of_records(classes: SortedClasses, sorted_figures: FloatArray) -> FloatArray:
    """Figures in the order of the records, from figures in the sorted order of the classes."""
    figures = np.empty_like(sorted_figures)
    figures[classes.order] = sorted_figures
    return figures

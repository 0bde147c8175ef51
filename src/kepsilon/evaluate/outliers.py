# SPDX-License-Identifier: Apache-2.0
"""How well the size of the noise gives away the most extreme record of a class, before any noise is drawn.

Where the values of a class set its range R, noise of the scale R/ε tells R to whoever can measure it, whatever ε is. The
attacker here knows all other records of the class and which published values are theirs, so he knows their noise. In
units of R/ε the largest coordinate of a record's noise has a Gamma(d) distribution, d being the number of active
ε-quasis. So with n known records R is estimated as R·G/(d·n), G having a Gamma(d·n) distribution; with the other end of
the range, which he knows, the extreme value follows. With one ε-quasi the probabilities are exact for the best unbiased
estimate. With several they are exact for an attacker who knows all ranges up to one common factor; one who knows all
ranges but one does a little worse (0.68 in place of 0.72 for two ε-quasis and ten records).
Where ranges are widened to a public step, R is a multiple of it, and the attacker may take the multiple nearest to his
estimate. Of the two estimates, with and without this, the one that serves him better in a class counts.
Where a person has several records, the attacker knows those of all other persons, and a value stands out among these.
Rounding and clamping of published values are not taken into account.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.originals.class_values import ClassValues
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

WITHIN = 0.25
"""A value is worked out if the estimate is within this share of it."""
LIKELY = 0.5
"""The probability from which on a value counts as one that can be worked out."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)
_SPREAD = 14.0
"""Beyond this many standard deviations, and 40 more, a gamma variable has no chance that a double could hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlierSums:
    """How many classes have an extreme record that can be worked out; those of different classes are added."""

    n_classes: int = 0
    """Classes that have noise."""
    n_standing_out: int = 0
    """Classes whose smallest or largest value is farther than WITHIN of itself from every other value."""
    n_likely: int = 0
    """Classes of these in which that value is worked out within WITHIN with a probability of at least LIKELY."""
    likeliest: float = 0.0
    """The largest such probability; 0 where no class has a value that stands out."""

    def __add__(self, other: OutlierSums) -> OutlierSums:
        return OutlierSums(
            n_classes=self.n_classes + other.n_classes,
            n_standing_out=self.n_standing_out + other.n_standing_out,
            n_likely=self.n_likely + other.n_likely,
            likeliest=max(self.likeliest, other.likeliest),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Extremes:
    """The outermost value at either end of every class, and that of all others, (n_classes,); NaN where it has no value."""

    smallest: FloatArray
    second_smallest: FloatArray
    second_largest: FloatArray
    largest: FloatArray
    n_smallest: IntArray | int = 1
    """Records of whoever holds the smallest value: more than 1 only where a person has several."""
    n_largest: IntArray | int = 1


def extremes_of(
    values: FloatArray,
    class_ids: IntArray,
    *,
    n_classes: int,
    counts: IntArray | None = None,
    persons: IntArray | None = None,
) -> Extremes:
    """The outermost values of one ε-quasi in every class; `values` and `class_ids` have shape (n_rows,).

    `counts` says how many records each row stands for. A value that several records hold is its own second. With `persons`,
    any numbers that are equal for records about one person, the second is that of all other persons.
    """
    present = ~np.isnan(values)
    if not present.all():
        values, class_ids = values[present], class_ids[present]
        counts = None if counts is None else counts[present]
        persons = None if persons is None else persons[present]
    if persons is not None:
        largest, second_largest, n_largest = _of_two_persons(values, class_ids, n_classes, persons)
        smallest, second_smallest, n_smallest = _of_two_persons(-values, class_ids, n_classes, persons)
        return Extremes(
            smallest=-smallest,
            second_smallest=-second_smallest,
            second_largest=second_largest,
            largest=largest,
            n_smallest=n_smallest,
            n_largest=n_largest,
        )
    largest, second_largest = _two_largest(values, class_ids, n_classes, counts)
    smallest, second_smallest = _two_largest(-values, class_ids, n_classes, counts)
    return Extremes(
        smallest=-smallest, second_smallest=-second_smallest, second_largest=second_largest, largest=largest
    )


def extremes_of_counted(classes: ClassValues) -> Extremes:
    """The outermost values of one ε-quasi in every class, from its values counted by class; none is missing."""
    firsts, lasts = classes.starts[:-1], classes.starts[1:] - 1
    found = np.full((4, classes.n_classes), np.nan)
    has_records, has_others = lasts >= firsts, lasts > firsts
    for outer, second, ends, step in ((0, 1, firsts, 1), (3, 2, lasts, -1)):
        own = ends[has_records]
        found[outer, has_records] = classes.values[own]
        found[second, has_others] = classes.values[ends[has_others] + step]
        repeated = np.flatnonzero(has_records)[classes.counts[own] > 1]
        found[second, repeated] = found[outer, repeated]
    return Extremes(smallest=found[0], second_smallest=found[1], second_largest=found[2], largest=found[3])


def _two_largest(
    values: FloatArray, class_ids: IntArray, n_classes: int, counts: IntArray | None
) -> tuple[FloatArray, FloatArray]:
    """The largest value of every class, and the largest of all its other records; NaN where there is none."""
    largest = np.full(n_classes, -np.inf)
    np.maximum.at(largest, class_ids, values)
    is_largest: BoolArray = values == largest[class_ids]
    own_counts = None if counts is None else counts[is_largest]
    n_largest = np.bincount(class_ids[is_largest], weights=own_counts, minlength=n_classes)
    second = np.full(n_classes, -np.inf)
    np.maximum.at(second, class_ids[~is_largest], values[~is_largest])
    second = np.where(n_largest > 1, largest, second)
    return np.where(np.isinf(largest), np.nan, largest), np.where(np.isinf(second), np.nan, second)


def _of_two_persons(
    values: FloatArray, class_ids: IntArray, n_classes: int, persons: IntArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """The largest value of every class, the largest of all other persons, and how many records who holds it has there."""
    largest = np.full(n_classes, -np.inf)
    np.maximum.at(largest, class_ids, values)
    is_largest: BoolArray = values == largest[class_ids]
    holder: IntArray = np.zeros(n_classes, dtype=persons.dtype)
    holder[class_ids[is_largest]] = persons[is_largest]  # any of them, if there are several
    is_own: BoolArray = persons == holder[class_ids]
    second = np.full(n_classes, -np.inf)
    np.maximum.at(second, class_ids[~is_own], values[~is_own])
    return (
        np.where(np.isinf(largest), np.nan, largest),
        np.where(np.isinf(second), np.nan, second),
        np.bincount(class_ids[is_own], minlength=n_classes),
    )


def recoverable_outliers(
    extremes: Extremes, *, low: FloatArray, high: FloatArray, sizes: IntArray, n_active: IntArray, step: float
) -> OutlierSums:
    """How well the extreme records of some classes can be worked out, by the attacker of this module.

    `low` and `high` are the ends of the ranges that set the noise, `sizes` the records of each class, and `n_active` the
    ε-quasis with noise in it; all have shape (n_classes,). `step` is what ranges were widened to, 0 where they were not:
    the attacker then takes the middle of the step that the extreme value has to be in.
    """
    ranges = high - low
    noisy = np.flatnonzero(ranges > 0)
    low, high, ranges = low[noisy], high[noisy], ranges[noisy]
    best = np.zeros(len(noisy))
    stands_out = np.zeros(len(noisy), dtype=np.bool_)
    top, bottom = extremes.largest[noisy], extremes.smallest[noisy]
    for value, second, off, n_own in (
        (top, extremes.second_largest[noisy], high - top - step / 2, extremes.n_largest),
        (bottom, extremes.second_smallest[noisy], bottom - low - step / 2, extremes.n_smallest),
    ):
        n_others = np.maximum((sizes - n_own)[noisy], 1)
        shapes = (n_active[noisy] * n_others).astype(np.float64)
        tolerance = WITHIN * np.abs(value)
        own = np.abs(value - second) > tolerance
        stands_out |= own
        chances = _chances(ranges[own], tolerance[own], off[own], shapes=shapes[own], step=step)
        best[own] = np.maximum(best[own], chances)
    return OutlierSums(
        n_classes=len(noisy),
        n_standing_out=int(np.count_nonzero(stands_out)),
        n_likely=int(np.count_nonzero(best >= LIKELY)),
        likeliest=float(best.max(initial=0.0)),
    )


def _chances(
    ranges: FloatArray, tolerance: FloatArray, off: FloatArray, *, shapes: FloatArray, step: float
) -> FloatArray:
    """P(the value is worked out) for who takes the better of both estimates of R."""
    from_share, to_share = 1 - (tolerance + off) / ranges, 1 + (tolerance - off) / ranges
    chances = gamma_between(shapes * from_share, shapes * to_share, shapes=shapes)
    return np.maximum(chances, _by_multiples(ranges, tolerance, off, shapes=shapes, step=step)) if step else chances


def _by_multiples(
    ranges: FloatArray, tolerance: FloatArray, off: FloatArray, *, shapes: FloatArray, step: float
) -> FloatArray:
    """P(the value is worked out) for who takes the multiple of the step, at least one, that is nearest to his estimate of R.

    With j steps too many he is off by j·step + `off`. So he is right from the first to the last j with which that is
    within the tolerance.
    """
    n_steps = np.rint(ranges / step)
    first, last = np.ceil((-tolerance - off) / step), np.floor((tolerance - off) / step)
    low = np.where(n_steps + first <= 1, 0.0, n_steps + first - 0.5)
    high = np.where(first <= last, np.maximum(n_steps + last + 0.5, 0.0), low)
    return gamma_between(shapes * low / n_steps, shapes * high / n_steps, shapes=shapes)


def gamma_between(low: FloatArray, high: FloatArray, *, shapes: FloatArray) -> FloatArray:
    """P(low ≤ G ≤ high) for G of Gamma(shape) distributions, shapes being 1 or more; all arguments of one shape.

    The density is integrated by a Gauss–Legendre rule over the part of the interval that has a chance: it is so smooth
    there that 96 nodes give ten digits for every shape.
    """
    spread = _SPREAD * np.sqrt(shapes)
    low = np.clip(low, np.maximum(shapes - spread, 0.0), None)
    high = np.maximum(np.minimum(high, shapes + spread + 40), low)
    middle, half = (low + high) / 2, (high - low) / 2
    distinct, which = np.unique(shapes, return_inverse=True)
    log_gamma = np.array([math.lgamma(shape) for shape in distinct.tolist()])[which]
    total = np.zeros(len(shapes))
    with np.errstate(divide="ignore", invalid="ignore"):
        for node, weight in zip(_NODES.tolist(), _WEIGHTS.tolist(), strict=True):
            at = middle + half * node
            logs = np.where(shapes > 1, (shapes - 1) * np.log(at), 0.0)
            total += weight * np.exp(logs - at - log_gamma)
    return np.clip(np.where(half > 0, total * half, 0.0), 0.0, 1.0)

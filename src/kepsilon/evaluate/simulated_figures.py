# SPDX-License-Identifier: Apache-2.0
"""Links, errors and the largest posterior to expect of a mechanism that has no closed forms.

Links and errors come from draws of the mechanism itself, as rounded and clamped as they would be published, with a fixed
seed and a stream for every partition; see `simulation`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.class_values import ClassValues
from kepsilon.evaluate.confident_k import ConfidentK, goes_alone, originals_in_reach
from kepsilon.evaluate.cyclic_classes import lay_out
from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.likelihood_links import Originals, Weighed, weigh_originals
from kepsilon.evaluate.linking_risk import ExpectedLinks
from kepsilon.evaluate.noise_law import NoiseLaw
from kepsilon.evaluate.relative_error import ErrorSums, errors_of, errors_of_counts
from kepsilon.evaluate.simulated_links import COMPARISONS
from kepsilon.evaluate.simulated_suppression import expected_suppression_by_draws
from kepsilon.evaluate.simulation import MOST_DRAWS, SimulatedBytes, Strata, draw_records, generator, parts
from kepsilon.evaluate.sorted_classes import SortedClasses
from kepsilon.policy.roles import fraction
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.steps import Steps

_DRAWN = 100_000
"""Draws that errors are the mean of, at least."""

_AT_ONCE = 1 << 16
"""Draws at a time, so that what is in flight stays small."""

_LARGE = 1 << 16
"""Records of a class known by counts from which on it stands or falls with the number that is expected to stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A mechanism, ready to draw for some classes."""

    mechanism: NoiseLaw
    low: FloatArray
    """Ends of the ranges, shape (n_classes, n_attributes)."""
    high: FloatArray
    steps: Sequence[Steps]
    stream: int
    """Partitions need different numbers."""

    @property
    def is_active(self) -> BoolArray:
        """Classes in which some ε-quasi has noise, shape (n_classes,)."""
        active: BoolArray = np.any(self.high > self.low, axis=1)
        return active

    def draw(
        self, values: FloatArray, class_ids: IntArray, *, classes: slice, epsilon: float, source: SimulatedBytes
    ) -> FloatArray:
        """What might be published of some records, whose classes are counted from the first of `classes` on."""
        return self.mechanism.draw(
            values,
            class_ids,
            self.low[classes],
            self.high[classes],
            epsilon=fraction(epsilon),
            steps=self.steps,
            source=source,
        )

    def weigh(
        self, originals: Originals, published: FloatArray, class_ids: IntArray, own: IntArray, *, epsilon: float
    ) -> Weighed:
        return weigh_originals(
            originals, published, class_ids, own, mechanism=self.mechanism, epsilon=epsilon, steps=self.steps
        )


def simulated_links(drawing: Drawing, values: FloatArray, class_ids: IntArray, *, epsilon: float) -> ExpectedLinks:
    """Links to expect at one ε, of whole classes; `values` has shape (n_records, n_attributes).

    Whether the attacker is right would be rare in a large class and tell little; how probably he is right has the same
    expectation, because what was published might come from any record of the class.
    """
    rng = generator(drawing.stream)
    sizes = np.bincount(class_ids).astype(np.float64)
    strata = draw_records(len(values), COMPARISONS / (np.dot(sizes, sizes) / len(values)), rng)
    fair, paper = np.empty((2, *strata.chosen.shape))
    source = SimulatedBytes(rng)
    for part in parts(values, class_ids, strata, n_classes=len(drawing.low)):
        classes = lay_out(np.nan_to_num(part.values), part.class_ids, n_classes=part.classes.stop - part.classes.start)
        ids = part.class_ids[part.chosen]
        published = drawing.draw(
            np.ascontiguousarray(part.values[:, part.chosen].T),
            ids,
            classes=part.classes,
            epsilon=epsilon,
            source=source,
        )
        originals = Originals.of_several(classes, drawing.low[part.classes], drawing.high[part.classes])
        found = drawing.weigh(originals, published, ids, classes.point_of[part.chosen], epsilon=epsilon)
        fair[part.draws], paper[part.draws] = 1 / found.total, found.n_best / found.total
    return _links_from(strata, fair, paper)


def simulated_links_of_one(drawing: Drawing, classes: ClassValues, *, epsilon: float) -> ExpectedLinks:
    """Links to expect at one ε, of whole classes with one ε-quasi, from their distinct values and counts."""
    rng = generator(drawing.stream)
    sizes = classes.sizes
    n = int(sizes.sum())
    strata = draw_records(n, COMPARISONS / (np.dot(sizes, classes.n_distinct) / n), rng)
    own = np.searchsorted(np.cumsum(classes.counts), strata.chosen.reshape(-1), side="right")
    ids = classes.class_ids[own]
    values = np.where(np.isnan(drawing.low[ids, 0]), np.nan, classes.values[own])
    published = drawing.draw(
        values[:, np.newaxis], ids, classes=slice(None), epsilon=epsilon, source=SimulatedBytes(rng)
    )
    originals = Originals.of_one(classes, drawing.low, drawing.high)
    found = drawing.weigh(originals, published, ids, own, epsilon=epsilon)
    shape = strata.chosen.shape
    return _links_from(strata, (1 / found.total).reshape(shape), (found.n_best / found.total).reshape(shape))


def _links_from(strata: Strata, fair: FloatArray, paper: FloatArray) -> ExpectedLinks:
    return ExpectedLinks(fair=strata.estimate(fair), paper=strata.estimate(paper))


def simulated_errors(
    drawing: Drawing, values: FloatArray, originals: FloatArray, class_ids: IntArray, *, epsilon: float
) -> tuple[ErrorSums, ...]:
    """The error to expect of every ε-quasi at one ε.

    `values` is what gets noise, and errors are relative to `originals`; both have shape (n_records, n_attributes).
    """
    distances = _distances(drawing, values, originals, class_ids, epsilon=epsilon)
    return tuple(errors_of(originals[:, j], distances[:, j]) for j in range(values.shape[1]))


def simulated_errors_of_counts(
    drawing: Drawing, originals: FloatArray, counts: IntArray, *, epsilon: float
) -> tuple[ErrorSums, ...]:
    """The error to expect of one class with one ε-quasi, from its distinct values before any was clipped."""
    column = originals[:, np.newaxis]
    values = np.clip(column, drawing.low[0], drawing.high[0])
    ids = np.zeros(len(column), dtype=np.int64)
    distances = _distances(drawing, values, column, ids, epsilon=epsilon)
    return (errors_of_counts(originals, counts, distances=distances[:, 0]),)


def _distances(
    drawing: Drawing, values: FloatArray, originals: FloatArray, class_ids: IntArray, *, epsilon: float
) -> FloatArray:
    """E|published − original|: in closed form if the mechanism has one, or the mean of some draws for every record."""
    low, high = drawing.low[class_ids], drawing.high[class_ids]
    known = drawing.mechanism.expected_distances(values, low, high, epsilon=epsilon, steps=drawing.steps)
    if known is not None:
        return known
    if not len(values):
        return np.zeros(values.shape)
    n_rounds = math.ceil(_DRAWN / len(values))
    at_once = min(n_rounds, max(1, _AT_ONCE // len(values)))
    source = SimulatedBytes(generator(drawing.stream))
    distances = np.zeros(values.shape)
    for done in range(0, n_rounds, at_once):
        n_times = min(at_once, n_rounds - done)
        many, ids = np.tile(values, (n_times, 1)), np.tile(class_ids, n_times)
        published = drawing.draw(many, ids, classes=slice(None), epsilon=epsilon, source=source)
        distances += np.abs(published.reshape(n_times, *values.shape) - originals).sum(axis=0)
    distances /= n_rounds
    return distances


def simulated_suppression_of_counts(
    drawing: Drawing, classes: ClassValues, *, epsilon: float, confident: ConfidentK
) -> Estimate:
    """Records of one class with one ε-quasi that confident k is expected to leave out, from its distinct values.

    A class of many records stands or falls with the number that is expected to stay: that number then is nearly certain.
    """
    n = int(classes.counts.sum())
    reach = confident.reach(drawing.mechanism, drawing.low, drawing.high, epsilon=epsilon)
    if not drawing.high[0, 0] > drawing.low[0, 0]:
        return Estimate(total=0.0 if n >= confident.k else float(n))
    if n <= _LARGE:
        values = np.repeat(classes.values, classes.counts)[:, np.newaxis]
        return expected_suppression_by_draws(
            values,
            np.zeros(n, dtype=np.int64),
            mechanism=drawing.mechanism,
            low=drawing.low,
            high=drawing.high,
            linking_ranges=reach,
            epsilon=epsilon,
            k=confident.k,
            rule=confident.rule,
            stream=drawing.stream,
            steps=drawing.steps,
        )
    rng = generator(drawing.stream)
    strata = draw_records(n, MOST_DRAWS, rng)
    own = np.searchsorted(np.cumsum(classes.counts), strata.chosen.reshape(-1), side="right")
    ids, source = np.zeros(len(own), dtype=np.int64), SimulatedBytes(rng)
    values = classes.values[own][:, np.newaxis]
    published = drawing.draw(values, ids, classes=slice(0, 1), epsilon=epsilon, source=source)
    drawn = SortedClasses(
        values=classes.values,
        class_ids=classes.class_ids,
        counts=classes.counts,
        starts=classes.starts,
        order=np.arange(len(own)),
        place=own,
    )
    in_reach = originals_in_reach(drawn, published[:, 0], linking_ranges=reach[:, 0], precision=confident.precisions[0])
    goes, counts_as_gone = goes_alone(in_reach, k=confident.k, rule=confident.rule)
    shape = strata.chosen.shape
    if strata.estimate((~counts_as_gone).reshape(shape).astype(np.float64)).total < confident.k:
        return Estimate(total=float(n))
    return strata.estimate(goes.reshape(shape).astype(np.float64))


def indistinguishable_posterior(class_sizes: IntArray, is_active: BoolArray, *, epsilon: float) -> float:
    """The most that any output of an ε-indistinguishable mechanism can make a record's own original probable.

    No other original of its class is less likely by more than e^ε, so that among m it is 1/(1 + (m − 1)·e^(−ε)) at most;
    and 1/m where a class has no active ε-quasi. Both arguments have the shape (n_classes,).
    """
    sizes = class_sizes[class_sizes > 0]
    least = np.where(is_active[class_sizes > 0], math.exp(-epsilon), 1.0)
    return float(np.max(1 / (1 + (sizes - 1) * least), initial=0.0))

# SPDX-License-Identifier: Apache-2.0
"""Expected links, errors, suppression and largest posterior of a mechanism that has no closed forms.

Figures come from draws of the mechanism itself, rounded and clamped as for publishing, block by block; see `simulation`.
With one ε-quasi, distinct values and their counts stand for the records of a class.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.confident_k.confident_k import ConfidentK, goes_alone, originals_in_reach
from kepsilon.evaluate.confident_k.simulated_suppression import expected_suppression_by_draws
from kepsilon.evaluate.error.relative_error import ErrorSums, errors_of, errors_of_counts
from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.linking.likelihood_links import Originals, Weighed, weigh_originals
from kepsilon.evaluate.linking.linking_risk import ExpectedLinks
from kepsilon.evaluate.linking.simulated_links import LIKELIHOODS
from kepsilon.evaluate.noise_law import NoiseLaw
from kepsilon.evaluate.originals.class_values import ClassValues
from kepsilon.evaluate.originals.rings import lay_out_rings
from kepsilon.evaluate.originals.sorted_classes import SortedClasses
from kepsilon.evaluate.simulation import MOST_DRAWS, Block, SimulatedBytes, Strata, generator, sample_records
from kepsilon.policy.roles import fraction
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.steps import Steps

_DRAWN = 100_000
"""Draws that expected errors are averaged over, at least."""

_AT_ONCE = 1 << 16
"""Draws at a time, so that arrays stay small."""

_LARGE = 1 << 16
"""A class of more records, known by counts, is taken to stay if k records are expected to stay, and to go otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A mechanism, ready to draw for a block of classes."""

    mechanism: NoiseLaw
    low: FloatArray
    """Lower ends of the ranges that set the noise, shape (n_classes, n_attributes)."""
    high: FloatArray
    """Upper ends of the ranges, shaped like `low`."""
    steps: Sequence[Steps]
    """How each ε-quasi is rounded and clamped."""
    stream: int = 0
    """As in `simulation.Block`."""
    share: float = 1.0
    """As in `simulation.Block`."""

    def of(self, block: Block) -> Drawing:
        """The mechanism, ready to draw for one block of these classes."""
        return dataclasses.replace(
            self,
            low=self.low[block.classes],
            high=self.high[block.classes],
            stream=block.stream,
            share=block.share,
        )

    @property
    def is_active(self) -> BoolArray:
        """Classes in which some ε-quasi has noise, shape (n_classes,)."""
        active: BoolArray = np.any(self.high > self.low, axis=1)
        return active

    def draw(
        self, values: FloatArray, class_ids: IntArray, *, classes: slice, epsilon: float, source: SimulatedBytes
    ) -> FloatArray:
        """Simulated published values of some records, whose class ids are counted from the first of `classes`."""
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
        """Likelihoods of the originals of each record's class; arguments as for `weigh_originals`."""
        return weigh_originals(
            originals, published, class_ids, own, mechanism=self.mechanism, epsilon=epsilon, steps=self.steps
        )


def simulated_links(drawing: Drawing, values: FloatArray, class_ids: IntArray, *, epsilon: float) -> ExpectedLinks:
    """Expected links at one ε, of whole classes; `values` has shape (n_records, n_attributes).

    The probability that the attacker is right is averaged, not whether he is right: both have the same expectation,
    because a published value might come from any record of the class, but in a large class a right guess is rare, and
    tells little.
    """
    rng = generator(drawing.stream)
    sizes = np.bincount(class_ids).astype(np.float64)
    strata = sample_records(len(values), LIKELIHOODS / (np.dot(sizes, sizes) / len(values)), rng, share=drawing.share)
    fair, paper = np.empty((2, *strata.chosen.shape))
    source = SimulatedBytes(rng)
    for part in strata.sampled_classes(values, class_ids, n_classes=len(drawing.low)):
        classes = lay_out_rings(
            np.nan_to_num(part.values), part.class_ids, n_classes=part.classes.stop - part.classes.start
        )
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
    """Expected links at one ε, of whole classes with one ε-quasi, from their distinct values and counts."""
    rng = generator(drawing.stream)
    sizes = classes.sizes
    n = int(sizes.sum())
    strata = sample_records(n, LIKELIHOODS / (np.dot(sizes, classes.n_distinct) / n), rng, share=drawing.share)
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
    """Links of all records, estimated from those of the sampled ones by both rules."""
    return ExpectedLinks(fair=strata.estimate(fair), paper=strata.estimate(paper))


def simulated_errors(
    drawing: Drawing, values: FloatArray, originals: FloatArray, class_ids: IntArray, *, epsilon: float
) -> tuple[ErrorSums, ...]:
    """The expected error of every ε-quasi at one ε.

    `values` is what gets noise, and errors are relative to `originals`; both have shape (n_records, n_attributes).
    """
    counts = np.ones(len(values), dtype=np.int64)
    distances = _distances(drawing, values, originals, class_ids, counts=counts, epsilon=epsilon)
    return tuple(
        errors_of(originals[:, j], distances[:, j]).with_relative_errors(originals[:, j], distances[:, j])
        for j in range(values.shape[1])
    )


def simulated_errors_of_one(drawing: Drawing, originals: ClassValues, *, epsilon: float) -> tuple[ErrorSums, ...]:
    """The expected error of the only ε-quasi, from its distinct values before clipping, and their counts."""
    low, high = drawing.low[originals.class_ids, 0], drawing.high[originals.class_ids, 0]
    before = np.where(np.isnan(low), np.nan, originals.values)
    distances = _distances(
        drawing,
        np.clip(before, low, high)[:, np.newaxis],
        before[:, np.newaxis],
        originals.class_ids,
        counts=originals.counts,
        epsilon=epsilon,
    )
    found = errors_of_counts(before, originals.counts, distances=distances[:, 0])
    return (found.with_relative_errors(before, distances[:, 0], counts=originals.counts),)


def _distances(
    drawing: Drawing,
    values: FloatArray,
    originals: FloatArray,
    class_ids: IntArray,
    *,
    counts: IntArray,
    epsilon: float,
) -> FloatArray:
    """E|published − original|, shaped like `values`: the mean of some draws for every value.

    `counts` says how many records hold each value; values that many records hold are drawn more often.
    """
    low, high = drawing.low[class_ids], drawing.high[class_ids]
    known = drawing.mechanism.expected_distances(values, originals, low, high, epsilon=epsilon, steps=drawing.steps)
    if known is not None:
        return known
    n_draws = np.ceil(counts * (_DRAWN * drawing.share / counts.sum())).astype(np.int64)
    source = SimulatedBytes(generator(drawing.stream))
    distances = np.empty(values.shape)
    for some in _parts(n_draws):
        rows = np.repeat(np.arange(some.start, some.stop), n_draws[some])
        published = drawing.draw(values[rows], class_ids[rows], classes=slice(None), epsilon=epsilon, source=source)
        firsts = np.cumsum(n_draws[some]) - n_draws[some]
        distances[some] = np.add.reduceat(np.abs(published - originals[rows]), firsts, axis=0)
    distances /= n_draws[:, np.newaxis]
    return distances


def _parts(n_draws: IntArray) -> Iterator[slice]:
    """A few values at a time, with about _AT_ONCE draws together."""
    ends = np.cumsum(n_draws)
    first, done = 0, 0
    while first < len(ends):
        last = max(first + 1, int(np.searchsorted(ends, done + _AT_ONCE, side="right")))
        yield slice(first, last)
        first, done = last, int(ends[last - 1])


def simulated_suppression(
    drawing: Drawing, values: FloatArray, class_ids: IntArray, *, epsilon: float, confident: ConfidentK
) -> Estimate:
    """Expected records suppressed for confident k; `values` has shape (n_records, n_attributes)."""
    return expected_suppression_by_draws(
        values,
        class_ids,
        mechanism=drawing.mechanism,
        low=drawing.low,
        high=drawing.high,
        linking_ranges=confident.reach(drawing.mechanism, drawing.low, drawing.high, epsilon=epsilon),
        epsilon=epsilon,
        k=confident.k,
        rule=confident.rule,
        stream=drawing.stream,
        share=drawing.share,
        steps=drawing.steps,
    )


def simulated_suppression_of_one(
    drawing: Drawing, classes: ClassValues, *, epsilon: float, confident: ConfidentK
) -> Estimate:
    """Expected records suppressed for confident k, where there is one ε-quasi, from its distinct values.

    Classes of few records are simulated whole. One class of many records is taken to stay if at least k of them are
    expected to stay, because that number is nearly certain. It is estimated from as many draws as there may be, whatever
    the share of the class: few draws would miss the records that stay.
    """
    n = int(classes.counts.sum())
    if classes.n_classes > 1 or n <= _LARGE:
        values = np.repeat(classes.values, classes.counts)[:, np.newaxis]
        class_ids = np.repeat(classes.class_ids, classes.counts)
        return simulated_suppression(drawing, values, class_ids, epsilon=epsilon, confident=confident)
    if not drawing.high[0, 0] > drawing.low[0, 0]:
        return Estimate(total=0.0 if n >= confident.k else float(n))
    rng = generator(drawing.stream)
    strata = sample_records(n, MOST_DRAWS, rng)
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
    reach = confident.reach(drawing.mechanism, drawing.low, drawing.high, epsilon=epsilon)[:, 0]
    in_reach = originals_in_reach(drawn, published[:, 0], linking_ranges=reach, precision=confident.precisions[0])
    goes, counts_as_gone = goes_alone(in_reach, k=confident.k, rule=confident.rule)
    shape = strata.chosen.shape
    if strata.estimate((~counts_as_gone).reshape(shape).astype(np.float64)).total < confident.k:
        return Estimate(total=float(n))
    return strata.estimate(goes.reshape(shape).astype(np.float64))


def indistinguishable_posterior(class_sizes: IntArray, is_active: BoolArray, *, epsilon: float) -> float:
    """The most that any output of an ε-indistinguishable mechanism can make a record's own original probable.

    No other original of its class is less likely by more than a factor e^ε, so that among m originals the posterior is
    1/(1 + (m − 1)·e^(−ε)) at most; and 1/m where a class has no active ε-quasi. Both arguments have shape (n_classes,).
    """
    sizes = class_sizes[class_sizes > 0]
    least = np.where(is_active[class_sizes > 0], math.exp(-epsilon), 1.0)
    return float(np.max(1 / (1 + (sizes - 1) * least), initial=0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedOne:
    """Expected figures of classes with one ε-quasi, from draws of the mechanism itself."""

    classes: ClassValues
    originals: ClassValues
    """The values before clipping."""
    drawing: Drawing

    def errors(self, epsilon: float) -> tuple[ErrorSums, ...]:
        return simulated_errors_of_one(self.drawing, self.originals, epsilon=epsilon)

    def links(self, epsilons: Sequence[float]) -> list[ExpectedLinks]:
        return [simulated_links_of_one(self.drawing, self.classes, epsilon=epsilon) for epsilon in epsilons]

    def largest(self, epsilons: Sequence[float]) -> list[float]:
        sizes = self.classes.sizes
        return [indistinguishable_posterior(sizes, self.drawing.is_active, epsilon=epsilon) for epsilon in epsilons]

    def suppressed(self, settings: Sequence[tuple[float, ConfidentK]]) -> list[Estimate]:
        return [
            simulated_suppression_of_one(self.drawing, self.classes, epsilon=epsilon, confident=confident)
            for epsilon, confident in settings
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedSeveral:
    """Expected figures of classes with several ε-quasis, from draws of the mechanism itself."""

    values: FloatArray
    """The values that get noise, shape (n_records, n_attributes)."""
    originals: FloatArray
    """The values before clipping, which errors are relative to."""
    class_ids: IntArray
    """The class of each record, counted from the first class of the block; rising."""
    drawing: Drawing

    def errors(self, epsilon: float) -> tuple[ErrorSums, ...]:
        return simulated_errors(self.drawing, self.values, self.originals, self.class_ids, epsilon=epsilon)

    def links(self, epsilons: Sequence[float]) -> list[ExpectedLinks]:
        return [simulated_links(self.drawing, self.values, self.class_ids, epsilon=epsilon) for epsilon in epsilons]

    def largest(self, epsilons: Sequence[float]) -> list[float]:
        sizes = np.bincount(self.class_ids, minlength=len(self.drawing.low))
        return [indistinguishable_posterior(sizes, self.drawing.is_active, epsilon=epsilon) for epsilon in epsilons]

    def suppressed(self, settings: Sequence[tuple[float, ConfidentK]]) -> list[Estimate]:
        return [
            simulated_suppression(self.drawing, self.values, self.class_ids, epsilon=epsilon, confident=confident)
            for epsilon, confident in settings
        ]

# SPDX-License-Identifier: Apache-2.0
"""Everything that can be said of a partition into classes before noise is drawn, for any ε, from one look at its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from kepsilon.evaluate.class_values import ClassValues, count_values
from kepsilon.evaluate.confident_k import ConfidentK
from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.expected_confident_k import PreparedClasses, prepare
from kepsilon.evaluate.largest_posterior import largest_of_one, largest_of_several
from kepsilon.evaluate.linking_risk import ExpectedLinks, LinkGaps, link_gaps
from kepsilon.evaluate.noise_law import ExponentialLaw, NoiseLaw
from kepsilon.evaluate.relative_error import ErrorSums, expected_errors, expected_errors_of_counts
from kepsilon.evaluate.simulated_figures import (
    Drawing,
    indistinguishable_posterior,
    simulated_errors,
    simulated_errors_of_counts,
    simulated_links,
    simulated_links_of_one,
    simulated_suppression_of_counts,
)
from kepsilon.evaluate.simulated_links import expected_links_at_each
from kepsilon.evaluate.simulated_suppression import expected_suppression, expected_suppression_by_draws
from kepsilon.evaluate.tally import Expected
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.coded_values import CodedValues
from kepsilon.table.steps import Steps


class Outlook(Protocol):
    """What to expect of some classes, by figure."""

    def errors(self, epsilon: float) -> tuple[ErrorSums, ...]: ...

    def links(self, epsilons: Sequence[float]) -> Sequence[ExpectedLinks]: ...

    def largest(self, epsilons: Sequence[float]) -> Sequence[float]:
        """The most that any published value can make a record's own original probable, for each ε."""

    def suppressed(self, epsilon: float, confident: ConfidentK) -> Estimate: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """What does not depend on ε, k or confidence; `at` gives the figures of one cell, `at_each` those of several."""

    n_records: int
    outlook: Outlook

    def at(self, epsilon: float, *, confident: ConfidentK | None = None) -> Expected:
        return self.at_each([(epsilon, confident)])[0]

    def at_each(self, cells: Sequence[tuple[float, ConfidentK | None]]) -> tuple[Expected, ...]:
        """The same figures as one by one; where they are simulated, in much less time."""
        epsilons = [epsilon for epsilon, _ in cells]
        return tuple(
            Expected(
                n_records=self.n_records,
                errors=self.outlook.errors(epsilon),
                links=links,
                largest_possible=largest,
                suppressed=None if confident is None else self.outlook.suppressed(epsilon, confident),
            )
            for (epsilon, confident), links, largest in zip(
                cells, self.outlook.links(epsilons), self.outlook.largest(epsilons), strict=True
            )
        )


def expect(
    values: FloatArray,
    coded: Sequence[CodedValues],
    class_ids: IntArray,
    *,
    mechanism: NoiseLaw,
    low: FloatArray,
    high: FloatArray,
    steps: Sequence[Steps],
    originals: FloatArray | None = None,
    stream: int = 0,
) -> Expectations:
    """Arguments as for `tally.realise`; `coded` are the values, coded once for all partitions.

    Batches of classes need different `stream` numbers, for what is simulated.
    """
    unclipped = values if originals is None else originals
    ranges, law = high - low, mechanism.exponential
    outlook: Outlook
    if law is None:
        outlook = _Simulated(
            values=values,
            originals=unclipped,
            class_ids=class_ids,
            classes=count_values(coded[0], class_ids, n_classes=len(low)) if len(coded) == 1 else None,
            drawing=Drawing(mechanism=mechanism, low=low, high=high, steps=steps, stream=stream),
        )
        return Expectations(n_records=len(class_ids), outlook=outlook)
    unit_noise = law.expected_noise(ranges, epsilon=1.0)
    unit_errors = tuple(
        expected_errors(unclipped[:, j], class_ids, expected_noise=unit_noise[:, j]) for j in range(values.shape[1])
    )
    if len(coded) > 1:
        outlook = _SeveralQuasis(
            law=law,
            mechanism=mechanism,
            unit_errors=unit_errors,
            values=values,
            class_ids=class_ids,
            low=low,
            high=high,
            stream=stream,
        )
    else:
        # Without any ε-quasi all records of a class look alike, as if they agreed on one.
        only = coded[0] if coded else CodedValues(distinct=np.zeros(1), codes=np.zeros(len(class_ids), dtype=np.int64))
        classes = count_values(only, class_ids, n_classes=len(ranges))
        outlook = _one_quasi(classes, unit_errors, mechanism, law, low, high)
    return Expectations(n_records=len(class_ids), outlook=outlook)


def expect_of_counts(
    classes: ClassValues,
    *,
    mechanism: NoiseLaw,
    low: FloatArray,
    high: FloatArray,
    steps: Sequence[Steps],
    original_values: FloatArray,
    original_counts: IntArray,
    stream: int = 0,
) -> Expectations:
    """What to expect of one class with at most one ε-quasi, known by its distinct values and how many records hold each.

    `low` and `high` have shape (1, n_epsilon_quasis); the originals differ from the class's values where some were clipped.
    """
    law = mechanism.exponential
    outlook: Outlook
    if law is None:
        outlook = _SimulatedCounts(
            classes=classes,
            original_values=original_values,
            original_counts=original_counts,
            drawing=Drawing(mechanism=mechanism, low=low, high=high, steps=steps, stream=stream),
        )
    else:
        unit_errors = tuple(
            expected_errors_of_counts(original_values, original_counts, expected_noise=float(noise))
            for noise in law.expected_noise(high - low, epsilon=1.0)[0]
        )
        outlook = _one_quasi(classes, unit_errors, mechanism, law, low, high)
    return Expectations(n_records=int(classes.counts.sum()), outlook=outlook)


def _one_quasi(
    classes: ClassValues,
    unit_errors: tuple[ErrorSums, ...],
    mechanism: NoiseLaw,
    law: ExponentialLaw,
    low: FloatArray,
    high: FloatArray,
) -> _OneQuasi:
    if not low.shape[1]:
        low = high = np.zeros((len(low), 1))
    gaps = link_gaps(classes, ranges=(high - low)[:, 0], law=law)
    return _OneQuasi(
        law=law, mechanism=mechanism, unit_errors=unit_errors, classes=classes, gaps=gaps, low=low, high=high
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _OneQuasi:
    """Closed forms of exponential noise."""

    law: ExponentialLaw
    mechanism: NoiseLaw
    unit_errors: tuple[ErrorSums, ...]
    """At ε = 1."""
    classes: ClassValues
    gaps: LinkGaps
    low: FloatArray
    """Ends of the ranges, shape (n_classes, 1)."""
    high: FloatArray
    crowds: dict[int, PreparedClasses] = field(default_factory=dict)
    """For confident k, by k, made when first asked for."""

    @property
    def ranges(self) -> FloatArray:
        """R, shape (n_classes,)."""
        ranges: FloatArray = (self.high - self.low)[:, 0]
        return ranges

    def errors(self, epsilon: float) -> tuple[ErrorSums, ...]:
        return tuple(errors.over(epsilon) for errors in self.unit_errors)

    def links(self, epsilons: Sequence[float]) -> list[ExpectedLinks]:
        return [self.gaps.expected(epsilon) for epsilon in epsilons]

    def largest(self, epsilons: Sequence[float]) -> list[float]:
        return largest_of_one(self.classes, ranges=self.ranges, epsilons=epsilons)

    def suppressed(self, epsilon: float, confident: ConfidentK) -> Estimate:
        if confident.k not in self.crowds:
            self.crowds[confident.k] = prepare(self.classes, k=confident.k)
        by_class = self.crowds[confident.k].expected(
            ranges=self.ranges,
            reach=confident.reach(self.mechanism, self.low, self.high, epsilon=epsilon)[:, 0],
            epsilon=epsilon,
            rule=confident.rule,
            law=self.law,
            steps=confident.steps,
        )
        return Estimate(total=float(by_class.sum()))


@dataclass(frozen=True, slots=True, kw_only=True)
class _SeveralQuasis:
    """Figures of exponential noise, simulated but for classes that have a closed form."""

    law: ExponentialLaw
    mechanism: NoiseLaw
    unit_errors: tuple[ErrorSums, ...]
    """At ε = 1."""
    values: FloatArray
    class_ids: IntArray
    low: FloatArray
    high: FloatArray
    stream: int

    @property
    def ranges(self) -> FloatArray:
        """R, shape (n_classes, n_attributes)."""
        return self.high - self.low

    def errors(self, epsilon: float) -> tuple[ErrorSums, ...]:
        return tuple(errors.over(epsilon) for errors in self.unit_errors)

    def links(self, epsilons: Sequence[float]) -> list[ExpectedLinks]:
        return expected_links_at_each(
            self.values, self.class_ids, ranges=self.ranges, epsilons=epsilons, law=self.law, stream=self.stream
        )

    def largest(self, epsilons: Sequence[float]) -> list[float]:
        return largest_of_several(self.values, self.class_ids, ranges=self.ranges, epsilons=epsilons)

    def suppressed(self, epsilon: float, confident: ConfidentK) -> Estimate:
        return expected_suppression(
            self.values,
            self.class_ids,
            ranges=self.ranges,
            linking_ranges=confident.reach(self.mechanism, self.low, self.high, epsilon=epsilon),
            epsilon=epsilon,
            k=confident.k,
            law=self.law,
            rule=confident.rule,
            stream=self.stream,
            precisions=confident.precisions,
            domains=[None if d is None else (float(d[0]), float(d[1])) for d in confident.domains] or None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Simulated:
    """Figures from draws of the mechanism itself."""

    values: FloatArray
    """What gets noise, shape (n_records, n_attributes), and what errors are relative to."""
    originals: FloatArray
    class_ids: IntArray
    classes: ClassValues | None
    """The distinct values of one ε-quasi; None where there are several."""
    drawing: Drawing

    def errors(self, epsilon: float) -> tuple[ErrorSums, ...]:
        return simulated_errors(self.drawing, self.values, self.originals, self.class_ids, epsilon=epsilon)

    def links(self, epsilons: Sequence[float]) -> list[ExpectedLinks]:
        if self.classes is not None:
            return [simulated_links_of_one(self.drawing, self.classes, epsilon=epsilon) for epsilon in epsilons]
        return [simulated_links(self.drawing, self.values, self.class_ids, epsilon=epsilon) for epsilon in epsilons]

    def largest(self, epsilons: Sequence[float]) -> list[float]:
        sizes = np.bincount(self.class_ids, minlength=len(self.drawing.low))
        return [indistinguishable_posterior(sizes, self.drawing.is_active, epsilon=epsilon) for epsilon in epsilons]

    def suppressed(self, epsilon: float, confident: ConfidentK) -> Estimate:
        drawing = self.drawing
        return expected_suppression_by_draws(
            self.values,
            self.class_ids,
            mechanism=drawing.mechanism,
            low=drawing.low,
            high=drawing.high,
            linking_ranges=confident.reach(drawing.mechanism, drawing.low, drawing.high, epsilon=epsilon),
            epsilon=epsilon,
            k=confident.k,
            rule=confident.rule,
            stream=drawing.stream,
            steps=drawing.steps,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _SimulatedCounts:
    """Figures from draws of the mechanism, for one class that is known by its distinct values and their counts."""

    classes: ClassValues
    original_values: FloatArray
    original_counts: IntArray
    drawing: Drawing

    def errors(self, epsilon: float) -> tuple[ErrorSums, ...]:
        return simulated_errors_of_counts(self.drawing, self.original_values, self.original_counts, epsilon=epsilon)

    def links(self, epsilons: Sequence[float]) -> list[ExpectedLinks]:
        return [simulated_links_of_one(self.drawing, self.classes, epsilon=epsilon) for epsilon in epsilons]

    def largest(self, epsilons: Sequence[float]) -> list[float]:
        sizes = self.classes.sizes
        return [indistinguishable_posterior(sizes, self.drawing.is_active, epsilon=epsilon) for epsilon in epsilons]

    def suppressed(self, epsilon: float, confident: ConfidentK) -> Estimate:
        return simulated_suppression_of_counts(self.drawing, self.classes, epsilon=epsilon, confident=confident)

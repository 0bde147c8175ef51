# SPDX-License-Identifier: Apache-2.0
"""Everything that can be said of a partition into classes before noise is drawn, for any ε, from one look at its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from kepsilon.evaluate.confident_k.confident_k import ConfidentK
from kepsilon.evaluate.confident_k.expected_suppression import PreparedClasses, prepare_classes
from kepsilon.evaluate.confident_k.simulated_suppression import Layouts, expected_suppression
from kepsilon.evaluate.error.relative_error import ErrorSums, expected_errors, expected_errors_of_counts
from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.large_class import one_class
from kepsilon.evaluate.linking.largest_posterior import largest_of_one, largest_of_several
from kepsilon.evaluate.linking.linking_risk import ExpectedLinks, LinkGaps, link_gaps
from kepsilon.evaluate.linking.simulated_links import expected_links_at_each
from kepsilon.evaluate.noise_law import ExponentialLaw, NoiseLaw
from kepsilon.evaluate.originals.class_values import ClassValues, count_values
from kepsilon.evaluate.simulated_figures import Drawing, SimulatedOne, SimulatedSeveral
from kepsilon.evaluate.simulation import Block, Blocks
from kepsilon.evaluate.tally import Expected
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.coded_values import CodedValues, code_values
from kepsilon.table.steps import Steps


class Outlook(Protocol):
    """What to expect of some classes, by figure."""

    def errors(self, epsilon: float) -> tuple[ErrorSums, ...]: ...

    def links(self, epsilons: Sequence[float]) -> Sequence[ExpectedLinks]: ...

    def largest(self, epsilons: Sequence[float]) -> Sequence[float]:
        """The most that any published value can make a record's own original probable, for each ε."""

    def suppressed(self, settings: Sequence[tuple[float, ConfidentK]]) -> Sequence[Estimate]:
        """Records to expect left out for confident k, in each setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """What does not depend on ε, k or confidence; `at` gives the figures of one setting, `at_each` those of several."""

    n_records: int
    outlook: Outlook

    def at(self, epsilon: float, *, confident: ConfidentK | None = None) -> Expected:
        return self.at_each([(epsilon, confident)])[0]

    def at_each(self, settings: Sequence[tuple[float, ConfidentK | None]]) -> tuple[Expected, ...]:
        """The same figures as one by one; where they are simulated, in much less time."""
        epsilons = [epsilon for epsilon, _ in settings]
        gone = iter(self.outlook.suppressed([(epsilon, own) for epsilon, own in settings if own is not None]))
        return tuple(
            Expected(
                n_records=self.n_records,
                errors=self.outlook.errors(epsilon),
                links=links,
                largest_possible=largest,
                suppressed=None if confident is None else next(gone),
            )
            for (epsilon, confident), links, largest in zip(
                settings, self.outlook.links(epsilons), self.outlook.largest(epsilons), strict=True
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
    blocks: Blocks | None = None,
) -> Expectations:
    """Arguments as for `tally.realise`; `coded` is the only ε-quasi, coded once for all partitions, or nothing.

    With several ε-quasis records have to be in the order of their classes. `blocks` are those of these classes; where
    there are no other classes, it may be left out.
    """
    unclipped = values if originals is None else originals
    law = mechanism.exponential
    outlook: Outlook
    if values.shape[1] < 2:
        # Without any ε-quasi all records of a class look alike, as if they agreed on one.
        only = coded[0] if coded else CodedValues(distinct=np.zeros(1), codes=np.zeros(len(class_ids), dtype=np.int64))
        classes = count_values(only, class_ids, n_classes=len(low))
        if law is not None:
            outlook = _one_quasi(
                classes, _unit_errors(unclipped, class_ids, high - low, law), mechanism, law, low, high
            )
        else:
            before = code_values(unclipped[:, 0], precision=steps[0].precision)
            outlook = _simulated_one(
                classes,
                classes if originals is None else count_values(before, class_ids, n_classes=len(low)),
                Drawing(mechanism=mechanism, low=low, high=high, steps=steps),
                blocks,
            )
        return Expectations(n_records=len(class_ids), outlook=outlook)
    if np.any(class_ids[1:] < class_ids[:-1]):
        raise ValueError("records are not in the order of their classes")
    sizes = np.bincount(class_ids, minlength=len(low))
    own = tuple((blocks or Blocks.of(sizes)).each(sizes))
    if law is not None:
        outlook = _SeveralQuasis(
            law=law,
            mechanism=mechanism,
            unit_errors=_unit_errors(unclipped, class_ids, high - low, law),
            values=values,
            class_ids=class_ids,
            low=low,
            high=high,
            blocks=own,
        )
    else:
        drawing = Drawing(mechanism=mechanism, low=low, high=high, steps=steps)
        outlook = _Together(
            parts=tuple(
                SimulatedSeveral(
                    values=values[block.records],
                    originals=unclipped[block.records],
                    class_ids=class_ids[block.records] - block.classes.start,
                    drawing=drawing.of(block),
                )
                for block in own
            ),
            n_attributes=values.shape[1],
        )
    return Expectations(n_records=len(class_ids), outlook=outlook)


def _unit_errors(
    originals: FloatArray, class_ids: IntArray, ranges: FloatArray, law: ExponentialLaw
) -> tuple[ErrorSums, ...]:
    """At ε = 1; see `ErrorSums.over`."""
    noise = law.expected_noise(ranges, epsilon=1.0)
    return tuple(
        expected_errors(originals[:, j], class_ids, expected_noise=noise[:, j]) for j in range(originals.shape[1])
    )


def expect_of_counts(
    classes: ClassValues,
    *,
    mechanism: NoiseLaw,
    low: FloatArray,
    high: FloatArray,
    steps: Sequence[Steps],
    original_values: FloatArray,
    original_counts: IntArray,
    blocks: Blocks | None = None,
) -> Expectations:
    """What to expect of one class with at most one ε-quasi, known by its distinct values and how many records hold each.

    `low` and `high` have shape (1, n_epsilon_quasis); the originals differ from the class's values where some were clipped.
    `blocks` as for `expect`.
    """
    law = mechanism.exponential
    outlook: Outlook
    if law is None:
        drawing = Drawing(mechanism=mechanism, low=low, high=high, steps=steps)
        outlook = _simulated_one(classes, one_class(original_values, original_counts), drawing, blocks)
    else:
        unit_errors = tuple(
            expected_errors_of_counts(original_values, original_counts, expected_noise=float(noise))
            for noise in law.expected_noise(high - low, epsilon=1.0)[0]
        )
        outlook = _one_quasi(classes, unit_errors, mechanism, law, low, high)
    return Expectations(n_records=int(classes.counts.sum()), outlook=outlook)


def _simulated_one(classes: ClassValues, originals: ClassValues, drawing: Drawing, blocks: Blocks | None) -> _Together:
    """Figures of one ε-quasi; the originals are what was not clipped yet."""
    sizes = classes.sizes
    parts = []
    for block in (blocks or Blocks.of(sizes)).each(sizes):
        own = np.arange(block.classes.start, block.classes.stop)
        parts.append(SimulatedOne(classes=classes.of(own), originals=originals.of(own), drawing=drawing.of(block)))
    return _Together(parts=tuple(parts), n_attributes=1)


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

    def suppressed(self, settings: Sequence[tuple[float, ConfidentK]]) -> list[Estimate]:
        return [self._suppressed(*setting) for setting in settings]

    def _suppressed(self, epsilon: float, confident: ConfidentK) -> Estimate:
        if confident.k not in self.crowds:
            self.crowds[confident.k] = prepare_classes(self.classes, k=confident.k)
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
    blocks: tuple[Block, ...]

    def errors(self, epsilon: float) -> tuple[ErrorSums, ...]:
        return tuple(errors.over(epsilon) for errors in self.unit_errors)

    def links(self, epsilons: Sequence[float]) -> list[ExpectedLinks]:
        links = [ExpectedLinks() for _ in epsilons]
        for block in self.blocks:
            own = expected_links_at_each(
                self.values[block.records],
                self.class_ids[block.records] - block.classes.start,
                ranges=self.high[block.classes] - self.low[block.classes],
                epsilons=epsilons,
                law=self.law,
                stream=block.stream,
                share=block.share,
            )
            links = [one + more for one, more in zip(links, own, strict=True)]
        return links

    def largest(self, epsilons: Sequence[float]) -> list[float]:
        return largest_of_several(self.values, self.class_ids, ranges=self.high - self.low, epsilons=epsilons)

    def suppressed(self, settings: Sequence[tuple[float, ConfidentK]]) -> list[Estimate]:
        gone = [Estimate() for _ in settings]
        for block in self.blocks:
            layouts: Layouts = {}
            own = [self._suppressed(block, *setting, layouts) for setting in settings]
            gone = [one + more for one, more in zip(gone, own, strict=True)]
        return gone

    def _suppressed(self, block: Block, epsilon: float, confident: ConfidentK, layouts: Layouts) -> Estimate:
        low, high = self.low[block.classes], self.high[block.classes]
        return expected_suppression(
            self.values[block.records],
            self.class_ids[block.records] - block.classes.start,
            ranges=high - low,
            linking_ranges=confident.reach(self.mechanism, low, high, epsilon=epsilon),
            epsilon=epsilon,
            k=confident.k,
            law=self.law,
            rule=confident.rule,
            stream=block.stream,
            share=block.share,
            precisions=confident.precisions,
            domains=[None if d is None else (float(d[0]), float(d[1])) for d in confident.domains] or None,
            layouts=layouts,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Together:
    """Figures of several blocks of classes."""

    parts: tuple[Outlook, ...]
    n_attributes: int

    def errors(self, epsilon: float) -> tuple[ErrorSums, ...]:
        by_part = [part.errors(epsilon) for part in self.parts]
        return tuple(sum((own[j] for own in by_part), start=ErrorSums()) for j in range(self.n_attributes))

    def links(self, epsilons: Sequence[float]) -> list[ExpectedLinks]:
        by_part = [part.links(epsilons) for part in self.parts]
        return [sum((own[i] for own in by_part), start=ExpectedLinks()) for i in range(len(epsilons))]

    def largest(self, epsilons: Sequence[float]) -> list[float]:
        by_part = [part.largest(epsilons) for part in self.parts]
        return [max((own[i] for own in by_part), default=0.0) for i in range(len(epsilons))]

    def suppressed(self, settings: Sequence[tuple[float, ConfidentK]]) -> list[Estimate]:
        by_part = [part.suppressed(settings) for part in self.parts]
        return [sum((own[i] for own in by_part), start=Estimate()) for i in range(len(settings))]

# SPDX-License-Identifier: Apache-2.0
"""Expected links, errors, suppression and largest posterior of exponential noise, in closed form where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kepsilon.evaluate.confident_k.confident_k import ConfidentK
from kepsilon.evaluate.confident_k.expected_suppression import PreparedClasses, prepare_classes
from kepsilon.evaluate.confident_k.simulated_suppression import Layouts, expected_suppression
from kepsilon.evaluate.error.expected_errors import ExpectedErrors
from kepsilon.evaluate.error.relative_error import ErrorSums
from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.linking.largest_posterior import largest_of_one, largest_of_several
from kepsilon.evaluate.linking.linking_risk import ExpectedLinks, LinkGaps, link_gaps
from kepsilon.evaluate.linking.simulated_links import expected_links_at_each
from kepsilon.evaluate.noise_law import ExponentialLaw, NoiseLaw
from kepsilon.evaluate.originals.class_values import ClassValues
from kepsilon.evaluate.simulation import Block
from kepsilon.table.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialOne:
    """Expected figures of classes with at most one ε-quasi, all in closed form."""

    law: ExponentialLaw
    mechanism: NoiseLaw
    expected_errors: ExpectedErrors
    classes: ClassValues
    gaps: LinkGaps
    """The gaps between the values of the classes, from which links follow."""
    low: FloatArray
    """Lower ends of the ranges that set the noise, shape (n_classes, 1)."""
    high: FloatArray
    """Upper ends of the ranges, shaped like `low`."""
    prepared: dict[int, PreparedClasses] = field(default_factory=dict)
    """The classes prepared for confident k, by k, made when first asked for."""

    @property
    def ranges(self) -> FloatArray:
        """R, shape (n_classes,)."""
        ranges: FloatArray = (self.high - self.low)[:, 0]
        return ranges

    def errors(self, epsilon: float) -> tuple[ErrorSums, ...]:
        return self.expected_errors.at(epsilon)

    def links(self, epsilons: Sequence[float]) -> list[ExpectedLinks]:
        return [self.gaps.expected(epsilon) for epsilon in epsilons]

    def largest(self, epsilons: Sequence[float]) -> list[float]:
        return largest_of_one(self.classes, ranges=self.ranges, epsilons=epsilons)

    def suppressed(self, settings: Sequence[tuple[float, ConfidentK]]) -> list[Estimate]:
        return [self._suppressed(*setting) for setting in settings]

    def _suppressed(self, epsilon: float, confident: ConfidentK) -> Estimate:
        """Expected suppressed records in one setting."""
        if confident.k not in self.prepared:
            self.prepared[confident.k] = prepare_classes(self.classes, k=confident.k)
        by_class = self.prepared[confident.k].expected(
            ranges=self.ranges,
            reach=confident.reach(self.mechanism, self.low, self.high, epsilon=epsilon)[:, 0],
            epsilon=epsilon,
            rule=confident.rule,
            law=self.law,
            steps=confident.steps,
        )
        return Estimate(total=float(by_class.sum()))


def exponential_one(
    classes: ClassValues,
    expected_errors: ExpectedErrors,
    mechanism: NoiseLaw,
    law: ExponentialLaw,
    low: FloatArray,
    high: FloatArray,
) -> ExponentialOne:
    """The expected figures of classes; `low` and `high` have shape (n_classes, n_epsilon_quasis), 0 or 1 of these."""
    if not low.shape[1]:
        low = high = np.zeros((len(low), 1))
    gaps = link_gaps(classes, ranges=(high - low)[:, 0], law=law)
    return ExponentialOne(
        law=law, mechanism=mechanism, expected_errors=expected_errors, classes=classes, gaps=gaps, low=low, high=high
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialSeveral:
    """Expected figures of classes with several ε-quasis: errors in closed form, links and suppression mostly simulated."""

    law: ExponentialLaw
    mechanism: NoiseLaw
    expected_errors: ExpectedErrors
    values: FloatArray
    """Shape (n_records, n_attributes), records in the order of their classes."""
    class_ids: IntArray
    low: FloatArray
    """Lower ends of the ranges that set the noise, shape (n_classes, n_attributes)."""
    high: FloatArray
    """Upper ends of the ranges, shaped like `low`."""
    blocks: tuple[Block, ...]
    """The blocks in which these classes are simulated."""

    def errors(self, epsilon: float) -> tuple[ErrorSums, ...]:
        return self.expected_errors.at(epsilon)

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
        """Expected suppressed records of one block in one setting."""
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

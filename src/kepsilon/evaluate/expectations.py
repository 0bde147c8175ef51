# SPDX-License-Identifier: Apache-2.0
"""Everything that can be said of a partition into classes before noise is drawn, for any ε, from one look at its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kepsilon.evaluate.class_values import ClassValues, count_values
from kepsilon.evaluate.confident_k import ConfidentK
from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.expected_confident_k import PreparedClasses, prepare
from kepsilon.evaluate.linking_risk import ExpectedLinks, LinkGaps, link_gaps
from kepsilon.evaluate.noise_size import expected_noise
from kepsilon.evaluate.relative_error import ErrorSums, expected_errors, expected_errors_of_counts
from kepsilon.evaluate.simulated_links import expected_links_at_each
from kepsilon.evaluate.simulated_suppression import expected_suppression
from kepsilon.evaluate.tally import Expected
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.coded_values import CodedValues


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """What does not depend on ε, k or confidence; `at` gives the figures of one cell, `at_each` those of several."""

    n_records: int
    unit_errors: tuple[ErrorSums, ...]
    """At ε = 1."""
    outlook: _OneQuasi | _SeveralQuasis

    def at(self, epsilon: float, *, confident: ConfidentK | None = None) -> Expected:
        return self.at_each([(epsilon, confident)])[0]

    def at_each(self, cells: Sequence[tuple[float, ConfidentK | None]]) -> tuple[Expected, ...]:
        """The same figures as one by one; where they are simulated, in much less time."""
        links = self.outlook.links([epsilon for epsilon, _ in cells])
        return tuple(
            Expected(
                n_records=self.n_records,
                errors=tuple(errors.over(epsilon) for errors in self.unit_errors),
                links=own,
                suppressed=None if confident is None else self.outlook.suppressed(epsilon, confident),
            )
            for (epsilon, confident), own in zip(cells, links, strict=True)
        )


def expect(
    values: FloatArray,
    coded: Sequence[CodedValues],
    class_ids: IntArray,
    *,
    ranges: FloatArray,
    originals: FloatArray | None = None,
    stream: int = 0,
) -> Expectations:
    """`values`, `originals` and `ranges` as in `tally.realise`; `coded` are the values, coded once for all partitions.

    Batches of classes need different `stream` numbers, for what is simulated.
    """
    unclipped = values if originals is None else originals
    unit_noise = expected_noise(ranges, epsilon=1.0)
    unit_errors = tuple(
        expected_errors(unclipped[:, j], class_ids, expected_noise=unit_noise[:, j]) for j in range(values.shape[1])
    )
    outlook: _OneQuasi | _SeveralQuasis
    if len(coded) > 1:
        outlook = _SeveralQuasis(values=values, class_ids=class_ids, ranges=ranges, stream=stream)
    else:
        # Without any ε-quasi all records of a class look alike, as if they agreed on one.
        only = coded[0] if coded else CodedValues(distinct=np.zeros(1), codes=np.zeros(len(class_ids), dtype=np.int64))
        own_ranges = ranges if coded else np.zeros((len(ranges), 1))
        classes = count_values(only, class_ids, n_classes=len(ranges))
        outlook = _OneQuasi(classes=classes, gaps=link_gaps(classes, ranges=own_ranges[:, 0]), ranges=own_ranges)
    return Expectations(n_records=len(class_ids), unit_errors=unit_errors, outlook=outlook)


def expect_of_counts(
    classes: ClassValues, *, ranges: FloatArray, original_values: FloatArray, original_counts: IntArray
) -> Expectations:
    """The same for one class with at most one ε-quasi, known by its distinct values and how many records hold each.

    `ranges` has shape (1, n_epsilon_quasis); the originals differ from the class's values where some were clipped.
    """
    unit_noise = expected_noise(ranges, epsilon=1.0)
    own_ranges = ranges if ranges.shape[1] else np.zeros((1, 1))
    return Expectations(
        n_records=int(classes.counts.sum()),
        unit_errors=tuple(
            expected_errors_of_counts(original_values, original_counts, expected_noise=float(noise))
            for noise in unit_noise[0]
        ),
        outlook=_OneQuasi(classes=classes, gaps=link_gaps(classes, ranges=own_ranges[:, 0]), ranges=own_ranges),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _OneQuasi:
    """Closed forms."""

    classes: ClassValues
    gaps: LinkGaps
    ranges: FloatArray
    """R, shape (n_classes, 1)."""
    crowds: dict[int, PreparedClasses] = field(default_factory=dict)
    """For confident k, by k, made when first asked for."""

    def links(self, epsilons: Sequence[float]) -> list[ExpectedLinks]:
        return [self.gaps.expected(epsilon) for epsilon in epsilons]

    def suppressed(self, epsilon: float, confident: ConfidentK) -> Estimate:
        if confident.k not in self.crowds:
            self.crowds[confident.k] = prepare(self.classes, k=confident.k)
        by_class = self.crowds[confident.k].expected(
            ranges=self.ranges[:, 0],
            reach=confident.reach(self.ranges, epsilon=epsilon)[:, 0],
            epsilon=epsilon,
            rule=confident.rule,
            steps=confident.steps,
        )
        return Estimate(total=float(by_class.sum()))


@dataclass(frozen=True, slots=True, kw_only=True)
class _SeveralQuasis:
    """Simulated, but for classes that have a closed form."""

    values: FloatArray
    class_ids: IntArray
    ranges: FloatArray
    stream: int

    def links(self, epsilons: Sequence[float]) -> list[ExpectedLinks]:
        return expected_links_at_each(
            self.values, self.class_ids, ranges=self.ranges, epsilons=epsilons, stream=self.stream
        )

    def suppressed(self, epsilon: float, confident: ConfidentK) -> Estimate:
        return expected_suppression(
            self.values,
            self.class_ids,
            ranges=self.ranges,
            linking_ranges=confident.reach(self.ranges, epsilon=epsilon),
            epsilon=epsilon,
            k=confident.k,
            rule=confident.rule,
            stream=self.stream,
            precisions=confident.precisions,
            domains=[None if d is None else (float(d[0]), float(d[1])) for d in confident.domains] or None,
        )

# SPDX-License-Identifier: Apache-2.0
"""Everything that can be said of a partition into classes before noise is drawn, for any ε, from one look at its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kepsilon.evaluate.class_values import ClassValues, CodedValues, count_values
from kepsilon.evaluate.confident_k import ConfidentK
from kepsilon.evaluate.expected_confident_k import PreparedClasses, prepare
from kepsilon.evaluate.linking_risk import LinkGaps, link_gaps
from kepsilon.evaluate.noise_size import expected_noise
from kepsilon.evaluate.relative_error import ErrorSums, expected_errors
from kepsilon.evaluate.tally import Expected
from kepsilon.table.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """What does not depend on ε, k or confidence; `at` gives the figures of one cell."""

    n_records: int
    unit_errors: tuple[ErrorSums, ...]
    """At ε = 1."""
    ranges: FloatArray
    classes: ClassValues
    gaps: LinkGaps
    crowds: dict[int, PreparedClasses] = field(default_factory=dict)
    """For confident k, by k, made when first asked for."""

    def at(self, epsilon: float, *, confident: ConfidentK | None = None) -> Expected:
        suppressed = None
        if confident is not None:
            if confident.k not in self.crowds:
                self.crowds[confident.k] = prepare(self.classes, k=confident.k)
            by_class = self.crowds[confident.k].expected(
                ranges=self.ranges[:, 0],
                reach=confident.reach(self.ranges, epsilon=epsilon)[:, 0],
                epsilon=epsilon,
                rule=confident.rule,
            )
            suppressed = float(by_class.sum())
        return Expected(
            n_records=self.n_records,
            errors=tuple(errors.over(epsilon) for errors in self.unit_errors),
            links=self.gaps.expected(epsilon),
            suppressed=suppressed,
        )


def expect(
    values: FloatArray,
    coded: Sequence[CodedValues],
    class_ids: IntArray,
    *,
    ranges: FloatArray,
    originals: FloatArray | None = None,
) -> Expectations:
    """`values`, `originals` and `ranges` as in `tally.realise`; `coded` are the values, coded once for all partitions."""
    unclipped = values if originals is None else originals
    unit_noise = expected_noise(ranges, epsilon=1.0)
    unit_errors = tuple(
        expected_errors(unclipped[:, j], class_ids, expected_noise=unit_noise[:, j]) for j in range(values.shape[1])
    )
    one = coded[0] if coded else _all_alike(len(class_ids))
    classes = count_values(one, class_ids, n_classes=len(ranges))
    own_ranges = ranges[:, 0] if ranges.shape[1] else np.zeros(len(ranges))
    return Expectations(
        n_records=len(class_ids),
        unit_errors=unit_errors,
        ranges=ranges,
        classes=classes,
        gaps=link_gaps(classes, ranges=own_ranges),
    )


def _all_alike(n_records: int) -> CodedValues:
    """Without any ε-quasi all records of a class look alike, as if they agreed on one."""
    return CodedValues(distinct=np.zeros(1), codes=np.zeros(n_records, dtype=np.int64))

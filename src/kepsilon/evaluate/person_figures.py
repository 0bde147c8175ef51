# SPDX-License-Identifier: Apache-2.0
"""Expected figures by persons, where a person may have several records in a class.

A class in which nobody has two records has the figures of its records, mostly in closed form. In the other classes links to
persons and what confident k suppresses are simulated, block by block; see `simulation`. Errors are those of records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kepsilon.evaluate.confident_k.confident_k import ConfidentK
from kepsilon.evaluate.confident_k.simulated_suppression import (
    Counting,
    Layouts,
    StillMeets,
    expected_suppression,
    expected_suppression_by_draws,
)
from kepsilon.evaluate.error.relative_error import ErrorSums
from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.linking.largest_person_posterior import largest_by_counts, largest_of_persons
from kepsilon.evaluate.linking.linking_risk import ExpectedLinks
from kepsilon.evaluate.linking.person_links import expected_person_links
from kepsilon.evaluate.originals.class_values import count_values
from kepsilon.evaluate.originals.members import members_of
from kepsilon.evaluate.simulated_figures import Drawing
from kepsilon.evaluate.simulation import Blocks
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.coded_values import CodedValues


class _Figures(Protocol):
    """Expected figures, as `expectations.ExpectedFigures` describes them."""

    def errors(self, epsilon: float) -> tuple[ErrorSums, ...]: ...

    def links(self, epsilons: Sequence[float]) -> Sequence[ExpectedLinks]: ...

    def largest(self, epsilons: Sequence[float]) -> Sequence[float]: ...

    def suppressed(self, settings: Sequence[tuple[float, ConfidentK]]) -> Sequence[Estimate]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonFigures:
    """Expected figures by persons of some whole classes."""

    by_record: _Figures
    """The figures of all classes by records, of which errors are taken."""
    single: _Figures | None
    """The figures by records of the classes in which nobody has two records; None if there is no such class."""
    repeated: tuple[PersonBlock, ...]
    """The classes in which somebody has two records."""
    rechecked: tuple[PersonBlock, ...] | None = None
    """All classes, where they have to meet further requirements after confident k; None where they do not."""

    def errors(self, epsilon: float) -> tuple[ErrorSums, ...]:
        return self.by_record.errors(epsilon)

    def links(self, epsilons: Sequence[float]) -> list[ExpectedLinks]:
        links = [ExpectedLinks() for _ in epsilons] if self.single is None else list(self.single.links(epsilons))
        for block in self.repeated:
            links = [one + more for one, more in zip(links, block.links(epsilons), strict=True)]
        return links

    def largest(self, epsilons: Sequence[float]) -> list[float]:
        largest = [0.0 for _ in epsilons] if self.single is None else list(self.single.largest(epsilons))
        for block in self.repeated:
            largest = [max(pair) for pair in zip(largest, block.largest(epsilons), strict=True)]
        return largest

    def suppressed(self, settings: Sequence[tuple[float, ConfidentK]]) -> list[Estimate]:
        simple = self.single if self.rechecked is None else None
        gone = [Estimate() for _ in settings] if simple is None else list(simple.suppressed(settings))
        for block in self.repeated if self.rechecked is None else self.rechecked:
            gone = [one + more for one, more in zip(gone, block.suppressed(settings), strict=True)]
        return gone


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonBlock:
    """Some whole classes that are simulated together, records in the order of their classes."""

    values: FloatArray
    """The values that get noise, shape (n_records, n_attributes)."""
    class_ids: IntArray
    """The class of each record, counted from the first class of the block; rising."""
    coded: CodedValues | None
    """The values of the only ε-quasi; None where there are several, or none."""
    drawing: Drawing
    counting: Counting

    def links(self, epsilons: Sequence[float]) -> list[ExpectedLinks]:
        return expected_person_links(
            self.values,
            self.class_ids,
            members_of(self._persons, self.class_ids, n_classes=len(self.drawing.low)),
            mechanism=self.drawing.mechanism,
            low=self.drawing.low,
            high=self.drawing.high,
            steps=self.drawing.steps,
            epsilons=epsilons,
            stream=self.drawing.stream,
            share=self.drawing.share,
        )

    def largest(self, epsilons: Sequence[float]) -> list[float]:
        members = members_of(self._persons, self.class_ids, n_classes=len(self.drawing.low))
        if self.coded is None or self.drawing.mechanism.exponential is None:
            return [largest_by_counts(members, self.drawing.is_active, epsilon=epsilon) for epsilon in epsilons]
        classes = count_values(self.coded, self.class_ids, n_classes=len(self.drawing.low))
        ranges = (self.drawing.high - self.drawing.low)[:, 0]
        return largest_of_persons(self.coded, members, classes, ranges=ranges, epsilons=epsilons)

    def suppressed(self, settings: Sequence[tuple[float, ConfidentK]]) -> list[Estimate]:
        layouts: Layouts = {}
        return [self._suppressed(*setting, layouts) for setting in settings]

    def _suppressed(self, epsilon: float, confident: ConfidentK, layouts: Layouts) -> Estimate:
        """Expected suppressed records in one setting."""
        drawing = self.drawing
        reach = confident.reach(drawing.mechanism, drawing.low, drawing.high, epsilon=epsilon)
        law = drawing.mechanism.exponential
        if law is None:
            return expected_suppression_by_draws(
                self.values,
                self.class_ids,
                mechanism=drawing.mechanism,
                low=drawing.low,
                high=drawing.high,
                linking_ranges=reach,
                epsilon=epsilon,
                k=confident.k,
                rule=confident.rule,
                stream=drawing.stream,
                share=drawing.share,
                steps=drawing.steps,
                counting=self.counting,
            )
        return expected_suppression(
            self.values,
            self.class_ids,
            ranges=drawing.high - drawing.low,
            linking_ranges=reach,
            epsilon=epsilon,
            k=confident.k,
            law=law,
            rule=confident.rule,
            stream=drawing.stream,
            share=drawing.share,
            precisions=confident.precisions,
            domains=[None if d is None else (float(d[0]), float(d[1])) for d in confident.domains] or None,
            layouts=layouts,
            counting=self.counting,
        )

    @property
    def _persons(self) -> IntArray:
        """Whom each record is about; every record is about somebody else where that is not known."""
        persons = self.counting.persons
        return np.arange(len(self.class_ids)) if persons is None else persons


def person_blocks(
    values: FloatArray,
    coded: CodedValues | None,
    class_ids: IntArray,
    chosen: IntArray,
    *,
    drawing: Drawing,
    counting: Counting,
    blocks: Blocks,
) -> Iterator[PersonBlock]:
    """The blocks of some classes; `chosen` are the positions of all their records, in the order of their classes."""
    sizes = np.bincount(class_ids[chosen], minlength=len(drawing.low))
    for block in blocks.each(sizes):
        records = chosen[block.records]
        yield PersonBlock(
            values=values[records],
            class_ids=class_ids[records] - block.classes.start,
            coded=None if coded is None else coded.of(records),
            drawing=drawing.of(block),
            counting=_of_records(counting, records),
        )


def _of_records(counting: Counting, records: IntArray) -> Counting:
    """What is counted among some of the records."""
    still_meets = counting.still_meets
    return Counting(
        persons=None if counting.persons is None else counting.persons[records],
        draws_once=counting.draws_once,
        still_meets=None if still_meets is None else _Moved(still_meets=still_meets, records=records),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moved:
    """Further requirements, asked about positions among some of the records."""

    still_meets: StillMeets
    records: IntArray

    def __call__(self, records: IntArray, class_ids: IntArray, n_classes: int, stays: np.ndarray) -> np.ndarray:
        return self.still_meets(self.records[records], class_ids, n_classes, stays)

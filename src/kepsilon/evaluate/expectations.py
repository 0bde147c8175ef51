# SPDX-License-Identifier: Apache-2.0
"""Expected figures of whole classes, for any ε, before noise is drawn: what `predict` asks for.

`expect` and `expect_of_counts` choose how figures are found: in closed form (`exponential_figures`), or simulated with the
mechanism's own draws (`simulated_figures`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kepsilon.evaluate.confident_k.confident_k import ConfidentK
from kepsilon.evaluate.confident_k.simulated_suppression import Counting
from kepsilon.evaluate.error.expected_errors import NoisyRows, expect_errors
from kepsilon.evaluate.error.relative_error import ErrorSums
from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.exponential_figures import ExponentialSeveral, exponential_one
from kepsilon.evaluate.large_class import one_class
from kepsilon.evaluate.linking.linking_risk import ExpectedLinks
from kepsilon.evaluate.noise_law import NoiseLaw
from kepsilon.evaluate.originals.class_values import ClassValues, count_values
from kepsilon.evaluate.originals.members import members_of
from kepsilon.evaluate.person_figures import PersonBlock, PersonFigures, person_blocks
from kepsilon.evaluate.simulated_figures import Drawing, SimulatedOne, SimulatedSeveral
from kepsilon.evaluate.simulation import Blocks
from kepsilon.evaluate.tally import Expected
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.coded_values import CodedValues, code_values
from kepsilon.table.steps import Steps

NoiseSetting = tuple[float, ConfidentK | None]
"""An ε at which figures are expected, with confident k or without."""


class ExpectedFigures(Protocol):
    """The expected figures of some classes, for any ε."""

    def errors(self, epsilon: float) -> tuple[ErrorSums, ...]:
        """The expected error of every ε-quasi."""

    def links(self, epsilons: Sequence[float]) -> Sequence[ExpectedLinks]:
        """Expected links, for each ε."""

    def largest(self, epsilons: Sequence[float]) -> Sequence[float]:
        """The most that any published value can make a record's own original probable, for each ε.

        To an attacker who considers one record at a time; at 2ε it bounds one who matches a whole class one to one.
        """

    def suppressed(self, settings: Sequence[tuple[float, ConfidentK]]) -> Sequence[Estimate]:
        """Expected records suppressed for confident k, in each setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """Everything that expected figures need and that does not depend on ε, k or confidence."""

    n_records: int
    """Records that get noise."""
    figures: ExpectedFigures

    def at(self, epsilon: float, *, confident: ConfidentK | None = None) -> Expected:
        """The figures to expect in one setting."""
        return self.at_each([(epsilon, confident)])[0]

    def at_each(
        self, settings: Sequence[NoiseSetting], *, links: Sequence[ExpectedLinks] | None = None
    ) -> tuple[Expected, ...]:
        """The figures to expect in several settings; where they are simulated, much faster than one by one.

        `links` are the expected links in each, if they were worked out before.
        """
        epsilons = [epsilon for epsilon, _ in settings]
        # Whoever matches a whole class one to one is as sure at ε as whoever looks at one record at a time is at 2ε, at most.
        # Many ε of a grid are twice another one, which is worked out once.
        wanted = sorted({own for epsilon in epsilons for own in (epsilon, 2 * epsilon)})
        largest = dict(zip(wanted, self.figures.largest(wanted), strict=True))
        gone = iter(self.figures.suppressed([(epsilon, own) for epsilon, own in settings if own is not None]))
        return tuple(
            Expected(
                n_records=self.n_records,
                errors=self.figures.errors(epsilon),
                links=own_links,
                largest_possible=largest[epsilon],
                largest_possible_by_matching=largest[2 * epsilon],
                suppressed=None if confident is None else next(gone),
            )
            for (epsilon, confident), own_links in zip(settings, links or self.figures.links(epsilons), strict=True)
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
    counting: Counting | None = None,
    counted: ClassValues | None = None,
) -> Expectations:
    """What to expect of whole classes, known by their records; arguments as for `tally.realise`.

    `coded` is the only ε-quasi, coded once for all recodings; it is empty with several ε-quasis, or none. With several,
    records have to be in the order of their classes. `blocks` divides these classes for simulation; it may be left out
    where there are no other classes. With `counting`, links, posteriors and confident k are by persons, and what confident
    k leaves of a class has to meet further requirements, where there are any; records then have to be in the order of
    their classes too. `counted` are the values of `coded` by class, where they were counted before.
    """
    by_record = _expect_records(
        values,
        coded,
        class_ids,
        mechanism=mechanism,
        low=low,
        high=high,
        steps=steps,
        originals=originals,
        blocks=blocks,
        counted=counted,
    )
    if counting is None:
        return by_record
    if np.any(class_ids[1:] < class_ids[:-1]):
        raise ValueError("records are not in the order of their classes")
    drawing = Drawing(mechanism=mechanism, low=low, high=high, steps=steps)
    repeats = np.zeros(len(low), dtype=np.bool_)
    if counting.persons is not None:
        repeats = members_of(counting.persons, class_ids, n_classes=len(low)).repeats
    if counting.still_meets is None and not repeats.any():
        return by_record
    own_blocks = blocks or Blocks.of(np.bincount(class_ids, minlength=len(low)))
    is_repeated = repeats[class_ids]
    single: ExpectedFigures | None = None
    if not is_repeated.any():
        single = by_record.figures
    elif not is_repeated.all():
        others = np.flatnonzero(~is_repeated)
        single = _expect_records(
            values[others],
            [own.of(others) for own in coded],
            class_ids[others],
            mechanism=mechanism,
            low=low,
            high=high,
            steps=steps,
            originals=None if originals is None else originals[others],
            blocks=own_blocks,
        ).figures
    only = coded[0] if coded and values.shape[1] == 1 else None

    def blocks_of(chosen: IntArray, counted: Counting) -> tuple[PersonBlock, ...]:
        return tuple(
            person_blocks(values, only, class_ids, chosen, drawing=drawing, counting=counted, blocks=own_blocks)
        )

    figures = PersonFigures(
        by_record=by_record.figures,
        single=single,
        repeated=blocks_of(np.flatnonzero(is_repeated), dataclasses.replace(counting, still_meets=None)),
        rechecked=None if counting.still_meets is None else blocks_of(np.arange(len(class_ids)), counting),
    )
    return Expectations(n_records=len(class_ids), figures=figures)


def _expect_records(
    values: FloatArray,
    coded: Sequence[CodedValues],
    class_ids: IntArray,
    *,
    mechanism: NoiseLaw,
    low: FloatArray,
    high: FloatArray,
    steps: Sequence[Steps],
    originals: FloatArray | None,
    blocks: Blocks | None,
    counted: ClassValues | None = None,
) -> Expectations:
    """What to expect of whole classes by records; arguments as for `expect`."""
    unclipped = values if originals is None else originals
    law = mechanism.exponential
    drawing = Drawing(mechanism=mechanism, low=low, high=high, steps=steps)
    figures: ExpectedFigures
    if values.shape[1] > 1:
        figures = _figures_of_several(values, unclipped, class_ids, drawing, blocks)
    else:
        # Without any ε-quasi all records of a class look alike, as if they agreed on one.
        only = coded[0] if coded else CodedValues(distinct=np.zeros(1), codes=np.zeros(len(class_ids), dtype=np.int64))
        classes = counted or count_values(only, class_ids, n_classes=len(low))
        if law is not None:
            rows = _rows_of_one(classes, low) if originals is None and values.shape[1] else None
            rows = rows or NoisyRows(values=values, originals=unclipped, class_ids=class_ids)
            errors = expect_errors(rows, mechanism=mechanism, law=law, low=low, high=high, steps=steps)
            figures = exponential_one(classes, errors, mechanism, law, low, high)
        else:
            before = code_values(unclipped[:, 0], precision=steps[0].precision)
            of_originals = classes if originals is None else count_values(before, class_ids, n_classes=len(low))
            figures = _simulated_one(classes, of_originals, drawing, blocks)
    return Expectations(n_records=len(class_ids), figures=figures)


def _figures_of_several(
    values: FloatArray, originals: FloatArray, class_ids: IntArray, drawing: Drawing, blocks: Blocks | None
) -> ExpectedFigures:
    """Expected figures of several ε-quasis; `originals` are the values before clipping."""
    if np.any(class_ids[1:] < class_ids[:-1]):
        raise ValueError("records are not in the order of their classes")
    sizes = np.bincount(class_ids, minlength=len(drawing.low))
    own = tuple((blocks or Blocks.of(sizes)).each(sizes))
    law = drawing.mechanism.exponential
    if law is not None:
        return ExponentialSeveral(
            law=law,
            mechanism=drawing.mechanism,
            expected_errors=expect_errors(
                NoisyRows(values=values, originals=originals, class_ids=class_ids),
                mechanism=drawing.mechanism,
                law=law,
                low=drawing.low,
                high=drawing.high,
                steps=drawing.steps,
            ),
            values=values,
            class_ids=class_ids,
            low=drawing.low,
            high=drawing.high,
            blocks=own,
        )
    return _SumOfBlocks(
        parts=tuple(
            SimulatedSeveral(
                values=values[block.records],
                originals=originals[block.records],
                class_ids=class_ids[block.records] - block.classes.start,
                drawing=drawing.of(block),
            )
            for block in own
        ),
        n_attributes=values.shape[1],
    )


def _rows_of_one(classes: ClassValues, low: FloatArray) -> NoisyRows:
    """The distinct values of the only ε-quasi in every class; NaN where a class has no value."""
    values = np.where(np.isnan(low[classes.class_ids, 0]), np.nan, classes.values)[:, np.newaxis]
    return NoisyRows(values=values, originals=values, class_ids=classes.class_ids, counts=classes.counts)


def expect_of_counts(
    classes: ClassValues,
    *,
    mechanism: NoiseLaw,
    low: FloatArray,
    high: FloatArray,
    steps: Sequence[Steps],
    noisy_values: FloatArray,
    original_values: FloatArray,
    original_counts: IntArray,
    blocks: Blocks | None = None,
) -> Expectations:
    """What to expect of one class with at most one ε-quasi, known by its distinct values and how many records hold each.

    `low` and `high` have shape (1, n_epsilon_quasis). `original_values` and `original_counts` are the values before clipping,
    and `noisy_values` what each of them is when it gets noise.
    """
    law = mechanism.exponential
    figures: ExpectedFigures
    if law is None:
        drawing = Drawing(mechanism=mechanism, low=low, high=high, steps=steps)
        figures = _simulated_one(classes, one_class(original_values, original_counts), drawing, blocks)
    else:
        rows = NoisyRows(
            values=noisy_values[:, np.newaxis][:, : low.shape[1]],
            originals=original_values[:, np.newaxis][:, : low.shape[1]],
            class_ids=np.zeros(len(original_values), dtype=np.int64),
            counts=original_counts,
        )
        errors = expect_errors(rows, mechanism=mechanism, law=law, low=low, high=high, steps=steps)
        figures = exponential_one(classes, errors, mechanism, law, low, high)
    return Expectations(n_records=int(classes.counts.sum()), figures=figures)


def expect_nothing(n_records: int, *, n_attributes: int) -> Expectations:
    """Figures of 0 for records that nothing can be drawn for."""
    return Expectations(n_records=n_records, figures=_SumOfBlocks(parts=(), n_attributes=n_attributes))


def _simulated_one(
    classes: ClassValues, originals: ClassValues, drawing: Drawing, blocks: Blocks | None
) -> _SumOfBlocks:
    """Expected figures of one ε-quasi, simulated block by block; `originals` are the values before clipping."""
    sizes = classes.sizes
    parts = []
    for block in (blocks or Blocks.of(sizes)).each(sizes):
        own = np.arange(block.classes.start, block.classes.stop)
        parts.append(SimulatedOne(classes=classes.of(own), originals=originals.of(own), drawing=drawing.of(block)))
    return _SumOfBlocks(parts=tuple(parts), n_attributes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SumOfBlocks:
    """The expected figures of several blocks of classes together."""

    parts: tuple[ExpectedFigures, ...]
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

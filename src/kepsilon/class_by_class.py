# SPDX-License-Identifier: Apache-2.0
"""Batches of whole classes through the kernels, and the sums that they add up to: first what to expect, then the noise.

A class that is too large for a batch comes in parts. With at most one ε-quasi its distinct values with counts stand for
it, and the figures are the same; engines do not divide classes of more.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kepsilon.engines.protocol import Batch, Classes, LargeClass
from kepsilon.errors import EngineError, Problem
from kepsilon.evaluate.class_values import code_values
from kepsilon.evaluate.confident_k import ConfidentK
from kepsilon.evaluate.expectations import Expectations, expect, expect_of_counts
from kepsilon.evaluate.large_class import LargeClassFigures, TooManyValuesError, count_parts, merge_counts, one_class
from kepsilon.evaluate.pictures import Cells, Sample, Spread, sample_positions, spread
from kepsilon.evaluate.tally import Expected, Realised, realise
from kepsilon.noise_ranges import NoiseRanges, clip, constant_classes, ranges_of, refuse_too_fine
from kepsilon.perturb.laplace import perturb
from kepsilon.perturb.randomness import ByteSource
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction
from kepsilon.stopwatch import Stopwatch
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What is known of all classes before any noise is drawn."""

    low: FloatArray
    """Ends of the ranges, shape (n_classes, n_epsilon_quasis)."""
    high: FloatArray
    clipped: dict[str, int]
    constant_classes: dict[str, int]
    expected: tuple[Expected, ...]
    """One for each ε asked about."""

    @property
    def widths(self) -> FloatArray:
        """R, shaped like its ends."""
        return self.high - self.low


Cell = tuple[float, ConfidentK | None]
"""An ε to expect figures at, with or without confident k."""


def look_ahead(classes: Classes, policy: Policy, cells: Sequence[Cell]) -> Outlook:
    """Ranges of all classes, and what to expect in each cell."""
    low = np.empty((classes.n_classes, len(policy.epsilon_quasis)))
    high = np.empty_like(low)
    clipped: dict[str, int] = {}
    expected: list[Expected] = []
    for number, batch in enumerate(classes.batches()):
        own = look_at(batch, policy, cells, stream=number)
        low[own.classes], high[own.classes] = own.low, own.high
        clipped = {name: clipped.get(name, 0) + n for name, n in own.clipped.items()}
        pairs = zip(expected, own.expected, strict=True)
        expected = [one + more for one, more in pairs] if expected else list(own.expected)
    refuse_too_fine(low, high, policy)
    return Outlook(
        low=low,
        high=high,
        clipped=clipped,
        constant_classes=constant_classes(low, high, policy),
        expected=tuple(expected),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOutlook:
    """The same of one batch: small, and made without looking at any other."""

    classes: slice
    low: FloatArray
    high: FloatArray
    clipped: dict[str, int]
    expected: tuple[Expected, ...]


def look_at(batch: Batch | LargeClass, policy: Policy, cells: Sequence[Cell], *, stream: int) -> BatchOutlook:
    """What to expect of one batch; batches need different `stream` numbers, for what is simulated."""
    if isinstance(batch, Batch):
        own = batch.classes
        ranges = ranges_of(batch.values, batch.class_ids, n_classes=own.stop - own.start, policy=policy)
        expectations = _expectations(ranges, policy, stream=stream)
    else:
        own = slice(batch.class_id, batch.class_id + 1)
        ranges, expectations = _expect_large(batch, policy)
    return BatchOutlook(
        classes=own,
        low=ranges.low,
        high=ranges.high,
        clipped=ranges.clipped,
        expected=tuple(expectations.at(epsilon, confident=confident) for epsilon, confident in cells),
    )


def _expectations(ranges: NoiseRanges, policy: Policy, *, stream: int) -> Expectations:
    return expect(
        ranges.values,
        [
            code_values(ranges.values[:, j], precision=fraction(attribute.precision))
            for j, attribute in enumerate(policy.epsilon_quasis.values())
        ],
        ranges.class_ids,
        ranges=ranges.widths,
        originals=ranges.unclipped,
        stream=stream,
    )


def _expect_large(batch: LargeClass, policy: Policy) -> tuple[NoiseRanges, Expectations]:
    """The range of a class from its distinct values, which are its ε-quasi as far as ranges are concerned."""
    values, counts = _count_large(batch, policy)
    as_records = values[:, np.newaxis][:, : len(policy.epsilon_quasis)]
    ranges = ranges_of(as_records, np.zeros(len(values), dtype=np.int64), n_classes=1, policy=policy)
    moved = ranges.values[:, 0] if policy.epsilon_quasis else values
    expectations = expect_of_counts(
        one_class(*merge_counts(moved, counts)), ranges=ranges.widths, original_values=values, original_counts=counts
    )
    n_clipped = int(counts[(values < moved) | (values > moved)].sum())
    return dataclasses.replace(ranges, clipped=dict.fromkeys(ranges.clipped, n_clipped)), expectations


def _count_large(batch: LargeClass, policy: Policy) -> tuple[FloatArray, IntArray]:
    """Distinct values of the only ε-quasi; without one all records agree on 0."""

    def only(part: Batch) -> FloatArray:
        return part.values[:, 0] if policy.epsilon_quasis else np.zeros(len(part.class_ids))

    try:
        return count_parts((only(part) for part in batch.parts()), most=batch.most_values)
    except TooManyValuesError:
        (name,) = policy.epsilon_quasis
        raise EngineError(
            Problem(
                where="",
                what=f"a class is too large to be held in memory, and so are the more than {batch.most_values:,} distinct "
                f'values of "{name}" in it.',
                fix="Give more memory, or round the values to the precision first.",
            )
        ) from None


@dataclass(slots=True, kw_only=True)
class Measured:
    """What became of all classes, added up while they go by."""

    realised: Realised | None = None
    sizes: IntArray
    """Records of every class that are still released, shape (n_classes,)."""
    spreads: list[Spread]
    samples: list[Sample] = field(default_factory=list)

    def sample(self) -> Sample:
        """Records of a class that was taken back as a whole do not stay after all."""
        class_ids = np.concatenate([own.class_ids for own in self.samples])
        return Sample(
            values=np.concatenate([own.values for own in self.samples]),
            published=[np.concatenate([own.published[j] for own in self.samples]) for j in range(len(self.spreads))],
            class_ids=class_ids,
            stays=np.concatenate([own.stays for own in self.samples]) & (self.sizes[class_ids] > 0),
        )

    def add(self, realised: Realised) -> None:
        self.realised = realised if self.realised is None else self.realised + realised


def perturb_and_measure(
    classes: Classes, outlook: Outlook, policy: Policy, *, random: ByteSource, clock: Stopwatch
) -> Measured:
    """Noise for every record, drawn once, and what it did. Algorithm 1, lines 6 and 7."""
    measured = Measured(
        sizes=np.zeros(classes.n_classes, dtype=np.int64), spreads=[Spread()] * len(policy.epsilon_quasis)
    )
    sampling = _Sampling(sample_positions(outlook.expected[0].n_records))
    for batch in classes.batches():
        figures = None if isinstance(batch, Batch) else _figures_of_large(batch, outlook, policy)
        for part in _parts(batch):
            with clock.step("perturb"):
                noisy = _perturb(part, outlook, policy, random=random)
            with clock.step("measure"):
                if figures is None:
                    stays, realised = _realise(part, noisy, outlook, policy)
                    measured.add(realised)
                else:
                    stays = figures.measure(noisy.values, noisy.columns, originals=noisy.originals)
                staying = part.class_ids if stays.all() else part.class_ids[stays]
                measured.sizes[part.classes] += np.bincount(staying, minlength=part.classes.stop - part.classes.start)
                measured.spreads = [own + spread(noisy.values[:, j]) for j, own in enumerate(measured.spreads)]
                measured.samples.append(sampling.of(part, noisy, stays))
            with clock.step("keep"):
                classes.keep(part, noisy.published, stays, random_bytes=random.bytes)
        if figures is not None and not isinstance(batch, Batch):
            of_class = figures.realised()
            if of_class is None:
                measured.sizes[batch.class_id] = 0  # `merge` leaves out what was kept of it
            else:
                measured.add(of_class)
    return measured


@dataclass(frozen=True, slots=True, kw_only=True)
class _Noisy:
    """Values of some records that got noise, and what they became."""

    values: FloatArray
    """Shape (n_records, n_epsilon_quasis); clipped where bounds were declared."""
    originals: FloatArray | None
    """As they were, where some were clipped."""
    published: FloatArray

    @property
    def columns(self) -> list[FloatArray]:
        """What is published, one array per ε-quasi."""
        return [self.published[:, j] for j in range(self.published.shape[1])]


def _perturb(part: Batch, outlook: Outlook, policy: Policy, *, random: ByteSource) -> _Noisy:
    """Noise on the ε-quasis of records, each record as one unit."""
    values, clipped = clip(part.values, policy)
    quasis = policy.epsilon_quasis.values()
    published = values
    if quasis:
        published = perturb(
            values,
            part.class_ids,
            outlook.low[part.classes],
            outlook.high[part.classes],
            epsilon=policy.exact_epsilon,
            precisions=[fraction(attribute.precision) for attribute in quasis],
            domains=[None if a.domain is None else (fraction(a.domain[0]), fraction(a.domain[1])) for a in quasis],
            source=random,
        )
    return _Noisy(values=values, originals=part.values if any(clipped.values()) else None, published=published)


def _realise(part: Batch, noisy: _Noisy, outlook: Outlook, policy: Policy) -> tuple[BoolArray, Realised]:
    return realise(
        noisy.values,
        noisy.columns,
        part.class_ids,
        ranges=outlook.high[part.classes] - outlook.low[part.classes],
        epsilon=float(policy.exact_epsilon),
        confident=ConfidentK.asked_by(policy),
        originals=noisy.originals,
    )


def _figures_of_large(batch: LargeClass, outlook: Outlook, policy: Policy) -> LargeClassFigures:
    values, counts = _count_large(batch, policy)
    moved, _ = clip(values[:, np.newaxis][:, : len(policy.epsilon_quasis)], policy)
    return LargeClassFigures(
        one_class(*merge_counts(moved[:, 0] if policy.epsilon_quasis else values, counts)),
        widths=outlook.widths[batch.class_id : batch.class_id + 1],
        epsilon=float(policy.exact_epsilon),
        confident=ConfidentK.asked_by(policy),
    )


def count_in_cells(
    classes: Classes, cells: Mapping[int, Cells], policy: Policy, *, new_ids: IntArray
) -> dict[int, tuple[IntArray, IntArray]]:
    """Records in the cells of a picture, before noise and as published. `new_ids` as for `merge`."""
    before = {j: np.zeros(own.n_edges + 1, dtype=np.int64) for j, own in cells.items()}
    after = {j: np.zeros(own.n_edges + 1, dtype=np.int64) for j, own in cells.items()}
    for batch in classes.batches():
        for part in _parts(batch):
            moved, _ = clip(part.values, policy)
            for j, own in cells.items():
                before[j] += own.count(moved[:, j])
    for published in classes.kept(new_ids):
        for j, own in cells.items():
            after[j] += own.count(published[:, j])
    return {j: (before[j], after[j]) for j in cells}


def _parts(batch: Batch | LargeClass) -> Iterator[Batch]:
    if isinstance(batch, Batch):
        yield batch
    else:
        yield from batch.parts()


@dataclass(slots=True)
class _Sampling:
    """Picks the sampled records out of what goes by."""

    positions: IntArray
    n_passed: int = 0

    def of(self, part: Batch, noisy: _Noisy, stays: BoolArray) -> Sample:
        first, last = np.searchsorted(self.positions, [self.n_passed, self.n_passed + len(stays)])
        chosen = self.positions[first:last] - self.n_passed
        self.n_passed += len(stays)
        return Sample(
            values=noisy.values[chosen],
            published=[column[chosen] for column in noisy.columns],
            class_ids=part.class_ids[chosen] + part.classes.start,
            stays=stays[chosen],
        )

# SPDX-License-Identifier: Apache-2.0
"""Batches of whole classes through the kernels, and the sums that they add up to: first what to expect, then the noise.

A class that is too large for a batch comes in parts. With at most one ε-quasi its distinct values with counts stand for
it, and the figures are the same; engines do not divide classes of more.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from kepsilon.engines.protocol import Batch, Classes, Keep, LargeClass, Random
from kepsilon.errors import EngineError, Problem
from kepsilon.evaluate.class_values import code_values
from kepsilon.evaluate.confident_k import ConfidentK
from kepsilon.evaluate.expectations import Expectations, expect, expect_of_counts
from kepsilon.evaluate.large_class import LargeClassFigures, TooManyValuesError, count_parts, merge_counts, one_class
from kepsilon.evaluate.pictures import Cells, Sample, Spread, sample_positions, spread
from kepsilon.evaluate.tally import Expected, Realised, realise
from kepsilon.noise_ranges import NoiseRanges, clip, constant_classes, ranges_of, refuse_too_fine
from kepsilon.perturb.laplace import perturb
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction
from kepsilon.stopwatch import Stopwatch, ignore_step
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
    low = np.empty((len(classes.sizes), len(policy.epsilon_quasis)))
    high = np.empty_like(low)
    clipped: dict[str, int] = {}
    expected: list[Expected] = []
    for own in classes.each(partial(look_at, policy=policy, cells=tuple(cells))):
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


def look_at(batch: Batch | LargeClass, *, policy: Policy, cells: Sequence[Cell]) -> BatchOutlook:
    """What to expect of one batch; what is simulated for different classes is drawn apart."""
    if isinstance(batch, Batch):
        own = batch.classes
        ranges = ranges_of(batch.values, batch.class_ids, n_classes=own.stop - own.start, policy=policy)
        expectations = _expectations(ranges, policy, stream=own.start)
    else:
        own = slice(batch.class_id, batch.class_id + 1)
        ranges, expectations = _expect_large(batch, policy)
    return BatchOutlook(
        classes=own,
        low=ranges.low,
        high=ranges.high,
        clipped=ranges.clipped,
        expected=tuple(expectations.at_each(cells)),
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
class BatchMeasured:
    """What became of one batch."""

    classes: slice
    realised: Realised | None
    """None for a class that was taken back as a whole."""
    sizes: IntArray
    """Records of every class that are still released."""
    spreads: list[Spread]
    samples: list[Sample]
    seconds: dict[str, float]
    """By step, wherever it was done."""


@dataclass(slots=True, kw_only=True)
class Measured:
    """What became of all classes, added up."""

    realised: Realised | None = None
    sizes: IntArray
    """Records of every class that are still released, shape (n_classes,)."""
    spreads: list[Spread]
    samples: list[Sample] = field(default_factory=list)

    def add(self, own: BatchMeasured) -> None:
        self.sizes[own.classes] = own.sizes
        self.spreads = [one + more for one, more in zip(self.spreads, own.spreads, strict=True)]
        self.samples += own.samples
        if own.realised is not None:
            self.realised = own.realised if self.realised is None else self.realised + own.realised

    def sample(self) -> Sample:
        """Records of a class that was taken back as a whole do not stay after all."""
        class_ids = np.concatenate([own.class_ids for own in self.samples])
        return Sample(
            values=np.concatenate([own.values for own in self.samples]),
            published=[np.concatenate([own.published[j] for own in self.samples]) for j in range(len(self.spreads))],
            class_ids=class_ids,
            stays=np.concatenate([own.stays for own in self.samples]) & (self.sizes[class_ids] > 0),
        )


def perturb_and_measure(
    classes: Classes, outlook: Outlook, policy: Policy, *, random: Random, clock: Stopwatch
) -> Measured:
    """Noise for every record, drawn once, and what it did. Algorithm 1, lines 6 and 7."""
    n_before = np.cumsum(classes.sizes) - classes.sizes
    draw = partial(
        perturb_batch,
        low=outlook.low,
        high=outlook.high,
        policy=policy,
        sampled=sample_positions(outlook.expected[0].n_records),
        n_before=n_before,
    )
    measured = Measured(sizes=np.zeros_like(classes.sizes), spreads=[Spread()] * len(policy.epsilon_quasis))
    seconds: dict[str, float] = {}
    with clock.step("perturb"):
        start = time.perf_counter()
        for own in classes.draw(draw, random=random):
            measured.add(own)
            seconds = {step: seconds.get(step, 0.0) + own.seconds[step] for step in own.seconds}
        passed = time.perf_counter() - start
    clock.divide("perturb", seconds, passed)
    return measured


def perturb_batch(
    batch: Batch | LargeClass,
    random: Random,
    keep: Keep,
    *,
    low: FloatArray,
    high: FloatArray,
    policy: Policy,
    sampled: IntArray,
    n_before: IntArray,
) -> BatchMeasured:
    """Noise for one batch of classes, and what it did.

    `low` and `high` are of all classes, and so is `n_before`, the records of classes before it; `sampled` are the
    positions among all records of those that pictures show.
    """
    clock = Stopwatch(ignore_step)
    figures = None if isinstance(batch, Batch) else _figures_of_large(batch, high - low, policy)
    own = batch.classes if isinstance(batch, Batch) else slice(batch.class_id, batch.class_id + 1)
    measured = BatchMeasured(
        classes=own,
        realised=None,
        sizes=np.zeros(own.stop - own.start, dtype=np.int64),
        spreads=[Spread()] * len(policy.epsilon_quasis),
        samples=[],
        seconds=clock.seconds,
    )
    n_passed = int(n_before[own.start])
    for part in _parts(batch):
        with clock.step("perturb"):
            noisy = _perturb(part, low[own], high[own], policy, random=random)
        with clock.step("measure"):
            if figures is None:
                stays, measured.realised = _realise(part, noisy, high[own] - low[own], policy)
            else:
                stays = figures.measure(noisy.values, noisy.columns, originals=noisy.originals)
            staying = part.class_ids if stays.all() else part.class_ids[stays]
            measured.sizes += np.bincount(staying, minlength=len(measured.sizes))
            measured.spreads = [one + spread(noisy.values[:, j]) for j, one in enumerate(measured.spreads)]
            measured.samples.append(_sample(part, noisy, stays, sampled=sampled, n_passed=n_passed))
            n_passed += len(stays)
        with clock.step("keep"):
            keep(part, noisy.published, stays)
    if figures is not None:
        measured.realised = figures.realised()
        if measured.realised is None:
            measured.sizes[:] = 0  # `merge` leaves out what was kept of it
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


def _perturb(part: Batch, low: FloatArray, high: FloatArray, policy: Policy, *, random: Random) -> _Noisy:
    """Noise on the ε-quasis of records, each record as one unit."""
    values, clipped = clip(part.values, policy)
    quasis = policy.epsilon_quasis.values()
    published = values
    if quasis:
        published = perturb(
            values,
            part.class_ids,
            low,
            high,
            epsilon=policy.exact_epsilon,
            precisions=[fraction(attribute.precision) for attribute in quasis],
            domains=[None if a.domain is None else (fraction(a.domain[0]), fraction(a.domain[1])) for a in quasis],
            source=random,
        )
    return _Noisy(values=values, originals=part.values if any(clipped.values()) else None, published=published)


def _realise(part: Batch, noisy: _Noisy, widths: FloatArray, policy: Policy) -> tuple[BoolArray, Realised]:
    return realise(
        noisy.values,
        noisy.columns,
        part.class_ids,
        ranges=widths,
        epsilon=float(policy.exact_epsilon),
        confident=ConfidentK.asked_by(policy),
        originals=noisy.originals,
    )


def _figures_of_large(batch: LargeClass, widths: FloatArray, policy: Policy) -> LargeClassFigures:
    values, counts = _count_large(batch, policy)
    moved, _ = clip(values[:, np.newaxis][:, : len(policy.epsilon_quasis)], policy)
    return LargeClassFigures(
        one_class(*merge_counts(moved[:, 0] if policy.epsilon_quasis else values, counts)),
        widths=widths[batch.class_id : batch.class_id + 1],
        epsilon=float(policy.exact_epsilon),
        confident=ConfidentK.asked_by(policy),
    )


def count_in_cells(
    classes: Classes, cells: Mapping[int, Cells], policy: Policy, *, new_ids: IntArray
) -> dict[int, tuple[IntArray, IntArray]]:
    """Records in the cells of a picture, before noise and as published. `new_ids` as for `merge`."""
    before = {j: np.zeros(own.n_edges + 1, dtype=np.int64) for j, own in cells.items()}
    after = {j: np.zeros(own.n_edges + 1, dtype=np.int64) for j, own in cells.items()}
    for counts in classes.each(partial(_count_before, cells=cells, policy=policy)):
        for j, own in counts.items():
            before[j] += own
    for counts in classes.each_kept(partial(_count, cells=cells), new_ids):
        for j, own in counts.items():
            after[j] += own
    return {j: (before[j], after[j]) for j in cells}


def _count_before(batch: Batch | LargeClass, *, cells: Mapping[int, Cells], policy: Policy) -> dict[int, IntArray]:
    counts: dict[int, IntArray] = {j: np.zeros(own.n_edges + 1, dtype=np.int64) for j, own in cells.items()}
    for part in _parts(batch):
        moved, _ = clip(part.values, policy)
        for j, own in _count(moved, cells=cells).items():
            counts[j] += own
    return counts


def _count(values: FloatArray, *, cells: Mapping[int, Cells]) -> dict[int, IntArray]:
    return {j: own.count(values[:, j]) for j, own in cells.items()}


def _parts(batch: Batch | LargeClass) -> Iterator[Batch]:
    if isinstance(batch, Batch):
        yield batch
    else:
        yield from batch.parts()


def _sample(part: Batch, noisy: _Noisy, stays: BoolArray, *, sampled: IntArray, n_passed: int) -> Sample:
    """The sampled records of a part that so many records come before."""
    first, last = np.searchsorted(sampled, [n_passed, n_passed + len(stays)])
    chosen = sampled[first:last] - n_passed
    return Sample(
        values=noisy.values[chosen],
        published=[column[chosen] for column in noisy.columns],
        class_ids=part.class_ids[chosen] + part.classes.start,
        stays=stays[chosen],
    )

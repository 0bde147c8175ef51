# SPDX-License-Identifier: Apache-2.0
"""Collects what survives while noise is drawn: sums over all records, and a sample of whole records for what does not add up.

Each batch is measured by itself, wherever its records are; what is found in different batches is added.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from kepsilon.evaluate.survival.inside_classes import InsideSums, inside_sums
from kepsilon.evaluate.survival.moments import PairMoments, moments_of
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.whole_records import WholeColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class SurvivalSums:
    """Moments of the ε-quasis of some classes before and after; those of different classes are added."""

    n_records: int
    """Records of the classes."""
    before: PairMoments
    """Of the values as they are in the data, before they are clipped, of all records of the classes."""
    after: PairMoments
    """Of published values, of released records."""
    inside: InsideSums

    @classmethod
    def none(cls, n_attributes: int) -> SurvivalSums:
        """The sums of no classes."""
        no_records = PairMoments.none(n_attributes, n_attributes)
        return cls(n_records=0, before=no_records, after=no_records, inside=InsideSums.none(n_attributes))

    def __add__(self, other: SurvivalSums) -> SurvivalSums:
        return SurvivalSums(
            n_records=self.n_records + other.n_records,
            before=self.before + other.before,
            after=self.after + other.after,
            inside=self.inside + other.inside,
        )

    def without_released(self) -> SurvivalSums:
        """The sums where none of the classes is released after all."""
        none = SurvivalSums.none(len(self.before.n))
        return dataclasses.replace(none, n_records=self.n_records, before=self.before)


def survival_sums(
    values: FloatArray, published: FloatArray, class_ids: IntArray, stays: BoolArray, *, n_classes: int
) -> SurvivalSums:
    """The sums of whole classes; `values` and `published` have shape (n_records, n_epsilon_quasis)."""
    return SurvivalSums(
        n_records=len(stays),
        before=moments_of(values),
        after=moments_of(published, chosen=stays),
        inside=inside_sums(values, published, class_ids, stays, n_classes=n_classes),
    )


@dataclass(slots=True)
class CollectedSurvival:
    """What was found in some batches; in a worker, what was found so far in one batch."""

    n_attributes: int
    sums: SurvivalSums = field(init=False)
    originals: list[FloatArray] = field(default_factory=list)
    """Sampled records as they are in the data, in parts of shape (n_records, n_epsilon_quasis)."""
    kept: list[Mapping[str, WholeColumn]] = field(default_factory=list)
    """Kept columns of numbers, of the sampled records."""

    def __post_init__(self) -> None:
        self.sums = SurvivalSums.none(self.n_attributes)

    def add(self, other: CollectedSurvival) -> None:
        """Adds what was found in another batch, whose records come after these."""
        self.sums += other.sums
        self.originals += other.originals
        self.kept += other.kept

    def add_large(self, parts: LargeClassMoments, *, is_released: bool) -> None:
        """Adds a class that came in parts."""
        self.sums += parts.sums() if is_released else parts.sums().without_released()

    def sampled(self, published: FloatArray, stays: BoolArray) -> SampledRecords:
        """The sampled records, of which it is known what is published, and whether they are."""
        names = self.kept[0] if self.kept else ()
        return SampledRecords(
            originals=np.concatenate(self.originals),
            published=published,
            stays=stays,
            kept={name: [own[name] for own in self.kept if name in own] for name in names},
            n_all=self.sums.n_records,
        )


@dataclass(slots=True)
class LargeClassMoments:
    """The moments of one class that comes in parts."""

    n_attributes: int
    n_records: int = 0
    before: PairMoments = field(init=False)
    after: PairMoments = field(init=False)
    both: PairMoments = field(init=False)
    """Of true with published values, of released records."""

    def __post_init__(self) -> None:
        self.before = self.after = self.both = PairMoments.none(self.n_attributes, self.n_attributes)

    def add(self, values: FloatArray, published: FloatArray, stays: BoolArray) -> None:
        """Adds a part of the class."""
        self.n_records += len(stays)
        self.before += moments_of(values)
        self.after += moments_of(published, chosen=stays)
        self.both += moments_of(values, published, chosen=stays)

    def sums(self) -> SurvivalSums:
        """The sums of the class, once all its parts were added."""
        return SurvivalSums(
            n_records=self.n_records,
            before=self.before,
            after=self.after,
            inside=InsideSums.of_one_class(self.both),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledRecords:
    """A random sample of the records in classes, or all of them."""

    originals: FloatArray
    """Values as they are in the data, shape (n_records, n_epsilon_quasis)."""
    published: FloatArray
    """Shaped like `originals`."""
    stays: BoolArray
    """Which of them are released, shape (n_records,)."""
    kept: Mapping[str, list[WholeColumn]]
    """Kept columns of numbers, each in parts that together have a value for each record."""
    n_all: int
    """How many records are in classes."""

    @property
    def each_stands_for(self) -> float:
        """How many records in classes each of them stands for."""
        return self.n_all / len(self.stays) if len(self.stays) else 0.0

    @property
    def in_words(self) -> str | None:
        """How many records were looked at; None where all were."""
        return None if len(self.stays) == self.n_all else f"{len(self.stays):,} of {self.n_all:,} records in classes"

# SPDX-License-Identifier: Apache-2.0
"""What simulated figures share: blocks of classes, records sampled from strata, random bytes, and sums with a variance.

A simulation has a fixed seed and knows nothing of the noise that is released. Classes are simulated in blocks that depend
on nothing but their sizes, each with random numbers of its own: the figures are the same whichever blocks an engine puts
in one batch. Different ε share their sampled records and random numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.originals.sorted_classes import runs_of_classes
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.blocks import block_bounds

MOST_DRAWS = 10_000
"""Sampled records of all blocks together, at most, about."""
FEWEST_DRAWS = 64
"""Sampled records of all blocks together, at least, about."""
_FEWEST_OF_BLOCK = 2
"""Sampled records of one block, at least."""
_SEED = 20160712
PERSONS = 1
"""The purpose of simulating classes in which a person has several records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Some whole classes that are simulated together, independently of all others."""

    classes: slice
    records: slice
    """Their records, where all records are in the order of their classes."""
    share: float
    """Its share of the records of all classes, and so of all draws."""
    stream: int
    """The number of its stream of random numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """How some whole classes are divided into blocks."""

    bounds: IntArray
    """The first class of every block, and at last the number of classes."""
    n_records: int
    """Records of all classes there are, these and others."""
    first_class: int = 0
    """How many of all classes come before these."""

    @classmethod
    def of(cls, sizes: IntArray, *, first_class: int = 0) -> Blocks:
        """The blocks of all classes there are."""
        return cls(bounds=block_bounds(sizes), n_records=int(sizes.sum()), first_class=first_class)

    def within(self, classes: slice) -> Blocks:
        """The blocks of some of these classes; where they end inside a block, only their part of it."""
        inner = self.bounds[(self.bounds > classes.start) & (self.bounds < classes.stop)]
        return Blocks(
            bounds=np.concatenate([[0], inner - classes.start, [classes.stop - classes.start]]),
            n_records=self.n_records,
            first_class=self.first_class + classes.start,
        )

    def each(self, sizes: IntArray) -> Iterator[Block]:
        """The blocks one by one, without those that have no record; `sizes` are the records of every class."""
        ends = np.concatenate([[0], np.cumsum(sizes)])[self.bounds].tolist()
        bounds = self.bounds.tolist()
        for i, (first, last) in enumerate(itertools.pairwise(bounds)):
            if ends[i + 1] > ends[i]:
                yield Block(
                    classes=slice(first, last),
                    records=slice(ends[i], ends[i + 1]),
                    share=(ends[i + 1] - ends[i]) / self.n_records,
                    stream=self.first_class + first,
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Strata:
    """Records sampled with replacement from strata, which are runs of neighbours in the order of classes.

    Every stratum has two draws or more, so that the variance can be estimated without further assumptions.
    """

    chosen: IntArray
    """Positions of the sampled records, shape (n_strata, n_draws), with `n_draws` draws from every stratum."""
    sizes: IntArray
    """Number of records in each stratum, shape (n_strata,)."""

    def estimate(self, figures: FloatArray) -> Estimate:
        """The sum over all records, estimated from figures of the sampled ones; these are shaped like `chosen`."""
        sizes = self.sizes.astype(np.float64)
        return Estimate(
            total=float(np.dot(sizes, figures.mean(axis=1))),
            variance=float(np.dot(sizes**2, figures.var(axis=1, ddof=1)) / figures.shape[1]),
        )

    def sampled_classes(self, values: FloatArray, class_ids: IntArray, *, n_classes: int) -> Iterator[SampledClasses]:
        """The classes of which a record was sampled, a few at a time. `values` has shape (n_records, n_attributes)."""
        done = 0
        for records, ids, classes in runs_of_classes(class_ids, n_classes=n_classes):
            draws = (self.chosen >= done) & (self.chosen < done + len(records))
            if draws.any():
                chosen = self.chosen[draws] - done
                yield SampledClasses(
                    values=np.ascontiguousarray(values[records].T),
                    class_ids=ids,
                    classes=classes,
                    records=slice(done, done + len(records)),
                    draws=draws,
                    chosen=chosen,
                )
            done += len(records)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledClasses:
    """Some whole classes with all their records, and which of the records were sampled."""

    values: FloatArray
    """All records in order of classes, shape (n_attributes, n_records)."""
    class_ids: IntArray
    """The class of each record, counted from the first of `classes`."""
    classes: slice
    records: slice
    """Which records these are, where all records are in the order of their classes."""
    draws: BoolArray
    """Which draws of the strata fell on these classes, shaped like `Strata.chosen`."""
    chosen: IntArray
    """The sampled records, by position in `values`; a record may come several times."""


def generator(stream: int, purpose: int | None = None) -> np.random.Generator:
    """The random numbers of a block; every block has its own stream, so that errors of blocks are independent.

    Where several figures of a block are added up, each has a purpose of its own, and random numbers of its own with it.
    """
    return np.random.default_rng([_SEED, stream] if purpose is None else [_SEED, stream, purpose])


@dataclass(frozen=True, slots=True)
class SimulatedBytes:
    """Random bytes with which a mechanism draws in a simulation; never the bytes of a release."""

    rng: np.random.Generator

    @property
    def seeded(self) -> bool:
        return True

    def bytes(self, n: int) -> bytes:
        return self.rng.bytes(n)

    def apart(self, number: int) -> SimulatedBytes:
        """A source for each number, independent of the others and of what was drawn before."""
        own = self.rng.bit_generator.seed_seq.generate_state(4)
        return SimulatedBytes(np.random.default_rng([*own.tolist(), number]))


def sample_records(
    n: int, affordable: float, rng: np.random.Generator, *, fewest: int = FEWEST_DRAWS, share: float = 1.0
) -> Strata:
    """A sample from the n records of one block.

    `affordable` is about how many draws all blocks together can afford, `fewest` how many they take at least; this block
    takes its `share` of them.
    """
    n_draws = max(int(min(max(affordable, fewest), MOST_DRAWS) * share), _FEWEST_OF_BLOCK)
    n_strata = min(n, n_draws // 2)
    bounds = np.arange(n_strata + 1) * n // n_strata
    sizes = np.diff(bounds)
    within = rng.random((n_strata, n_draws // n_strata)) * sizes[:, np.newaxis]
    return Strata(chosen=bounds[:-1, np.newaxis] + within.astype(np.int64), sizes=sizes)

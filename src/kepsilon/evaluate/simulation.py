# SPDX-License-Identifier: Apache-2.0
"""What simulated figures share: records drawn from strata, random bytes, and sums that know their variance.

A simulation has a fixed seed and knows nothing of the noise that is released. Classes are simulated in blocks that depend
on nothing but their sizes, each with random numbers of its own: the figures are the same whichever classes an engine looks
at together. Different ε share their draws.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.originals.sorted_classes import blocks_of_classes
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.blocks import block_bounds

MOST_DRAWS = 10_000
FEWEST_DRAWS = 64
"""Of all blocks together, about."""

_FEWEST_OF_BLOCK = 2
_SEED = 20160712


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Some whole classes that are simulated together, and apart from all others."""

    classes: slice
    records: slice
    """Of records in the order of their classes."""
    share: float
    """Of the records of all classes, and so of all draws."""
    stream: int
    """The number of its random numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """The blocks of some whole classes."""

    bounds: IntArray
    """The first class of every block, and at last the number of classes."""
    n_records: int
    """Of all classes there are, these and others."""
    first_class: int = 0
    """How many classes come before these."""

    @classmethod
    def of(cls, sizes: IntArray, *, first_class: int = 0) -> Blocks:
        """The blocks of all classes there are."""
        return cls(bounds=block_bounds(sizes), n_records=int(sizes.sum()), first_class=first_class)

    def within(self, classes: slice) -> Blocks:
        """Those of some classes; where they end inside a block, there is less of it."""
        inner = self.bounds[(self.bounds > classes.start) & (self.bounds < classes.stop)]
        return Blocks(
            bounds=np.concatenate([[0], inner - classes.start, [classes.stop - classes.start]]),
            n_records=self.n_records,
            first_class=self.first_class + classes.start,
        )

    def each(self, sizes: IntArray) -> Iterator[Block]:
        """The blocks one by one; `sizes` are the records of every class."""
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
    """Records drawn from strata of neighbours in the order of classes, with replacement: (n_strata, n_draws of each).

    Two draws or more from every stratum, so that the variance is estimated without assuming anything.
    """

    chosen: IntArray
    sizes: IntArray
    """Records in each stratum."""

    def estimate(self, figures: FloatArray) -> Estimate:
        """The sum over all records, from the figures of those drawn."""
        sizes = self.sizes.astype(np.float64)
        return Estimate(
            total=float(np.dot(sizes, figures.mean(axis=1))),
            variance=float(np.dot(sizes**2, figures.var(axis=1, ddof=1)) / figures.shape[1]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledClasses:
    """Some whole classes, their records in order of classes, and which of these were drawn."""

    values: FloatArray
    """Shape (n_attributes, n_records)."""
    class_ids: IntArray
    classes: slice
    draws: BoolArray
    """Which draws they are, shaped like `Strata.chosen`."""
    chosen: IntArray
    """The records drawn, by position in that order."""


def generator(stream: int) -> np.random.Generator:
    """The generator of a block; blocks have streams of their own, or their errors would not be independent."""
    return np.random.default_rng([_SEED, stream])


@dataclass(frozen=True, slots=True)
class SimulatedBytes:
    """Bytes for a mechanism that draws as it would for a release; never those of a release."""

    rng: np.random.Generator

    @property
    def seeded(self) -> bool:
        return True

    def bytes(self, n: int) -> bytes:
        return self.rng.bytes(n)

    def apart(self, number: int) -> SimulatedBytes:
        """A source of its own for each number, whatever was drawn before."""
        own = self.rng.bit_generator.seed_seq.generate_state(4)
        return SimulatedBytes(np.random.default_rng([*own.tolist(), number]))


def sample_records(
    n: int, affordable: float, rng: np.random.Generator, *, fewest: int = FEWEST_DRAWS, share: float = 1.0
) -> Strata:
    """About as many draws as are affordable, from n records: a block makes its share of them."""
    n_draws = max(int(min(max(affordable, fewest), MOST_DRAWS) * share), _FEWEST_OF_BLOCK)
    n_strata = min(n, n_draws // 2)
    bounds = np.arange(n_strata + 1) * n // n_strata
    sizes = np.diff(bounds)
    within = rng.random((n_strata, n_draws // n_strata)) * sizes[:, np.newaxis]
    return Strata(chosen=bounds[:-1, np.newaxis] + within.astype(np.int64), sizes=sizes)


def sampled_classes(values: FloatArray, class_ids: IntArray, strata: Strata, *, n_classes: int) -> Iterator[SampledClasses]:
    """The classes of which something was drawn, some at a time."""
    done = 0
    for records, ids, classes in blocks_of_classes(class_ids, n_classes=n_classes):
        draws = (strata.chosen >= done) & (strata.chosen < done + len(records))
        if draws.any():
            chosen = strata.chosen[draws] - done
            yield SampledClasses(
                values=np.ascontiguousarray(values[records].T),
                class_ids=ids,
                classes=classes,
                draws=draws,
                chosen=chosen,
            )
        done += len(records)

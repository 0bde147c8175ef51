# SPDX-License-Identifier: Apache-2.0
"""Expected number of records suppressed for confident k, simulated with whole classes, and its variance.

Worked out before noise is drawn. For exponential noise on several ε-quasis, and for every mechanism that has no closed form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from kepsilon.evaluate.confident_k.confident_k import ZeroRule, suppressed_for_confidence
from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.linking.several_attributes import count_in_boxes, with_slack
from kepsilon.evaluate.noise_law import ExponentialLaw, NoiseLaw
from kepsilon.evaluate.originals.rings import Rings, lay_out_rings
from kepsilon.evaluate.simulation import FEWEST_DRAWS, SampledClasses, SimulatedBytes, generator, sample_records
from kepsilon.policy.roles import fraction
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.steps import Steps

_SIMULATED = 200_000
"""Records given noise in a simulation, about."""

_COMPARISONS = 100_000_000
"""Originals, and boxes of originals, that these records are compared with, about."""

_TRIAL = 2
"""Draws of a trial that measures how many comparisons one draw takes, where it may be too many."""

_FEWEST_COSTLY = 16
"""Draws where each takes many comparisons, at least."""

_WINDOW = 4096
"""Records of a class that are given noise first; the others follow only if these leave open whether the class stays."""

_AT_ONCE = 1 << 16
"""Records given noise at a time, about."""


Layouts = dict[int, Rings]
"""Rings of some classes of a block, by the first of these classes."""


def expected_suppression(
    values: FloatArray,
    class_ids: IntArray,
    *,
    ranges: FloatArray,
    linking_ranges: FloatArray,
    epsilon: float,
    k: int,
    law: ExponentialLaw,
    rule: ZeroRule = ZeroRule.TEXT,
    stream: int = 0,
    share: float = 1.0,
    precisions: Sequence[Fraction] | None = None,
    domains: Sequence[tuple[float, float] | None] | None = None,
    layouts: Layouts | None = None,
) -> Estimate:
    """The expected number of suppressed records with exponential noise.

    `values` has shape (n_records, n_attributes), `ranges` (R) and `linking_ranges` (r_c) have the shape (n_classes,
    n_attributes); `stream` and `share` as in `simulation.Block`. With `precisions` and `domains`, one per attribute, noisy
    values are rounded and clamped as for publishing. A caller who asks about one block several times hands in
    `layouts`, empty at first, so that its classes are laid out once.
    """
    publishing = _Publishing(precisions=precisions, domains=domains)
    noise = _ExponentialNoise(law=law, ranges=ranges, epsilon=epsilon, publishing=publishing)
    return _simulated(
        values,
        class_ids,
        noise,
        ranges=ranges,
        linking_ranges=linking_ranges,
        k=k,
        rule=rule,
        stream=stream,
        share=share,
        layouts={} if layouts is None else layouts,
    )


def expected_suppression_by_draws(
    values: FloatArray,
    class_ids: IntArray,
    *,
    mechanism: NoiseLaw,
    low: FloatArray,
    high: FloatArray,
    linking_ranges: FloatArray,
    epsilon: float,
    k: int,
    rule: ZeroRule,
    stream: int,
    share: float,
    steps: Sequence[Steps],
) -> Estimate:
    """The expected number of suppressed records with the mechanism's own draws; arguments as for `expected_suppression`.

    `low` and `high` are the ends of the ranges that set the noise, shape (n_classes, n_attributes).
    """
    noise = _DrawnNoise(mechanism=mechanism, low=low, high=high, epsilon=epsilon, steps=steps)
    return _simulated(
        values,
        class_ids,
        noise,
        ranges=high - low,
        linking_ranges=linking_ranges,
        k=k,
        rule=rule,
        stream=stream,
        share=share,
        layouts={},
    )


def _simulated(
    values: FloatArray,
    class_ids: IntArray,
    noise: _Noise,
    *,
    ranges: FloatArray,
    linking_ranges: FloatArray,
    k: int,
    rule: ZeroRule,
    stream: int,
    share: float,
    layouts: Layouts,
) -> Estimate:
    """The expected number of suppressed records: those with too few originals in reach, and whole classes left with too few.

    A record is sampled, its class is given noise from this record on, and the share of the class that goes is the figure
    of the record: summed over all records, these shares are the records that go. In a large class a window of its records
    is enough as long as k of them stay, for then the class stays, whatever becomes of the others. Records beyond the window
    draw on random numbers of their own (`rng_beyond`), so that the windows of other records do not depend on them.
    """
    if not len(class_ids):
        return Estimate()
    rng, rng_beyond, trial = generator(stream).spawn(3)
    sizes = np.bincount(class_ids).astype(np.float64)
    seen = np.minimum(sizes, _WINDOW)
    affordable, fewest = _SIMULATED / (np.dot(sizes, seen) / len(class_ids)), FEWEST_DRAWS

    def simulate(
        draws: float, fewest: int, rng: np.random.Generator, rng_beyond: np.random.Generator
    ) -> tuple[Estimate, float]:
        """The estimate, and the mean number of comparisons of a draw."""
        strata = sample_records(len(class_ids), draws, rng, fewest=fewest, share=share)
        shares = np.empty(strata.chosen.shape)
        n_compared = 0
        for part in strata.sampled_classes(values, class_ids, n_classes=len(ranges)):
            noisy = _noisy_classes(part, ranges, linking_ranges, k=k, rule=rule, noise=noise, layouts=layouts)
            shares[part.draws], n_more = noisy.shares_gone(part.chosen, rng=rng, rng_beyond=rng_beyond)
            n_compared += n_more
        return strata.estimate(shares), n_compared / strata.chosen.size

    n_draws = max(affordable, fewest)
    # At the most, each record that is given noise is compared with its whole class.
    may_be_too_much = n_draws * np.dot(sizes**2, seen) / len(class_ids) > _COMPARISONS
    if may_be_too_much and n_draws * share > 2 * _TRIAL:
        _, cost = simulate(_TRIAL, _TRIAL, *trial.spawn(2))
        if cost * n_draws > _COMPARISONS:
            affordable, fewest = _COMPARISONS / cost, _FEWEST_COSTLY
    return simulate(affordable, fewest, rng, rng_beyond)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Publishing:
    """How noisy values are rounded and clamped before they are published."""

    precisions: Sequence[Fraction] | None
    domains: Sequence[tuple[float, float] | None] | None

    def apply(self, noisy: FloatArray) -> None:
        """Rounds to whole units of the precision, and then clamps to the last ones inside the domain, in place."""
        for j, values in enumerate(noisy):
            domain = None if self.domains is None else self.domains[j]
            if self.precisions is not None:
                precision = self.precisions[j]
                p, q = float(precision.numerator), float(precision.denominator)
                values[:] = np.rint(values * q / p) * p / q
                domain = None if domain is None else _whole_units(domain, precision)
            if domain is not None:
                np.clip(values, *domain, out=values)


def _whole_units(domain: tuple[float, float], precision: Fraction) -> tuple[float, float]:
    """The smallest and largest multiple of the precision inside the domain."""
    low, high = (fraction(end) / precision for end in domain)
    return float(math.ceil(low) * precision), float(math.floor(high) * precision)


class _Noise(Protocol):
    """Noise that is given to records in a simulation."""

    @property
    def precisions(self) -> Sequence[Fraction] | None:
        """The precisions of published values; None where values are not rounded."""

    def move(self, places: FloatArray, class_ids: IntArray, tells: BoolArray, rng: np.random.Generator) -> FloatArray:
        """The published values of records whose values are `places`; both (n_attributes, n_records).

        `class_ids` are those of the records, and `tells`, (n_records, n_attributes), says which attributes are active;
        the others are 0 in `places` and in the result.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class _ExponentialNoise:
    """Exponential noise in floating point, rounded and clamped as for publishing."""

    law: ExponentialLaw
    ranges: FloatArray
    epsilon: float
    publishing: _Publishing

    @property
    def precisions(self) -> Sequence[Fraction] | None:
        return self.publishing.precisions

    def move(self, places: FloatArray, class_ids: IntArray, tells: BoolArray, rng: np.random.Generator) -> FloatArray:
        scales = np.where(tells, self.ranges[class_ids] / self.epsilon, 0.0)
        moved: FloatArray = places + (self.law.unit_noise(scales > 0, rng) * scales).T
        self.publishing.apply(moved)
        return moved


@dataclass(frozen=True, slots=True, kw_only=True)
class _DrawnNoise:
    """Noise as the mechanism draws it for a release."""

    mechanism: NoiseLaw
    low: FloatArray
    high: FloatArray
    epsilon: float
    steps: Sequence[Steps]

    @property
    def precisions(self) -> Sequence[Fraction]:
        return [own.precision for own in self.steps]

    def move(self, places: FloatArray, class_ids: IntArray, tells: BoolArray, rng: np.random.Generator) -> FloatArray:
        classes, own = np.unique(class_ids, return_inverse=True)
        told = np.zeros((len(classes), len(places)), dtype=np.bool_)
        told[own] = tells
        drawn = self.mechanism.draw(
            np.ascontiguousarray(places.T),
            own,
            np.where(told, self.low[classes], 0.0),
            np.where(told, self.high[classes], 0.0),
            epsilon=fraction(self.epsilon),
            steps=self.steps,
            source=SimulatedBytes(rng),
        )
        return np.ascontiguousarray(drawn.T)


def _noisy_classes(
    part: SampledClasses,
    ranges: FloatArray,
    linking_ranges: FloatArray,
    *,
    k: int,
    rule: ZeroRule,
    noise: _Noise,
    layouts: Layouts,
) -> _NoisyClasses:
    """The classes of a part, laid out in rings unless `layouts` holds these already."""
    tells, reach = ranges[part.classes] > 0, linking_ranges[part.classes]
    first = part.classes.start
    if first not in layouts:
        places = np.where(tells[part.class_ids].T, part.values, 0.0)
        layouts[first] = lay_out_rings(places, part.class_ids, n_classes=len(tells))
    return _NoisyClasses(
        classes=layouts[first],
        class_ids=part.class_ids,
        sizes=np.bincount(part.class_ids, minlength=len(tells)),
        first_class=first,
        tells=tells,
        reach=np.where(tells, reach, np.inf),
        k=k,
        rule=rule,
        noise=noise,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _NoisyClasses:
    """Some whole classes, ready to be given noise as often as the simulation asks for."""

    classes: Rings
    class_ids: IntArray
    """The class of each record, rising."""
    sizes: IntArray
    """Records of each class."""
    first_class: int
    """The number of the first of these classes among all classes of the block."""
    tells: BoolArray
    """Which attributes have noise, shape (n_classes, n_attributes)."""
    reach: FloatArray
    """r_c, infinite where there is no noise; shaped like `tells`."""
    k: int
    rule: ZeroRule
    noise: _Noise

    def shares_gone(
        self, starts: IntArray, *, rng: np.random.Generator, rng_beyond: np.random.Generator
    ) -> tuple[FloatArray, int]:
        """The share of records that go, for the class of each start; and how many comparisons that took.

        `starts` are positions of records. The share is taken over the records of the class from the start on, as many as a
        window holds; after the last record of the class follows its first.
        """
        sizes = self.sizes[self.class_ids[starts]]
        seen = np.minimum(sizes, _WINDOW)
        shares = np.empty(len(starts))
        turns = np.cumsum(seen) // _AT_ONCE
        n_compared = 0
        for turn in np.unique(turns):
            draws = np.flatnonzero(turns == turn)
            lengths = seen[draws]
            firsts = np.cumsum(lengths) - lengths
            in_reach, n_more = self._in_reach(starts[draws], np.zeros(len(draws), dtype=np.int64), lengths, rng)
            n_compared += n_more
            numbers = np.repeat(np.arange(len(draws)), lengths)
            gone = suppressed_for_confidence(in_reach, numbers, k=self.k, n_classes=len(draws), rule=self.rule)
            shares[draws] = np.add.reduceat(gone, firsts, dtype=np.float64) / lengths
            for i in np.flatnonzero((shares[draws] == 1) & (lengths < sizes[draws])):
                window = in_reach[firsts[i] : firsts[i] + lengths[i]]
                shares[draws[i]], n_more = self._share_of_all(int(starts[draws[i]]), window, rng_beyond)
                n_compared += n_more
        return shares, n_compared

    def _share_of_all(self, start: int, in_reach: IntArray, rng_beyond: np.random.Generator) -> tuple[float, int]:
        """The share of a window that goes, where the window alone leaves open whether the class stays.

        More records of the class are given noise until that is decided. `in_reach` is ℓ of the records of the window. Also
        returns how many comparisons that took.
        """
        seen, size = len(in_reach), int(self.sizes[self.class_ids[start]])
        n_compared = 0
        while True:
            ids = np.zeros(len(in_reach), dtype=np.int64)
            gone = suppressed_for_confidence(in_reach, ids, k=self.k, n_classes=1, rule=self.rule)
            if len(in_reach) == size or not gone.all():  # a record that stays shows that the class stays
                return float(gone[:seen].mean()), n_compared
            length = min(len(in_reach), _AT_ONCE, size - len(in_reach))
            more, n_more = self._in_reach(np.array([start]), np.array([len(in_reach)]), np.array([length]), rng_beyond)
            in_reach = np.concatenate([in_reach, more])
            n_compared += n_more

    def _in_reach(
        self, starts: IntArray, offsets: IntArray, lengths: IntArray, rng: np.random.Generator
    ) -> tuple[IntArray, int]:
        """Gives noise to runs of records, and returns ℓ of each, up to k, and how many comparisons that took.

        Run i has `lengths[i]` records of the class of `starts[i]`, from the record `offsets[i]` after the start on.
        """
        along = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        own = np.repeat(self.class_ids[starts], lengths)
        firsts = (np.cumsum(self.sizes) - self.sizes)[own]
        records = firsts + (np.repeat(starts + offsets, lengths) - firsts + along) % self.sizes[own]
        points = self.classes.point_of[records]
        centres = self.noise.move(self.classes.points[:, points], self.first_class + own, self.tells[own], rng)
        reach = np.ascontiguousarray(self.reach[own].T)
        if self.noise.precisions is not None:
            reach = with_slack(reach, centres, self.noise.precisions)
        return count_in_boxes(self.classes, points, centres, reach, cap=self.k)

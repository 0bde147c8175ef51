# SPDX-License-Identifier: Apache-2.0
"""Expected number of records suppressed for confident k, simulated with whole classes, and its variance.

Worked out before noise is drawn. For exponential noise on several ε-quasis, for every mechanism that has no closed form, and
for classes in which a person has several records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kepsilon.evaluate.confident_k.confident_k import ZeroRule, suppressed_for_confidence
from kepsilon.evaluate.confident_k.persons_in_reach import persons_in_boxes
from kepsilon.evaluate.confident_k.simulated_noise import DrawnNoise, ExponentialNoise, Noise, Publishing
from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.linking.several_attributes import count_in_boxes, with_slack
from kepsilon.evaluate.noise_law import ExponentialLaw, NoiseLaw
from kepsilon.evaluate.originals.members import MemberPoints, Members, member_points, members_of
from kepsilon.evaluate.originals.rings import Rings, lay_out_rings
from kepsilon.evaluate.simulation import FEWEST_DRAWS, PERSONS, SampledClasses, generator, sample_records
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

StillMeets = Callable[[IntArray, IntArray, int, BoolArray], BoolArray]
"""Which classes meet all other requirements with the records that stay, shape (n_classes,).

Called with positions of records, the class of each of them, the number of classes, and which of the records stay. A record
may come in several classes, which are then drawn apart.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """Whom confident k counts in some classes, and what else these have to meet once records are suppressed."""

    persons: IntArray | None = None
    """Whom each record is about, shape (n_records,); None where every record counts by itself."""
    draws_once: bool = False
    """Whether all records of a person get one draw. Their values are equal then."""
    still_meets: StillMeets | None = None
    """Other requirements. Classes of more than 4,096 records are taken to meet them: so many rarely lose one."""


_RECORDS = Counting()


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
    counting: Counting = _RECORDS,
) -> Estimate:
    """The expected number of suppressed records with exponential noise.

    `values` has shape (n_records, n_attributes), `ranges` (R) and `linking_ranges` (r_c) have the shape (n_classes,
    n_attributes); `stream` and `share` as in `simulation.Block`. With `precisions` and `domains`, one per attribute, noisy
    values are rounded and clamped as for publishing. A caller who asks about one block several times hands in
    `layouts`, empty at first, so that its classes are laid out once.
    """
    publishing = Publishing(precisions=precisions, domains=domains)
    noise = ExponentialNoise(law=law, ranges=ranges, epsilon=epsilon, publishing=publishing)
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
        counting=counting,
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
    counting: Counting = _RECORDS,
) -> Estimate:
    """The expected number of suppressed records with the mechanism's own draws; arguments as for `expected_suppression`.

    `low` and `high` are the ends of the ranges that set the noise, shape (n_classes, n_attributes).
    """
    noise = DrawnNoise(mechanism=mechanism, low=low, high=high, epsilon=epsilon, steps=steps)
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
        counting=counting,
    )


def _simulated(
    values: FloatArray,
    class_ids: IntArray,
    noise: Noise,
    *,
    ranges: FloatArray,
    linking_ranges: FloatArray,
    k: int,
    rule: ZeroRule,
    stream: int,
    share: float,
    layouts: Layouts,
    counting: Counting,
) -> Estimate:
    """The expected number of suppressed records: those with too few originals in reach, and whole classes left with too few.

    A record is sampled, its class is given noise from this record on, and the share of the class that goes is the figure
    of the record: summed over all records, these shares are the records that go. In a large class a window of its records
    is enough as long as k of them stay, for then the class stays, whatever becomes of the others. Records beyond the window
    draw on random numbers of their own (`rng_beyond`), so that the windows of other records do not depend on them.
    """
    if not len(class_ids):
        return Estimate()
    # Blocks are simulated twice if some of their classes have several records of a person, and others do not.
    rng, rng_beyond, trial = generator(stream, None if counting is _RECORDS else PERSONS).spawn(3)
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
            noisy = _noisy_classes(
                part, ranges, linking_ranges, k=k, rule=rule, noise=noise, layouts=layouts, counting=counting
            )
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


def _noisy_classes(
    part: SampledClasses,
    ranges: FloatArray,
    linking_ranges: FloatArray,
    *,
    k: int,
    rule: ZeroRule,
    noise: Noise,
    layouts: Layouts,
    counting: Counting,
) -> _NoisyClasses:
    """The classes of a part, laid out in rings unless `layouts` holds these already."""
    tells, reach = ranges[part.classes] > 0, linking_ranges[part.classes]
    first = part.classes.start
    if first not in layouts:
        places = np.where(tells[part.class_ids].T, part.values, 0.0)
        layouts[first] = lay_out_rings(places, part.class_ids, n_classes=len(tells))
    members = originals = None
    if counting.persons is not None:
        members = members_of(counting.persons[part.records], part.class_ids, n_classes=len(tells))
        originals = member_points(np.where(tells[part.class_ids], part.values.T, 0.0), members)
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
        counting=counting,
        first_record=part.records.start,
        members=members,
        originals=originals,
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
    noise: Noise
    counting: Counting
    first_record: int
    """The number of the first of these records among all records of the block."""
    members: Members | None
    """Who these records are about; None where every record counts by itself."""
    originals: MemberPoints | None
    """The originals of each person; None where every record counts by itself."""

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
            records = self._records(starts[draws], np.zeros(len(draws), dtype=np.int64), lengths)
            gone = self._suppressed(in_reach, records, numbers, n_classes=len(draws))
            if self.counting.still_meets is not None:
                meets = self.counting.still_meets(self.first_record + records, numbers, len(draws), ~gone)
                gone |= ((lengths == sizes[draws]) & ~meets)[numbers]
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
            records = self._records(np.array([start]), np.array([0]), np.array([len(in_reach)]))
            gone = self._suppressed(in_reach, records, np.zeros(len(in_reach), dtype=np.int64), n_classes=1)
            if len(in_reach) == size or not gone.all():  # a record that stays shows that the class stays
                return float(gone[:seen].mean()), n_compared
            length = min(len(in_reach), _AT_ONCE, size - len(in_reach))
            more, n_more = self._in_reach(np.array([start]), np.array([len(in_reach)]), np.array([length]), rng_beyond)
            in_reach = np.concatenate([in_reach, more])
            n_compared += n_more

    def _suppressed(self, in_reach: IntArray, records: IntArray, numbers: IntArray, *, n_classes: int) -> BoolArray:
        """Which records of some runs go, given ℓ of each; `numbers` says which run each record is of."""
        members = None if self.members is None else self.members.of(records, numbers, n_classes=n_classes)
        return suppressed_for_confidence(
            in_reach, numbers, k=self.k, n_classes=n_classes, rule=self.rule, members=members
        )

    def _records(self, starts: IntArray, offsets: IntArray, lengths: IntArray) -> IntArray:
        """The records of some runs, one run after the other.

        Run i has `lengths[i]` records of the class of `starts[i]`, from the record `offsets[i]` after the start on.
        """
        along = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        own = np.repeat(self.class_ids[starts], lengths)
        firsts = (np.cumsum(self.sizes) - self.sizes)[own]
        records: IntArray = firsts + (np.repeat(starts + offsets, lengths) - firsts + along) % self.sizes[own]
        return records

    def _in_reach(
        self, starts: IntArray, offsets: IntArray, lengths: IntArray, rng: np.random.Generator
    ) -> tuple[IntArray, int]:
        """Gives noise to the records of some runs, and returns ℓ of each, up to k, and how many comparisons that took.

        Arguments as for `_records`.
        """
        own = np.repeat(self.class_ids[starts], lengths)
        records = self._records(starts, offsets, lengths)
        points = self.classes.point_of[records]
        centres = self.noise.move(self.classes.points[:, points], self.first_class + own, self.tells[own], rng)
        if self.members is not None and self.counting.draws_once:
            centres = centres[:, _first_of_person(self.members.of_record[records], lengths)]
        reach = np.ascontiguousarray(self.reach[own].T)
        if self.noise.precisions is not None:
            reach = with_slack(reach, centres, self.noise.precisions)
        if self.members is None or self.originals is None:
            return count_in_boxes(self.classes, points, centres, reach, cap=self.k)
        # As in `persons_in_reach_of_several`: so many originals are those of k persons.
        enough = int(self.members.counts.max()) * (self.k - 1) + 1
        counts, n_compared = count_in_boxes(self.classes, points, centres, reach, cap=enough)
        is_open = (counts > 0) & (counts < enough)
        counts[is_open] = persons_in_boxes(self.originals, own[is_open], centres[:, is_open], reach[:, is_open])
        n_compared += int(self.originals.n_points[own[is_open]].sum())
        return np.minimum(counts, self.k), n_compared


def _first_of_person(members: IntArray, lengths: IntArray) -> IntArray:
    """For each record of some runs, the first record of its person in its run; `members` has shape (n_records,)."""
    runs = np.repeat(np.arange(len(lengths)), lengths)
    keys = runs * (int(members.max(initial=0)) + 1) + members
    _, first, own = np.unique(keys, return_index=True, return_inverse=True)
    firsts: IntArray = first[own]
    return firsts

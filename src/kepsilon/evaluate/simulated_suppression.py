# SPDX-License-Identifier: Apache-2.0
"""Records to expect suppressed for confident k with several ε-quasis, simulated with whole classes, with their variance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.confident_k import ZeroRule, suppressed_for_confidence
from kepsilon.evaluate.cyclic_classes import CyclicClasses, lay_out
from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.several_attributes import count_in_boxes
from kepsilon.evaluate.simulation import draw_records, generator, parts, unit_noise
from kepsilon.table.arrays import FloatArray, IntArray

_SIMULATED = 200_000
"""Records given noise in a simulation, about."""

_WINDOW = 4096
"""Records of a class that are given noise; the others only if these leave it open whether the class stays."""

_AT_ONCE = 1 << 16
"""Records given noise at a time, about."""


def expected_suppression(
    values: FloatArray,
    class_ids: IntArray,
    *,
    ranges: FloatArray,
    linking_ranges: FloatArray,
    epsilon: float,
    k: int,
    rule: ZeroRule = ZeroRule.TEXT,
    stream: int = 0,
) -> Estimate:
    """How many records to expect suppressed, those with too few originals in reach and whole classes left with too few.

    A record is drawn, its class is given noise from there on, and the share of it that goes is what is counted: summed
    over records, these shares are the records that go. In a large class a part of the records is enough as long as k of
    them stay, for then the class does, whatever becomes of the others. `values` has shape (n_records, n_attributes),
    `ranges` (R) and `linking_ranges` (r_c) have the shape (n_classes, n_attributes); partitions need different `stream`
    numbers.
    """
    if not len(class_ids):
        return Estimate()
    rng, rest = generator(stream).spawn(2)
    sizes = np.bincount(class_ids)
    affordable = _SIMULATED / (np.dot(sizes, np.minimum(sizes, _WINDOW)) / len(class_ids))
    strata = draw_records(len(class_ids), affordable, rng)
    shares = np.empty(strata.chosen.shape)
    for part in parts(values, class_ids, strata, n_classes=len(ranges)):
        reach = linking_ranges[part.classes]
        tells = (ranges[part.classes] > 0) & ~np.isnan(reach)
        crowd = _Crowd(
            classes=lay_out(np.where(tells[part.class_ids].T, part.values, 0.0), part.class_ids, n_classes=len(tells)),
            scales=np.where(tells, ranges[part.classes] / epsilon, 0.0),
            reach=np.where(tells, reach, np.inf),
            k=k,
            rule=rule,
            class_ids=part.class_ids,
            sizes=np.bincount(part.class_ids, minlength=len(tells)),
        )
        shares[part.draws] = crowd.shares_gone(part.chosen, rng=rng, rest=rest)
    return strata.estimate(shares)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Crowd:
    """Some whole classes, ready to be given noise as often as it takes."""

    classes: CyclicClasses
    scales: FloatArray
    """R/ε, 0 where there is no noise, shape (n_classes, n_attributes)."""
    reach: FloatArray
    k: int
    rule: ZeroRule
    class_ids: IntArray
    """Of records, rising."""
    sizes: IntArray
    """Records of each class."""

    def shares_gone(self, starts: IntArray, *, rng: np.random.Generator, rest: np.random.Generator) -> FloatArray:
        """The share that goes of each drawn class: of the records from the start on, as many as a window holds."""
        sizes = self.sizes[self.class_ids[starts]]
        seen = np.minimum(sizes, _WINDOW)
        shares = np.empty(len(starts))
        turns = np.cumsum(seen) // _AT_ONCE
        for turn in np.unique(turns):
            draws = np.flatnonzero(turns == turn)
            lengths = seen[draws]
            firsts = np.cumsum(lengths) - lengths
            in_reach = self._in_reach(starts[draws], np.zeros(len(draws), dtype=np.int64), lengths, rng)
            numbers = np.repeat(np.arange(len(draws)), lengths)
            gone = suppressed_for_confidence(in_reach, numbers, k=self.k, n_classes=len(draws), rule=self.rule)
            shares[draws] = np.add.reduceat(gone, firsts, dtype=np.float64) / lengths
            for i in np.flatnonzero((shares[draws] == 1) & (lengths < sizes[draws])):
                window = in_reach[firsts[i] : firsts[i] + lengths[i]]
                shares[draws[i]] = self._share_of_all(int(starts[draws[i]]), window, rest)
        return shares

    def _share_of_all(self, start: int, in_reach: IntArray, rest: np.random.Generator) -> float:
        """The share that goes of a window, once the others of its class have been given noise too."""
        seen, size = len(in_reach), int(self.sizes[self.class_ids[start]])
        counts = [in_reach]
        for offset in range(seen, size, _AT_ONCE):
            length = min(_AT_ONCE, size - offset)
            counts.append(self._in_reach(np.array([start]), np.array([offset]), np.array([length]), rest))
        every = np.concatenate(counts)
        gone = suppressed_for_confidence(every, np.zeros(size, dtype=np.int64), k=self.k, n_classes=1, rule=self.rule)
        return float(gone[:seen].mean())

    def _in_reach(self, starts: IntArray, offsets: IntArray, lengths: IntArray, rng: np.random.Generator) -> IntArray:
        """ℓ, up to k, of runs of records of a class, given noise: from the offset-th after each start on."""
        along = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        own = np.repeat(self.class_ids[starts], lengths)
        sizes = self.sizes[own]
        firsts = (np.cumsum(self.sizes) - self.sizes)[own]
        records = firsts + (np.repeat(starts + offsets, lengths) - firsts + along) % sizes
        points = self.classes.point_of[records]
        noise = unit_noise(self.scales[own] > 0, rng) * self.scales[own]
        centres = self.classes.points[:, points] + noise.T
        counts, _ = count_in_boxes(self.classes, points, centres, np.ascontiguousarray(self.reach[own].T), cap=self.k)
        return counts

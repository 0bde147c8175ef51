# SPDX-License-Identifier: Apache-2.0
"""Attacks on the records of classes by somebody who holds every original, added up over classes.

Another attacker would be added beside `_attack_records`, which takes the distances of one class and adds up the links and
posteriors of its records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.nearest_links import (
    INDISTINCT,
    Links,
    binary_error_of_distances,
    n_with_own_value,
    nearest_links,
)
from kepsilon.auditing.one_attribute import OrderedClasses
from kepsilon.evaluate.linking.small_classes import attack_small_classes
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

TIE = 1e-9
"""Posteriors that differ by less than this are equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallClass:
    """A class of at most MOST originals, for attackers who link all records of a class together."""

    ranges: FloatArray
    """Range of each ε-quasi, shape (n_epsilon_quasis,)."""
    values: FloatArray
    """Original values, shape (n_originals, n_epsilon_quasis)."""
    published: FloatArray
    """Published values, original by original; of no meaning for an original that was not released."""
    stays: BoolArray
    """Whether each original was released, shape (n_originals,)."""


@dataclass(slots=True)
class AttackSums:
    """What the attackers achieved, added up over classes."""

    n_attacked: int = 0
    nearest: float = 0.0
    """Right links of the nearest-neighbour attacker, a tie of t worth 1/t."""
    paper_ties: float = 0.0
    """Right links of the nearest-neighbour attacker, every tie worth 1, as in the paper."""
    undecided: Links = field(default_factory=Links)
    """What records count for in the two sums above whose links doubles cannot decide."""
    most_undecided: Links = field(default_factory=Links)
    """What these records count for at most; at least it is nothing."""
    n_over_half: int = 0
    """Records whose own original has a posterior above 1/2."""
    n_over_nine_tenths: int = 0
    largest: float = 0.0
    """Largest posterior of a record's own original."""
    n_small: int = 0
    """Records in small classes; the three sums below are links in these."""
    nearest_in_small: float = 0.0
    rank_in_small: float = 0.0
    bayes_in_small: float = 0.0
    largest_by_matching: float = 0.0
    """Largest posterior of a record's own original in small classes, all assignments considered."""
    small: list[SmallClass] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attacked:
    """Some records of a class that are attacked, and all its originals."""

    class_id: int
    published: FloatArray
    """Shape (n_records, n_epsilon_quasis)."""
    originals: IntArray
    """Rows of the input."""
    place: IntArray
    """Where the own original of each record stands among them."""


def attack_classes(sums: AttackSums, case: AuditCase, attacked: Sequence[Attacked]) -> None:
    """Adds up the attacks on some classes: from sorted values where these decide, otherwise from all pairs."""
    if case.noise.values.shape[1] != 1:
        for own in attacked:
            _attack_among(sums, case, own)
        return
    sizes = np.array([len(own.originals) for own in attacked])
    ids = np.repeat(np.arange(len(attacked)), sizes)
    values = case.noise.values[np.concatenate([own.originals for own in attacked]), 0]
    published = np.concatenate([own.published[:, 0] for own in attacked])
    n_records = [len(own.place) for own in attacked]
    place = np.concatenate([own.place for own in attacked]) + np.repeat(np.cumsum(sizes) - sizes, n_records)
    reach = case.noise.ranges[[own.class_id for own in attacked], 0]
    ordered = OrderedClasses.of(values, ids)
    slack = ordered.binary_errors(published, place, reach=reach)
    can = ordered.can_be_ordered(published, place, reach=reach, slack=slack)
    for i in np.flatnonzero(~can).tolist():
        _attack_among(sums, case, attacked[i])
    chosen = np.flatnonzero(np.repeat(can, n_records))
    if chosen.size:
        published, place = published[chosen], place[chosen]
        fair, paper = ordered.links(published, place, reach=reach, slack=slack[chosen])
        sums.n_attacked += len(place)
        sums.nearest += float(fair.sum())
        sums.paper_ties += float(paper.sum())
        _count_probable(sums, ordered.posteriors(published, place, reach=reach, epsilon=case.epsilon))


def _attack_among(sums: AttackSums, case: AuditCase, attacked: Attacked) -> None:
    """Adds up the attacks on the records of a class, from the distances of all pairs of records and originals."""
    values, ranges = case.noise.values[attacked.originals], case.noise.ranges[attacked.class_id]
    published, place = attacked.published, attacked.place
    at_once = max(1, (1 << 22) // len(values))
    for start in range(0, len(place), at_once):
        part = slice(start, start + at_once)
        distances = distances_to_originals(published[part], values, ranges)
        slack = binary_error_of_distances(published[part], values, ranges)
        _attack_records(sums, distances, place[part], slack=slack, epsilon=case.epsilon)
        if len(ranges) == 1 and ranges[0] > 0:
            nearest = INDISTINCT * slack * ranges[0]
            alike = n_with_own_value(values[:, 0], place[part], nearest=nearest)
            _add_undecided(sums, distances, place[part], slack=slack, n_alike=alike)


def is_complete(published: FloatArray, values: FloatArray, ranges: FloatArray) -> bool:
    """Whether no value of an ε-quasi with noise is missing; a tampered release may lack some."""
    active = ranges > 0
    return not (np.isnan(published[:, active]).any() or np.isnan(values[:, active]).any())


def small_class(published: FloatArray, values: FloatArray, ranges: FloatArray, place: IntArray) -> SmallClass:
    """A small class with published values beside their originals; record i is that of original `place[i]`."""
    beside, stays = values.copy(), np.zeros(len(values), dtype=np.bool_)
    beside[place], stays[place] = published, True
    return SmallClass(ranges=ranges, values=values, published=beside, stays=stays)


def distances_to_originals(published: FloatArray, values: FloatArray, ranges: FloatArray) -> FloatArray:
    """Distance of each published record from each original of the class, shape (n_published, n_originals).

    It is the largest distance over the ε-quasis, each in units of the range of the class. An ε-quasi without noise is
    left out, because it has one value throughout the class.
    """
    farthest = np.zeros((len(published), len(values)))
    for j in range(published.shape[1]):
        if ranges[j] > 0:
            distance = np.abs(published[:, j, np.newaxis] - values[:, j]) / ranges[j]
            np.fmax(farthest, distance, out=farthest)  # skips missing values, which tell nothing
    return farthest


def _attack_records(
    sums: AttackSums, distances: FloatArray, own: IntArray, *, slack: FloatArray, epsilon: float
) -> None:
    """Adds up the attacks on single records of a class: links to the nearest original, and posteriors of their own.

    `distances` has shape (n_records, n_originals); `own` is the column of each record's own original.
    """
    fair, paper = nearest_links(distances, own, slack=slack)
    sums.n_attacked += len(own)
    sums.nearest += float(fair.sum())
    sums.paper_ties += float(paper.sum())
    weights = np.exp(-epsilon * (distances - distances.min(axis=1, keepdims=True)))
    _count_probable(sums, weights[np.arange(len(own)), own] / weights.sum(axis=1))


def _add_undecided(
    sums: AttackSums, distances: FloatArray, own: IntArray, *, slack: FloatArray, n_alike: IntArray
) -> None:
    """Adds up the records whose links doubles cannot decide, as they were counted and as they count at most."""
    undecided = np.flatnonzero(n_alike > 0)
    if undecided.size:
        fair, paper = nearest_links(distances[undecided], own[undecided], slack=slack[undecided])
        sums.undecided += Links(float(fair.sum()), float(paper.sum()))
        sums.most_undecided += Links(float((1 / n_alike[undecided]).sum()), float(len(undecided)))


def _count_probable(sums: AttackSums, posterior: FloatArray) -> None:
    """Adds up how many records have an own original that is probable to the attacker."""
    sums.n_over_half += int(np.count_nonzero(posterior > 0.5 * (1 + TIE)))
    sums.n_over_nine_tenths += int(np.count_nonzero(posterior > 0.9 * (1 + TIE)))
    sums.largest = max(sums.largest, float(posterior.max(initial=0.0)))


def attack_small(sums: AttackSums, *, epsilon: float) -> None:
    """Runs the attackers who link all records of a class together, on all small classes at once."""
    if not sums.small:
        return
    found = attack_small_classes(
        np.concatenate([small.values for small in sums.small]),
        np.concatenate([small.published for small in sums.small]),
        np.repeat(np.arange(len(sums.small)), [len(small.values) for small in sums.small]),
        ranges=np.stack([small.ranges for small in sums.small]),
        epsilon=epsilon,
        stays=np.concatenate([small.stays for small in sums.small]),
    )
    sums.rank_in_small = float(found.rank.sum())
    sums.bayes_in_small = float(found.bayes.sum())
    sums.largest_by_matching = float(found.own_posterior.max(initial=0.0))
    sums.small.clear()

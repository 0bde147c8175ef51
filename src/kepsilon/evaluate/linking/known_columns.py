# SPDX-License-Identifier: Apache-2.0
"""Expected links of attackers who know kept columns too: a kept value that they know leaves fewer originals to choose from.

Whoever knows the quasis and a kept column looks, for a released record, only at originals of its class with the same kept
value. Records of one class that agree on what is known form a group. Inside a group the closed form for a class holds, with
the range of the whole class, which set the noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.confident_k.simulated_suppression import Counting
from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.expectations import expect
from kepsilon.evaluate.linking.class_attacks import attack_classes
from kepsilon.evaluate.linking.largest_posterior import largest_of_one
from kepsilon.evaluate.linking.linking_risk import link_gaps
from kepsilon.evaluate.linking.person_links import person_link_sums
from kepsilon.evaluate.noise_law import ExponentialLaw, NoiseLaw
from kepsilon.evaluate.originals.class_values import count_values
from kepsilon.evaluate.originals.members import members_of
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.coded_values import CodedValues, code_values
from kepsilon.table.keys import number
from kepsilon.table.steps import Steps
from kepsilon.threads import each_of

MOST_SUBSETS = 40
"""How many sets of three attributes are tried; all of them where there are no more."""

SUBSET_SIZE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """What one attacker is expected to link at one ε, as a share of the records."""

    share: Estimate
    """Expected share of records linked rightly; its variance is that of sampled classes and of simulation."""
    largest: float
    """The most that any published value can make a record's own original probable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyClasses:
    """The records of some classes, with what sets their noise."""

    class_ids: IntArray
    """Shape (n_records,), 0 … n_classes − 1."""
    values: FloatArray
    """ε-quasis as they get noise, NaN where missing, shape (n_records, n_epsilon_quasis)."""
    low: FloatArray
    """Ends of the ranges, shape (n_classes, n_epsilon_quasis)."""
    high: FloatArray
    mechanism: NoiseLaw
    steps: Sequence[Steps]
    is_sample: bool
    """Whether these are only some of the classes that will be released."""
    persons: IntArray | None = None
    """Whom each record is about, shape (n_records,): attackers name persons then; None where every record is a person."""

    @property
    def n_classes(self) -> int:
        return len(self.low)


def attack_with_known(classes: NoisyClasses, known: Sequence[IntArray], *, epsilons: Sequence[float]) -> list[Attack]:
    """What whoever knows the quasis and some kept columns is expected to link, at each ε.

    `known` holds the codes of the kept columns, −1 for missing, one array of shape (n_records,) for each.
    """
    group_ids, class_of_group = groups_of_known(classes.class_ids, known)
    low, high = classes.low[class_of_group], classes.high[class_of_group]
    law, n_attributes = classes.mechanism.exponential, classes.values.shape[1]
    n = len(group_ids)
    if classes.persons is not None or n_attributes > 1 or (law is None and n_attributes):
        order = np.argsort(group_ids, kind="stable")
        figures = expect(
            classes.values[order],
            [code_values(classes.values[order, 0], precision=classes.steps[0].precision)] if n_attributes == 1 else (),
            group_ids[order],
            mechanism=classes.mechanism,
            low=low,
            high=high,
            steps=classes.steps,
            counting=None if classes.persons is None else Counting(persons=classes.persons[order]),
        ).figures
        found = zip(figures.links(epsilons), figures.largest(epsilons), strict=True)
        return [Attack(share=_with_sampling(links.fair.per(n), classes), largest=largest) for links, largest in found]
    coded, ranges = CodedValues(distinct=np.zeros(1), codes=np.zeros(n, dtype=np.int64)), np.zeros(len(class_of_group))
    if n_attributes and law is not None:
        coded = code_values(classes.values[:, 0], precision=classes.steps[0].precision)
        ranges = (high - low)[:, 0]
    in_groups = count_values(coded, group_ids, n_classes=len(class_of_group))
    sizes = np.bincount(classes.class_ids, minlength=classes.n_classes)
    if law is None:  # without an ε-quasi there is nothing to draw, and every group is worth one link
        n_groups = np.bincount(class_of_group, minlength=classes.n_classes).astype(np.float64)
        share = share_of_sample(n_groups, sizes, is_sample=classes.is_sample)
        return [Attack(share=share, largest=float(1 / in_groups.sizes.min()))] * len(epsilons)
    gaps = link_gaps(in_groups, ranges=ranges, law=law)
    shares = []
    for epsilon in epsilons:
        fair, _ = gaps.by_class(epsilon)
        by_class = np.bincount(class_of_group, weights=fair, minlength=classes.n_classes).astype(np.float64)
        shares.append(share_of_sample(by_class, sizes, is_sample=classes.is_sample))
    largest = largest_of_one(in_groups, ranges=ranges, epsilons=epsilons)
    return [Attack(share=share, largest=most) for share, most in zip(shares, largest, strict=True)]


def links_with_known(
    classes: NoisyClasses, known: Sequence[IntArray], published: FloatArray, stays: BoolArray, *, epsilon: float
) -> float:
    """How many of the released records whoever knows the quasis and some kept columns links.

    `published` has the shape of `classes.values`; `stays`, shape (n_records,), says which records are released. Those that
    were left out for confidence are not linked, but their originals are candidates all the same.
    """
    group_ids, class_of_group = groups_of_known(classes.class_ids, known)
    if classes.persons is not None:
        named = person_link_sums(
            classes.values,
            published,
            group_ids,
            stays,
            members_of(classes.persons, group_ids, n_classes=len(class_of_group)),
            mechanism=classes.mechanism,
            low=classes.low[class_of_group],
            high=classes.high[class_of_group],
            epsilon=epsilon,
            steps=classes.steps,
        )
        return named.fair
    links = attack_classes(
        classes.values,
        published,
        group_ids,
        stays,
        mechanism=classes.mechanism,
        low=classes.low[class_of_group],
        high=classes.high[class_of_group],
        epsilon=epsilon,
        steps=classes.steps,
    )
    return links.fair


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownLinks:
    """What attackers who know kept columns linked in a release; adds up over classes."""

    links: FloatArray
    """Records linked rightly, by attacker, shape (n_attackers,)."""
    n_released: int
    """Released records of the classes that were tried."""

    def __add__(self, other: KnownLinks) -> KnownLinks:
        return KnownLinks(links=self.links + other.links, n_released=self.n_released + other.n_released)


def share_of_sample(links: FloatArray, sizes: IntArray, *, is_sample: bool) -> Estimate:
    """Links per record, from the links and records of each class, two arrays of shape (n_classes,).

    Where the classes are a sample, the variance is that of a ratio of two sums over classes drawn at random.
    """
    n, n_classes = int(sizes.sum()), len(sizes)
    total = float(links.sum() / n)
    if not is_sample or n_classes < 2:
        return Estimate(total=total)
    residuals = links - total * sizes
    return Estimate(total=total, variance=float(n_classes / (n_classes - 1) * np.square(residuals).sum() / n**2))


def variance_of_classes(share: float, sizes: IntArray) -> float:
    """A bound on the variance of a share that was found in some classes, of these sizes, drawn at random.

    At worst the records of a class are linked all together or not at all.
    """
    return share * (1 - share) * float(np.square(sizes, dtype=np.float64).sum()) / float(sizes.sum()) ** 2


def _with_sampling(share: Estimate, classes: NoisyClasses) -> Estimate:
    """A simulated share, with the variance of sampled classes where they are a sample."""
    if not classes.is_sample:
        return share
    sizes = np.bincount(classes.class_ids, minlength=classes.n_classes)
    return share + Estimate(variance=variance_of_classes(min(1.0, share.total), sizes))


def groups_of_known(class_ids: IntArray, known: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """The group of each record, numbered from 0 in the order of classes, and the class of each group."""
    columns = [class_ids, *(codes + 1 for codes in known)]
    sizes = [int(own.max(initial=0)) + 1 for own in columns]
    group_ids, n_groups = number(columns, sizes=sizes, length=len(class_ids))
    class_of_group = np.empty(n_groups, dtype=np.int64)
    class_of_group[group_ids] = class_ids
    return group_ids, class_of_group


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetAttacks:
    """What whoever knows three attributes is expected to link, over all sets of three that were tried."""

    n_tried: int
    n_possible: int
    mean: float
    """Mean over the sets of the share linked."""
    worst: float
    worst_names: tuple[str, ...]
    largest: float | None
    """How sure whoever knows a set without an ε-quasi is of one record, at most; None where no such set was tried."""


def attack_with_three(
    classes: NoisyClasses, columns: Mapping[str, IntArray], epsilon_quasis: Sequence[str], *, epsilon: float
) -> SubsetAttacks | None:
    """What whoever knows any three attributes of a record, and none of the others, is expected to link.

    `columns` holds the codes of what is published without noise: labels of k-quasis and kept columns. A candidate is
    every record that shows the same. `epsilon_quasis` names those of `classes.values`; a set has at most one of them,
    because noise of several is drawn together, and is judged by the law of one. Where persons have several records, sets
    have none, and whoever looks names the person with most records among those that fit. None where nothing can be known.
    """
    law = classes.mechanism.exponential
    is_by_record = classes.persons is None
    noisy = {name: j for j, name in enumerate(epsilon_quasis)} if law is not None and is_by_record else {}
    if not columns and not noisy:
        return None
    subsets, n_possible = chosen_subsets(list(columns), list(noisy))

    def attack(subset: tuple[str, ...]) -> tuple[float, float | None]:
        """The share linked by whoever knows these, and how sure they are of one record, where no noise is in the way."""
        alike, _ = number(
            [columns[name] + 1 for name in subset if name in columns],
            sizes=[int(columns[name].max(initial=0)) + 2 for name in subset if name in columns],
            length=len(classes.class_ids),
        )
        chances = _chances_of_the_most_frequent(alike, classes.persons)
        attribute = next((noisy[name] for name in subset if name in noisy), None)
        if attribute is not None and law is not None:
            return float(_chances_among(classes, alike, attribute, epsilon=epsilon, law=law).mean()), None
        return float(chances.mean()), float(chances.max())

    found = list(each_of(subsets, attack))
    shares = [share for share, _ in found]
    worst = int(np.argmax(shares))
    return SubsetAttacks(
        n_tried=len(subsets),
        n_possible=n_possible,
        mean=float(np.mean(shares)),
        worst=shares[worst],
        worst_names=subsets[worst],
        largest=max((largest for _, largest in found if largest is not None), default=None),
    )


def _chances_of_the_most_frequent(alike: IntArray, persons: IntArray | None) -> FloatArray:
    """The chance that whoever sees records that look alike is right about one of them, for each record."""
    if persons is None:
        chances: FloatArray = 1 / np.bincount(alike)[alike]
        return chances
    members = members_of(persons, alike, n_classes=int(alike.max(initial=-1)) + 1)
    of_group: FloatArray = members.most / members.sizes
    return of_group[alike]


def chosen_subsets(exact: Sequence[str], noisy: Sequence[str]) -> tuple[list[tuple[str, ...]], int]:
    """Sets of three attributes with at most one noisy one, no more than are tried, and how many there are in all.

    Sets are smaller where there are too few attributes. The choice depends on the number of sets alone.
    """
    size = min(SUBSET_SIZE, len(exact) + min(1, len(noisy)))
    n_exact, n_beside = math.comb(len(exact), size), math.comb(len(exact), size - 1)
    n_possible = n_exact + len(noisy) * n_beside
    numbers = range(n_possible)
    if n_possible > MOST_SUBSETS:  # numbers are drawn, because all sets of three of a thousand columns take gigabytes
        drawn = np.random.default_rng(0).choice(n_possible, MOST_SUBSETS, replace=False)
        numbers = np.sort(drawn).tolist()
    subsets = []
    for own in numbers:
        if own < n_exact:
            subsets.append(_combination(exact, size, own))
        else:
            j, place = divmod(own - n_exact, n_beside)
            subsets.append((*_combination(exact, size - 1, place), noisy[j]))
    return subsets, n_possible


def _combination(names: Sequence[str], size: int, place: int) -> tuple[str, ...]:
    """The combination of some names at a place in their lexicographic order."""
    chosen: list[str] = []
    first = 0
    while len(chosen) < size:
        n_with_first = math.comb(len(names) - first - 1, size - len(chosen) - 1)
        if place < n_with_first:
            chosen.append(names[first])
        else:
            place -= n_with_first
        first += 1
    return tuple(chosen)


def _chances_among(
    classes: NoisyClasses, alike: IntArray, attribute: int, *, epsilon: float, law: ExponentialLaw
) -> FloatArray:
    """The chance of each record that the nearest value of one ε-quasi, among records that look alike, is its own.

    The closed form of `LinkGaps` with the noise of each record's own class, since those who look alike may be of several.
    A missing value is known to be missing, so these records are a group of their own.
    """
    values = classes.values[:, attribute]
    is_missing = np.isnan(values)
    filled = np.where(is_missing, 0.0, values)
    order = np.lexsort((filled, is_missing, alike))
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new_group = np.ones(len(order), dtype=np.bool_)
    is_new_group[1:] = (np.diff(alike[order]) != 0) | (np.diff(is_missing[order].astype(np.int8)) != 0)
    is_new[1:] = is_new_group[1:] | (np.diff(filled[order]) != 0)
    point = np.cumsum(is_new) - 1  # the distinct value of each record, in this order
    counts = np.bincount(point)
    at, starts_group = filled[order][is_new], is_new_group[is_new]
    before = np.full(len(at), np.inf)
    before[1:] = np.where(starts_group[1:], np.inf, np.diff(at))
    after = np.append(before[1:], np.inf)
    ranges = (classes.high - classes.low)[classes.class_ids[order], attribute]
    n_active = np.count_nonzero(classes.high > classes.low, axis=1)[classes.class_ids[order]]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        unit = np.where(ranges > 0, epsilon / (2 * ranges), np.inf)
        sides = [np.where(np.isinf(gap[point]), np.inf, gap[point] * unit) for gap in (before, after)]
    kept = [_within(side, n_active, law) for side in sides]
    chances = np.empty(len(order))
    chances[order] = (kept[0] + kept[1]) / 2 / counts[point]
    return chances


def _within(distances: FloatArray, n_active: IntArray, law: ExponentialLaw) -> FloatArray:
    """P(|Z| ≤ t) of one ε-quasi where several may be active, in units of R/ε; 1 where the distance is infinite."""
    found = np.ones(len(distances))
    for d in np.unique(n_active[n_active > 0]).tolist():
        own = (n_active == d) & np.isfinite(distances)
        found[own] = 1 - np.exp(-distances[own]) * law.exceeding_factor(distances[own], d=d)
    return found

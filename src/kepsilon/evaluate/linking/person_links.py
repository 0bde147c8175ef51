# SPDX-License-Identifier: Apache-2.0
"""Links to the right person, where a person may have several records in a class.

The attacker knows the quasis of everybody's records, considers one released record at a time, and names the person whose
originals in its class are together the likeliest. A tie of t persons counts as 1/t of a link; by the paper's rule every
tie is a link. Where nothing in a class has noise, the likeliest person is who has most records there.

In a class where nobody has two records this is the attacker who picks an original, for whom there are closed forms; here
are the other classes. Before noise is drawn, links are simulated. For exponential noise they are those of values that are
not yet rounded to the precision or clamped to a domain, as closed forms are; for other mechanisms those of its own draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.linking.linking_risk import ABOVE, ExpectedLinks, LinkSums
from kepsilon.evaluate.linking.several_attributes import by_record, in_units_of_ranges
from kepsilon.evaluate.linking.simulated_links import COMPARISONS, LIKELIHOODS
from kepsilon.evaluate.noise_law import ExponentialLaw, NoiseLaw
from kepsilon.evaluate.originals.members import MemberPoints, Members, Pairs, member_points
from kepsilon.evaluate.simulation import PERSONS, SimulatedBytes, Strata, generator, sample_records
from kepsilon.policy.roles import fraction
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.steps import Steps

_TIE = 1 - 1e-9
"""Sums of likelihoods that differ by no more than this factor, which is rounding, are equal."""

_FEWEST = 64
"""Released records of a class that are attacked, at least, if it has as many."""

_REALISED = 25_000_000
"""Comparisons of a released record with an original, in all classes together, about; more where there are many records."""
_FEWEST_COMPARISONS = 32
"""Comparisons of each record on average that are always made."""


def comparisons_of_a_record(n_records: int) -> int:
    """How many originals a released record may be compared with on average, where there are so many records in all."""
    return max(_FEWEST_COMPARISONS, _REALISED // max(1, n_records))


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonAttack:
    """An attacker of some whole classes who names persons, and all that the attacker knows."""

    originals: MemberPoints
    places: FloatArray | None
    """The points of `originals` in units of the range, shape (n_attributes, n_points); None if noise is not exponential."""
    mechanism: NoiseLaw
    low: FloatArray
    """Lower ends of the ranges that set the noise, shape (n_classes, n_attributes); 0 where values are missing."""
    high: FloatArray
    """Upper ends of the ranges, shaped like `low`."""
    steps: Sequence[Steps]

    @classmethod
    def of(
        cls,
        values: FloatArray,
        members: Members,
        *,
        mechanism: NoiseLaw,
        low: FloatArray,
        high: FloatArray,
        steps: Sequence[Steps],
    ) -> PersonAttack:
        """The attacker who knows the values that got noise, shape (n_records, n_attributes)."""
        attack = cls(
            originals=member_points(values, members),
            places=None,
            mechanism=mechanism,
            low=np.nan_to_num(low),
            high=np.nan_to_num(high),
            steps=steps,
        )
        if mechanism.exponential is None and values.shape[1]:
            return attack
        class_ids = np.repeat(np.arange(len(low)), attack.originals.n_points)
        return replace(attack, places=attack._places(attack.originals.points, class_ids))

    def weigh(self, published: FloatArray, class_ids: IntArray, own: IntArray, *, epsilon: float) -> WeighedPersons:
        """Likelihoods of the persons of each record's class.

        `published` has shape (n_records, n_attributes); `class_ids` says the class of each record, and `own` the number of
        the member whom it is about, both of shape (n_records,).
        """
        published = np.nan_to_num(published)
        if self.places is not None:
            published = self._places(published, class_ids)
        best, n_best, total, own_weight = np.empty((4, len(class_ids)))
        first_member = self.originals.class_starts[class_ids]
        for pairs in self.originals.pairs(class_ids):
            rows = pairs.rows
            weights = self._log_likelihoods(pairs, published, class_ids, epsilon)
            largest = np.maximum.reduceat(weights, pairs.begins)
            weights -= np.repeat(largest, np.diff(pairs.begins, append=len(weights)))
            np.exp(weights, out=weights)
            weights *= self.originals.counts.take(pairs.points)
            persons = np.add.reduceat(weights, pairs.member_starts)
            best[rows] = np.maximum.reduceat(persons, pairs.member_begins)
            total[rows] = np.add.reduceat(persons, pairs.member_begins)
            lengths = np.diff(pairs.member_begins, append=len(persons))
            n_best[rows] = np.add.reduceat(persons >= np.repeat(best[rows], lengths) * _TIE, pairs.member_begins)
            own_weight[rows] = persons[pairs.member_begins + own[rows] - first_member[rows]]
        return WeighedPersons(best=best, n_best=n_best, total=total, own=own_weight)

    def _places(self, values: FloatArray, class_ids: IntArray) -> FloatArray:
        """Values in units of the range, 0 where there is no noise; from shape (n, n_attributes) to (n_attributes, n)."""
        low = by_record(self.low, class_ids)
        return in_units_of_ranges(np.ascontiguousarray(values.T), low, by_record(self.high, class_ids) - low)

    def _log_likelihoods(self, pairs: Pairs, published: FloatArray, class_ids: IntArray, epsilon: float) -> FloatArray:
        """ln P(published | original) of pairs, less what all originals of a class share, shape (n_pairs,).

        `published` are places where noise is exponential, of shape (n_attributes, n_records), and otherwise values.
        """
        if self.places is None:
            ids = class_ids[pairs.row_of]
            return self.mechanism.log_likelihoods(
                published[pairs.row_of],
                self.originals.points[pairs.points],
                self.low[ids],
                self.high[ids],
                epsilon=epsilon,
                steps=self.steps,
            )
        farthest = np.zeros(len(pairs.points))
        for centres, places in zip(published, self.places, strict=True):
            far = places.take(pairs.points)
            far -= centres.take(pairs.row_of)
            np.maximum(farthest, np.abs(far, out=far), out=farthest)
        farthest *= -epsilon
        return farthest


@dataclass(frozen=True, slots=True, kw_only=True)
class WeighedPersons:
    """Likelihoods of the persons of a class, given what was published of each record; all have shape (n_records,).

    They are divided by the largest likelihood of a single original.
    """

    best: FloatArray
    """The largest sum of one person's originals."""
    n_best: FloatArray
    """How many persons have the largest sum."""
    total: FloatArray
    """The sum of all originals of the class."""
    own: FloatArray
    """The sum of the originals of the person whom the record is about."""

    @property
    def is_link(self) -> BoolArray:
        """Whether the record's own person is among the likeliest."""
        found: BoolArray = self.own >= self.best * _TIE
        return found

    @property
    def posterior(self) -> FloatArray:
        """The posterior of the record's own person."""
        posterior: FloatArray = self.own / self.total
        return posterior


def person_link_sums(
    values: FloatArray,
    published: FloatArray,
    class_ids: IntArray,
    stays: BoolArray,
    members: Members,
    *,
    mechanism: NoiseLaw,
    low: FloatArray,
    high: FloatArray,
    epsilon: float,
    steps: Sequence[Steps],
    comparisons: float = math.inf,
) -> LinkSums:
    """Realised links of the records that stay; arguments as for `tally.realise`, with `published` shaped like `values`.

    Originals of records that do not stay are candidates all the same. Every released record is attacked, as long as that
    takes at most `comparisons` comparisons for each record of a class. In larger classes as many records as that pays for
    are attacked, evenly spread over the class in the order of its values, at least 64; links and numbers of records are
    scaled up, and the largest posterior is that of the records attacked.
    """
    attack = PersonAttack.of(values, members, mechanism=mechanism, low=low, high=high, steps=steps)
    released = np.flatnonzero(stays)
    released = released[np.lexsort((*np.nan_to_num(values[released]).T, class_ids[released]))]
    ids = class_ids[released]
    n_released = np.bincount(ids, minlength=len(low))
    n_points = np.maximum(attack.originals.n_points, 1)
    share = np.minimum(comparisons / n_points, 1.0)
    n_attacked = np.minimum(n_released, np.maximum(np.ceil(n_released * share), _FEWEST)).astype(np.int64)
    firsts = np.cumsum(n_released) - n_released
    along = np.arange(int(n_attacked.sum())) - np.repeat(np.cumsum(n_attacked) - n_attacked, n_attacked)
    own_classes = np.repeat(np.arange(len(low)), n_attacked)
    chosen = released[firsts[own_classes] + along * n_released[own_classes] // np.maximum(n_attacked[own_classes], 1)]
    found = attack.weigh(published[chosen], own_classes, members.of_record[chosen], epsilon=epsilon)
    weights = (n_released / np.maximum(n_attacked, 1))[own_classes]
    return LinkSums(
        fair=float(np.dot(weights, found.is_link / found.n_best)),
        paper=float(np.dot(weights, found.is_link)),
        largest=float(found.posterior.max(initial=0.0)),
        n_over_half=round(float(np.dot(weights, found.posterior > 0.5 * ABOVE))),
        n_over_nine_tenths=round(float(np.dot(weights, found.posterior > 0.9 * ABOVE))),
    )


def expected_person_links(
    values: FloatArray,
    class_ids: IntArray,
    members: Members,
    *,
    mechanism: NoiseLaw,
    low: FloatArray,
    high: FloatArray,
    steps: Sequence[Steps],
    epsilons: Sequence[float],
    stream: int = 0,
    share: float = 1.0,
) -> list[ExpectedLinks]:
    """Expected links of some whole classes, for each ε; `stream` and `share` as in `simulation.Block`.

    Records have to be in the order of their classes. The probability that the attacker is right is averaged, not whether
    he is right: both have the same expectation, because a published value might come from any record of the class.
    Classes without noise need no simulation.
    """
    is_active = np.any(high > low, axis=1)
    exact = float(members.most[~is_active].sum())
    n_best = _n_with_most(members)
    by_ties = float(np.minimum(members.most * n_best, members.sizes)[~is_active].sum())
    links = ExpectedLinks(fair=Estimate(total=exact), paper=Estimate(total=by_ties))
    moved = np.flatnonzero(is_active[class_ids])
    if not moved.size:
        return [links] * len(epsilons)
    attack = PersonAttack.of(values, members, mechanism=mechanism, low=low, high=high, steps=steps)
    sizes = attack.originals.n_points[class_ids[moved]].astype(np.float64)
    rng = generator(stream, PERSONS)
    affordable = COMPARISONS if mechanism.exponential is not None else LIKELIHOODS
    strata = sample_records(len(moved), affordable / sizes.mean(), rng, share=share)
    chosen = moved[strata.chosen.reshape(-1)]
    sampled = _Sampled(values=values[chosen], class_ids=class_ids[chosen], own=members.of_record[chosen])
    law = mechanism.exponential
    noise = None if law is None else _unit_noise(sampled, low, high, law=law, rng=rng)
    return [
        links + _links_at(attack, sampled, strata, noise=noise, epsilon=epsilon, stream=stream) for epsilon in epsilons
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sampled:
    """Sampled records, one row each."""

    values: FloatArray
    class_ids: IntArray
    own: IntArray
    """The number of the member whom each is about."""


def _unit_noise(
    sampled: _Sampled, low: FloatArray, high: FloatArray, *, law: ExponentialLaw, rng: np.random.Generator
) -> FloatArray:
    """Noise of the sampled records at ε = 1, shaped like their values."""
    widths = np.nan_to_num(high - low)[sampled.class_ids]
    noise: FloatArray = law.unit_noise(widths > 0, rng) * widths
    return noise


def _links_at(
    attack: PersonAttack, sampled: _Sampled, strata: Strata, *, noise: FloatArray | None, epsilon: float, stream: int
) -> ExpectedLinks:
    """Links at one ε, estimated from the sampled records; `noise` is None where the mechanism draws."""
    if noise is not None:
        published = sampled.values + noise / epsilon
    else:
        published = attack.mechanism.draw(
            np.nan_to_num(sampled.values),
            sampled.class_ids,
            attack.low,
            attack.high,
            epsilon=fraction(epsilon),
            steps=attack.steps,
            # Independent of which records were sampled, and the same for every ε.
            source=SimulatedBytes(generator(stream, PERSONS).spawn(1)[0]),
        )
    found = attack.weigh(published, sampled.class_ids, sampled.own, epsilon=epsilon)
    fair = (found.best / found.total).reshape(strata.chosen.shape)
    paper = np.minimum(fair * found.n_best.reshape(fair.shape), 1.0)
    return ExpectedLinks(fair=strata.estimate(fair), paper=strata.estimate(paper))


def _n_with_most(members: Members) -> IntArray:
    """How many persons of each class have as many records there as nobody exceeds, shape (n_classes,)."""
    has_most = members.counts == members.most[members.class_ids]
    n_with_most: IntArray = np.bincount(members.class_ids[has_most], minlength=members.n_classes)
    return n_with_most

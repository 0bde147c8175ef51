# SPDX-License-Identifier: Apache-2.0
"""Tests that the noise was drawn anew for every record, and tells nothing but itself, where a linkage is given.

Under the claim the residuals of `residuals` are independent and uniform, whatever else is known about the records. So
nothing that was fixed before noise was drawn (class, row, place in the class, kept values) can go with their direction
or their size, no two can agree more closely than chance has it, and no part of the records can have smaller ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.claimed_law import lattice_share
from kepsilon.auditing.grouped import mean_ranks, numbered_groups
from kepsilon.auditing.noise_law import whole_units
from kepsilon.auditing.order import correlation_probability, sorting_ranks
from kepsilon.auditing.residuals import Residuals, released_as
from kepsilon.auditing.tail_bounds import chernoff_bound, cosine_bound, linear_bound, pairs_bound, product_bounds
from kepsilon.policy.roles import fraction
from kepsilon.table.arrays import FloatArray, IntArray

N_FREQUENCIES = 32
"""Frequencies at which values of the noise that come again and again are looked for."""

NEAREST = tuple(2.0**-i for i in range(3, 21))
"""Distances below which two residuals of a group count as equal, each tried."""

SMALLER = tuple((share, factor) for share in (0.03, 0.1, 0.3, 0.9) for factor in (1.5, 2.0, 4.0, 16.0))
"""Alternatives to the claim: share of the records whose noise is smaller, and by what factor."""

CONCERNED = tuple(2.0**-i for i in range(1, 17))
"""Shares of the groups whose noise may be smaller, each tried."""

N_BLOCKS = (4, 16, 64)
"""Numbers of stretches that the rows of the input are divided into."""

MOST_COPIED, MOST_PLACES = 512, 512
"""Classes, and places in each, that are compared with each other at most."""

LATTICE_SLACK = 1 + 2.0**-6
"""How much likelier the noise's own steps make a small distance, at most, where the precision is 2²⁴ steps wide."""

Suspicions = dict[str, float]
"""Bound on the probability, under the claim, of what was found, by what it would mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Direction and size of the noise of some originals, both uniform on −1 to 1, NaN where it was not released."""

    rows: IntArray
    direction: FloatArray
    size: FloatArray

    @property
    def both(self) -> Mapping[str, FloatArray]:
        """The two by their names in messages."""
        return {"direction": self.direction, "size": self.size}


def check_patterns(case: AuditCase, by_name: Mapping[str, Residuals]) -> None:
    """Tests the noise on each ε-quasi for every pattern at once, and adds one finding for each ε-quasi."""
    found = {name: _suspicions(case, residuals) for name, residuals in by_name.items()}
    n_tests = sum(map(len, found.values()))
    if not n_tests:
        return
    if case.policy.confidence is not None:
        # Whether classes were taken out decides which records and which tests there are; each way has half the chance.
        n_tests *= 2
    level = case.false_alarms.level("patterns", n_tests=n_tests)
    for name, suspicions in found.items():
        faults = [what for what, probability in suspicions.items() if probability < level]
        case.findings.require(
            not faults,
            "noise",
            right=f"{name}: {len(suspicions)} ways in which noise could be shared, repeated, thinner for some or tell "
            "something else, and none shows.",
            wrong=f"the noise on {name} is not drawn anew, and alike, for every record: {'; '.join(faults)}.",
        )


def _suspicions(case: AuditCase, residuals: Residuals) -> Suspicions:
    """Every test of one ε-quasi. Which tests are made depends on the originals and the policy, not on the noise."""
    in_classes = _observed(residuals.rows, residuals.uniform)
    blank = np.full(len(residuals.elsewhere), np.nan)
    everybody = _observed(
        np.concatenate([residuals.rows, residuals.elsewhere]), np.concatenate([residuals.uniform, blank])
    )
    return {
        **_within_classes(case, residuals, in_classes),
        **_across_classes(case, residuals, everybody, in_classes),
        **_against_columns(case, everybody),
        **_against_order(case, in_classes),
    }


def _observed(rows: IntArray, uniform: FloatArray) -> Observed:
    direction = 2 * uniform - 1
    return Observed(rows=rows, direction=direction, size=2 * np.abs(direction) - 1)


def _within_classes(case: AuditCase, residuals: Residuals, observed: Observed) -> Suspicions:
    """Noise shared by records of a class, in pairs of opposite sign, or smaller in some classes."""
    # Classes that are not in the release were taken out by their noise; they have at least k records each.
    n_absent = residuals.n_elsewhere // case.policy.k
    # But not k draws, where records of a person share one.
    ids, k = residuals.class_ids, 2 if case.policy.draws_once_per_person else case.policy.k
    direction, size = observed.direction, observed.size
    return {
        "records of a class share it": shared_probability(direction, ids, n_absent=n_absent, least=k),
        "records of a class have opposite noise": shared_probability(
            direction, ids, n_absent=n_absent, least=k, opposite=True
        ),
        "records of a class share its size": shared_probability(size, ids, n_absent=n_absent, least=k),
        "it is the same for some records of a class": ties_probability(
            size, ids, lattice=lattice_share(case), n_elsewhere=residuals.n_elsewhere
        ),
        "it is smaller in some classes": thinner_probability(size, ids, lattice=lattice_share(case), n_absent=n_absent),
    }


def _across_classes(case: AuditCase, residuals: Residuals, everybody: Observed, in_classes: Observed) -> Suspicions:
    """Noise that comes again in other classes, or follows the place in the class, or is smaller for some records."""
    n_elsewhere, lattice = residuals.n_elsewhere, lattice_share(case)
    suspicions = {
        "the same values of it come again and again": repeated_probability(residuals.uniform, n_elsewhere=n_elsewhere),
        "it is the same for records of different classes": ties_probability(
            in_classes.size, np.zeros(len(in_classes.rows), dtype=np.int64), lattice=lattice, n_elsewhere=n_elsewhere
        ),
        "it is smaller for some of the records": thinner_probability(
            everybody.size, np.zeros(len(everybody.rows), dtype=np.int64), lattice=lattice
        ),
    }
    orders = {"by row": residuals.rows.astype(np.float64)}
    for name, values in case.original.numbers.items():
        orders[f"by {name}"] = values[residuals.rows]
    # The places of absent classes are not known, and each of them may be in any group.
    for how, values in orders.items():
        place = places_in_groups(np.nan_to_num(values), residuals.class_ids)
        for what, own in in_classes.both.items():
            if not residuals.n_elsewhere:
                suspicions[f"the same place in the class ({how}) has the same {what}"] = shared_probability(own, place)
                suspicions[f"two classes have the same {what}, place by place ({how})"] = copied_probability(
                    own, residuals.class_ids, place
                )
            relative = _relative_places(place, residuals.class_ids)
            suspicions[f"its {what} follows the place in the class ({how})"] = follows_probability(
                own, relative, n_elsewhere=n_elsewhere
            )
    return suspicions


def _against_columns(case: AuditCase, everybody: Observed) -> Suspicions:
    """Noise that goes with the row of the input, or with a value of the record that is published or generalised.

    Ranks are those among all originals, so that they do not depend on who was taken out.
    """
    suspicions: Suspicions = {}
    rows, n_originals = everybody.rows, case.original.n_records
    ordered: dict[str, FloatArray] = {"the row of the input": np.arange(n_originals, dtype=np.float64)}
    for name, values in case.original.numbers.items():
        ordered[name] = np.nan_to_num(values)
    groups: dict[str, IntArray] = {"whether the row of the input is even": rows % 2, **last_digits(case, rows)}
    for n_blocks in N_BLOCKS:
        groups[f"the part of the input, of {n_blocks}"] = rows * n_blocks // max(1, n_originals)
    for name in (*case.policy.kept, *case.original.domains):
        texts, codes = case.original.table.texts(name)
        groups[name] = codes[rows]
        ordered[f"the order of {name}"] = sorting_ranks(texts)[codes]
    ranks = {name: _centred_ranks(values)[rows] for name, values in ordered.items()}
    for what, own in everybody.both.items():
        for name, weights in ranks.items():
            suspicions[f"its {what} follows {name}"] = follows_probability(own, weights)
        for name, ids in groups.items():
            suspicions[f"its {what} depends on {name}"] = shared_probability(own, ids)
            suspicions[f"its {what} is special for one value of {name}"] = special_probability(own, ids)
    thinner = thinner_probabilities(everybody.size, groups, lattice=lattice_share(case))
    suspicions |= {f"it is smaller for some values of {name}": found for name, found in thinner.items()}
    return suspicions


def last_digits(case: AuditCase, rows: IntArray) -> Mapping[str, IntArray]:
    """The last digit, in units of the precision, of each ε-quasi of the originals in `rows`."""
    digits = {}
    for name, attribute in case.policy.epsilon_quasis.items():
        units = whole_units(np.nan_to_num(case.original.numbers[name][rows]), fraction(attribute.precision))
        digits[f"the last digit of {name} in the input"] = np.mod(units, 10).astype(np.int64)
    return digits


def _against_order(case: AuditCase, observed: Observed) -> Suspicions:
    """Noise that goes with the place in the release; the release is in random order, whichever records are in it."""
    released = ~np.isnan(observed.direction)
    places = released_as(case)[observed.rows[released]].astype(np.float64)
    return {
        f"its {what} follows the row of the release": correlation_probability(own[released], places)
        for what, own in observed.both.items()
    }


# The tests. Values are uniform on −1 to 1 under the claim, NaN where they were taken out.


def shared_probability(
    values: FloatArray, ids: IntArray, *, n_absent: int = 0, least: int = 2, opposite: bool = False
) -> float:
    """Bound on the probability that values agree so much (or differ so much, if `opposite`) within groups.

    The statistic is Σ_{i<j} v_i·v_j/(m − 1), summed over groups of m, of which Σ_{i<j} v_i·v_j = ½[(Σv)² − Σv²].
    If h values of a group are missing, Σv lies within h of the sum of the others, and each missing v² within 0 to 1.
    Besides, `n_absent` groups of at least `least` values may be missing as a whole. Such a group adds −1 at least, since
    (Σv)² ≥ 0 and Σv² ≤ m ≤ 2(m − 1), and ½m·m/(m − 1) at most; and the smaller a group, the wider is the bound.
    """
    ids, sizes = numbered_groups(ids)
    is_seen = ~np.isnan(values)
    n_seen = np.bincount(ids[is_seen], minlength=len(sizes))
    total = np.bincount(ids[is_seen], weights=values[is_seen], minlength=len(sizes))
    squares = np.bincount(ids[is_seen], weights=values[is_seen] ** 2, minlength=len(sizes))
    n_hidden = sizes - n_seen
    several = sizes > 1
    rest = (sizes[several] - 1).astype(np.float64)
    away, hidden = np.abs(total[several]), n_hidden[several]
    if opposite:
        if n_absent:
            return 1.0  # nothing bounds how high the products of an absent class may sum
        by_group = ((away + hidden) ** 2 - squares[several]) / 2 / rest
        return pairs_bound(float(by_group.sum()), sizes[several], above=False)
    by_group = (np.maximum(0.0, away - hidden) ** 2 - squares[several] - hidden) / 2 / rest
    statistic = float(by_group.sum()) - n_absent
    return pairs_bound(statistic, np.append(sizes[several], np.full(n_absent, max(2, least))), above=True)


def ties_probability(values: FloatArray, ids: IntArray, *, lattice: float, n_elsewhere: int = 0) -> float:
    """Bound on the probability that so many values have a neighbour so near within their group.

    Sorted, m values have m − 1 gaps between them. For values uniform on an interval of length 1 a gap exceeds δ with
    probability (1 − δ)^m, and gaps are negatively associated (a Dirichlet law; Joag-Dev and Proschan 1983), so that
    Chernoff's bound holds for the number of gaps below δ. A value that was taken out can only divide a gap in two, and so
    never lowers that number. Values of absent groups add none here; as one group they would add most to what is expected.
    """
    ids, sizes = numbered_groups(ids)
    is_seen = ~np.isnan(values)
    order = np.lexsort((values[is_seen], ids[is_seen]))
    own, sorted_values = ids[is_seen][order], values[is_seen][order]
    gaps = np.diff(sorted_values)[own[1:] == own[:-1]] / 2
    sizes, counts = np.unique(np.append(sizes, max(1, n_elsewhere)), return_counts=True)
    smallest = 1.0
    for near in NEAREST:
        chance = -np.expm1(sizes * np.log1p(-near))
        expected = float((counts * (sizes - 1) * np.minimum(1.0, chance + sizes * lattice)).sum())
        found = int(np.count_nonzero(gaps <= near))
        smallest = min(smallest, chernoff_bound(found, expected * LATTICE_SLACK))
    return min(1.0, len(NEAREST) * smallest)


def repeated_probability(uniform: FloatArray, *, n_elsewhere: int = 0) -> float:
    """Bound on the probability that values, uniform on 0 to 1 under the claim, gather so much in the same places.

    If a few values come again and again, many of the sums Σ cos(πku), k = 1, 2, …, are far from 0. A value that was taken
    out changes a sum by 1 at most.
    """
    own = uniform[~np.isnan(uniform)]
    n = len(uniform) + n_elsewhere
    n_gone = n - len(own)
    # cos(kx) = 2·cos(x)·cos((k − 1)x) − cos((k − 2)x), which spares most of the cosines.
    before, now = np.ones(len(own)), np.cos(np.pi * own)
    first = now
    smallest = 1.0
    for _ in range(N_FREQUENCIES):
        smallest = min(smallest, cosine_bound(abs(float(now.sum())) - n_gone, n))
        before, now = now, 2 * first * now - before
    return min(1.0, N_FREQUENCIES * smallest)


def follows_probability(values: FloatArray, weights: FloatArray, *, n_elsewhere: int = 0) -> float:
    """Bound on the probability that |Σ weight·value| is so large; weights lie between −1 and 1 and are fixed beforehand.

    A value that was taken out changes the sum by its weight at most; `n_elsewhere` of them have unknown weights.
    """
    is_seen = ~np.isnan(values)
    size = abs(float(weights[is_seen] @ values[is_seen])) - float(np.abs(weights[~is_seen]).sum()) - n_elsewhere
    return linear_bound(size, squares=float(weights @ weights) + n_elsewhere)


def copied_probability(values: FloatArray, ids: IntArray, places: IntArray) -> float:
    """Bound on the probability that any two groups have values so alike, or so opposite, place by place.

    It is the smallest bound over all pairs of groups, times their number. Of many groups the first MOST_COPIED are compared,
    of large ones the first MOST_PLACES places. A value that was taken out changes a sum by 1 at most.
    """
    ids, sizes = numbered_groups(ids)
    n_groups = min(len(sizes), MOST_COPIED)
    if n_groups < 2:
        return 1.0
    inside = (ids < n_groups) & (places < MOST_PLACES)
    table = np.zeros((n_groups, min(MOST_PLACES, int(sizes[:n_groups].max()))))
    table[ids[inside], places[inside]] = np.nan_to_num(values[inside])
    is_hidden = np.zeros_like(table)
    is_hidden[ids[inside], places[inside]] = np.isnan(values[inside])
    sizes = np.minimum(sizes[:n_groups], MOST_PLACES).astype(np.float64)
    hidden = is_hidden.sum(axis=1)
    sums = np.abs(table @ table.T) - hidden[:, np.newaxis] - hidden
    bounds = product_bounds(sums, np.minimum(sizes[:, np.newaxis], sizes))
    first, second = np.triu_indices(n_groups, k=1)
    return min(1.0, len(first) * float(bounds[first, second].min()))


def special_probability(values: FloatArray, ids: IntArray) -> float:
    """Bound on the probability that the values of any one group sum so far from 0: the smallest, times the groups."""
    ids, sizes = numbered_groups(ids)
    is_seen = ~np.isnan(values)
    n_hidden = sizes - np.bincount(ids[is_seen], minlength=len(sizes))
    size = np.abs(np.bincount(ids[is_seen], weights=values[is_seen], minlength=len(sizes))) - n_hidden
    best = int(np.argmax(np.maximum(0.0, size) ** 2 / sizes))
    return min(1.0, len(sizes) * linear_bound(float(size[best]), squares=float(sizes[best])))


def thinner_probability(size: FloatArray, ids: IntArray, *, lattice: float, n_absent: int = 0) -> float:
    """Bound on the probability that noise is so much more often small, in any or several of the groups.

    With t = (size + 1)/2, noise that is f times smaller for a share π of the records has the density
    1 − π + π·f·(1 − t)^(f−1) of t, where the claim has 1. The product of these densities over a group has mean 1 under
    the claim, and so has its mean over alternatives (π, f); groups are put together by `evidence_bound`. A value that was
    taken out counts with the smallest density, 1 − π.
    """
    return thinner_probabilities(size, {"": ids}, lattice=lattice, n_absent=n_absent)[""]


def thinner_probabilities(
    size: FloatArray, groups: Mapping[str, IntArray], *, lattice: float, n_absent: int = 0
) -> dict[str, float]:
    """`thinner_probability` of each of several ways to put the same records into groups; densities are found once."""
    is_seen = ~np.isnan(size)
    rest = np.log(np.maximum((1 - size[is_seen]) / 2, 1e-300))
    powers = {factor: factor * np.exp((factor - 1) * rest) for _, factor in SMALLER}
    numbered = {name: numbered_groups(ids) for name, ids in groups.items()}
    seen = {name: ids[is_seen] for name, (ids, _) in numbered.items()}
    n_hidden = {name: sizes - np.bincount(seen[name], minlength=len(sizes)) for name, (_, sizes) in numbered.items()}
    of_group = {name: np.full(len(sizes), -np.inf) for name, (_, sizes) in numbered.items()}
    for share, factor in SMALLER:
        each = np.log1p(share * (powers[factor] - 1))
        for name, (_, sizes) in numbered.items():
            by_group = np.bincount(seen[name], weights=each, minlength=len(sizes))
            by_group = by_group + n_hidden[name] * np.log1p(-share)
            # The noise's own steps move the distribution function by `lattice` at most, and so the mean by that times f.
            by_group -= sizes * (2 * share * factor * lattice)
            of_group[name] = np.logaddexp(of_group[name], by_group - np.log(len(SMALLER)))
    return {name: evidence_bound(own, n_absent=n_absent) for name, own in of_group.items()}


def evidence_bound(of_group: FloatArray, *, n_absent: int = 0) -> float:
    """Bound on the probability of so much evidence, from logarithms of variables e whose means are 1 at most.

    Groups are independent, so Π (1 − ρ + ρ·e) has a mean of 1 at most, and so has its mean over ρ, the share of the groups
    that are concerned. By Markov's inequality it reaches x with probability 1/x at most. An absent group has e = 0.
    """
    together = -np.inf
    for concerned in CONCERNED:
        rest_of_groups = np.log1p(-concerned)
        evidence = np.logaddexp(rest_of_groups, np.log(concerned) + of_group).sum() + n_absent * rest_of_groups
        together = np.logaddexp(together, evidence - np.log(len(CONCERNED)))
    return float(np.exp(min(0.0, -together)))


def places_in_groups(values: FloatArray, ids: IntArray) -> IntArray:
    """Place of each value among those of its group, from 0; equal values stand as they do in `values`."""
    order = np.lexsort((values, ids))
    is_first = np.diff(ids[order], prepend=-1) != 0
    position = np.arange(len(ids))
    places = np.empty(len(ids), dtype=np.int64)
    places[order] = position - np.maximum.accumulate(np.where(is_first, position, 0))
    return places


def _relative_places(places: IntArray, ids: IntArray) -> FloatArray:
    """Places in groups as numbers from −1 for the first to 1 for the last; 0 where a group has one member."""
    ids, sizes = numbered_groups(ids)
    last = np.maximum(1, sizes[ids] - 1)
    return np.where(sizes[ids] > 1, 2 * places / last - 1, 0.0)


def _centred_ranks(values: FloatArray) -> FloatArray:
    """Ranks as numbers from −1 to 1 with mean 0; equal values share the mean of their ranks."""
    ranks = mean_ranks(values)
    centred: FloatArray = (ranks - ranks.mean()) / max(1.0, len(values) / 2)
    return centred

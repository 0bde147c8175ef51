# SPDX-License-Identifier: Apache-2.0
"""Bounds on the probability that honest noise shows a pattern as clearly as a release does.

Under the claim the values given are independent and uniform on −1 to 1; NaN stands for those that were taken out.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kepsilon.auditing.grouped import numbered_groups
from kepsilon.auditing.tail_bounds import chernoff_bound, cosine_bound, linear_bound, pairs_bound, product_bounds
from kepsilon.table.arrays import FloatArray, IntArray

N_FREQUENCIES = 32
"""Frequencies at which values of the noise that come again and again are looked for."""

NEAREST = tuple(2.0**-i for i in range(3, 21))
"""Distances below which two residuals of a group count as equal, each tried."""

SMALLER = tuple((share, factor) for share in (0.03, 0.1, 0.3, 0.9) for factor in (1.5, 2.0, 4.0, 16.0))
"""Alternatives to the claim: share of the records whose noise is smaller, and by what factor."""

CONCERNED = tuple(2.0**-i for i in range(1, 17))
"""Shares of the groups whose noise may be smaller, each tried."""

MOST_COPIED, MOST_PLACES = 512, 512
"""Classes, and places in each, that are compared with each other at most."""

LATTICE_SLACK = 1 + 2.0**-6
"""How much likelier the noise's own steps make a small distance, at most, where the precision is 2²⁴ steps wide."""


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

# SPDX-License-Identifier: Apache-2.0
"""Tests whether averages keep the sum of every class, where noise or draws of records lie on them.

The published values of a class sum to its originals, half a unit of the precision for each record and what was drawn. On the
sum of G groups noise of scale b = R/ε is drawn G times. One coordinate of the noise of d ε-quasis, in units of b, has
E e^(λz) = ((1 − λ)^(−d) − (1 + λ)^(−d))/(2λd), which is 1/(1 − λ²) for d = 1, so that P(|Σz| ≥ t) ≤ 2·e^(−λt)·(E e^(λz))^G.
For d = 1 the sum has the law of the difference of two gamma variables, and P(Σz > x) = Σ_{a<G} e^(−x)·x^a/a!·w_a, where
w_a = P(N ≤ G − 1 − a) for the number N of failures before G successes of a fair coin. The more groups, the larger |Σz| is.
Draws around averages are normal, and their variance W is at most that of records around the mean of their class.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.findings import counted
from kepsilon.auditing.noise_law import Rounding
from kepsilon.auditing.published_groups import largest_binary_error
from kepsilon.auditing.tail_bounds import exponential_tails
from kepsilon.table.arrays import FloatArray

NEARER = "nearer: "
"""Before the name of a column, for the test of all its sums together."""

TRIED = np.linspace(0.005, 0.995, 199)
"""Values of λ at which the bound is evaluated; the smallest is taken."""


def noisy_sum_bound(size: float, n_groups: int, d: int) -> float:
    """Bound on the probability that the noises of so many groups, in units of R/ε, sum to so much in absolute value."""
    if size <= 0:
        return 1.0
    log_moment = np.log(((1 - TRIED) ** -d - (1 + TRIED) ** -d) / (2 * TRIED * d))
    exponent = float((n_groups * log_moment - TRIED * size).min())
    return min(1.0, 2 * math.exp(min(0.0, exponent)))


def normal_sum_bound(size: float, variance: float) -> float:
    """Bound on the probability that a normal variable of mean 0 and this variance is so large in absolute value."""
    if size <= 0:
        return 1.0
    return min(1.0, 2 * math.exp(-(size**2) / (2 * variance))) if variance > 0 else 0.0


def sum_beyond(sizes: FloatArray, n_groups: int) -> FloatArray:
    """Probability that the noises of so many groups, in units of R/ε, sum to more than `sizes` in absolute value; d = 1."""
    places = np.arange(n_groups)
    logs = np.array([math.lgamma(n_groups + b) - math.lgamma(b + 1) for b in places.tolist()])
    chances = np.exp(logs - math.lgamma(n_groups) - (n_groups + places) * math.log(2))
    weights = np.cumsum(chances)[::-1]
    x = np.maximum(sizes, 1e-12)[:, np.newaxis]
    factorials = np.array([math.lgamma(a + 1) for a in places.tolist()])
    beyond: FloatArray = 2 * (np.exp(places * np.log(x) - x - factorials) * weights).sum(axis=1)
    return np.minimum(1.0, beyond)


def check_noisy_sums(case: AuditCase) -> None:
    """Tests the sum of every class whose originals are known against the noise claimed for it.

    No sum may be further from that of the originals than noise explains. All of them together may not be nearer; with a
    linkage the noise of groups is tested instead, which tells more.
    """
    averages = case.policy.averages
    if averages is None:
        return
    tried: list[tuple[str, float]] = []
    for j, name in enumerate(case.policy.epsilon_quasis):
        sizes: list[float] = []
        n_clamped = 0
        for own in _sums(case, j):
            d, most_groups = int(case.noise.n_active[own.class_id]), max(1, own.n // averages.group)
            if own.is_clamped:
                n_clamped += d == 1
                continue
            reach = float(case.noise.ranges[own.class_id, j]) / case.epsilon
            tried.append((name, noisy_sum_bound((own.apart - own.rounding) / reach, most_groups, d)))
            if d == 1 and case.linkage is None:
                # Persons, and requirements on sensitive values, make groups fewer; of one group noise is the least.
                n_groups = 1 if case.policy.person is not None or case.policy.diverse else most_groups
                largest = np.array([(own.apart + own.rounding) / reach])
                sizes.append(-math.log(max(float(sum_beyond(largest, n_groups)[0]), 1e-300)))
        if sizes:
            tried.append((NEARER + name, exponential_tails(np.array(sizes), n_clamped)[0]))
    _judge(case, tried, "noise on its groups explains")


def check_spread_sums(case: AuditCase) -> None:
    """Tests the sum of every class whose originals are known against draws of records around averages."""
    tried: list[tuple[str, float]] = []
    quasis = case.policy.epsilon_quasis.values()
    if len(quasis) > 1 and any(attribute.missing == "class" for attribute in quasis):
        case.findings.note(
            "averages", "sums of classes were not tested: with missing values, draws of several columns have no bound."
        )
        return
    for j, name in enumerate(case.policy.epsilon_quasis):
        largest = _variance_in_classes(case, j)
        tried += [
            (name, normal_sum_bound(own.apart - own.rounding, own.n * largest))
            for own in _sums(case, j)
            if not own.is_clamped
        ]
    _judge(case, tried, "draws around averages explain")


def _judge(case: AuditCase, tried: list[tuple[str, float]], what: str) -> None:
    """Adds the finding on the sums of all classes, from a bound on the probability of each."""
    if not tried:
        case.findings.note("averages", "sums of classes were not tested: no class is known that could be.")
        return
    level = case.false_alarms.level("published values", n_tests=len(tried))
    found = [name for name, probability in tried if probability < level]
    nearer = [name.removeprefix(NEARER) for name in found if name.startswith(NEARER)]
    wrong = [name for name in found if not name.startswith(NEARER)]
    if nearer:
        case.findings.broken(
            "noise", f"sums over classes are nearer to those of the originals than {what} ({', '.join(nearer)})."
        )
    case.findings.require(
        not wrong,
        "averages",
        right=f"{counted(len(tried), 'sum', 'sums')} over classes as near to those of the originals as {what}.",
        wrong=f"{counted(len(wrong), 'sum', 'sums')} over a class further from that of the originals than {what} "
        f"({', '.join(dict.fromkeys(wrong))}).",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _ClassSum:
    """How far the sum of what a class publishes is from that of its originals."""

    class_id: int
    n: int
    """Records of the class."""
    apart: float
    rounding: float
    """How much of that rounding explains, at most."""
    is_clamped: bool
    """Whether the class publishes an end of the domain: values beyond it were moved there, and the sum tells nothing."""


def _sums(case: AuditCase, j: int) -> Iterator[_ClassSum]:
    """The sums of all classes whose originals are known and have the j-th ε-quasi."""
    name, attribute = list(case.policy.epsilon_quasis.items())[j]
    rounding, published, error = Rounding.of(attribute), case.released.numbers[name], largest_binary_error(case, j)
    for c, records, originals in case.classes.members():
        shown, values = published[records], case.noise.values[originals, j]
        is_clamped = (shown <= rounding.low) | (shown >= rounding.high)
        if len(shown) != len(values) or np.isnan(shown).any() or np.isnan(values).any():
            continue
        middle = float(values.mean())
        yield _ClassSum(
            class_id=c,
            n=len(shown),
            apart=abs(float((shown - middle).sum()) - float((values - middle).sum())),
            rounding=len(shown) * rounding.step * (0.5 + float(error[c])),
            is_clamped=bool(is_clamped.any()),
        )


def _variance_in_classes(case: AuditCase, j: int) -> float:
    """Mean squared distance of originals from the mean of their class: the W of any groups is no larger.

    Where classes are not known, all squares around the mean of all that may be released stand in their place.
    """
    classes = case.classes
    rows = classes.known_originals if classes.all_known else np.flatnonzero(case.original.stays)
    values: FloatArray = case.noise.values[rows, j]
    ids = classes.of_original[rows] if classes.all_known else np.zeros(len(rows), dtype=np.int64)
    is_there = ~np.isnan(values)
    values, ids = values[is_there], ids[is_there]
    if not values.size:
        return 0.0
    counts = np.bincount(ids)
    n_shown = int(np.count_nonzero(~np.isnan(case.released.numbers[list(case.policy.epsilon_quasis)[j]])))
    middle = values - values.mean()
    means = np.bincount(ids, weights=middle) / np.maximum(1, counts)
    return float(((middle - means[ids]) ** 2).sum()) / max(1, n_shown) * (1 + 1e-9)

# SPDX-License-Identifier: Apache-2.0
"""What policy and class sizes alone say about linking and noise: bounds that hold whatever the records' values are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kepsilon.json_values import FrozenMapping, JsonValue
from kepsilon.perturb.mechanisms import mechanism_of
from kepsilon.policy.guarantee import attacker_in_words
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction
from kepsilon.table.arrays import IntArray

STEPS_PER_UNIT = 10**6
"""A bound on the linking risk is rounded up to a multiple of one millionth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds(JsonValue):
    """Bounds that hold for every table with these classes, whatever its ε-quasis were."""

    linking_risk: float
    """Largest share of the released records that the attacker is expected to link rightly."""
    attacker: str
    """Whom `linking_risk` is about, in words."""
    noise: Mapping[str, float]
    """By ε-quasi with declared bounds: the most that the noise of one value is expected to be, in the value's unit."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", FrozenMapping(self.noise))


def bounds_of(policy: Policy, sizes: IntArray) -> Bounds:
    """The bounds for released classes of these sizes, shape (n_classes,)."""
    return Bounds(linking_risk=_linking_bound(policy, sizes), attacker=attacker_in_words(policy), noise=_noise(policy))


def most_links(policy: Policy) -> Fraction:
    """The most right links that are expected in a class, whatever its values and however many records it has.

    Whoever guesses one record at a time has at most Σ_x max_v P(x|v) right links, which the mechanism bounds. Rounding and
    clamping what is published makes nobody surer.
    """
    d = len(policy.epsilon_quasis)
    return mechanism_of(policy).most_links(d, epsilon=policy.record_epsilon) if d else Fraction(1)


def _linking_bound(policy: Policy, sizes: IntArray) -> float:
    """Σ_c min(m_c, r_c·most links)/n, rounded up; worked out exactly, so that it does not depend on the order of classes.

    r_c is how many records of the class one person can have: 1 where every record is a person. Whoever names persons adds
    up the likelihoods of at most so many originals, so that Σ_x max_p Σ_{v of p} P(x|v) ≤ r_c·Σ_x max_v P(x|v).
    """
    most = most_links(policy)
    if policy.averages is not None:
        return _averaged_bound(policy, policy.averages.group, sizes)
    whole = limited = 0  # in whole numbers, because there can be thousands of different sizes
    distinct, times = np.unique(sizes, return_counts=True)
    for m, n in zip(distinct.tolist(), times.tolist(), strict=True):
        of_one = most_of_a_person(policy, m)
        if m * most.denominator <= of_one * most.numerator:
            whole += n * m
        else:
            limited += n * of_one
    return math.ceil((whole + limited * most) / int(sizes.sum()) * STEPS_PER_UNIT) / STEPS_PER_UNIT


def _averaged_bound(policy: Policy, group: int, sizes: IntArray) -> float:
    """Groups over records, rounded up: a class of m records has at most ⌊m/g⌋ groups, or one, and each is worth one link.

    Where a person may have several records, the person with most records of a group is named, and r − 1 more are right
    for each group, r being the most records that one person can have in it: a group of g persons has g − 1 others.
    """
    links = 0
    distinct, times = np.unique(sizes, return_counts=True)
    for m, n in zip(distinct.tolist(), times.tolist(), strict=True):
        n_groups = max(1, m // group)
        most = most_of_a_person(policy, m)
        links += n * min(m, n_groups * most)
    return math.ceil(Fraction(links, int(sizes.sum())) * STEPS_PER_UNIT) / STEPS_PER_UNIT


def most_of_a_person(policy: Policy, size: int) -> int:
    """The most records that one person can have in a released class of this size, which has at least k persons."""
    if policy.person is None:
        return 1
    return max(1, min(size - policy.k + 1, policy.max_records_per_person or size))


def _noise(policy: Policy) -> dict[str, float]:
    """The expected size of the noise for declared bounds; d counts all ε-quasis, though some may have no noise.

    Other ranges are those of the records, so their noise is not known from the policy.
    """
    declared = {name: own.range for name, own in policy.epsilon_quasis.items() if isinstance(own.range, tuple)}
    if not declared or not policy.draws_noise:
        return {}
    factor = mechanism_of(policy).most_noise(len(policy.epsilon_quasis), epsilon=policy.record_epsilon)
    if factor is None:
        return {}
    if policy.averages is not None:  # a class has at least k records, and so has a group
        factor /= policy.k
    return {name: float(factor * (fraction(high) - fraction(low))) for name, (low, high) in declared.items()}

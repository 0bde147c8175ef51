# SPDX-License-Identifier: Apache-2.0
"""Works out again the bounds on linking and noise that the public manifest states: they follow from policy and class sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from kepsilon.auditing import bounded_law
from kepsilon.auditing.stated_laws import is_bounded, why_noise_not_judged
from kepsilon.json_values import Json
from kepsilon.policy.guarantee import attacker_in_words
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction
from kepsilon.table.arrays import IntArray


@dataclass(frozen=True, slots=True)
class Form:
    """Stands for a value that is not known, only how it has to look."""

    fits: Callable[[Any], bool]


def bounds_of(policy: Policy, sizes: IntArray) -> Json:
    """The bounds on linking and noise that follow from policy and class sizes, for noise whose law the audit states."""
    if policy.averages is not None:
        return _bounds_of_averages(policy, policy.averages.group, sizes)
    if why_noise_not_judged(policy) is not None:
        return {
            "linking_risk": Form(lambda stated: isinstance(stated, int | float) and 0 <= stated <= 1),
            "attacker": attacker_in_words(policy),
            "noise": Form(lambda stated: isinstance(stated, Mapping)),
        }
    d = len(policy.epsilon_quasis)
    term = most = Fraction(1)
    for j in range(1, d + 1):
        term *= policy.record_epsilon / (2 * j)
        most += term
    if d > 1:
        most += (
            most / 2**60
        )  # noise is drawn on a grid of 2^32 steps, whose sum is that little larger than the integral
    if is_bounded(policy) and d:
        most = Fraction(bounded_law.most_links(float(policy.record_epsilon), d))
    # Whoever names persons adds up the originals of one; a class of at least k persons leaves so many records for one of them.
    cap = policy.max_records_per_person or int(sizes.max())
    links = Fraction(0)
    for size, times in _counts(sizes).items():
        of_one = 1 if policy.person is None else max(1, min(cap, size - (policy.k - 1)))
        links += times * min(most * of_one, Fraction(size))
    noise: dict[str, float | Form] = {}
    for name, attribute in policy.epsilon_quasis.items():
        if isinstance(attribute.range, tuple):
            low, high = attribute.range
            noise[name] = float((fraction(high) - fraction(low)) * (d + 1) / (2 * policy.record_epsilon))
            if is_bounded(policy):
                share = bounded_law.mean_distance_at_end(float(policy.record_epsilon) / d)
                noise[name] = _about(float(fraction(high) - fraction(low)) * share, slack=0.0)
    linking_risk = math.ceil(10**6 * links / int(sizes.sum())) / 10**6
    return {
        # Integrals are worked out in doubles, so that another way to do it may round up to the next millionth.
        "linking_risk": _about(linking_risk, slack=1.5e-6) if is_bounded(policy) else linking_risk,
        "attacker": attacker_in_words(policy),
        "noise": noise,
    }


def _about(expected: float, *, slack: float) -> Form:
    """A number this close to the expected one, apart from how doubles round."""
    return Form(
        lambda stated: (
            isinstance(stated, int | float)
            and not isinstance(stated, bool)
            and abs(stated - expected) <= slack + 1e-9 * abs(expected)
        )
    )


def _bounds_of_averages(policy: Policy, group: int, sizes: IntArray) -> Json:
    """The bounds where averages are published: one link for each group, or as many as a person can have records in it."""
    cap = policy.max_records_per_person or int(sizes.max())
    links = 0
    for size, times in _counts(sizes).items():
        of_one = 1 if policy.person is None else max(1, min(cap, size - (policy.k - 1)))
        links += times * min(size, max(1, size // group) * of_one)
    noise = {}
    for name, attribute in policy.epsilon_quasis.items():
        if policy.draws_noise and isinstance(attribute.range, tuple):
            low, high = attribute.range
            d = len(policy.epsilon_quasis)
            # A group has at least k records, as its class has, so that noise on averages has R/(kε) for its scale at most.
            noise[name] = float((fraction(high) - fraction(low)) * (d + 1) / (2 * policy.record_epsilon * policy.k))
    return {
        "linking_risk": math.ceil(10**6 * Fraction(links, int(sizes.sum()))) / 10**6,
        "attacker": attacker_in_words(policy),
        "noise": noise,
    }


def _counts(sizes: IntArray) -> dict[int, int]:
    """How many classes have each size."""
    distinct, times = np.unique(sizes, return_counts=True)
    return dict(zip(distinct.tolist(), times.tolist(), strict=True))

# SPDX-License-Identifier: Apache-2.0
"""Slow, obvious expectations of confident k for one class: interval by interval, and outcome by outcome."""

from __future__ import annotations

import functools
import itertools
import math

from oracles.attacks import laplace_cdf


def outcome_probabilities(values, own, *, scale, reach, k):
    """That noise on `own` ends where at least k originals are in reach, where some are but too few, and where none is."""
    if scale == 0:
        n = sum(abs(v - own) <= reach for v in values)
        return float(n >= k), float(0 < n < k), float(n == 0)
    breaks = [-math.inf, *sorted([v - reach for v in values] + [v + reach for v in values]), math.inf]
    safe = mid = zero = 0.0
    for left, right in itertools.pairwise(breaks):
        probability = laplace_cdf(right - own, scale) - laplace_cdf(left - own, scale)
        n = 0 if math.isinf(left) or math.isinf(right) else sum(abs(v - (left + right) / 2) <= reach for v in values)
        if n >= k:
            safe += probability
        elif n > 0:
            mid += probability
        else:
            zero += probability
    return safe, mid, zero


def published_outcome_probabilities(values, own, *, scale, reach, k, precision, domain):
    """`outcome_probabilities` of values that are rounded and clamped to a domain: published value by published value."""
    bottom, top = math.ceil(domain[0] / precision), math.floor(domain[1] / precision)
    found = [0.0, 0.0, 0.0]
    for step in range(bottom, top + 1):
        left = -math.inf if step == bottom else (step - 0.5) * precision
        right = math.inf if step == top else (step + 0.5) * precision
        n = sum(abs(v - step * precision) <= reach for v in values)
        place = 0 if n >= k else 1 if n else 2
        found[place] += laplace_cdf(right - own, scale) - laplace_cdf(left - own, scale)
    return tuple(found)


@functools.lru_cache(maxsize=64)
def outcomes(values, *, scale, reach, k, **published):
    """Probabilities of every (safe, zero) among the records; the same for all rules."""
    found = {(0, 0): 1.0}
    probabilities = published_outcome_probabilities if published and scale > 0 else outcome_probabilities
    for own in values:
        how = published if probabilities is published_outcome_probabilities else {}
        safe, mid, zero = probabilities(values, own, scale=scale, reach=reach, k=k, **how)
        following = {}
        for (n_safe, n_zero), p in found.items():
            for key, chance in (((n_safe + 1, n_zero), safe), ((n_safe, n_zero), mid), ((n_safe, n_zero + 1), zero)):
                if chance > 0:
                    following[key] = following.get(key, 0.0) + p * chance
        found = following
    return found


def suppressed_distribution(values, *, scale, reach, k, rule, **published):
    """Probabilities of every number of suppressed records."""
    distribution = {}
    for (n_safe, n_zero), p in outcomes(tuple(values), scale=scale, reach=reach, k=k, **published).items():
        n = n_suppressed(len(values), n_safe, n_zero, k=k, rule=rule)
        distribution[n] = distribution.get(n, 0.0) + p
    return distribution


def n_suppressed(n, n_safe, n_zero, *, k, rule):
    """Records first, then the class."""
    counts_as_left = n_safe + n_zero if rule == "text" else n_safe
    left = n_safe if rule == "suppress_zero" else n_safe + n_zero
    return n if counts_as_left < k else n - left


def mean_and_variance(distribution):
    mean = sum(n * p for n, p in distribution.items())
    return mean, sum((n - mean) ** 2 * p for n, p in distribution.items())


def suppression(values, class_ids, *, scales, reach, k, rule, **published):
    """Mean and variance of the number suppressed, class by class; `published`: the precision and domain, where they count."""
    results = []
    for c, (scale, r) in enumerate(zip(scales, reach, strict=True)):
        members = [float(v) for v, i in zip(values, class_ids, strict=True) if i == c]
        found = suppressed_distribution(members, scale=float(scale), reach=float(r), k=k, rule=rule, **published)
        results.append(mean_and_variance(found))
    return tuple(zip(*results, strict=True))

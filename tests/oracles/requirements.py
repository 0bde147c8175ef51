# SPDX-License-Identifier: Apache-2.0
"""What a class must satisfy beyond k records, from the persons and values of its records, in exact fractions.

A missing value is None.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction


def present(values):
    return [v for v in values if v is not None]


def has_persons(persons, k):
    return len(set(persons)) >= k


def is_distinct(values, least):
    return len(set(present(values))) >= least


def is_entropy_diverse(values, least):
    """Entropy ≥ ln ℓ, as n^n / Π c^c ≥ ℓ^n, so that nothing is rounded."""
    counts = Counter(present(values)).values()
    n = sum(counts)
    return n > 0 and Fraction(n**n, math.prod(c**c for c in counts)) >= Fraction(str(least)) ** n


def is_recursive(values, c, least):
    counts = sorted(Counter(present(values)).values(), reverse=True)
    return len(counts) >= least and counts[0] < Fraction(str(c)) * sum(counts[least - 1 :])


def distance(values, everyone, *, ordered):
    """Earth mover's distance between a class and all records, by moving one share after the other."""
    values, everyone = present(values), present(everyone)
    if not values:
        return Fraction(0)
    domain = sorted(set(everyone))
    p = [Fraction(values.count(v), len(values)) for v in domain]
    q = [Fraction(everyone.count(v), len(everyone)) for v in domain]
    if not ordered:
        return sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2
    if len(domain) == 1:
        return Fraction(0)
    carried, work = Fraction(0), Fraction(0)
    for a, b in zip(p, q, strict=True):
        carried += a - b
        work += abs(carried)
    return work / (len(domain) - 1)


def is_close(values, everyone, t, *, ordered):
    return distance(values, everyone, ordered=ordered) <= Fraction(str(t))

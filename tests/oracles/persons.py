# SPDX-License-Identifier: Apache-2.0
"""Slow, obvious versions of what an attacker gains who names persons, where a person may have several records of a class."""

from __future__ import annotations

import math

from oracles.attacks import exact


def persons_in_reach(values, published, class_ids, persons, i, *, reach):
    """Persons with an original of the class within reach of the record's published value; by attribute, any number."""

    def is_near(j):
        return all(abs(exact(v) - exact(x)) <= exact(r) for v, x, r in zip(values[j], published[i], reach, strict=True))

    return len({persons[j] for j in range(len(values)) if class_ids[j] == class_ids[i] and is_near(j)})


def suppressed(counts, class_ids, persons, *, k, rule):
    """Records with few persons in reach, then classes of which few persons are left."""
    gone, left = [], {}
    for n, c, person in zip(counts, class_ids, persons, strict=True):
        gone.append(0 < n < k or (n == 0 and rule == "suppress_zero"))
        if n >= k or (n == 0 and rule == "text"):
            left.setdefault(c, set()).add(person)
    return [g or len(left.get(c, ())) < k for g, c in zip(gone, class_ids, strict=True)]


def person_weights(x, values, persons, *, ranges, epsilon):
    """The likelihoods of each person's originals, added up; the largest of all is taken out, so that none underflows."""
    far = [max((abs(a - b) / r for a, b, r in zip(x, v, ranges, strict=True) if r > 0), default=0.0) for v in values]
    weights = {}
    for distance, person in zip(far, persons, strict=True):
        weights[person] = weights.get(person, 0.0) + math.exp(-epsilon * (distance - min(far)))
    return weights


def link(x, values, persons, own, *, ranges, epsilon):
    """1/t and 1 if the record's own person is among the t likeliest of the class, otherwise 0 and 0; and its posterior."""
    weights = person_weights(x, values, persons, ranges=ranges, epsilon=epsilon)
    best = [person for person, w in weights.items() if w >= max(weights.values()) * (1 - 1e-9)]
    is_link = own in best
    return is_link / len(best), float(is_link), weights[own] / sum(weights.values())

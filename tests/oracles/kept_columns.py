# SPDX-License-Identifier: Apache-2.0
"""Slow, obvious attackers who link through one kept column, and bits counted with dictionaries."""

from __future__ import annotations

import math
from collections import Counter


def members(class_ids):
    """Positions of the records of each class."""
    found = {}
    for position, class_id in enumerate(class_ids):
        if class_id >= 0:
            found.setdefault(class_id, []).append(position)
    return found


def nearest_links(shown, known, class_ids, is_shown):
    """For each record that shows a number, 1/t if its original is one of the t nearest of its class, or 0."""
    chances = []
    for own in members(class_ids).values():
        for i in own:
            if is_shown[i]:
                distances = {j: abs(shown[i] - known[j]) for j in own}
                nearest = [j for j in own if distances[j] == min(distances.values())]
                chances.append(1 / len(nearest) if i in nearest else 0.0)
    return chances


def right_persons(best_of, persons, class_ids, is_shown):
    """(records, persons) whose person is found: a record counts by the share of `best_of(i, class)` that is of its person,
    a person in a class by the mean of its records."""
    shares = {}
    for class_id, own in members(class_ids).items():
        for i in own:
            if is_shown[i]:
                best = best_of(i, own)
                right = sum(persons[j] == persons[i] for j in best) / len(best)
                shares.setdefault((class_id, persons[i]), []).append(right)
    return sum(map(sum, shares.values())), sum(sum(own) / len(own) for own in shares.values())


def likeliest_links(score, bins, class_ids):
    """For each record, 1/t if its original is one of the t of its class with the largest `score(original, bin)`, or 0."""
    chances = []
    for own in members(class_ids).values():
        for i in own:
            scores = {j: score(j, bins[i]) for j in own}
            likeliest = [j for j in own if scores[j] == max(scores.values())]
            chances.append(1 / len(likeliest) if i in likeliest else 0.0)
    return chances


def entropy(values):
    """Bits of the distribution of some values."""
    n = len(values)
    return -sum(count / n * math.log2(count / n) for count in Counter(values).values())


def told_bits(quasi, shown, class_ids):
    """(I(q; X | class), H(q | class)) in bits, from the definition: a mean over classes."""
    told = hidden = 0.0
    for own in members(class_ids).values():
        share = len(own) / len(class_ids)
        q, x = [quasi[i] for i in own], [shown[i] for i in own]
        hidden += share * entropy(q)
        told += share * (entropy(q) + entropy(x) - entropy(list(zip(q, x, strict=True))))
    return told, hidden

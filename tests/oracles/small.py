# SPDX-License-Identifier: Apache-2.0
"""Slow, obvious attackers of small classes, who write down every assignment of records to originals."""

from __future__ import annotations

import math
from itertools import combinations, pairwise, permutations, product

from oracles.attacks import exact
from oracles.several import distance


def rank_links(published, originals):
    """Record i comes from original i. All orders that sort both sides are drawn by lot, and so is the cheapest choice."""
    x, v = [exact(a) for a in published], [exact(a) for a in originals]
    orders_x = [o for o in permutations(range(len(x))) if all(x[a] <= x[b] for a, b in pairwise(o))]
    orders_v = [o for o in permutations(range(len(v))) if all(v[a] <= v[b] for a, b in pairwise(o))]
    sorted_x, sorted_v = sorted(x), sorted(v)
    choices = list(combinations(range(len(v)), len(x)))
    costs = [sum(abs(a - sorted_v[s]) for a, s in zip(sorted_x, choice, strict=True)) for choice in choices]
    cheapest = [choice for choice, cost in zip(choices, costs, strict=True) if cost == min(costs)]
    links = [0] * len(x)
    for order_x, order_v, choice in product(orders_x, orders_v, cheapest):
        for record, slot in zip(order_x, choice, strict=True):
            links[record] += order_v[slot] == record
    return [n / (len(orders_x) * len(orders_v) * len(cheapest)) for n in links]


def marginals(published, originals, ranges, epsilon):
    """P(record i comes from original j) from all assignments to different originals."""
    far = [[distance(x, v, ranges) for v in originals] for x in published]
    assignments = list(permutations(range(len(originals)), len(published)))
    totals = [sum(far[i][j] for i, j in enumerate(a)) for a in assignments]
    weights = [math.exp(-epsilon * float(t - min(totals))) for t in totals]
    return [
        [
            sum(w for a, w in zip(assignments, weights, strict=True) if a[i] == j) / sum(weights)
            for j in range(len(originals))
        ]
        for i in range(len(published))
    ]


def bayes_links(table):
    """1/t if its own original is among the t most probable of a record."""
    links = []
    for i, row in enumerate(table):
        best = [j for j, p in enumerate(row) if math.isclose(p, max(row), rel_tol=1e-9)]
        links.append(1 / len(best) if i in best else 0.0)
    return links

# SPDX-License-Identifier: Apache-2.0
"""Slow, obvious versions of attacks on records with several ε-quasis; ranges are fractions, None where there is none."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from oracles.attacks import exact


def exact_ranges(values, class_ids, n_classes, wider):
    """The range of every class and attribute as decimals; `wider` is added to it. None where values are missing."""
    ranges = []
    for c in range(n_classes):
        rows = [row for row, own in zip(values, class_ids, strict=True) if own == c]
        ranges.append([])
        for j, more in enumerate(wider):
            column = [row[j] for row in rows]
            if not column or any(math.isnan(v) for v in column):
                ranges[-1].append(None)
            else:
                ranges[-1].append(max(map(exact, column)) - min(map(exact, column)) + exact(more))
    return ranges


def distance(x, v, ranges):
    """The largest of |x_j − v_j|/R_j over the attributes that have a range."""
    return max((abs(exact(a) - exact(b)) / r for a, b, r in zip(x, v, ranges, strict=True) if r), default=Fraction(0))


def distances(values, published, class_ids, i, ranges):
    """From record i to every original of its class, its own first."""
    own = class_ids[i]
    others = [v for j, v in enumerate(values) if class_ids[j] == own and j != i]
    return [distance(published[i], v, ranges[own]) for v in [values[i], *others]]


def n_nearest(values, published, class_ids, i, ranges):
    far = distances(values, published, class_ids, i, ranges)
    return far.count(far[0]) if far[0] == min(far) else 0


def posterior(values, published, class_ids, i, ranges, epsilon):
    far = distances(values, published, class_ids, i, ranges)
    weights = [math.exp(-epsilon * float(f - min(far))) for f in far]
    return weights[0] / sum(weights)


def in_reach(values, centres, class_ids, i, reach):
    """Originals of the class in the box around the centre; a reach of None holds everything."""
    inside = 0
    for v, c in zip(values, class_ids, strict=True):
        if c == class_ids[i]:
            inside += all(
                r is None or abs(exact(a) - exact(b)) <= r for a, b, r in zip(centres[i], v, reach[c], strict=True)
            )
    return inside


def draw_noise(rng, n, d):
    """Noise of density ∝ exp(−max_j|z_j|) in d dimensions: a radius with density ∝ r^(d−1)·e^(−r), and a point of the
    surface of the cube of that radius, one coordinate of which is ±1."""
    surface = rng.uniform(-1, 1, (n, d))
    surface[np.arange(n), rng.integers(0, d, n)] = rng.choice([-1.0, 1.0], n)
    return surface * rng.gamma(d, size=(n, 1))


def links_of_one_class(values, published, ranges):
    """Fair links and the paper's, of many draws of a class: `published` has shape (n_draws, n_records, n_attributes)."""
    fair, paper = np.zeros(len(published)), np.zeros(len(published))
    for i in range(len(values)):
        far = np.max(np.abs(published[:, i, np.newaxis] - values) / ranges, axis=2)
        is_nearest = far <= far.min(axis=1, keepdims=True)
        fair += is_nearest[:, i] / is_nearest.sum(axis=1)
        paper += is_nearest[:, i]
    return fair, paper


def n_suppressed_of_one_class(values, published, reach, *, k, rule):
    """Records that go, in many draws of a class."""
    inside = np.all(np.abs(published[:, :, np.newaxis] - values) <= reach, axis=3).sum(axis=2)
    goes = (inside < k) & ((inside > 0) | (rule == "suppress_zero"))
    counts_as_left = (inside >= k) | ((inside == 0) & (rule == "text"))
    return np.where(counts_as_left.sum(axis=1) < k, len(values), goes.sum(axis=1))


def most_links(d, epsilon):
    """What d attributes can give away of a class at most: Σ (ε/2)^j/j!, j = 0 … d."""
    return sum((epsilon / 2) ** j / math.factorial(j) for j in range(d + 1))

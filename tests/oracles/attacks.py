# SPDX-License-Identifier: Apache-2.0
"""Slow, obvious versions of what noise costs and what an attacker gains, one record at a time."""

from __future__ import annotations

import math
from fractions import Fraction


def exact(number):
    """The decimal a double was written as."""
    return Fraction(repr(float(number)))


def members(values, class_ids, i):
    return [float(v) for v, c in zip(values, class_ids, strict=True) if c == class_ids[i]]


def laplace_cdf(x, scale):
    return 0.5 * math.exp(x / scale) if x < 0 else 1 - 0.5 * math.exp(-x / scale)


def mean_relative_error(values, errors):
    """Errors over |v|, values of 0 left out; and how many those are."""
    shares = [abs(e) / abs(v) for v, e in zip(values, errors, strict=True) if v != 0]
    return (sum(shares) / len(shares) if shares else None), sum(v == 0 for v in values)


def probability_of_link(values, class_ids, i, *, scale):
    """That the published value stays nearer to its own original than to any other value of the class; ties apart."""
    own = float(values[i])
    others = [v for v in members(values, class_ids, i) if v != own]
    if scale == 0:
        return 1.0
    above = min((v for v in others if v > own), default=math.inf)
    below = max((v for v in others if v < own), default=-math.inf)
    return laplace_cdf((above - own) / 2, scale) - laplace_cdf((below - own) / 2, scale)


def expected_links(values, class_ids, *, scales):
    """By class: a tie of t worth 1/t, and the paper's rule. `scales` is R/ε of every class."""
    fair, paper = {}, {}
    for i, c in enumerate(class_ids):
        p = probability_of_link(values, class_ids, i, scale=scales[c])
        fair[c] = fair.get(c, 0.0) + p / members(values, class_ids, i).count(float(values[i]))
        paper[c] = paper.get(c, 0.0) + p
    return fair, paper


def link(values, published, class_ids, i):
    """1/t and 1 if the record's own original is among the t nearest of its class, otherwise 0 and 0."""
    x = exact(published[i])
    distances = [abs(x - exact(v)) for v in members(values, class_ids, i)]
    if abs(x - exact(values[i])) > min(distances):
        return 0.0, 0.0
    return 1 / distances.count(min(distances)), 1.0


def posterior(values, published, class_ids, i, *, scale):
    x = float(published[i])
    originals = members(values, class_ids, i)
    if scale == 0:
        return 1 / len(originals)
    nearest = min(abs(x - v) for v in originals)  # taken out, so that a far x does not underflow
    total = sum(math.exp(-(abs(x - v) - nearest) / scale) for v in originals)
    return math.exp(-(abs(x - float(values[i])) - nearest) / scale) / total


def in_reach(values, centres, class_ids, i, *, reach):
    """Originals of the class within reach of the centre: the published value, or in the mutant the original one."""
    return sum(abs(exact(v) - exact(centres[i])) <= exact(reach) for v in members(values, class_ids, i))


def suppressed(counts, class_ids, *, k, rule):
    gone, left = [], {}
    for n, c in zip(counts, class_ids, strict=True):
        gone.append(0 < n < k or (n == 0 and rule == "suppress_zero"))
        counts_as_left = n >= k or (n == 0 and rule == "text")
        left[c] = left.get(c, 0) + counts_as_left
    return [g or left[c] < k for g, c in zip(gone, class_ids, strict=True)]

# SPDX-License-Identifier: Apache-2.0
"""The slow, obvious way to what survives: the `statistics` module on lists, two columns at a time."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

Numbers = Sequence[float | None]


def present(values: Numbers) -> list[float]:
    return [value for value in values if value is not None and not math.isnan(value)]


def quantile(values: Numbers, percent: int, k: int) -> float | None:
    """The smallest value that so many per cent do not exceed; None if fewer than k lie on one side of it."""
    ordered = sorted(present(values))
    if not ordered or min(percent, 100 - percent) * len(ordered) < 100 * k:
        return None
    return next(v for i, v in enumerate(ordered, start=1) if 100 * i >= percent * len(ordered))


def relation(x: Numbers, y: Numbers, k: int) -> tuple[float, float] | tuple[None, None]:
    """Correlation, and slope of y on x."""
    pairs = [(a, b) for a, b in zip(x, y, strict=True) if present([a]) and present([b])]
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    if len(pairs) < k or len(set(one)) < 2 or len(set(other)) < 2:
        return None, None
    return statistics.correlation(one, other), statistics.linear_regression(one, other).slope


def inside_classes(true: Numbers, published: Numbers, classes: Sequence[Any]) -> float | None:
    """Correlation of distances from the mean of the class."""
    members: dict[Any, list[tuple[float, float]]] = {}
    for a, b, c in zip(true, published, classes, strict=True):
        if present([a]):
            members.setdefault(c, []).append((a, b))
    one, other = [], []
    for pairs in members.values():
        means = [statistics.fmean(own) for own in zip(*pairs, strict=True)]
        one += [a - means[0] for a, _ in pairs]
        other += [b - means[1] for _, b in pairs]
    if max(map(abs, one), default=0) < 1e-9 or max(map(abs, other), default=0) < 1e-9:
        return None
    return sum(a * b for a, b in zip(one, other, strict=True)) / math.sqrt(
        sum(a * a for a in one) * sum(b * b for b in other)
    )


def error_of_best_constant(true: Numbers, classes: Sequence[Any]) -> float:
    """Mean distance from the best of all constants that occur in the class, tried one by one."""
    members: dict[Any, list[float]] = {}
    for value, c in zip(true, classes, strict=True):
        if present([value]):
            members.setdefault(c, []).append(value)
    total = sum(min(sum(abs(v - constant) for v in own) for constant in set(own)) for own in members.values())
    return total / sum(map(len, members.values()))


def survival(
    before: Mapping[str, Numbers], after: Mapping[str, Numbers], names: Sequence[str], *, k: int
) -> dict[str, dict[str, Any]]:
    """By ε-quasi: pairs of before and after; all columns are given, those of `names` are the ε-quasis."""
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        values = present(before[name]), present(after[name])
        found[name] = {
            "mean": tuple(map(statistics.fmean, values)),
            "spread": tuple(map(statistics.stdev, values)),
            **{str(p): tuple(quantile(own, p, k) for own in values) for p in (5, 25, 50, 75, 95)},
        }
        for other in before:
            if other != name:
                pairs = [relation(own[name], own[other], k) for own in (before, after)]
                found[name][f"correlation {other}"] = tuple(pair[0] for pair in pairs)
                found[name][f"slope {other}"] = tuple(pair[1] for pair in pairs)
    return found

# SPDX-License-Identifier: Apache-2.0
"""The slow, obvious way to verdicts: the words of the model, on lists."""

from __future__ import annotations

import statistics
from collections.abc import Hashable, Sequence


def by_class(values: Sequence[float], classes: Sequence[Hashable]) -> list[list[float]]:
    """The values of every class."""
    members: dict[Hashable, list[float]] = {}
    for value, own in zip(values, classes, strict=True):
        members.setdefault(own, []).append(value)
    return list(members.values())


def error_of_constant(values: Sequence[float], classes: Sequence[Hashable]) -> float:
    """How far the best constant per class is off on average: its median."""
    return statistics.fmean(abs(v - statistics.median(own)) for own in by_class(values, classes) for v in own)


def error_of_laplace(values: Sequence[float], classes: Sequence[Hashable], *, epsilon: float) -> float:
    """How far Laplace noise in the range of the class is off on average: range / ε, for every record of the class."""
    return statistics.fmean((max(own) - min(own)) / epsilon for own in by_class(values, classes) for _ in own)


def spread(values: Sequence[float]) -> float:
    """The mean distance from the median."""
    return statistics.fmean(abs(v - statistics.median(values)) for v in values)


def of_values(error: float, constant: float, share: float) -> str:
    """The verdict on an ε-quasi."""
    if error == 0:
        return "kept"
    return "useless" if error >= 0.8 * constant else "coarser" if share >= 0.1 else "kept"


def of_labels(labels: Sequence[Hashable], values: Sequence[Hashable], covered: dict[Hashable, int]) -> str:
    """The verdict on a k-quasi of categories; `covered` says how many of the values in the data each label stands for."""
    n_values = len(set(values))
    if n_values > 1 and len(set(labels)) == 1:
        return "useless"
    lost = statistics.fmean((covered[own] - 1) / max(1, n_values - 1) for own in labels)
    return "coarser" if round(lost, 12) >= 0.1 else "kept"

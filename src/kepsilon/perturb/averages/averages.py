# SPDX-License-Identifier: Apache-2.0
"""What is published of groups: their averages, rounded once, with noise on the sums or without."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from kepsilon.perturb.averages.grouping import Groups
from kepsilon.perturb.averages.spreading import normal_draws
from kepsilon.perturb.precision import doubles, rounded
from kepsilon.perturb.sampler import record_noise
from kepsilon.policy.exact_bounds import GRID_BITS
from kepsilon.randomness import ByteSource
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.steps import Steps

_GRID = 1 << GRID_BITS


def averages_of(groups: Groups, precisions: Sequence[Fraction]) -> FloatArray:
    """The average of each group, rounded to the precision, shape (n_groups, n_attributes); halves go to the even unit.

    Whole numbers are divided by whole numbers, so that the rounding is that of the exact average of the values in fine steps.
    A group of four whole numbers has every fourth time a half: if all went up, means would be an eighth of a unit too large.
    """
    averages = np.empty(groups.sums.shape)
    for j, precision in enumerate(precisions):
        divisors = groups.sizes << groups.bits[:, j]
        whole, rest = np.divmod(groups.sums[:, j], divisors)
        units = groups.bases[:, j] + whole
        left = divisors - rest
        units += (rest > left) | ((rest == left) & (np.mod(units, 2) == 1))
        averages[:, j] = doubles(units, precision)
    return averages


def looking_alike(groups: Groups, precisions: Sequence[Fraction]) -> IntArray:
    """The number of each group among those of its class that publish different averages, shape (n_groups,).

    Numbers run through all classes in their order. Groups that publish the same averages cannot be told apart.
    """
    averages = np.nan_to_num(averages_of(groups, precisions))  # values are missing in a whole class, or in none of it
    order = np.lexsort((*averages.T, groups.class_ids))
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new[1:] = (np.diff(groups.class_ids[order]) > 0) | np.any(np.diff(averages[order], axis=0) != 0, axis=1)
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(is_new) - 1
    return numbers


def unrounded_averages_of(groups: Groups, precisions: Sequence[Fraction]) -> FloatArray:
    """The average of each group as the nearest double, not rounded to the precision; shape (n_groups, n_attributes)."""
    averages = np.empty(groups.sums.shape)
    for j, precision in enumerate(precisions):
        units = groups.bases[:, j] + groups.sums[:, j] / (groups.sizes << groups.bits[:, j])
        averages[:, j] = units * float(precision)
    return averages


def noisy_averages_of(
    values: FloatArray,
    groups: Groups,
    low: FloatArray,
    high: FloatArray,
    *,
    epsilon: Fraction,
    steps: Sequence[Steps],
    source: ByteSource,
) -> FloatArray:
    """Averages with noise on their sums, as they are published, shape (n_groups, n_attributes).

    Every value is placed on the grid of 2^32 steps across the declared range from `low` to `high`, shape (n_attributes,).
    Integer noise of scale 2^32/ε is added to the sum of the places of a group, once for all its ε-quasis, and the result is
    divided by the group's size: changing one record moves the sum by at most the range, so any two values of a record that
    lead to the same groups are ε-indistinguishable. An ε-quasi that is missing in a class gets no noise there.
    """
    if (values < low).any() or (values > high).any():
        raise ValueError("some values lie outside the declared ranges")
    ranges = high - low
    sums = np.zeros(groups.sums.shape, dtype=np.int64)
    for j in range(values.shape[1]):
        places = np.rint(np.nan_to_num((values[:, j] - low[j]) / ranges[j]) * _GRID).astype(np.int64)
        np.add.at(sums[:, j], groups.of_record, places)
    active = ~np.isnan(groups.bases)
    n_active = np.count_nonzero(active, axis=1)
    for d in range(1, values.shape[1] + 1):
        chosen = np.flatnonzero(n_active == d)
        noise = np.zeros((len(chosen), values.shape[1]), dtype=np.int64)
        noise[active[chosen]] = record_noise(len(chosen), d, epsilon=epsilon, source=source).reshape(-1)
        sums[chosen] += noise
    averages = np.empty(sums.shape)
    for j, own in enumerate(steps):
        moved = sums[:, j] / groups.sizes / _GRID * ranges[j] + low[j]
        moved[~active[:, j]] = np.nan
        averages[:, j] = rounded(moved, own.precision, own.domain)
    return averages


def spread_averages_of(
    averages: FloatArray, within: FloatArray, *, steps: Sequence[Steps], source: ByteSource
) -> FloatArray:
    """The average of each record's group with a normal draw of the record's own, as it is published; shaped like `averages`.

    `within` is W, shape (n_attributes, n_attributes).
    """
    moved = averages + normal_draws(len(averages), within, source=source)
    return np.column_stack([rounded(moved[:, j], own.precision, own.domain) for j, own in enumerate(steps)])

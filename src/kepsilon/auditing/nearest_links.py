# SPDX-License-Identifier: Apache-2.0
"""Who links to the nearest original, and where doubles cannot decide which one that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

BINARY_ERROR = 4 * np.finfo(np.float64).eps
"""Relative error of a distance between two decimals that are held as doubles; distances that differ by it are equal."""

INDISTINCT = 4.0
"""Originals whose values differ by so many binary errors of a distance, or fewer, cannot be told apart by distances."""


@dataclass(frozen=True, slots=True)
class Links:
    """Right links of the nearest-neighbour attacker: a tie of t worth 1/t, and every tie worth 1 (the paper)."""

    fair: float = 0.0
    paper: float = 0.0

    def __add__(self, other: Links) -> Links:
        return Links(self.fair + other.fair, self.paper + other.paper)


def binary_error_of_distances(published: FloatArray, values: FloatArray, ranges: FloatArray) -> FloatArray:
    """How far apart the distances of each published record may be that are equal but for binary rounding."""
    active = ranges > 0
    if not active.any():
        return np.zeros(len(published))
    sizes = np.nan_to_num(np.abs(published[:, active])) + np.nan_to_num(np.abs(values[:, active])).max(axis=0)
    slack: FloatArray = BINARY_ERROR * (sizes / ranges[active]).max(axis=1)
    return slack


def nearest_links(distances: FloatArray, own: IntArray, *, slack: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Link of each record, a tie of t worth 1/t, and whether its own original is among the nearest."""
    nearest = distances.min(axis=1, keepdims=True)
    is_nearest: BoolArray = distances <= nearest + slack[:, np.newaxis]
    is_link: BoolArray = is_nearest[np.arange(len(own)), own]
    return is_link / is_nearest.sum(axis=1), is_link


def n_with_own_value(values: FloatArray, own: IntArray, *, nearest: FloatArray) -> IntArray:
    """Number of originals with each record's own value, if another value is at most `nearest` away from it; otherwise 0.

    Two values that differ by less than distances are rounded by are equally far from what is published, or not, as the
    rounding falls.
    """
    distinct, of_value, counts = np.unique(values, return_inverse=True, return_counts=True)
    gaps = np.diff(distinct, prepend=-np.inf, append=np.inf)
    apart = np.minimum(gaps[:-1], gaps[1:])[of_value[own]]
    alike: IntArray = np.where(apart <= nearest, counts[of_value[own]], 0)
    return alike

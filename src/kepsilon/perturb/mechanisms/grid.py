# SPDX-License-Identifier: Apache-2.0
"""The grid of 2^32 steps across the range of a class, on which mechanisms draw, and what they ask of their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from kepsilon.perturb.precision import PublicDomain
from kepsilon.policy.exact_bounds import FINEST_BITS, GRID_BITS
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

GRID = 1 << GRID_BITS


def places_of(values: FloatArray, lo: FloatArray, ranges: FloatArray) -> NDArray[np.int64]:
    """The place of every value on the grid, 0 to 2^32; all arguments by record. 0 where the range is 0 or NaN."""
    if np.any(np.isnan(values) != np.isnan(ranges)):
        raise ValueError("some values are missing in a class that has a range, or present in one that has none")
    place = np.zeros(len(values))
    np.divide(np.clip(values - lo, 0, ranges), ranges, out=place, where=ranges > 0)
    place *= GRID
    np.rint(place, out=place)
    return place.astype(np.int64)


def values_at(points: NDArray[np.int64], lo: FloatArray, ranges: FloatArray) -> FloatArray:
    """lo + y·R/2^32 for every point y; lo where the range is 0, NaN where it is NaN."""
    values = points.astype(np.float64)
    values *= 1 / GRID
    values *= ranges
    values += lo
    return values


def finest_precision_ok(lo: FloatArray, hi: FloatArray, precision: Fraction) -> BoolArray:
    """Whether the precision hides the grid, for every class: it may not be finer than R/2^24. Shaped like `lo`."""
    return ~(hi - lo > float(precision * 2**FINEST_BITS))


def n_active_of(ranges: FloatArray) -> IntArray:
    """How many attributes have noise in each class, shape (n_classes,)."""
    n_active: IntArray = np.count_nonzero(ranges > 0, axis=1)
    return n_active


def refuse_misfits(
    values: FloatArray,
    class_ids: IntArray,
    lo: FloatArray,
    hi: FloatArray,
    *,
    precisions: Sequence[Fraction],
    domains: Sequence[PublicDomain | None],
) -> None:
    """Raises ValueError for a wrong shape or class, which would give a record somebody else's range and the wrong noise."""
    n_attributes = len(precisions)
    if len(domains) != n_attributes or values.shape != (len(class_ids), n_attributes):
        raise ValueError("every ε-quasi needs a column of values, a precision, and a domain or None")
    if lo.shape != hi.shape or lo.ndim != 2 or lo.shape[1] != n_attributes:
        raise ValueError("the ranges must have a row for every class and a column for every ε-quasi")
    if class_ids.size and not 0 <= class_ids.min() <= class_ids.max() < len(lo):
        raise ValueError("some records are in no class")
    if np.any(np.isinf(lo)) or np.any(np.isinf(hi)) or np.any(hi < lo) or np.any(np.isinf(hi - lo)):
        raise ValueError("some ranges fall or are infinite")
    for j, precision in enumerate(precisions):
        if not np.all(finest_precision_ok(lo[:, j], hi[:, j], precision)):
            raise ValueError(f"a precision of {precision} is finer than R/2^{FINEST_BITS} in some classes")

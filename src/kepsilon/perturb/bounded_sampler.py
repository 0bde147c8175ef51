# SPDX-License-Identifier: Apache-2.0
"""Exact draws of `bounded-laplace`: a point of the grid, likelier the nearer it is to the place of a record's value.

With N steps, n the place and t = ε/N, the point y = 0 … N is drawn with P(y | n) = e^(−t|y − n|)/C(n), where C(n) is the sum
that makes it a probability. For two places the ratio is at most e^ε, exactly, though C(n) depends on n:

- P(y | n) falls while n moves away from y. For y ≤ n it is e^(ty)/Σ_z e^(t(n − |z − n|)), and n − |z − n| = min(z, 2n − z)
  never falls as n rises; the other side is its mirror image.
- So for every y it is largest at n = y and smallest at n = 0 or n = N. Say n = 0; then the ratio is e^(ty)·C(0)/C(y), and
  C(0) ≤ C(y), because C(0) sums the powers 0 … N of e^(−t), and C(y) those of 0 … y and 1 … N − y. With ty ≤ ε the
  ratio is at most e^ε, and at y = N it is e^ε.

A distance D below N with P(D) ∝ e^(−tD) has independent binary digits, each group of which is drawn as in `sampler`. With a
fair sign and without "minus zero" it is the wanted step, if that ends on the grid; otherwise both are drawn again. At least
half of them end there, whatever ε and n are, because one of the two signs does. Only at the two ends of the grid can a step
have N itself for its length: there the sign is known, and one more digit takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kepsilon.perturb.digit_groups import GROUP_BITS, Group, group_of
from kepsilon.policy.exact_bounds import GRID_BITS, LARGEST_EPSILON
from kepsilon.randomness import ByteSource
from kepsilon.table.arrays import BoolArray

_CHUNK = 1 << 16
"""Draws at a time: arrays of half a megabyte stay in cache, and memory stays bounded."""

Int64Array = NDArray[np.int64]


def bounded_points(
    places: Int64Array, *, epsilon: Fraction, source: ByteSource, grid_bits: int = GRID_BITS
) -> Int64Array:
    """Grid points y in 0 … 2^grid_bits with P(y) ∝ exp(−ε·|y − n| / 2^grid_bits), one for each place n; shaped like `places`."""
    digits = _digits(epsilon, grid_bits)
    points = np.empty(len(places), dtype=np.int64)
    for start in range(0, len(places), _CHUNK):
        part = slice(start, start + _CHUNK)
        points[part] = _points(places[part], digits, source)
    return points


@dataclass(frozen=True, slots=True, kw_only=True)
class _Digits:
    """The digits of a distance below twice the length of the grid."""

    n_steps: int
    groups: tuple[Group, ...]
    """Those of a distance below `n_steps`, lowest first."""
    highest: Group
    """The one digit above them."""

    def below_all_steps(self, n: int, source: ByteSource) -> Int64Array:
        """Distances D = 0 … n_steps − 1 with P(D) ∝ exp(−tD), shape (n,); each group of digits is one byte."""
        drawn = np.zeros((n, 8), dtype=np.uint8)
        for i, group in enumerate(self.groups):
            drawn[:, i] = group.draw(n, source)
        return drawn.view("<i8").reshape(n).astype(np.int64, copy=False)


def _points(places: Int64Array, digits: _Digits, source: ByteSource) -> Int64Array:
    """Points for one chunk of places."""
    if places.size and not 0 <= places.min() <= places.max() <= digits.n_steps:
        raise ValueError(f"a place on the grid is 0 to {digits.n_steps}")
    points, is_right = _attempts(places, digits, source)
    pending = np.flatnonzero(~is_right)
    while pending.size:
        points[pending], is_right = _attempts(places[pending], digits, source)
        pending = pending[~is_right]
    return points


def _attempts(places: Int64Array, digits: _Digits, source: ByteSource) -> tuple[Int64Array, BoolArray]:
    """A step from every place, and whether it is one that may be taken."""
    n, top = len(places), digits.n_steps
    steps = digits.below_all_steps(n, source)
    signs = np.frombuffer(source.bytes((n + 7) // 8), dtype=np.uint8)
    minus = np.unpackbits(signs, count=n).view(np.bool_)
    ends = np.flatnonzero((places == 0) | (places == top))
    is_minus_zero = minus & (steps == 0)
    if ends.size:
        steps[ends] += top * digits.highest.draw(ends.size, source).astype(np.int64)
        minus = minus.copy()
        minus[ends] = places[ends] == top
        is_minus_zero[ends] = False
    steps *= 1 - 2 * minus.view(np.int8)
    steps += places
    is_right: BoolArray = steps.view(np.uint64) <= top  # below 0, too, is above
    is_right &= ~is_minus_zero
    return steps, is_right


@lru_cache(maxsize=64)
def _digits(epsilon: Fraction, grid_bits: int) -> _Digits:
    """The digits of one ε, in groups of eight and one of what is left."""
    if not 0 < epsilon <= LARGEST_EPSILON:
        raise ValueError(f"epsilon must be positive and at most {LARGEST_EPSILON}, and is {epsilon}")
    if not 0 <= grid_bits <= GRID_BITS:
        raise ValueError(f"the grid has 0 to {GRID_BITS} bits, not {grid_bits}")
    groups = tuple(
        group_of(epsilon / 2 ** (grid_bits - first), is_top=False, n_values=2 ** min(GROUP_BITS, grid_bits - first))
        for first in range(0, grid_bits, GROUP_BITS)
    )
    return _Digits(n_steps=1 << grid_bits, groups=groups, highest=group_of(epsilon, is_top=False, n_values=2))

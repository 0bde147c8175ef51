# SPDX-License-Identifier: Apache-2.0
"""Exact integer noise: geometric variables drawn digit by digit, with a sign, or as the radius of a whole record.

The binary digits of a geometric variable are independent; digit i is 1 with probability 1/(1 + exp(ε·2^(i − 32))).
They are drawn eight at a time: a group of eight is a value 0 … 255 whose distribution function is known to any number
of binary places (`expansions`), and sixteen random bits, compared with those places, settle it unless they agree with
a boundary to the last bit; only then are more bytes fetched. Integers and comparisons throughout: the probabilities are
exact, and the only approximation left is that of the byte source to true randomness.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kepsilon.perturb.expansions import GROUP_VALUES, cumulative
from kepsilon.policy.exact_bounds import GRID_BITS, LARGEST_EPSILON, MOST_EPSILON_QUASIS, SMALLEST_EPSILON
from kepsilon.randomness import ByteSource, uniform_below, uniform_uint64

_GROUP_BITS = 8
_UNDECIDED = 2 * GROUP_VALUES
_LARGEST_LAPS = 255
_CHUNK = 1 << 16
"""Draws at a time: arrays of half a megabyte stay in cache, and memory stays bounded."""

Int64Array = NDArray[np.int64]


def two_sided_geometric(n: int, *, epsilon: Fraction, source: ByteSource, grid_bits: int = GRID_BITS) -> Int64Array:
    """Integers with P(Z) ∝ exp(−ε·|Z| / 2^grid_bits), shape (n,): the Laplace noise of one ε-quasi, on the grid."""
    groups = _groups(epsilon, grid_bits)
    noise = np.empty(n, dtype=np.int64)
    for start in range(0, n, _CHUNK):
        part = noise[start : start + _CHUNK]
        part[:] = _with_sign(part.size, groups, source)
    return noise


def geometric(n: int, *, epsilon: Fraction, source: ByteSource, grid_bits: int = GRID_BITS) -> Int64Array:
    """Integers G ≥ 0 with P(G) ∝ exp(−ε·G / 2^grid_bits), shape (n,)."""
    groups = _groups(epsilon, grid_bits)
    drawn = np.empty(n, dtype=np.int64)
    for start in range(0, n, _CHUNK):
        part = drawn[start : start + _CHUNK]
        part[:] = _geometric(part.size, groups, source)
    return drawn


def record_noise(n: int, d: int, *, epsilon: Fraction, source: ByteSource, grid_bits: int = GRID_BITS) -> Int64Array:
    """Integer vectors with density ∝ exp(−ε·max_j|z_j| / 2^grid_bits) on Z^d, shape (n, d).

    The record is the unit: all its d ε-quasis together spend one ε, and d copies of an attribute tell no more than one.
    For d = 1 this is the Laplace noise itself.
    """
    if not 0 <= d <= MOST_EPSILON_QUASIS:
        raise ValueError(f"noise is drawn for 0 to {MOST_EPSILON_QUASIS} ε-quasis of a record, not for {d}")
    if d == 1:
        return two_sided_geometric(n, epsilon=epsilon, source=source, grid_bits=grid_bits).reshape(n, 1)
    groups = _groups(epsilon, grid_bits)
    noise = np.empty((n, d), dtype=np.int64)
    chunk = _CHUNK // (d + 1)
    for start in range(0, n, chunk) if d else ():
        part = noise[start : start + chunk]
        part[:] = _in_cubes(len(part), d, groups, source)
    return noise


def _in_cubes(n: int, d: int, groups: tuple[_Group, ...], source: ByteSource) -> Int64Array:
    """Noise of n records: a point drawn uniformly from a cube of random radius M, shape (n, d).

    With P(M) ∝ (2M + 1)^d · exp(−tM), t = ε/2^grid_bits, every z comes up with probability ∝ Σ_{M ≥ max|z_j|} exp(−tM)
    ∝ exp(−t·max|z_j|), because the cube has (2M + 1)^d points. A sum of d + 1 geometric variables has P(M) ∝
    (M + 1)⋯(M + d) · exp(−tM), and accepting it with probability Π (2M + 1)/(2M + 2i), i = 1 … d, turns one into the
    other. The i-th factor is the chance that an integer uniform below 2M + 2i is below 2M + 1; given that it is, it is
    uniform there, and so it is also the i-th coordinate. On the fine grid M is huge and hardly a record is redrawn.
    """
    noise = np.empty((n, d), dtype=np.int64)
    beyond = 2 * np.arange(1, d + 1)
    pending = np.arange(n)
    while pending.size:
        radii = _geometric(pending.size * (d + 1), groups, source).reshape(d + 1, -1).sum(axis=0)[:, np.newaxis]
        drawn = uniform_below(2 * radii + beyond, source).view(np.int64)
        noise[pending] = drawn - radii
        pending = pending[np.any(drawn > 2 * radii, axis=1)]
    return noise


def _with_sign(n: int, groups: tuple[_Group, ...], source: ByteSource) -> Int64Array:
    """A geometric variable with a fair sign; "minus zero" is drawn again, or zero would come up twice as often."""
    noise = np.empty(n, dtype=np.int64)
    pending: slice | NDArray[np.intp] = slice(None)
    n_pending = n
    while n_pending:
        magnitude = _geometric(n_pending, groups, source)
        bits = np.frombuffer(source.bytes((n_pending + 7) // 8), dtype=np.uint8)
        minus = np.unpackbits(bits, count=n_pending)
        minus_zero = np.flatnonzero(minus.view(np.bool_) & (magnitude == 0))
        magnitude *= 1 - 2 * minus.view(np.int8)
        noise[pending] = magnitude
        pending = minus_zero if isinstance(pending, slice) else pending[minus_zero]
        n_pending = minus_zero.size
    return noise


def _geometric(n: int, groups: tuple[_Group, ...], source: ByteSource) -> Int64Array:
    """n geometric variables, drawn group by group: each group of digits is one byte of the int64.

    int64 cannot overflow. There are at most six groups (ε ≥ 0.0001 and 32 grid bits need 48 digits), and 255 laps of
    the top group keep the sum below 2^56. A 256th lap has probability below exp(−4 · 256) < 2^−1477: it means that the
    source is broken, and it is an error rather than a wrong number.
    """
    digits = np.zeros((n, 8), dtype=np.uint8)
    for i, group in enumerate(groups):
        values = group.draw(n, source)
        digits[:, i] = values  # "256 or more" becomes 0 here and a lap below
    drawn = digits.view("<i8").reshape(n).astype(np.int64, copy=False)
    # What lies beyond 256 steps of the top group is again a geometric variable: it has no memory.
    beyond = np.flatnonzero(values == GROUP_VALUES)
    drawn[beyond] += 1 << (_GROUP_BITS * len(groups))
    for _ in range(_LARGEST_LAPS):
        if not beyond.size:
            return drawn
        values = groups[-1].draw(beyond.size, source)
        drawn[beyond] += values.astype(np.int64) << (_GROUP_BITS * (len(groups) - 1))
        beyond = beyond[values == GROUP_VALUES]
    raise RuntimeError("the source of random bytes is broken: it repeats what chance cannot")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Eight digits at once: the value is the number of boundaries at or below a uniform number, `U ≥ P(group < v)`."""

    step: Fraction
    is_top: bool
    leading: NDArray[np.uint64]
    """The first 64 binary places of every boundary; rising, though not strictly."""
    by_first_bits: NDArray[np.uint16]
    """The value for every choice of the first 16 bits, or _UNDECIDED where a boundary has the same 16 bits."""

    def draw(self, n: int, source: ByteSource) -> NDArray[np.uint16]:
        """Values of n independent groups; 16 random bits decide nearly all of them."""
        first_bits = np.frombuffer(source.bytes(2 * n), dtype="<u2")
        values = self.by_first_bits.take(first_bits)
        undecided = np.flatnonzero(values == _UNDECIDED)
        if undecided.size:
            values[undecided] = self._decide(first_bits[undecided], source)
        return values

    def _decide(self, first_bits: NDArray[np.uint16], source: ByteSource) -> NDArray[np.intp]:
        """Values of groups whose first 16 random bits are those of a boundary, from 48 bits more."""
        uniform = first_bits.astype(np.uint64) << np.uint64(48)
        uniform |= uniform_uint64(len(first_bits), source) >> np.uint64(16)
        values = np.searchsorted(self.leading, uniform, side="left")
        equal = self.leading[np.minimum(values, len(self.leading) - 1)] == uniform
        for i in np.flatnonzero(equal):  # of 2^64 numbers at most 256: practically never
            values[i] = self._decide_at_length(int(uniform[i]), source)
        return values

    def _decide_at_length(self, uniform: int, source: ByteSource) -> int:
        """The value of a group whose first 64 random bits are those of a boundary, from 256 bits, 512 and so on."""
        known, bits = 64, 256
        while True:
            uniform = uniform << (bits - known) | int.from_bytes(source.bytes((bits - known) // 8), "big")
            boundaries = cumulative(self.step, is_top=self.is_top, bits=bits)
            value = bisect_left(boundaries, uniform)
            if value == len(boundaries) or boundaries[value] != uniform:
                return value
            known, bits = bits, 2 * bits


@lru_cache(maxsize=16)
def _groups(epsilon: Fraction, grid_bits: int) -> tuple[_Group, ...]:
    """The groups of digits of one ε, lowest first: as many as leave at most e^−4 beyond the top group."""
    if not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise ValueError(f"epsilon must lie between {SMALLEST_EPSILON} and {LARGEST_EPSILON}, and is {epsilon}")
    if not 0 <= grid_bits <= GRID_BITS:
        raise ValueError(f"the grid has 0 to {GRID_BITS} bits, not {grid_bits}")
    step = epsilon / 2**grid_bits
    steps = [step]
    while steps[-1] * GROUP_VALUES < 4:
        steps.append(steps[-1] * GROUP_VALUES)
    return tuple(_group(step, is_top=step == steps[-1]) for step in steps)


def _group(step: Fraction, *, is_top: bool) -> _Group:
    """The group of digits whose values v have probabilities proportional to exp(−step·v)."""
    leading = np.array([b >> 192 for b in cumulative(step, is_top=is_top, bits=256)], dtype=np.uint64)
    first_bits = np.arange(1 << 16)
    boundary_bits = (leading >> np.uint64(48)).astype(np.int64)
    by_first_bits = np.searchsorted(boundary_bits, first_bits, side="left").astype(np.uint16)
    by_first_bits[boundary_bits] = _UNDECIDED
    leading.flags.writeable = by_first_bits.flags.writeable = False
    return _Group(step=step, is_top=is_top, leading=leading, by_first_bits=by_first_bits)

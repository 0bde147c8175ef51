# SPDX-License-Identifier: Apache-2.0
"""Exact integer noise: geometric variables drawn digit by digit, with a sign, or as the radius of a whole record.

The binary digits of a geometric variable are independent; digit i is 1 with probability 1/(1 + exp(ε·2^(i − 32))).
They are drawn eight at a time: a group of eight is a value 0 … 255 whose distribution function is known to any number
of binary places (`expansions`), and sixteen random bits, compared with those places, settle it unless they agree with
a boundary to the last bit; only then are more bytes fetched. Integers and comparisons throughout: the probabilities are
exact, and the only approximation left is that of the byte source to true randomness.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kepsilon.perturb.digit_groups import GROUP_BITS, Group, group_of
from kepsilon.perturb.expansions import GROUP_VALUES
from kepsilon.policy.exact_bounds import GRID_BITS, LARGEST_EPSILON, MOST_EPSILON_QUASIS, SMALLEST_EPSILON
from kepsilon.randomness import ByteSource, uniform_below

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


def _in_cubes(n: int, d: int, groups: tuple[Group, ...], source: ByteSource) -> Int64Array:
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


def _with_sign(n: int, groups: tuple[Group, ...], source: ByteSource) -> Int64Array:
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


def _geometric(n: int, groups: tuple[Group, ...], source: ByteSource) -> Int64Array:
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
    drawn[beyond] += 1 << (GROUP_BITS * len(groups))
    for _ in range(_LARGEST_LAPS):
        if not beyond.size:
            return drawn
        values = groups[-1].draw(beyond.size, source)
        drawn[beyond] += values.astype(np.int64) << (GROUP_BITS * (len(groups) - 1))
        beyond = beyond[values == GROUP_VALUES]
    raise RuntimeError("the source of random bytes is broken: it repeats what chance cannot")


@lru_cache(maxsize=16)
def _groups(epsilon: Fraction, grid_bits: int) -> tuple[Group, ...]:
    """The groups of digits of one ε, lowest first: as many as leave at most e^−4 beyond the top group."""
    if not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise ValueError(f"epsilon must lie between {SMALLEST_EPSILON} and {LARGEST_EPSILON}, and is {epsilon}")
    if not 0 <= grid_bits <= GRID_BITS:
        raise ValueError(f"the grid has 0 to {GRID_BITS} bits, not {grid_bits}")
    step = epsilon / 2**grid_bits
    steps = [step]
    while steps[-1] * GROUP_VALUES < 4:
        steps.append(steps[-1] * GROUP_VALUES)
    return tuple(group_of(step, is_top=step == steps[-1]) for step in steps)

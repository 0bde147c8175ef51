# SPDX-License-Identifier: Apache-2.0
"""Groups of binary digits of a geometric variable, drawn by comparing random bits with proven places of probabilities.

A group of eight digits is a value 0 … 255 whose distribution function is known to any number of binary places
(`expansions`), and sixteen random bits, compared with those places, settle it unless they agree with a boundary to the
last bit; only then are more bytes fetched.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from kepsilon.perturb.expansions import GROUP_VALUES, cumulative
from kepsilon.randomness import ByteSource, uniform_uint64

GROUP_BITS = 8
_UNDECIDED = 2 * GROUP_VALUES


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Up to eight digits at once: the value is the number of boundaries at or below a uniform number, `U ≥ P(group < v)`."""

    step: Fraction
    n_values: int
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
            boundaries = cumulative(self.step, is_top=self.is_top, bits=bits, n_values=self.n_values)
            value = bisect_left(boundaries, uniform)
            if value == len(boundaries) or boundaries[value] != uniform:
                return value
            known, bits = bits, 2 * bits


def group_of(step: Fraction, *, is_top: bool, n_values: int = GROUP_VALUES) -> Group:
    """The group of digits whose values v have probabilities proportional to exp(−step·v)."""
    leading = np.array(
        [b >> 192 for b in cumulative(step, is_top=is_top, bits=256, n_values=n_values)], dtype=np.uint64
    )
    first_bits = np.arange(1 << 16)
    boundary_bits = (leading >> np.uint64(48)).astype(np.int64)
    by_first_bits = np.searchsorted(boundary_bits, first_bits, side="left").astype(np.uint16)
    by_first_bits[boundary_bits] = _UNDECIDED
    leading.flags.writeable = by_first_bits.flags.writeable = False
    return Group(step=step, n_values=n_values, is_top=is_top, leading=leading, by_first_bits=by_first_bits)

# SPDX-License-Identifier: Apache-2.0
"""The bounds within which noise is drawn and values are written exactly; every other module takes them from here."""

from __future__ import annotations

from fractions import Fraction

SMALLEST_EPSILON = Fraction(1, 10_000)
LARGEST_EPSILON = Fraction(100)

MOST_EPSILON_QUASIS = 62
"""Most ε-quasis of one record: the sum of 63 geometric variables below 2^56 is below 2^62, so 2M + 2d fits into 63 bits."""

GRID_BITS = 32
"""The range of a class is divided into 2^32 steps, and noise is a whole number of them."""

FINEST_BITS = 24
"""A range has at most 2^24 units of the precision: a finer one would begin to show the steps of the noise."""

EXACT = 1 << 53
"""Every whole number below this is exactly a double."""

# SPDX-License-Identifier: Apache-2.0
"""Slow, obvious versions of what the noise should be, and the tests that compare samples with them.

ALPHA is the false-alarm rate of every statistical test of the noise: there are about a hundred, so a wrong alarm is
expected once in some ten million runs with fresh seeds. The suite runs with one seed and never flakes; another is chosen
by KEPSILON_TEST_SEED, for nightly runs.
"""

from __future__ import annotations

import math
import os
from fractions import Fraction

import numpy as np
from scipy import stats

from kepsilon.randomness import unsafe_seeded_bytes

ALPHA = 1e-9
SEED = int(os.environ.get("KEPSILON_TEST_SEED", "20160712"))


def seeded(stream=0):
    """The suite's bytes; every test takes a stream of its own."""
    return unsafe_seeded_bytes(SEED + 1_000_003 * stream)


class ScriptedBytes:
    """A source that reads its bytes from a script, and complains when the script is over."""

    seeded = True

    def __init__(self, script):
        self.left = script

    def bytes(self, n):
        assert n <= len(self.left), "more bytes fetched than the script foresees"
        taken, self.left = self.left[:n], self.left[n:]
        return taken


class ConstantBytes:
    """A broken source: the same byte for ever. Zeros make noise of zero."""

    seeded = True

    def __init__(self, byte=0):
        self.byte = byte

    def bytes(self, n):
        return bytes([self.byte]) * n


def exp_minus_series(x: Fraction, *, bits: int) -> Fraction:
    """e^(−x) to within 2^−bits, by the Taylor series of e^(x/2^h) and h squarings, in fractions cut to dyadic ones."""
    halvings = max(0, math.ceil(x).bit_length() + 4)
    y = x / 2**halvings
    working = bits + 8 * halvings + 64
    total, term, n = Fraction(1), Fraction(1), 0
    while term > Fraction(1, 2**working):
        n += 1
        term = _cut(term * y / n, working)
        total += term
    for _ in range(halvings):
        total = _cut(total * total, working)
    return 1 / total


def _cut(x: Fraction, bits: int) -> Fraction:
    return Fraction(math.floor(x * 2**bits), 2**bits)


def group_boundaries_by_digits(step: Fraction, *, bits: int) -> list[Fraction]:
    """P(group < v), v = 1 … 255, from eight independent digits: digit i is 1 with probability 1/(1 + exp(step·2^i))."""
    exps = [exp_minus_series(step * 2**i, bits=bits + 64) for i in range(8)]
    ones = [_cut(e / (1 + e), bits + 64) for e in exps]
    probabilities = [
        math.prod((ones[i] if v >> i & 1 else 1 - ones[i] for i in range(8)), start=Fraction(1)) for v in range(256)
    ]
    boundaries, total = [], Fraction(0)
    for probability in probabilities[:-1]:
        total += _cut(probability, bits + 64)
        boundaries.append(total)
    return boundaries


def two_sided_below(z, t):
    """P(Z < z) for P(Z) ∝ exp(−t·|Z|) on the integers; z may be an array of integers."""
    z = np.asarray(z, dtype=np.float64)
    tail = np.exp(-t * np.abs(z)) / (1 + math.exp(-t))  # P(Z ≥ |z|), and P(Z < −|z|) is the next term of the series
    return np.where(z > 0, 1 - tail, tail * math.exp(-t))


def chi_square_p(observed, probabilities):
    """p-value of counts against exact probabilities; bins that expect fewer than five are put together."""
    observed, probabilities = np.asarray(observed), np.asarray(probabilities)
    assert math.isclose(probabilities.sum(), 1, rel_tol=1e-9)
    expected = probabilities * observed.sum()
    small = expected < 5
    if small.any():
        observed = np.append(observed[~small], observed[small].sum())
        expected = np.append(expected[~small], expected[small].sum())
    if (
        len(expected) > 1 and expected[-1] < 5
    ):  # what was put together is still too small to count on: add it to the largest
        largest = np.argmax(expected[:-1])
        observed[largest] += observed[-1]
        expected[largest] += expected[-1]
        observed, expected = observed[:-1], expected[:-1]
    assert len(expected) > 1, "one bin says nothing"
    return stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue


def two_sided_chi_square_p(noise, t, *, n_bins=120):
    """p-value of integers against P(Z) ∝ exp(−t·|Z|): single integers where the grid is coarse, else bins of equal width."""
    reach = int(9 / t) + 1  # 1e-4 lies beyond: a few dozen of some 400,000 draws, and all laps of the top group inside
    cuts = np.unique(np.rint(np.linspace(-reach, reach, n_bins)).astype(np.int64))
    bins = np.searchsorted(cuts, noise, side="right")  # bin i holds cuts[i − 1] ≤ z < cuts[i]
    below = two_sided_below(cuts, t)
    probabilities = np.diff(np.concatenate([[0.0], below, [1.0]]))
    return chi_square_p(np.bincount(bins, minlength=len(cuts) + 1), probabilities)

# SPDX-License-Identifier: Apache-2.0
"""Expected number of records suppressed with their class, because fewer than k records of it stay.

Records stay or not independently, with unequal probabilities, so the number that stay is Poisson-binomial. Its
probabilities are the coefficients of a product of (1 − q_i) + q_i·s, multiplied out in pairs and cut off where they no
longer matter: at k, or, if that is less, at m − k + 1, the number of records of m whose loss makes the class go.
"""

from __future__ import annotations

import itertools

import numpy as np

from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

_NEGLIGIBLE = 1e-12
"""Expected records below which the loss of a class is not worked out."""

_TRIFLE = 1e-20
"""Probabilities beyond the last that is larger than this are left out of a product."""

_DIRECT = 32
"""Polynomials with more coefficients than this are multiplied by Fourier transforms, with errors of about 1e-16."""

_TOGETHER = 1 << 16
"""Records whose polynomials are multiplied together: few enough to stay in a processor's cache."""


def may_fall(expected_stays: FloatArray, sizes: IntArray, *, k: int) -> BoolArray:
    """Which classes may fall below k often enough to matter, given the sums of q_i; all have at least k records.

    Chernoff: P(N ≤ x) ≤ e^(tx)·Π(1 − q_i + q_i·e^(−t)) ≤ e^(tx)·(1 − q̄ + q̄·e^(−t))^m for every t ≥ 0, as log is concave;
    at the best t that is exp(−m·D) with m·D = x·ln(x/(m·q̄)) + (m − x)·ln((m − x)/(m − m·q̄)), if x < m·q̄.
    """
    return _may_be_at_most(k - 1, expected_stays, sizes)


def may_stand(expected_stays: FloatArray, sizes: IntArray, *, k: int) -> BoolArray:
    """Which classes may be left with k records often enough to matter: the bound of `may_fall` for m − k or fewer that go."""
    return _may_be_at_most(sizes - k, sizes - expected_stays, sizes)


def _may_be_at_most(most: IntArray | int, expected: FloatArray, sizes: IntArray) -> BoolArray:
    """Whether P(N ≤ most)·size may exceed the negligible, N having this expectation: the Chernoff bound of `may_fall`."""
    others = sizes - most
    # Rounding may put an expectation at or beyond an end. It is moved inside, where the bound is larger: that is safe.
    mean = np.maximum(expected, np.maximum(most, sizes * 1e-16))
    rest = np.maximum(sizes - mean, sizes * 1e-16)
    exponent = most * np.log(np.maximum(most, 1) / mean) + others * np.log(others / rest)
    matters: BoolArray = np.exp(-exponent) * sizes > _NEGLIGIBLE
    return matters


def lost_with_class(stays: FloatArray, zero: FloatArray | None, sizes: IntArray, *, k: int) -> FloatArray:
    """Expected number of records that would stay but for their class, shape (n_classes,).

    All classes have at least k records. `stays` holds the probability q_i that each record stays and counts as staying,
    one class after the other; `zero` the probability that it stays without counting (see `ZeroRule.STRICT`), or None.
    """
    lost = np.zeros(len(sizes))
    starts = np.cumsum(sizes) - sizes
    magnitudes = np.frexp(sizes - 0.5)[1]  # sizes up to 1, 2, 4, 8, … records
    for magnitude in np.flatnonzero(np.bincount(magnitudes)):
        length = 1 << int(magnitude)
        similar = np.flatnonzero(magnitudes == magnitude)
        at_once = max(1, _TOGETHER // length)
        for chosen in (similar[i : i + at_once] for i in range(0, len(similar), at_once)):
            inside = np.arange(length) < sizes[chosen, np.newaxis]
            positions = (starts[chosen, np.newaxis] + np.arange(length))[inside]
            rows = np.zeros((2, *inside.shape))
            rows[0, inside] = stays[positions]
            if zero is not None:
                rows[1, inside] = zero[positions]
            lost[chosen] = _lost(rows[0], None if zero is None else rows[1], inside, sizes[chosen], k=k)
    return lost


def _lost(stays: FloatArray, zero: FloatArray | None, inside: BoolArray, sizes: IntArray, *, k: int) -> FloatArray:
    """What `lost_with_class` returns, for classes that are the rows of arrays (n_classes, length); `inside` marks records.

    With A_n = P(n stay) and B_n = E(records that stay without counting; n stay) it is the sum of n·A_n + B_n for n < k.
    Where fewer records may go than must stay, n counts those that go: the sum is then what stays in classes that stay,
    and is subtracted from all that would stay.
    """
    counts_gone = sizes - k + 1 < k
    limits = np.where(counts_gone, sizes - k + 1, k)
    most = int(limits.max())
    success = np.where(counts_gone[:, np.newaxis] & inside, 1 - stays, stays)
    chances = np.stack([1 - success, success])
    extra = None
    if zero is not None:
        extra = np.zeros_like(chances)
        extra[0] = np.where(counts_gone[:, np.newaxis], 0.0, zero)
        extra[1] = np.where(counts_gone[:, np.newaxis], zero, 0.0)
    while chances.shape[-1] > 1:
        half = chances.shape[-1] // 2
        left, right = chances[..., :half], chances[..., half:]
        if extra is not None:
            extra = _product(left, extra[..., half:], most) + _product(extra[..., :half], right, most)
        chances = _product(left, right, most)
        n_needed = _n_needed(chances if extra is None else chances + extra)
        chances, extra = chances[:n_needed], None if extra is None else extra[:n_needed]
    numbers = np.arange(min(most, len(chances)))[:, np.newaxis]
    matters = numbers < limits
    shares = np.where(counts_gone, sizes - numbers, numbers) * chances[: len(numbers), :, 0]
    if extra is not None:
        shares += extra[: len(numbers), :, 0]
    total = np.sum(shares, axis=0, where=matters)
    would_stay = stays.sum(axis=1) if zero is None else stays.sum(axis=1) + zero.sum(axis=1)
    lost: FloatArray = np.where(counts_gone, would_stay - total, total)
    return lost


def _product(left: FloatArray, right: FloatArray, most: int) -> FloatArray:
    """Products of polynomials whose coefficients lie along the first axis, up to `most` coefficients."""
    n = min(len(left) + len(right) - 1, most)
    if min(len(left), len(right)) > _DIRECT:
        length = _quickly_transformed(len(left) + len(right) - 1)
        spectrum = np.fft.rfft(left, length, axis=0) * np.fft.rfft(right, length, axis=0)
        return np.fft.irfft(spectrum, length, axis=0)[:n]
    product = np.zeros((n, *left.shape[1:]))
    for i in range(min(len(left), n)):
        width = min(len(right), n - i)
        product[i : i + width] += left[i] * right[:width]
    return product


def _n_needed(coefficients: FloatArray) -> int:
    """How many coefficients are needed: up to the last that is above _TRIFLE in any class."""
    largest = coefficients.reshape(len(coefficients), -1).max(axis=1)
    return int(np.flatnonzero(largest > _TRIFLE).max(initial=0)) + 1


def _quickly_transformed(length: int) -> int:
    """The least number from `length` on without prime factors above 5: for such, Fourier transforms are fast."""
    for number in itertools.count(length):
        rest = number
        for factor in (2, 3, 5):
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            break
    return number

# SPDX-License-Identifier: Apache-2.0
"""How many records go with their class, if a class goes of which fewer than k records stay.

Records stay or not independently, with unequal probabilities, so the number that stay is Poisson-binomial. Its
probabilities are the coefficients of a product of (1 − q_i) + q_i·s, multiplied out in pairs and cut off where they no
longer matter: at k, or, if that is less, at the m − k + 1 records of m that may go before the class does.
"""

from __future__ import annotations

import numpy as np

from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

_NEGLIGIBLE = 1e-16
"""Expected records of a class below which its rule is not worked out."""

_DIRECT = 16
"""Polynomials with more coefficients than this are multiplied by Fourier transforms, with errors of about 1e-16."""

_TOGETHER = 1 << 16
"""Records whose polynomials are multiplied together: few enough to stay in a processor's cache."""


def may_fall(expected_stays: FloatArray, sizes: IntArray, *, k: int) -> BoolArray:
    """Which classes may fall below k often enough to matter, given the sums of q_i, by a bound of Chernoff's.

    P(N ≤ x) ≤ e^(tx)·Π(1 − q_i + q_i·e^(−t)) ≤ e^(tx)·(1 − q̄ + q̄·e^(−t))^m for every t ≥ 0, as log is concave; at the
    best t that is exp(−m·D) with D = (x/m)·ln(x/(m·q̄)) + (1 − x/m)·ln((m − x)/(m − m·q̄)), if x < m·q̄.
    """
    x = k - 1
    stays = np.maximum(expected_stays, x)  # D = 0 where at least half the probability is at stake
    gone = np.maximum(sizes - stays, sizes * 1e-16)
    with np.errstate(divide="ignore", invalid="ignore"):  # of classes with fewer than k records, which are gone anyway
        exponent = x * np.log(max(x, 1) / stays) + (sizes - x) * np.log((sizes - x) / gone)
        falls: BoolArray = np.exp(-exponent) * sizes > _NEGLIGIBLE
    return falls & (sizes >= k)


def lost_with_class(stays: FloatArray, zero: FloatArray | None, sizes: IntArray, *, k: int) -> FloatArray:
    """Expected number of records that would stay but for their class, shape (n_classes,); all classes have k records.

    `stays` holds the probability q_i that each record stays and counts as staying, one class after the other; `zero` that
    it stays without counting (see `ZeroRule.STRICT`), or None.
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
    """The same for classes laid under each other, shape (n_classes, length); outside of them there are no records.

    With A_n = P(n stay) and B_n = E(records that stay without counting; n stay) it is the sum of n·A_n + B_n for n < k.
    Where fewer may go than stay it is their number that is counted, and what stays in classes that stay that is summed.
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
    numbers = np.arange(min(most, len(chances)))[:, np.newaxis]
    matters = numbers < limits
    shares = np.where(counts_gone, sizes - numbers, numbers) * chances[: len(numbers), :, 0]
    if extra is not None:
        shares += extra[: len(numbers), :, 0]
    total = np.sum(shares, axis=0, where=matters)
    return np.where(counts_gone, stays.sum(axis=1) + (0 if zero is None else zero.sum(axis=1)) - total, total)


def _product(left: FloatArray, right: FloatArray, most: int) -> FloatArray:
    """Products of polynomials whose coefficients lie along the first axis, up to `most` coefficients."""
    n = min(len(left) + len(right) - 1, most)
    if len(left) > _DIRECT:
        length = 1 << (len(left) + len(right) - 2).bit_length()
        spectrum = np.fft.rfft(left, length, axis=0) * np.fft.rfft(right, length, axis=0)
        transformed: FloatArray = np.fft.irfft(spectrum, length, axis=0)[:n]
        return transformed
    product = np.zeros((n, *left.shape[1:]))
    for i in range(min(len(left), n)):
        width = min(len(right), n - i)
        product[i : i + width] += left[i] * right[:width]
    return product

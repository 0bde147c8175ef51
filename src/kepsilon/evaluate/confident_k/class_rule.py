# SPDX-License-Identifier: Apache-2.0
"""Expected number of records that confident k suppresses by its class rule, before noise is drawn.

Confident k first suppresses each record that noise left too few originals to hide among; the others stay. The class rule
then suppresses a class whole if fewer than k of its records stay (paper §V-C). This module works out how many records that
would have stayed are lost so, for `expected_suppression`, from the probability q_i that record i stays.

Records stay independently, with unequal probabilities, so the number N of the m records of a class that stay is
Poisson-binomial: P(N = n) is the coefficient of sⁿ in the product over i of (1 − q_i) + q_i·s. The product is multiplied
out in pairs, and cut off where coefficients no longer matter: after the first k, which are those of n < k, or, if that is
less, after the first m − k + 1 of the polynomial that counts records that do not stay, which are those of n ≥ k.
"""

from __future__ import annotations

import itertools

import numpy as np

from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

_NEGLIGIBLE = 1e-12
"""If a probability times the size of the class is at most this, it does not matter: the result changes by no more."""

_TRIFLE = 1e-20
"""Highest powers of a product are dropped while their coefficients are at most this."""

_DIRECT = 32
"""If both polynomials have more coefficients than this, Fourier transforms multiply them, with errors of about 1e-16."""

_TOGETHER = 1 << 16
"""Records, with padding, whose polynomials are multiplied at once: few enough to stay in a processor's cache."""


def may_fall(expected_stays: FloatArray, sizes: IntArray, *, k: int) -> BoolArray:
    """Whether fewer than k records of each class stay often enough to matter, shape (n_classes,).

    `expected_stays` is the sum of q_i of each class; all classes have at least k records.
    """
    return _may_be_at_most(k - 1, expected_stays, sizes)


def may_stand(expected_stays: FloatArray, sizes: IntArray, *, k: int) -> BoolArray:
    """Whether at least k records of each class stay, so at most m − k go, often enough to matter, shape (n_classes,).

    Parameters are those of `may_fall`.
    """
    return _may_be_at_most(sizes - k, sizes - expected_stays, sizes)


def _may_be_at_most(most: IntArray | int, expected: FloatArray, sizes: IntArray) -> BoolArray:
    """Whether a Chernoff bound allows P(N ≤ most) to matter, N being a number of records with this expectation.

    With x for `most`, m for the size and q̄ for the mean of q_i, for every t ≥ 0:
    P(N ≤ x) ≤ e^(tx)·Π(1 − q_i + q_i·e^(−t)) ≤ e^(tx)·(1 − q̄ + q̄·e^(−t))^m, as log is concave. If x < m·q̄, this is at the
    best t exp(−m·D) with m·D = x·ln(x/(m·q̄)) + (m − x)·ln((m − x)/(m − m·q̄)); else the bound is 1.
    """
    others = sizes - most
    # An expectation of at most `most` is replaced by `most`, which makes the exponent 0 and the bound 1. Neither logarithm
    # may see a zero; where rounding put an expectation at an end, moving it inside makes the bound larger, which is safe.
    mean = np.maximum(expected, np.maximum(most, sizes * 1e-16))
    mean_of_others = np.maximum(sizes - mean, sizes * 1e-16)
    exponent = most * np.log(np.maximum(most, 1) / mean) + others * np.log(others / mean_of_others)
    matters: BoolArray = np.exp(-exponent) * sizes > _NEGLIGIBLE
    return matters


def lost_with_class(counted: FloatArray, uncounted: FloatArray | None, sizes: IntArray, *, k: int) -> FloatArray:
    """Expected number of records of each class that stay by themselves but are suppressed with it, shape (n_classes,).

    `counted` is, one class after the other, the probability q_i that each record stays and counts among the k that its
    class needs; `uncounted` the probability that it stays but does not count (only under `ZeroRule.STRICT`), else None.
    Both have shape (n_records,). `sizes` is the number of records of each class, at least k.
    """
    lost = np.zeros(len(sizes))
    starts = np.cumsum(sizes) - sizes
    # Classes are padded to the next power of two: the binary exponent of size − ½ is 0, 1, 2, 3, … up to 1, 2, 4, 8, …
    exponents = np.frexp(sizes - 0.5)[1]
    for exponent in np.flatnonzero(np.bincount(exponents)):
        length = 1 << int(exponent)
        similar = np.flatnonzero(exponents == exponent)
        at_once = max(1, _TOGETHER // length)
        for chosen in (similar[i : i + at_once] for i in range(0, len(similar), at_once)):
            is_record = np.arange(length) < sizes[chosen, np.newaxis]
            positions = (starts[chosen, np.newaxis] + np.arange(length))[is_record]
            rows = np.zeros((2, *is_record.shape))
            rows[0, is_record] = counted[positions]
            if uncounted is not None:
                rows[1, is_record] = uncounted[positions]
            lost[chosen] = _lost(rows[0], None if uncounted is None else rows[1], is_record, sizes[chosen], k=k)
    return lost


def _lost(
    counted: FloatArray, uncounted: FloatArray | None, is_record: BoolArray, sizes: IntArray, *, k: int
) -> FloatArray:
    """What `lost_with_class` returns, for classes that are the rows of arrays (n_classes, length).

    `is_record` is False for padding, whose probabilities are 0. With N for the records that stay and count,
    A_n = P(N = n) and B_n = E(records that stay uncounted, where N = n), the result is the sum of n·A_n + B_n over n < k.
    Where m − k + 1 < k, fewer coefficients are needed for n ≥ k: then the polynomial counts the records that do not count
    as staying, and the sum over n ≥ k is subtracted from the expected number of all records that stay.
    """
    counts_gone = sizes - k + 1 < k
    n_terms = np.where(counts_gone, sizes - k + 1, k)
    most = int(n_terms.max())
    success = np.where(counts_gone[:, np.newaxis] & is_record, 1 - counted, counted)
    # One polynomial per record; its coefficients lie along the first axis: `chances` for A_n, `extra` for B_n.
    chances = np.stack([1 - success, success])
    extra = None
    if uncounted is not None:
        extra = np.zeros_like(chances)
        extra[0] = np.where(counts_gone[:, np.newaxis], 0.0, uncounted)
        extra[1] = np.where(counts_gone[:, np.newaxis], uncounted, 0.0)
    while chances.shape[-1] > 1:
        half = chances.shape[-1] // 2
        # The first half of the polynomials of each class is multiplied with the second half, until one is left.
        left, right = chances[..., :half], chances[..., half:]
        if extra is not None:
            extra = _product(left, extra[..., half:], most) + _product(extra[..., :half], right, most)
        chances = _product(left, right, most)
        n_needed = _n_needed(chances if extra is None else chances + extra)
        chances, extra = chances[:n_needed], None if extra is None else extra[:n_needed]
    powers = np.arange(min(most, len(chances)))[:, np.newaxis]
    shares = np.where(counts_gone, sizes - powers, powers) * chances[: len(powers), :, 0]
    if extra is not None:
        shares += extra[: len(powers), :, 0]
    total = np.sum(shares, axis=0, where=powers < n_terms)
    all_staying = counted.sum(axis=1) if uncounted is None else counted.sum(axis=1) + uncounted.sum(axis=1)
    lost: FloatArray = np.where(counts_gone, all_staying - total, total)
    return lost


def _product(left: FloatArray, right: FloatArray, most: int) -> FloatArray:
    """Products of polynomials whose coefficients lie along the first axis; the first `most` coefficients of each."""
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
    """How many coefficients are needed: up to the last that is above _TRIFLE in any polynomial of the batch."""
    largest = coefficients.reshape(len(coefficients), -1).max(axis=1)
    return int(np.flatnonzero(largest > _TRIFLE).max(initial=0)) + 1


def _quickly_transformed(length: int) -> int:
    """The smallest number ≥ `length` without prime factors above 5; Fourier transforms of such lengths are fast."""
    for number in itertools.count(length):
        rest = number
        for factor in (2, 3, 5):
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            break
    return number

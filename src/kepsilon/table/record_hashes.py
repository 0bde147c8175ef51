# SPDX-License-Identifier: Apache-2.0
"""Hashes that decide which records are drawn into a sample of whole records, and in which order these are handed over."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

Hashes = NDArray[np.uint64]

_PRIMES = tuple(
    np.uint64(prime)
    for prime in (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
)
_SEED = np.uint64(42)
"""The seed that Spark's function `xxhash64` has."""


def xxhash64(values: NDArray[np.generic], seed: Hashes | np.uint64 = _SEED) -> Hashes:
    """Hashes of numbers of 64 bits, as Spark's function `xxhash64` gives them for a column of bigint, shape (n,).

    Hashes of a first column as the `seed` of a second one give hashes of pairs.
    """
    one, two, three, four, five = _PRIMES
    with np.errstate(over="ignore"):
        mixed = _rotated(values.astype(np.int64, copy=False).view(np.uint64) * two, 31) * one
        mixed = _rotated((seed + five + np.uint64(8)) ^ mixed, 27) * one + four
        mixed = (mixed ^ (mixed >> np.uint64(33))) * two
        mixed = (mixed ^ (mixed >> np.uint64(29))) * three
    found: Hashes = mixed ^ (mixed >> np.uint64(32))
    return found


def _rotated(values: Hashes, n_bits: int) -> Hashes:
    found: Hashes = (values << np.uint64(n_bits)) | (values >> np.uint64(64 - n_bits))
    return found


def hash_limits(shares: FloatArray) -> IntArray:
    """The largest hash, as a signed number, of a record that is taken, by the share of records to take.

    A share of 1 takes every hash. That a share of 0 takes none is for the caller to see to.
    """
    limits = np.full(len(shares), np.iinfo(np.int64).max, dtype=np.int64)
    is_part = shares < 1
    limits[is_part] = np.floor((shares[is_part] - 0.5) * 2.0**64).astype(np.int64)
    return limits


def are_taken(shares: FloatArray, combinations: IntArray, rows: IntArray) -> BoolArray:
    """Which records are taken, where a share of the records of each combination is asked for, shape (n_records,).

    `combinations` and `rows`, shape (n_records,), are the row of the frequency table and the position in the input of
    each record. A record is drawn by the hash of its position, so that the same input gives the same records.
    """
    taken: BoolArray = (shares > 0)[combinations]
    drawn = np.flatnonzero(taken)  # mostly few of all records
    drawn = drawn[(shares < 1)[combinations[drawn]]]
    taken[drawn] = xxhash64(rows[drawn]).view(np.int64) <= hash_limits(shares[combinations[drawn]])
    return taken

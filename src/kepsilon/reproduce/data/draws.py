# SPDX-License-Identifier: Apache-2.0
"""Numbers that look random and are the same on every machine; for experiments, never for noise that protects anyone.

NumPy promises the raw bits of PCG64 for good, but not what `Generator` makes of them, so all else is worked out here.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
TextArray = NDArray[np.str_]


class Draws:
    """Independent streams by purpose, so that one more column does not change the others."""

    def __init__(self, *key: int) -> None:
        self._key = key

    def uniform(self, purpose: str, n: int) -> FloatArray:
        """n numbers strictly between 0 and 1, each a multiple of 2^-53."""
        entropy = [*self._key, int.from_bytes(purpose.encode(), "big")]
        raw = np.asarray(np.random.PCG64(np.random.SeedSequence(entropy)).random_raw(n), dtype=np.uint64)
        return ((raw >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52

    def normal(self, purpose: str, n: int) -> FloatArray:
        """n numbers with mean 0 and deviation 1, through the quantile function."""
        quantile = NormalDist().inv_cdf
        return np.array([quantile(share) for share in self.uniform(purpose, n).tolist()])

    def below(self, purpose: str, n: int, limit: int) -> IntArray:
        """n whole numbers from 0 up to, but not including, a limit that is small beside 2^52."""
        return (self.uniform(purpose, n) * limit).astype(np.int64)

    def index(self, purpose: str, weights: FloatArray, row: IntArray) -> IntArray:
        """For each record one position of its row of `weights`, shape (n_rows, n_choices), as likely as its weight.

        The rows are laid end to end, one unit each, so that a single search serves all records.
        """
        limits = np.cumsum(weights, axis=1)
        limits /= limits[:, -1:]
        n_rows, n_choices = weights.shape
        ends = (limits + np.arange(n_rows)[:, None]).ravel()
        found = np.searchsorted(ends, row + self.uniform(purpose, len(row)), side="right")
        # A draw within a rounding error of a row's end belongs to that row all the same.
        position: IntArray = np.clip(found - row * n_choices, 0, n_choices - 1)
        return position

    def one_of(self, purpose: str, choices: tuple[str, ...] | TextArray, n: int) -> NDArray[Any]:
        """n of the choices, each as likely as any other."""
        return np.asarray(choices)[self.below(purpose, n, len(choices))]

    def order(self, purpose: str, n: int) -> IntArray:
        """The numbers 0 to n - 1 in random order."""
        return np.argsort(self.uniform(purpose, n), kind="stable")

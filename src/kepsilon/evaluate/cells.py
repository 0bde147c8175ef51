# SPDX-License-Identifier: Apache-2.0
"""The originals of one large class put together in cells, so that sums over all of them are bounded at little cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import FloatArray, IntArray

_TILE = 1 << 14
"""Comparisons of a record with a cell at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Boxes that hold all originals of a class between them."""

    counts: FloatArray
    """Originals in each, shape (n_cells,)."""
    low: FloatArray
    """Smallest coordinates in each, shape (n_attributes, n_cells)."""
    high: FloatArray

    def least_sums(self, published: FloatArray, own: FloatArray, *, epsilon: float) -> FloatArray:
        """What Σ exp(−ε·(distance − own)) over all originals is at least, for each record; (n_records,).

        Nothing in a cell is farther away than its farthest corner. `published` has shape (n_attributes, n_records).
        """
        sums = np.empty(len(own))
        step = max(1, _TILE // len(self.counts))
        for start in range(0, len(own), step):
            part = slice(start, start + step)
            far = np.zeros((len(own[part]), len(self.counts)))
            for x, low, high in zip(published[:, part], self.low, self.high, strict=True):
                np.maximum(far, np.abs(x[:, np.newaxis] - low), out=far)
                np.maximum(far, np.abs(x[:, np.newaxis] - high), out=far)
            far -= own[part, np.newaxis]
            far *= -epsilon
            sums[part] = np.exp(far, out=far) @ self.counts
        return sums


def put_in_cells(originals: FloatArray, *, n_cells: int) -> Cells:
    """About as many cells as asked for, cut along every attribute that varies so that the slices hold equally many.

    `originals` has shape (n_attributes, n_originals).
    """
    n = originals.shape[1]
    varies = np.flatnonzero(np.ptp(originals, axis=1) > 0)
    n_slices = max(1, int(n_cells ** (1 / max(1, len(varies))) + 1e-9))
    codes: IntArray = np.zeros(n, dtype=np.int64)
    for coordinates in originals[varies]:
        rank = np.empty(n, dtype=np.int64)
        rank[np.argsort(coordinates, kind="stable")] = np.arange(n)
        codes = codes * n_slices + rank * n_slices // n
    order = np.argsort(codes, kind="stable")
    firsts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    ordered = originals[:, order]
    return Cells(
        counts=np.diff(firsts, append=n).astype(np.float64),
        low=np.minimum.reduceat(ordered, firsts, axis=1),
        high=np.maximum.reduceat(ordered, firsts, axis=1),
    )

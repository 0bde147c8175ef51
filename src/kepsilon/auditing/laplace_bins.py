# SPDX-License-Identifier: Apache-2.0
"""How probable Laplace noise makes the bins of a class, for all of its originals, from one number for each of them.

The noise takes a value v, in units of its scale, below an edge e with probability ½·e^(e − v) where e < v, and with
1 − ½·e^(v − e) elsewhere. As e^(a − b) is e^a·e^(−b), what a bin gets is e^(−v) times a number of the bin for all values
above it, and e^v times another for all values beneath it: sums over values, and over bins, need no pair of the two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import FloatArray, IntArray

_FARTHEST = 350.0
"""Largest height worked with: e^700 still is a number."""
_MOST_DIVIDED = 2.0
"""The largest factor that noise is divided by."""
_CHUNK = 1 << 15
"""Values that are compared with all edges together."""


def is_in_reach(epsilon: float) -> bool:
    """Whether no value is more scales of the noise above the start of its class than numbers allow."""
    return epsilon * _MOST_DIVIDED <= _FARTHEST


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceBins:
    """The originals of some classes among the bins of their class, for Laplace noise on one ε-quasi."""

    at_edge: FloatArray
    """Edges in units of the noise, counted from the start of the class, the outer ones infinite; (n_classes, n_bins + 1)."""
    at_value: FloatArray
    """Values in the same units, from 0 to ε, shape (n_values,)."""
    ids: IntArray
    """The class of each value."""
    bins: IntArray
    """The bin that each value itself is in."""

    @classmethod
    def of(
        cls, edges: FloatArray, own: FloatArray, ids: IntArray, *, starts: FloatArray, scales: FloatArray
    ) -> LaplaceBins:
        """The bins of `own` values, whose classes are `ids`.

        `edges` has shape (n_classes, n_bins + 1), the first and last of a class infinite; `starts`, no larger than any value,
        and `scales` of the noise have shape (n_classes,).
        """
        return cls(
            at_edge=(edges - starts[:, np.newaxis]) / scales[:, np.newaxis],
            at_value=(own - starts[ids]) / scales[ids],
            ids=ids,
            bins=bins_of(own, edges, ids),
        )

    def expected(self, factor: float) -> FloatArray:
        """Probabilities summed over the values of each class, for noise divided by `factor`, shape (n_classes, n_bins)."""
        up, down = self._powers(factor)
        shape = (len(up), up.shape[1] - 1)
        cells = self.ids * shape[1] + self.bins
        growing = np.exp(factor * self.at_value)
        n_inside = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
        rising = np.bincount(cells, weights=growing, minlength=shape[0] * shape[1]).reshape(shape)
        falling = np.bincount(cells, weights=1 / growing, minlength=shape[0] * shape[1]).reshape(shape)
        inside = n_inside - down[:, 1:] * rising - up[:, :-1] * falling
        from_beneath = -np.diff(down, axis=1) * _before(rising)
        from_above = np.diff(up, axis=1) * _after(falling)
        found: FloatArray = inside + from_beneath + from_above
        return found

    def moments(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the scores of the bin that each value is taken into, each of shape (n_values, n_scores).

        `scores` has shape (n_classes, n_bins, n_scores).
        """
        up, down = self._powers(1.0)
        n_bins = up.shape[1] - 1
        cells = self.ids * n_bins + self.bins
        growing = np.exp(self.at_value)
        falling = 1 / growing
        inside = 1 - down[:, 1:].ravel()[cells] * growing - up[:, :-1].ravel()[cells] * falling
        means, spreads = np.empty((2, len(cells), scores.shape[2]))
        for s in range(scores.shape[2]):
            own = np.ascontiguousarray(scores[:, :, s])
            for of_values, power in ((means, own), (spreads, own**2)):
                beneath = _before(np.diff(up, axis=1) * power)
                above = _after(-np.diff(down, axis=1) * power)
                of_values[:, s] = beneath.ravel()[cells] * falling + above.ravel()[cells] * growing
                of_values[:, s] += power.ravel()[cells] * inside
        spreads -= means**2
        return means, spreads

    def _powers(self, factor: float) -> tuple[FloatArray, FloatArray]:
        """½·e^edge and ½·e^(−edge), each 0 where no value is beyond the edge in that direction; shaped like the edges."""
        heights = np.clip(factor * self.at_edge, -_FARTHEST, _FARTHEST)
        up, down = np.exp(heights) / 2, np.exp(-heights) / 2
        up[np.isneginf(self.at_edge)] = 0.0
        down[np.isposinf(self.at_edge)] = 0.0
        return up, down


def bins_of(values: FloatArray, edges: FloatArray, ids: IntArray) -> IntArray:
    """The bin of each value, from the edges of its class; one that is on an edge is in the bin before it."""
    bins = np.zeros(len(values), dtype=np.int64)
    inner = np.ascontiguousarray(edges[:, 1:-1])
    for start in range(0, len(values), _CHUNK):
        part = slice(start, start + _CHUNK)
        bins[part] = np.count_nonzero(inner[ids[part]] < values[part, np.newaxis], axis=1)
    return bins


def _before(terms: FloatArray) -> FloatArray:
    """For each bin, the sum of the terms of all earlier bins; without its own, which may be larger than all of them."""
    sums = np.zeros_like(terms)
    sums[:, 1:] = np.cumsum(terms[:, :-1], axis=1)
    return sums


def _after(terms: FloatArray) -> FloatArray:
    """For each bin, the sum of the terms of all later bins, added up from the last one."""
    sums = np.zeros_like(terms)
    sums[:, :-1] = np.cumsum(terms[:, :0:-1], axis=1)[:, ::-1]
    return sums

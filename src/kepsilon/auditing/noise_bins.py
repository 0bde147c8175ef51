# SPDX-License-Identifier: Apache-2.0
"""Sorts the values that each class publishes into bins, and says what the claimed noise would put into each of them.

Bins are scored by how much more probable half the noise (or twice the noise) makes them than the claimed noise, and by
where in their class they lie. The moments of all scores under the claim are exact, rounding and clamping included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.claimed_law import below
from kepsilon.auditing.grouped import order_of
from kepsilon.auditing.laplace_bins import LaplaceBins, bins_of, is_in_reach
from kepsilon.auditing.noise_law import Rounding
from kepsilon.auditing.one_draw import most_with_one_draw, sums_by_draw, variance_by_draw
from kepsilon.auditing.stated_laws import is_bounded
from kepsilon.table.arrays import FloatArray, IntArray

N_BINS = 48
BEYOND = 6.0
"""How far bins of finite width reach beyond the values of the class, in units of the noise's scale."""
LARGEST_SCORE = 2.0
CHUNK = 1 << 15
"""Originals whose bins are worked out together."""

HALF, DOUBLE, PLACE = 0, 1, 2
"""Numbers of the three scores of a bin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BinnedValues:
    """Values of one ε-quasi, sorted into bins that differ from class to class, and the scores of these bins.

    The three scores of a bin tell how much it speaks for half the noise, how much for twice the noise, and where in the
    class it lies, from −1 to 1.
    """

    counts: FloatArray
    """Number of published values, shape (n_classes, N_BINS)."""
    claimed: FloatArray
    """Expected number of values under the claimed noise, shape (n_classes, N_BINS)."""
    variances: FloatArray
    """Variance under the claim of the sum of each score over a class, shape (n_classes, 3)."""
    scores: FloatArray
    """Scores of each bin, shape (n_classes, N_BINS, 3)."""
    originals: IntArray
    """Rows of the originals of these classes, shape (n_originals,)."""
    means: FloatArray
    """Mean of each score of each original under the claim, shape (n_originals, 3)."""
    spreads: FloatArray
    """Variance of each score of each original under the claim, shape (n_originals, 3)."""
    most: int
    """Originals that carry one draw, at most; 1 unless all records of a person do."""
    variance: FloatArray
    """Variance under the claim of the sum of each score over all classes, at most, shape (3,)."""
    largest: FloatArray
    """How far one draw can move the sum of each score away from its mean, at most, shape (3,)."""
    records: IntArray
    """Rows of the released records of these classes, shape (n_seen,)."""
    found: FloatArray
    """Scores of each released record, shape (n_seen, 3)."""

    @property
    def n_seen(self) -> int:
        """Published values that were sorted into bins."""
        return len(self.records)

    def excess(self, score: int) -> FloatArray:
        """Sum of one score over each class, less its mean under the claim, shape (n_classes,)."""
        excess: FloatArray = ((self.counts - self.claimed) * self.scores[:, :, score]).sum(axis=1)
        return excess


class _Masses(Protocol):
    """Probabilities of the bins of their class, for some originals."""

    def expected(self, factor: float) -> FloatArray:
        """Sum over the originals of each class, with noise divided by `factor`, shape (n_classes, N_BINS)."""

    def moments(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of scores of shape (n_classes, N_BINS, n_scores), each of shape (n_originals, n_scores)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _MassesOfAnyLaw:
    """Probabilities of bins by a law that is asked for every original and every edge."""

    case: AuditCase
    attribute: int
    chosen: IntArray
    edges: FloatArray
    own: FloatArray
    ids: IntArray

    @property
    def parts(self) -> Sequence[slice]:
        return [slice(start, start + CHUNK) for start in range(0, len(self.ids), CHUNK)]

    def of(self, part: slice, factor: float) -> FloatArray:
        """Probability of each bin for a slice of the originals, with noise divided by `factor`, shape (n, N_BINS)."""
        ids = self.ids[part]
        bounds = self.edges[ids]
        found = below(self.case, self.attribute, bounds, self.own[part], self.chosen[ids], factor=factor)
        return np.diff(found, axis=1)

    def expected(self, factor: float) -> FloatArray:
        total = np.zeros((len(self.chosen), N_BINS))
        for part in self.parts:
            firsts = np.flatnonzero(np.diff(self.ids[part], prepend=-1))
            total[self.ids[part][firsts]] += np.add.reduceat(self.of(part, factor), firsts, axis=0)
        return total

    def moments(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        means, spreads = np.empty((2, len(self.ids), scores.shape[2]))
        for part in self.parts:
            mass, own = self.of(part, 1.0), scores[self.ids[part]]
            mean = np.einsum("ib,ibs->is", mass, own)
            means[part], spreads[part] = mean, np.einsum("ib,ibs->is", mass, own**2) - mean**2
        return means, spreads


def binned_values(case: AuditCase, j: int, chosen: IntArray) -> BinnedValues:
    """The j-th ε-quasi of the chosen classes in bins, with scores and their moments under the claim."""
    classes, noise = case.classes, case.noise
    name, attribute = list(case.policy.epsilon_quasis.items())[j]
    rounding = Rounding.of(attribute)
    if is_bounded(case.policy):
        edges = _edges(noise.starts[chosen, j], (noise.starts + noise.ranges)[chosen, j], rounding)
    else:
        far = BEYOND * (noise.ranges[:, j] / case.epsilon)[chosen]
        edges = _edges(noise.low[chosen, j] - far, noise.high[chosen, j] + far, rounding)
    new_id = np.full(classes.n_classes, -1, dtype=np.int64)
    new_id[chosen] = np.arange(len(chosen))
    members = classes.known_originals
    members = members[new_id[classes.of_original[members]] >= 0]
    members = members[order_of(classes.of_original[members])]
    ids, centre = new_id[classes.of_original[members]], noise.values[members, j]
    is_alone = not is_bounded(case.policy) and bool((noise.n_active[chosen] == 1).all())
    masses: _Masses
    if is_alone and is_in_reach(case.epsilon):
        masses = LaplaceBins.of(
            edges, centre, ids, starts=noise.low[chosen, j], scales=noise.ranges[chosen, j] / case.epsilon
        )
    else:
        masses = _MassesOfAnyLaw(case=case, attribute=j, chosen=chosen, edges=edges, own=centre, ids=ids)
    claimed, half, double = (masses.expected(factor) for factor in (1.0, 2.0, 0.5))
    scores = np.empty((len(chosen), N_BINS, 3))
    for i, other in enumerate((half, double)):
        scores[:, :, i] = np.clip(np.log((other + 1e-12) / (claimed + 1e-12)), -LARGEST_SCORE, LARGEST_SCORE)
    upto = np.cumsum(claimed, axis=1)
    scores[:, :, 2] = (2 * upto - claimed) / upto[:, -1:] - 1
    means, spreads = masses.moments(scores)
    variances = np.zeros((len(chosen), 3))
    for i, own in enumerate(spreads.T):
        variances[:, i] = np.bincount(ids, weights=own, minlength=len(chosen))
    most = most_with_one_draw(case)
    largest = np.array([2 * LARGEST_SCORE, 2 * LARGEST_SCORE, 2.0])
    if most > 1:
        above, beneath = scores.max(axis=1)[ids] - means, means - scores.min(axis=1)[ids]
        above[:, PLACE] = np.maximum(above, beneath)[:, PLACE]  # the place may be off to either side
        largest = sums_by_draw(case, members, above).max(axis=0)
    published = case.released.numbers[name]
    sees = np.flatnonzero((new_id[classes.of_released] >= 0) & ~np.isnan(published))
    own_class = new_id[classes.of_released[sees]]
    bins = bins_of(published[sees], edges, own_class)
    counts = np.bincount(own_class * N_BINS + bins, minlength=len(chosen) * N_BINS).reshape(-1, N_BINS)
    return BinnedValues(
        counts=counts.astype(np.float64),
        claimed=claimed,
        variances=variances,
        scores=scores,
        originals=members,
        means=means,
        spreads=spreads,
        most=most,
        variance=variance_by_draw(case, members, spreads),
        largest=largest,
        records=sees,
        found=scores[own_class, bins],
    )


def _edges(first: FloatArray, last: FloatArray, rounding: Rounding) -> FloatArray:
    """Edges of the bins of each class, halfway between multiples of the precision, shape (n_classes, N_BINS + 1)."""
    edges = first[:, np.newaxis] + (last - first)[:, np.newaxis] * np.linspace(0, 1, N_BINS + 1)
    edges = (np.floor(edges / rounding.step) + 0.5) * rounding.step
    edges[:, 0], edges[:, -1] = -np.inf, np.inf
    return rounding.clamp(edges)

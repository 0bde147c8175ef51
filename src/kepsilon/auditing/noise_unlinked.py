# SPDX-License-Identifier: Apache-2.0
"""Noise against its claim without a linkage: the values a class publishes, against those its originals would publish.

Values are sorted into bins, and each bin is scored by how much more probable half the noise (or twice the noise) makes
it than the claimed one. The sum of scores does not depend on which record became which, and its mean and its variance
under the claim are exact, with rounding and clamping in them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.auditing.classes import Classes, as_one_class
from kepsilon.auditing.findings import Findings
from kepsilon.auditing.noise import n_taken_out_with_class
from kepsilon.auditing.noise_law import ClaimedNoise, Grid, bernstein, claimed_noise, inside_class, marginal_cdf
from kepsilon.auditing.tables import Original, Released
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction
from kepsilon.table.arrays import FloatArray, IntArray

N_BINS = 48
BEYOND = 6.0
"""How many units of noise the bins reach beyond the class."""
LARGEST_SCORE = 2.0
CHUNK = 1 << 15
FEWEST_VALUES = 100
"""Different values, and records with noise, that a column needs before its equality with the originals says enough."""
LARGEST_SURPRISE = 25.0
"""The most that one class counts for in the test of shared noise; 1 is expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BinnedValues:
    """One ε-quasi of the classes that can be looked at, value by value sorted into bins of each class."""

    n_seen: int
    counts: FloatArray
    """Published values, shape (n_classes, N_BINS)."""
    claimed: FloatArray
    """Values to expect under the claim, shaped alike."""
    half: FloatArray
    """The same under half the noise."""
    double: FloatArray
    variances: FloatArray
    """Of the sum of a class's scores under the claim, for the three scores of `scores`, shape (n_classes, 3)."""
    scores: FloatArray
    """How a bin speaks for half the noise, for twice the noise, and where in the class it lies; (n_classes, N_BINS, 3)."""

    def excess(self, score: int) -> FloatArray:
        """Sum of a score over each class, less its mean under the claim."""
        excess: FloatArray = ((self.counts - self.claimed) * self.scores[:, :, score]).sum(axis=1)
        return excess


def check_unlinked_noise(
    original: Original,
    released: Released,
    classes: Classes,
    noise: ClaimedNoise,
    policy: Policy,
    findings: Findings,
    *,
    alpha: float,
) -> None:
    if not classes.all_known and _ranges_owe_nothing_to_classes(policy) and original.n_staying == released.n_records:
        # Everybody is released and has the same range, so that it does not matter who is in which class.
        classes = as_one_class(original, classes)
        noise = claimed_noise(original, classes, policy)
    for j, name in enumerate(policy.epsilon_quasis):
        usable = classes.is_known & (np.nan_to_num(noise.ranges[:, j]) > 0)
        if policy.confidence is None:
            usable &= classes.released == classes.originals
        if not classes.all_known and _is_unchanged(original, released, classes, policy, name):
            findings.broken(
                "noise", f"{name} is published as it is: its values are those of the originals, all of them."
            )
            continue
        if not usable.any():
            findings.note("noise", f"{name} has no noise in any class whose originals are known; nothing to test.")
            continue
        binned = _binned(released, classes, noise, policy, j, np.flatnonzero(usable))
        n_gone = int((classes.originals - classes.released)[usable].sum())
        n_gone += n_taken_out_with_class(original, classes, policy)
        n_seen = binned.n_seen
        if _tail(binned, 0, n_gone) < alpha:
            findings.broken(
                "noise", f"{name} has less noise than claimed: {n_seen:,} values lie too near their originals."
            )
        elif _tail(binned, 1, n_gone) < alpha:
            findings.warning(
                "noise", f"{name} has more noise than claimed: {n_seen:,} values lie too far from their originals."
            )
        elif not n_gone and _off_centre(binned) < alpha:
            findings.broken(
                "noise", f"the noise on {name} is not centred: it moves values one way more than the other."
            )
        elif not n_gone and _shared(binned) < alpha:
            findings.broken(
                "noise", f"the noise on {name} is not drawn anew for every record: classes move as a whole."
            )
        elif n_seen < released.n_records:
            findings.note(
                "noise",
                f"{name}: only {n_seen:,} of {released.n_records:,} records could be tested; their values lie as they would "
                "under the claimed noise.",
            )
        else:
            findings.passed(
                "noise", f"{name}: the values of {n_seen:,} records lie as they would under the claimed noise."
            )


def _is_unchanged(original: Original, released: Released, classes: Classes, policy: Policy, name: str) -> bool:
    """Whether a column has the originals' values, all of them, though noise was due.

    That chance brings back every count of so many different values is out of the question where noise is wider than the
    precision. How wide it is at least follows from the labels: a class is one of the sets of its size that they cover.
    """
    attribute = policy.epsilon_quasis[name]
    grid = Grid.of(attribute)
    published, own = released.numbers[name], original.numbers[name][original.stays]
    if isinstance(attribute.range, tuple):
        own = np.clip(own, float(fraction(attribute.range[0])), float(fraction(attribute.range[1])))
    if len(published) != len(own) or classes.cover is None:
        return False
    units = np.sort(np.rint(np.clip(own, grid.low, grid.high) / grid.step))
    if len(np.unique(units)) < FEWEST_VALUES or not np.array_equal(
        units, np.sort(np.rint(published / grid.step)), equal_nan=True
    ):
        return False
    widest = grid.step * float(policy.exact_epsilon)
    if isinstance(attribute.range, tuple):
        return float(fraction(attribute.range[1])) - float(fraction(attribute.range[0])) >= widest
    is_due = classes.cover.smallest_ranges(original.numbers[name], classes.released) >= widest
    return int(classes.released[is_due].sum()) >= FEWEST_VALUES


def _ranges_owe_nothing_to_classes(policy: Policy) -> bool:
    quasis = policy.epsilon_quasis.values()
    return all(isinstance(attribute.range, tuple) and attribute.missing == "suppress" for attribute in quasis)


def _tail(binned: BinnedValues, score: int, n_gone: int) -> float:
    """How probable such a sum of scores is under the claim; a record that was taken out counts against the alternative."""
    largest = 2 * LARGEST_SCORE
    excess = float(binned.excess(score).sum()) - n_gone * largest
    return bernstein(excess, variance=float(binned.variances[:, score].sum()), largest=largest)


def _off_centre(binned: BinnedValues) -> float:
    excess = abs(float(binned.excess(2).sum()))
    return 2 * bernstein(excess, variance=float(binned.variances[:, 2].sum()), largest=2.0)


def _shared(binned: BinnedValues) -> float:
    """Noise that is shared does not average out: the square of a class's sum is then far above its variance."""
    has_any = binned.variances[:, 2] > 1e-9
    if not has_any.any():
        return 1.0
    surprise = np.minimum(LARGEST_SURPRISE, binned.excess(2)[has_any] ** 2 / binned.variances[has_any, 2])
    # Its mean is 1 at most, and so its variance at most the largest it can be.
    return bernstein(
        float(surprise.sum()) - len(surprise), variance=LARGEST_SURPRISE * len(surprise), largest=LARGEST_SURPRISE
    )


def _binned(
    released: Released, classes: Classes, noise: ClaimedNoise, policy: Policy, j: int, chosen: IntArray
) -> BinnedValues:
    name, attribute = list(policy.epsilon_quasis.items())[j]
    grid = Grid.of(attribute)
    scale = (noise.ranges[:, j] / float(policy.exact_epsilon))[chosen]
    n_active = noise.n_active[chosen]
    edges = _edges(noise.low[chosen, j], noise.high[chosen, j], scale, grid)
    new_id = np.full(classes.n_classes, -1, dtype=np.int64)
    new_id[chosen] = np.arange(len(chosen))
    members = np.flatnonzero(inside_class(classes))
    members = members[new_id[classes.of_original[members]] >= 0]
    members = members[np.argsort(classes.of_original[members], kind="stable")]
    ids, centre = new_id[classes.of_original[members]], noise.values[members, j]
    parts = [slice(start, start + CHUNK) for start in range(0, len(ids), CHUNK)]

    def masses(part: slice, factor: float) -> FloatArray:
        """Probability of every bin for some originals, with noise divided by the factor."""
        own = ids[part]
        distances = (edges[own] - centre[part, np.newaxis]) * (factor / scale[own, np.newaxis])
        below = np.empty_like(distances)
        for d in np.unique(n_active[own]).tolist():
            of_d = n_active[own] == d
            below[of_d] = marginal_cdf(distances[of_d], d)
        return np.diff(below, axis=1)

    expected = [np.zeros((len(chosen), N_BINS)) for _ in range(3)]
    for part in parts:
        firsts = np.flatnonzero(np.diff(ids[part], prepend=-1))
        for total, factor in zip(expected, (1.0, 2.0, 0.5), strict=True):
            total[ids[part][firsts]] += np.add.reduceat(masses(part, factor), firsts, axis=0)
    claimed, half, double = expected
    scores = np.empty((len(chosen), N_BINS, 3))
    for i, other in enumerate((half, double)):
        scores[:, :, i] = np.clip(np.log((other + 1e-12) / (claimed + 1e-12)), -LARGEST_SCORE, LARGEST_SCORE)
    upto = np.cumsum(claimed, axis=1)
    scores[:, :, 2] = (2 * upto - claimed) / upto[:, -1:] - 1
    variances = np.zeros((len(chosen), 3))
    for part in parts:
        firsts = np.flatnonzero(np.diff(ids[part], prepend=-1))
        mass, own = masses(part, 1.0), scores[ids[part]]
        mean = np.einsum("ib,ibs->is", mass, own)
        spread = np.einsum("ib,ibs->is", mass, own**2) - mean**2
        variances[ids[part][firsts]] += np.add.reduceat(spread, firsts, axis=0)
    published = released.numbers[name]
    sees = np.flatnonzero((new_id[classes.of_released] >= 0) & ~np.isnan(published))
    counts = np.zeros((len(chosen), N_BINS))
    own_class = new_id[classes.of_released[sees]]
    np.add.at(counts, (own_class, _bin_of(published[sees], edges, own_class)), 1)
    return BinnedValues(
        n_seen=len(sees), counts=counts, claimed=claimed, half=half, double=double, variances=variances, scores=scores
    )


def _edges(low: FloatArray, high: FloatArray, scale: FloatArray, grid: Grid) -> FloatArray:
    """Bounds of the bins of every class, between cells of the precision, shape (n_classes, N_BINS + 1)."""
    first, last = low - BEYOND * scale, high + BEYOND * scale
    edges = first[:, np.newaxis] + (last - first)[:, np.newaxis] * np.linspace(0, 1, N_BINS + 1)
    edges = (np.floor(edges / grid.step) + 0.5) * grid.step
    edges[:, 0], edges[:, -1] = -np.inf, np.inf
    return grid.clamp(edges)


def _bin_of(values: FloatArray, edges: FloatArray, ids: IntArray) -> IntArray:
    """The bin of every value; an edge lies half a step from any value, so that none is near one."""
    bins = np.zeros(len(values), dtype=np.int64)
    for start in range(0, len(values), CHUNK):
        part = slice(start, start + CHUNK)
        bins[part] = np.count_nonzero(edges[ids[part], 1:-1] < values[part, np.newaxis], axis=1)
    return bins

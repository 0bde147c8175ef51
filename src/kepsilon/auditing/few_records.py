# SPDX-License-Identifier: Apache-2.0
"""A few people without protection: records published as they are, which an average over many records does not show."""

from __future__ import annotations

import math

import numpy as np

from kepsilon.auditing.classes import Classes
from kepsilon.auditing.findings import Findings, counted
from kepsilon.auditing.linkage import Linkage
from kepsilon.auditing.noise_law import ClaimedNoise, Grid, chernoff, inside_class, marginal_cdf
from kepsilon.auditing.tables import Original, Released
from kepsilon.policy.policy import Policy
from kepsilon.table.arrays import BoolArray, FloatArray

LATTICE = 2.0**-31
"""What noise drawn in steps of R/2³² can add to the probability of a cell, per unit of ε."""


def check_exact_values(
    original: Original,
    released: Released,
    classes: Classes,
    noise: ClaimedNoise,
    linkage: Linkage,
    policy: Policy,
    findings: Findings,
    *,
    alpha: float,
) -> None:
    """Values that the noise left in the cell of their original, in the whole release and class by class.

    What is expected is summed over all originals of a class, released or not, so that leaving some out explains nothing.
    """
    for j, (name, attribute) in enumerate(policy.epsilon_quasis.items()):
        grid = Grid.of(attribute)
        originals = np.flatnonzero(inside_class(classes))
        originals = originals[np.nan_to_num(noise.ranges[classes.of_original[originals], j]) > 0]
        is_own = np.zeros(original.n_records, dtype=np.bool_)
        is_own[linkage.original_row] = _is_in_cell(
            released.numbers[name], noise.values[linkage.original_row, j], grid=grid
        )
        ids = classes.of_original[originals]
        probability = _stays_in_cell(noise, originals, ids, j, grid=grid, epsilon=float(policy.exact_epsilon))
        is_found = is_own[originals] & (probability > 0)
        found = np.bincount(ids, weights=is_found, minlength=classes.n_classes)
        expected = np.bincount(ids, weights=probability, minlength=classes.n_classes)
        n_found = int(found.sum())
        one_class = alpha / max(1, classes.n_classes)
        exposed = [c for c in np.flatnonzero(found) if chernoff(float(found[c]), float(expected[c])) < one_class]
        if chernoff(n_found, float(expected.sum())) < alpha:
            findings.broken(
                "noise",
                f"{counted(n_found, 'record is', 'records are')} published with the {name} of the original as it is, and "
                f"{float(expected.sum()):,.1f} would be by chance.",
            )
        elif exposed:
            n_exposed = int(found[exposed].sum())
            findings.broken(
                "noise",
                f"{counted(n_exposed, 'record', 'records')} of {counted(len(exposed), 'class', 'classes')} published with "
                f"the {name} of the original as it is, and {float(expected[exposed].sum()):,.1f} would be by chance.",
            )


def _is_in_cell(published: FloatArray, values: FloatArray, *, grid: Grid) -> BoolArray:
    """Whether rounding the original gives what is published; a value on the edge of two cells is in neither."""
    inside: BoolArray = np.abs(published - values) < grid.step / 2 * (1 - 1e-9)
    return inside


def _stays_in_cell(
    noise: ClaimedNoise, originals: np.ndarray, ids: np.ndarray, j: int, *, grid: Grid, epsilon: float
) -> FloatArray:
    """Probability that noise leaves a value in its cell; 0 where the cell is at an end of the domain, and is not counted."""
    centre = noise.values[originals, j]
    cell = np.rint(centre / grid.step) * grid.step
    scale = noise.ranges[ids, j] / epsilon
    probability = np.zeros(len(originals))
    for d in np.unique(noise.n_active[ids]).tolist():
        of_d = noise.n_active[ids] == d
        below, above = (
            marginal_cdf((cell[of_d] + side * grid.step / 2 - centre[of_d]) / scale[of_d], d) for side in (-1, 1)
        )
        probability[of_d] = np.minimum(1.0, above - below + epsilon * LATTICE)
    is_inside = (cell > grid.low + grid.step / 2) & (cell < grid.high - grid.step / 2)
    return np.where(is_inside, probability, 0.0)


def check_links(realised: float, expected: float, n: int, findings: Findings, *, alpha: float) -> None:
    """Links of a nearest-neighbour attacker, each record on its own, against what claimed noise leaves to expect.

    Rounding and clamping can only take links away, for nobody links more than somebody who sees the noise before them.
    """
    if chernoff(realised, expected) < alpha:
        findings.broken(
            "attacks",
            f"a nearest-neighbour attacker links {realised / n:.2%} of the records, where the claimed noise leaves "
            f"{expected / n:.2%} to expect: some records are less protected than claimed.",
        )
    elif math.isfinite(expected):
        findings.passed("attacks", "links of a nearest-neighbour attacker are no more than the claimed noise allows.")

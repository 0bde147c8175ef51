# SPDX-License-Identifier: Apache-2.0
"""Tests the noise of whole records with several ε-quasis: its largest coordinate, and how the coordinates go together.

Under the claim the largest coordinate has its own law, each of the others is uniform between minus and plus it, and all
signs are fair and independent. A published value tells between which bounds a coordinate lies; what these leave open
counts as what speaks most for the release, and so does the noise of a record that confident k took out.
"""

from __future__ import annotations

import itertools

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.noise_law import Rounding, radius_beyond
from kepsilon.auditing.one_draw import has_own_draw
from kepsilon.auditing.residuals import GONE, n_taken_out_with_class, released_as
from kepsilon.auditing.tail_bounds import exponential_tails, linear_bound, sign_bound
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

TESTS_OF_SIZES = 4
"""Tests of whole records beside those of pairs of ε-quasis: too little noise, too much, sizes too alike, too unlike."""


def n_tests_of_records(n_attributes: int) -> int:
    """Number of tests of whole records; none where there is one ε-quasi."""
    return TESTS_OF_SIZES + n_attributes * (n_attributes - 1) // 2 if n_attributes > 1 else 0


def check_noise_of_records(case: AuditCase, *, has_more: bool, level: float, units: str = "records") -> None:
    """Tests the noise of records with several ε-quasis, with a linkage; each test is wrong with probability `level`.

    `has_more` tells that every ε-quasi has more noise than claimed, as it has if each is drawn by itself with a part of ε.
    That protects no less than was promised, so that sizes need not go together as claimed. `units` names what was drawn for.
    """
    classes, noise = case.classes, case.noise
    chosen = classes.known_originals
    chosen = chosen[has_own_draw(case)[chosen]]
    chosen = chosen[noise.n_active[classes.of_original[chosen]] > 1]
    if not chosen.size:
        return
    of_original = released_as(case)
    here = chosen[of_original[chosen] != GONE]
    n_gone = len(chosen) - len(here) + n_taken_out_with_class(case)
    coordinates = _Coordinates(case, here, of_original[here])
    is_sound = _check_largest(case, coordinates, n_gone=n_gone, level=level, units=units)
    suspicions = _sign_suspicions(case, coordinates, n_gone=n_gone)
    if not has_more:
        alike, unlike = sizes_together(coordinates.least, coordinates.most, coordinates.n_active, n_gone=n_gone)
        suspicions["the noises of a record are too alike in size"] = alike
        suspicions["the noises of a record are too unlike in size"] = unlike
    faults = [what for what, probability in suspicions.items() if probability < level]
    if faults:
        case.findings.broken(
            "noise",
            f"the noise of whole {units} is not drawn together as claimed, so that the epsilon-quasis together tell more "
            f"than ε allows: {'; '.join(faults)}.",
        )
    elif is_sound:
        case.findings.passed(
            "noise",
            f"whole {units}: the largest of their noises, and how the others go with it, follow their claim over "
            f"{len(here):,} {units}.",
        )


class _Coordinates:
    """Bounds on the noise of released records, in units of its scale; arrays have shape (n_records, n_epsilon_quasis)."""

    def __init__(self, case: AuditCase, rows: IntArray, released_rows: IntArray) -> None:
        noise, ids = case.noise, case.classes.of_original[rows]
        self.n_active: IntArray = noise.n_active[ids]
        shape = (len(rows), len(case.policy.epsilon_quasis))
        self.active: BoolArray = np.nan_to_num(noise.ranges[ids]) > 0
        self.least: FloatArray = np.zeros(shape)
        """Size of each coordinate, at least; 0 where the class has no noise."""
        self.most: FloatArray = np.zeros(shape)
        """Size of each coordinate, at most; 0 where the class has no noise."""
        self.signs: FloatArray = np.zeros(shape)
        """Sign of each coordinate, 0 where the published value does not tell."""
        for j, (name, attribute) in enumerate(case.policy.epsilon_quasis.items()):
            active = self.active[:, j]
            scale = np.where(active, noise.ranges[ids, j], 1.0) / case.epsilon
            published, centre = case.released.numbers[name][released_rows], noise.values[rows, j]
            below, above = Rounding.of(attribute).bounds_before(np.where(np.isnan(published), centre, published))
            below, above = (below - centre) / scale, (above - centre) / scale
            self.least[:, j] = np.where(active, np.maximum(0.0, np.maximum(below, -above)), 0.0)
            self.most[:, j] = np.where(active, np.maximum(np.abs(below), np.abs(above)), 0.0)
            self.signs[:, j] = np.where(active, (below > 0).astype(np.float64) - (above < 0), 0.0)


def _check_largest(case: AuditCase, coordinates: _Coordinates, *, n_gone: int, level: float, units: str) -> bool:
    """Whether the largest coordinates of records are as large as claimed; adds a finding if they are not."""
    least, most = coordinates.least.max(axis=1), coordinates.most.max(axis=1)
    small, large = np.empty(len(least)), np.empty(len(least))
    for d in np.unique(coordinates.n_active).tolist():
        of_d = coordinates.n_active == d
        small[of_d] = -np.log(np.maximum(radius_beyond(most[of_d], d), 1e-300))
        large[of_d] = -np.log(np.maximum(radius_beyond(least[of_d], d), 1e-300))
    if exponential_tails(small, n_gone)[0] < level:
        case.findings.broken(
            "noise",
            f"the noise of whole {units} is smaller than claimed: the epsilon-quasis together tell more than ε allows.",
        )
        return False
    if exponential_tails(large, n_gone)[1] < level:
        case.findings.warning(
            "noise", f"the noise of whole {units} is larger than claimed; each of them should be one unit."
        )
        return False
    return True


def _sign_suspicions(case: AuditCase, coordinates: _Coordinates, *, n_gone: int) -> dict[str, float]:
    """Bounds on the probability, under the claim, that signs go together so much, by what that would mean."""
    names, suspicions = list(case.policy.epsilon_quasis), {}
    for i, j in itertools.combinations(range(len(names)), 2):
        both = coordinates.active[:, i] & coordinates.active[:, j]
        agreement = (coordinates.signs[:, i] * coordinates.signs[:, j])[both]
        suspicions[f"the direction on {names[j]} goes with that on {names[i]}"] = signs_together(
            agreement, n_gone=n_gone
        )
    return suspicions


def signs_together(agreement: FloatArray, *, n_gone: int) -> float:
    """Bound on the probability that two signs of a record agree, or disagree, so often.

    `agreement` is 1 where they agree, −1 where not and 0 where one is not known, shape (n_records,).
    """
    n_open = int(np.count_nonzero(agreement == 0)) + n_gone
    return sign_bound(abs(float(agreement.sum())) - n_open, len(agreement) + n_gone)


def sizes_together(least: FloatArray, most: FloatArray, n_active: IntArray, *, n_gone: int) -> tuple[float, float]:
    """Bounds on the probability that the smaller coordinates are so near the largest, and that they are so far from it.

    The size of each coordinate but the largest, over the largest, is uniform on 0 to 1. Summed over all coordinates the
    quotients are 1 more than over these.
    """
    # A least of −0.0, as the maximum of 0.0 and −0.0 may be, would make a quotient of minus infinity.
    largest_least, largest_most = np.abs(least.max(axis=1, keepdims=True)), most.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        low = np.nan_to_num(least / largest_most).sum(axis=1)
        high = np.where(most > 0, np.minimum(1.0, np.nan_to_num(most / largest_least, nan=1.0, posinf=1.0)), 0.0).sum(
            axis=1
        )
    n_others = n_active - 1
    n_open = n_gone * max(1, int(least.shape[1]) - 1)
    n = float(n_others.sum()) + n_open
    # Twice a quotient less 1 is uniform on −1 to 1.
    above = float((2 * np.maximum(0.0, low - 1) - n_others).sum()) - n_open
    below = -float((2 * np.minimum(n_others, high - 1) - n_others).sum()) - n_open
    return linear_bound(above, squares=n), linear_bound(below, squares=n)

# SPDX-License-Identifier: Apache-2.0
"""The noise of each record as the linkage shows it, in a form that is uniform under the claim.

A published value tells between which bounds the noise lay before rounding and clamping. A point drawn evenly between the
values of the claimed distribution function at these bounds is uniform on 0 to 1 if and only if the claim holds, whatever
the precision and the domain, so that records of all classes can be tested together. Where draws stay inside a range, points
are moved so that again ½ is no noise (`bounded_law.folded`). It does not depend on anything but
the noise of its record: not on other records, nor on rows, labels or kept values.

Confident k takes records out by their noise. Nothing is known about the noise of such a record, except that it was
uniform before the choice was made. Each test therefore counts it as the outcome that speaks most for the release: what
the test finds is then no more than it would have found among all records, and its bound holds for these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.claimed_law import uniform_of
from kepsilon.auditing.classes import NOWHERE
from kepsilon.auditing.noise_law import Rounding, extremes, range_of
from kepsilon.auditing.one_draw import has_own_draw
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

SEED = 20_090_801
"""Seed of the points drawn between bounds, so that an audit can be repeated."""

GONE = -1
"""In place of a row of the release, for an original that was not released."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Residuals:
    """Noise on one ε-quasi, over all originals of the known classes in which it has noise, sorted by class and row.

    Where all records of a person carry one draw, one original stands for each person.
    """

    rows: IntArray
    """Row of each original in the input, shape (n_originals,)."""
    class_ids: IntArray
    """Class of each original, shape (n_originals,)."""
    uniform: FloatArray
    """Claimed distribution function at the noise of each original, NaN where it is not released, shape (n_originals,)."""
    elsewhere: IntArray
    """Rows of the originals among which those are that confident k took out together with their whole class."""
    n_elsewhere: int
    """How many records confident k took out together with their whole class."""

    @property
    def is_released(self) -> BoolArray:
        """Whether each original is released, shape (n_originals,)."""
        released: BoolArray = ~np.isnan(self.uniform)
        return released

    @property
    def n_gone(self) -> int:
        """Records that confident k took out, alone or with their class."""
        return int(np.count_nonzero(np.isnan(self.uniform))) + self.n_elsewhere

    @property
    def n(self) -> int:
        """Records that got noise, released or not."""
        return len(self.rows) + self.n_elsewhere

    def with_sizes_drawn_anew(self, rng: np.random.Generator) -> Residuals:
        """Residuals of which only the sign is left, for noise of another size than claimed.

        What signs are shared by, or go with, can then be seen all the same. Sizes cannot, and are drawn evenly: noise that
        is larger than claimed, by whatever factor for whichever records, is then uniform like noise as claimed.
        """
        direction = np.sign(2 * self.uniform - 1) * rng.random(len(self.uniform))
        return replace(self, uniform=(1 + direction) / 2)


def released_as(case: AuditCase) -> IntArray:
    """Row of each original in the release, or GONE, shape (n_originals,); needs a linkage."""
    rows = np.full(case.original.n_records, GONE, dtype=np.int64)
    if case.linkage is not None:
        rows[case.linkage.original_row] = case.linkage.released_row
    return rows


def n_taken_out_with_class(case: AuditCase) -> int:
    """Number of originals in classes that confident k took out as a whole."""
    classes = case.classes
    if case.policy.confidence is None:
        return 0
    if classes.n_suppressed is not None:
        return int(classes.absent.sum())
    accounted = int(np.where(classes.is_known, classes.n_originals, classes.n_released).sum())
    return max(0, case.original.n_staying - accounted)


def residuals_of(case: AuditCase, j: int, rng: np.random.Generator) -> Residuals:
    """Noise on the j-th ε-quasi of a case with a linkage; `rng` draws the points between bounds."""
    classes, noise = case.classes, case.noise
    name, attribute = list(case.policy.epsilon_quasis.items())[j]
    of_original = released_as(case)
    chosen = classes.known_originals
    chosen = chosen[has_own_draw(case)[chosen]]
    chosen = chosen[np.nan_to_num(noise.ranges[classes.of_original[chosen], j]) > 0]
    chosen = chosen[np.argsort(classes.of_original[chosen], kind="stable")]
    ids = classes.of_original[chosen]
    is_released = of_original[chosen] != GONE
    here, own = chosen[is_released], ids[is_released]
    published = case.released.numbers[name][of_original[here]]
    # Other checks report a value that is missing though it should not be; here it counts as a value without noise.
    published = np.where(np.isnan(published), noise.values[here, j], published)
    below, above = Rounding.of(attribute).bounds_before(published)
    uniform = np.full(len(chosen), np.nan)
    # By the rows of the input: classes are numbered as they are found, which the files beside a release can change.
    uniform[is_released] = uniform_of(case, j, below, above, noise.values[here, j], own, rng, here)
    n_elsewhere = n_taken_out_with_class(case)
    elsewhere = _elsewhere(case, j) if n_elsewhere else np.zeros(0, dtype=np.int64)
    return Residuals(rows=chosen, class_ids=ids, uniform=uniform, elsewhere=elsewhere, n_elsewhere=n_elsewhere)


def _elsewhere(case: AuditCase, j: int) -> IntArray:
    """Rows of all originals that may have noise in a class that confident k took out as a whole.

    Together with the rows of released classes they are the same originals whatever the noise was, which the tests need.
    """
    classes, noise, stays = case.classes, case.noise, case.original.stays
    stays = stays & has_own_draw(case)
    may_be = stays & (classes.of_original == NOWHERE)
    if classes.of_node is None:
        has_none = np.append(np.nan_to_num(noise.ranges[:, j]) == 0, True)
        return np.flatnonzero(stays & (may_be | has_none[classes.of_original]))
    own = classes.of_node[may_be]
    values, n_classes = noise.values[may_be, j], int(own.max(initial=-1)) + 1
    low, high = extremes(values, own, n_classes=n_classes)
    attribute = list(case.policy.epsilon_quasis.values())[j]
    counts = np.bincount(own, minlength=n_classes) >= case.policy.k
    counts &= np.nan_to_num(range_of(low, high, attribute)) > 0
    may_be[may_be] = counts[own]
    return np.flatnonzero(may_be)

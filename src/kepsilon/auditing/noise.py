# SPDX-License-Identifier: Apache-2.0
"""Tests the noise against its claim, where a linkage tells which original each published value came from.

A published value tells between which bounds the noise lay before rounding and clamping. A point drawn evenly between the
values of the claimed distribution function at these bounds is uniform on 0 to 1 if and only if the claim holds, whatever
the precision and the domain, so that records of all classes can be tested together. Confident k takes records out by
their noise; each test counts such a record as the outcome that speaks most for the release.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.noise_law import (
    Rounding,
    bernstein_bound,
    dkw_bound,
    gamma_tail_bound,
    marginal_cdf,
    radius_beyond,
)
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

SEED = 20_090_801
"""Seed of the points drawn between bounds, so that an audit can be repeated."""

CAP = 6.0
"""The largest noise that a record counts with, in units of the expected noise, where some records were taken out."""

GONE = -1
"""In place of a row of the release, for an original that was not released."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Residuals:
    """Noise on one ε-quasi, over all originals of the known classes in which it has noise, sorted by class."""

    class_ids: IntArray
    """Class of each original, shape (n_originals,)."""
    uniform: FloatArray
    """Claimed distribution function at the noise of each released record, shape (n_released,)."""
    is_released: BoolArray
    """Whether each original is released, shape (n_originals,)."""
    n_elsewhere: int
    """Records that confident k took out together with their whole class."""

    @property
    def n_gone(self) -> int:
        """Records that confident k took out, alone or with their class."""
        return int(len(self.class_ids) - np.count_nonzero(self.is_released)) + self.n_elsewhere

    @property
    def n(self) -> int:
        """Records that got noise, released or not."""
        return len(self.class_ids) + self.n_elsewhere


def n_taken_out_with_class(case: AuditCase) -> int:
    """Number of originals in classes that confident k took out as a whole."""
    classes = case.classes
    if case.policy.confidence is None:
        return 0
    if classes.n_suppressed is not None:
        return int(classes.absent.sum())
    accounted = int(np.where(classes.is_known, classes.n_originals, classes.n_released).sum())
    return max(0, case.original.n_staying - accounted)


def check_linked_noise(case: AuditCase) -> None:
    """With a linkage, tests scale, centre, shape and independence of the noise on each ε-quasi and on whole records."""
    if case.linkage is None:
        return
    released_as = np.full(case.original.n_records, GONE, dtype=np.int64)
    released_as[case.linkage.original_row] = case.linkage.released_row
    rng = np.random.default_rng(SEED)
    for j, name in enumerate(case.policy.epsilon_quasis):
        residuals = _residuals(case, released_as, j, rng)
        if residuals.n - residuals.n_gone == 0:
            case.findings.note("noise", f"{name} has no noise in any class whose originals are known; nothing to test.")
            continue
        _judge(case, residuals, name)
    if len(case.policy.epsilon_quasis) > 1:
        _check_radius(case, released_as)
    if case.policy.confidence is not None:
        case.findings.note(
            "noise",
            "records that confident k took out were chosen by their noise; the tests allow for any such choice, and see less.",
        )


def _residuals(case: AuditCase, released_as: IntArray, j: int, rng: np.random.Generator) -> Residuals:
    """Noise on the j-th ε-quasi; `released_as` is the row of each original in the release, or GONE."""
    classes, noise = case.classes, case.noise
    name, attribute = list(case.policy.epsilon_quasis.items())[j]
    chosen = classes.known_originals
    chosen = chosen[np.nan_to_num(noise.ranges[classes.of_original[chosen], j]) > 0]
    chosen = rng.permutation(chosen)  # `_shared` pairs originals in this order, which does not depend on noise
    chosen = chosen[np.argsort(classes.of_original[chosen], kind="stable")]
    ids = classes.of_original[chosen]
    is_released = released_as[chosen] != GONE
    here, own = chosen[is_released], ids[is_released]
    published = case.released.numbers[name][released_as[here]]
    # Other checks report a value that is missing though it should not be; here it counts as a value without noise.
    published = np.where(np.isnan(published), noise.values[here, j], published)
    scale = noise.ranges[own, j] / case.epsilon
    below, above = Rounding.of(attribute).bounds_before(published)
    centre = noise.values[here, j]
    uniform = np.empty(len(here))
    mix = rng.random(len(here))
    for d in np.unique(noise.n_active[own]).tolist():
        of_d = noise.n_active[own] == d
        first = marginal_cdf((below[of_d] - centre[of_d]) / scale[of_d], d)
        last = marginal_cdf((above[of_d] - centre[of_d]) / scale[of_d], d)
        uniform[of_d] = first + (last - first) * mix[of_d]
    return Residuals(class_ids=ids, uniform=uniform, is_released=is_released, n_elsewhere=n_taken_out_with_class(case))


def _judge(case: AuditCase, residuals: Residuals, name: str) -> None:
    """Adds the finding on the noise of one ε-quasi: its first fault, or that it is as claimed."""
    findings, alpha = case.findings, case.alpha
    tail = 2 * np.minimum(residuals.uniform, 1 - residuals.uniform)
    sizes = -np.log(np.maximum(tail, 1e-300))
    too_small, too_large = _scale_tails(sizes, residuals.n_gone)
    n_seen = len(sizes)
    ratio = float(sizes.mean())
    signs = 2 * residuals.uniform - 1
    # Centre and independence come before the size: shared noise rests on a few draws, so its size can be anything.
    off_centre = max(0.0, abs(float(signs.sum())) - residuals.n_gone)
    if 2 * bernstein_bound(off_centre, variance=residuals.n / 3, largest=1.0) < alpha:
        findings.broken(
            "noise",
            f"the noise on {name} is not centred: it moves values one way more than the other, all of them or class by class.",
        )
        return
    if _shared(residuals, signs) < alpha:
        findings.broken(
            "noise", f"the noise on {name} is not drawn anew for every record: records of a class share it."
        )
        return
    size = f"over {n_seen:,} records its size is {ratio:.2f} times what it should be"
    if too_small < alpha:
        findings.broken("noise", f"{name} has less noise than claimed: {size}.")
        return
    if too_large < alpha:
        findings.warning("noise", f"{name} has more noise than claimed: {size}.")
        return
    ordered = np.sort(residuals.uniform)
    places = np.arange(1, n_seen + 1) / n_seen
    distance = float(np.max(np.maximum(places - ordered, ordered - places + 1 / n_seen)))
    distance = distance * n_seen / residuals.n - residuals.n_gone / residuals.n
    if dkw_bound(distance, residuals.n) < alpha:
        findings.broken("noise", f"the noise on {name} has about the right size, but not the claimed distribution.")
        return
    findings.passed(
        "noise",
        f"{name}: scale ({ratio:.3f} times the claimed one over {n_seen:,} records), centre, shape and independence as claimed.",
    )


def _scale_tails(sizes: FloatArray, n_gone: int) -> tuple[float, float]:
    """Bounds on the probability of so little noise, and of so much, if sizes are exponential with mean 1 as claimed."""
    n = len(sizes) + n_gone
    too_large = gamma_tail_bound(float(sizes.sum()), n, above=True)
    if not n_gone:
        return gamma_tail_bound(float(sizes.sum()), n, above=False), too_large
    mean = 1 - np.exp(-CAP)
    variance = 2 * (1 - np.exp(-CAP) * (1 + CAP)) - mean**2
    total = float(np.minimum(sizes, CAP).sum()) + CAP * n_gone
    return bernstein_bound(n * mean - total, variance=n * variance, largest=CAP), too_large


def _shared(residuals: Residuals, signs: FloatArray) -> float:
    """Bound on the probability that noise drawn anew for each record agrees so much within classes.

    Each class is divided into pairs of originals. The product of a pair's `signs`, which are uniform on −1 to 1, has mean
    0, and mean 1/3 if both records share their noise.
    """
    place = np.full(len(residuals.class_ids), np.nan)
    place[residuals.is_released] = signs
    position = np.arange(len(residuals.class_ids))
    is_first = np.diff(residuals.class_ids, prepend=-1) != 0
    start = np.maximum.accumulate(np.where(is_first, position, 0))
    leads = np.flatnonzero((position - start) % 2 == 0)
    leads = leads[leads + 1 < len(position)]
    leads = leads[residuals.class_ids[leads] == residuals.class_ids[leads + 1]]
    products = place[leads] * place[leads + 1]
    n_elsewhere = residuals.n_elsewhere // 2
    total = float(np.where(np.isnan(products), -1.0, products).sum()) - n_elsewhere
    return bernstein_bound(total, variance=(len(products) + n_elsewhere) / 9, largest=1.0)


def _check_radius(case: AuditCase, released_as: IntArray) -> None:
    """Tests the largest coordinate of each record's noise, bounded from both sides because of rounding and clamping."""
    classes, noise = case.classes, case.noise
    chosen = classes.known_originals
    chosen = chosen[noise.n_active[classes.of_original[chosen]] > 1]
    if not chosen.size:
        return
    here = chosen[released_as[chosen] != GONE]
    n_gone = len(chosen) - len(here) + n_taken_out_with_class(case)
    ids = classes.of_original[here]
    least, most = np.zeros(len(here)), np.zeros(len(here))
    for j, (name, attribute) in enumerate(case.policy.epsilon_quasis.items()):
        active = np.nan_to_num(noise.ranges[ids, j]) > 0
        scale = np.where(active, noise.ranges[ids, j], 1.0) / case.epsilon
        published = case.released.numbers[name][released_as[here]]
        centre = noise.values[here, j]
        below, above = Rounding.of(attribute).bounds_before(np.where(np.isnan(published), centre, published))
        nearest = np.maximum(0.0, np.maximum(below - centre, centre - above)) / scale
        farthest = np.maximum(np.abs(below - centre), np.abs(above - centre)) / scale
        least = np.where(active, np.maximum(least, nearest), least)
        most = np.where(active, np.maximum(most, farthest), most)
    small, large = np.empty(len(here)), np.empty(len(here))
    for d in np.unique(noise.n_active[ids]).tolist():
        of_d = noise.n_active[ids] == d
        small[of_d] = -np.log(np.maximum(radius_beyond(most[of_d], d), 1e-300))
        large[of_d] = -np.log(np.maximum(radius_beyond(least[of_d], d), 1e-300))
    if _scale_tails(small, n_gone)[0] < case.alpha:
        case.findings.broken(
            "noise",
            "the noise of whole records is smaller than claimed: the epsilon-quasis together tell more than ε allows.",
        )
    elif _scale_tails(large, n_gone)[1] < case.alpha:
        case.findings.warning(
            "noise", "the noise of whole records is larger than claimed; each record should be one unit."
        )
    else:
        case.findings.passed(
            "noise", f"whole records: the largest of their noises follows its claim over {len(here):,} records."
        )

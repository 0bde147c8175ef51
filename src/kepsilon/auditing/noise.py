# SPDX-License-Identifier: Apache-2.0
"""Noise against its claim, where the linkage says which original each published value came from.

A published value says between which bounds the noise lay before rounding and clamping. A point drawn evenly between the
claimed distribution function at those bounds is uniform on 0 to 1 if and only if the claim holds, whatever the precision
and the domain, so that records of all classes can be put together. Records that confident k took out were chosen by
their noise; each test then counts them as the outcome that speaks most for the release.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.auditing.classes import Classes
from kepsilon.auditing.findings import Findings
from kepsilon.auditing.linkage import Linkage
from kepsilon.auditing.noise_law import (
    ClaimedNoise,
    Grid,
    bernstein,
    dkw,
    gamma_tail,
    inside_class,
    marginal_cdf,
    radius_beyond,
)
from kepsilon.auditing.tables import Original, Released
from kepsilon.policy.policy import Policy
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

SEED = 20_090_801
"""Points between bounds are drawn the same way every time, so that an audit can be repeated."""

CAP = 6.0
"""The most that one record counts for, in units of the expected noise, where some records were taken out."""

GONE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Residuals:
    """One ε-quasi of all originals of the known classes in which it has noise."""

    class_ids: IntArray
    uniform: FloatArray
    """Where the noise lies in its claimed distribution, of the released records only."""
    is_released: BoolArray
    """Whether each original, in the order of `class_ids`, is released."""
    n_elsewhere: int
    """Records taken out together with their whole class."""

    @property
    def n_gone(self) -> int:
        return int(len(self.class_ids) - np.count_nonzero(self.is_released)) + self.n_elsewhere

    @property
    def n(self) -> int:
        return len(self.class_ids) + self.n_elsewhere


def n_taken_out_with_class(original: Original, classes: Classes, policy: Policy) -> int:
    """Originals of classes that confident k has removed as a whole."""
    if policy.confidence is None:
        return 0
    if classes.n_suppressed is not None:
        return int(classes.absent.sum())
    accounted = int(np.where(classes.is_known, classes.originals, classes.released).sum())
    return max(0, original.n_staying - accounted)


def check_linked_noise(
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
    """Scale, centre, shape and independence of the noise of every ε-quasi, and the radius of whole records."""
    released_as = np.full(original.n_records, GONE, dtype=np.int64)
    released_as[linkage.original_row] = linkage.released_row
    n_elsewhere = n_taken_out_with_class(original, classes, policy)
    rng = np.random.default_rng(SEED)
    for j, name in enumerate(policy.epsilon_quasis):
        residuals = _residuals(released, classes, noise, policy, released_as, j, rng, n_elsewhere)
        if residuals.n - residuals.n_gone == 0:
            findings.note("noise", f"{name} has no noise in any class whose originals are known; nothing to test.")
            continue
        _judge(residuals, name, findings, alpha=alpha)
    if len(policy.epsilon_quasis) > 1:
        _check_radius(released, classes, noise, policy, released_as, findings, alpha, n_elsewhere)
    if policy.confidence is not None:
        findings.note(
            "noise",
            "records that confident k took out were chosen by their noise; the tests allow for any such choice, and see less.",
        )


def _residuals(
    released: Released,
    classes: Classes,
    noise: ClaimedNoise,
    policy: Policy,
    released_as: IntArray,
    j: int,
    rng: np.random.Generator,
    n_elsewhere: int,
) -> Residuals:
    name = list(policy.epsilon_quasis)[j]
    chosen = np.flatnonzero(inside_class(classes))
    chosen = chosen[np.nan_to_num(noise.ranges[classes.of_original[chosen], j]) > 0]
    chosen = rng.permutation(chosen)  # pairs are formed in this order, which owes nothing to the noise
    chosen = chosen[np.argsort(classes.of_original[chosen], kind="stable")]
    ids = classes.of_original[chosen]
    is_released = released_as[chosen] != GONE
    here, own = chosen[is_released], ids[is_released]
    published = released.numbers[name][released_as[here]]
    # A value that is missing where it should not be is found elsewhere; here it is as good as no noise at all.
    published = np.where(np.isnan(published), noise.values[here, j], published)
    scale = noise.ranges[own, j] / float(policy.exact_epsilon)
    below, above = Grid.of(policy.epsilon_quasis[name]).cell(published)
    centre = noise.values[here, j]
    uniform = np.empty(len(here))
    mix = rng.random(len(here))
    for d in np.unique(noise.n_active[own]).tolist():
        of_d = noise.n_active[own] == d
        first = marginal_cdf((below[of_d] - centre[of_d]) / scale[of_d], d)
        last = marginal_cdf((above[of_d] - centre[of_d]) / scale[of_d], d)
        uniform[of_d] = first + (last - first) * mix[of_d]
    return Residuals(class_ids=ids, uniform=uniform, is_released=is_released, n_elsewhere=n_elsewhere)


def _judge(residuals: Residuals, name: str, findings: Findings, *, alpha: float) -> None:
    tail = 2 * np.minimum(residuals.uniform, 1 - residuals.uniform)
    sizes = -np.log(np.maximum(tail, 1e-300))
    too_small, too_large = _scale_tails(sizes, residuals.n_gone)
    n_seen = len(sizes)
    ratio = float(sizes.mean())
    signs = 2 * residuals.uniform - 1
    # These come first, because the size of noise that is shared rests on a few draws only, and can be anything.
    off_centre = max(0.0, abs(float(signs.sum())) - residuals.n_gone)
    if 2 * bernstein(off_centre, variance=residuals.n / 3, largest=1.0) < alpha:
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
    if dkw(distance, residuals.n) < alpha:
        findings.broken("noise", f"the noise on {name} has about the right size, but not the claimed distribution.")
        return
    findings.passed(
        "noise",
        f"{name}: scale ({ratio:.3f} times the claimed one over {n_seen:,} records), centre, shape and independence as claimed.",
    )


def _scale_tails(sizes: FloatArray, n_gone: int) -> tuple[float, float]:
    """How probable so little noise is, and so much, under the claim that sizes are exponential with mean 1."""
    n = len(sizes) + n_gone
    too_large = gamma_tail(float(sizes.sum()), n, above=True)
    if not n_gone:
        return gamma_tail(float(sizes.sum()), n, above=False), too_large
    mean = 1 - np.exp(-CAP)
    variance = 2 * (1 - np.exp(-CAP) * (1 + CAP)) - mean**2
    total = float(np.minimum(sizes, CAP).sum()) + CAP * n_gone
    return bernstein(n * mean - total, variance=n * variance, largest=CAP), too_large


def _shared(residuals: Residuals, signs: FloatArray) -> float:
    """Pairs of originals of one class: the product of their places is 0 on average, and 1/3 if they share their noise."""
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
    return bernstein(total, variance=(len(products) + n_elsewhere) / 9, largest=1.0)


def _check_radius(
    released: Released,
    classes: Classes,
    noise: ClaimedNoise,
    policy: Policy,
    released_as: IntArray,
    findings: Findings,
    alpha: float,
    n_elsewhere: int,
) -> None:
    """The largest coordinate of each record's noise, bounded from both sides because of rounding and clamping."""
    chosen = np.flatnonzero(inside_class(classes))
    chosen = chosen[noise.n_active[classes.of_original[chosen]] > 1]
    if not chosen.size:
        return
    here = chosen[released_as[chosen] != GONE]
    n_gone = len(chosen) - len(here) + n_elsewhere
    ids = classes.of_original[here]
    least, most = np.zeros(len(here)), np.zeros(len(here))
    for j, (name, attribute) in enumerate(policy.epsilon_quasis.items()):
        active = np.nan_to_num(noise.ranges[ids, j]) > 0
        scale = np.where(active, noise.ranges[ids, j], 1.0) / float(policy.exact_epsilon)
        published = released.numbers[name][released_as[here]]
        centre = noise.values[here, j]
        below, above = Grid.of(attribute).cell(np.where(np.isnan(published), centre, published))
        nearest = np.maximum(0.0, np.maximum(below - centre, centre - above)) / scale
        farthest = np.maximum(np.abs(below - centre), np.abs(above - centre)) / scale
        least = np.where(active, np.maximum(least, nearest), least)
        most = np.where(active, np.maximum(most, farthest), most)
    small, large = np.empty(len(here)), np.empty(len(here))
    for d in np.unique(noise.n_active[ids]).tolist():
        of_d = noise.n_active[ids] == d
        small[of_d] = -np.log(np.maximum(radius_beyond(most[of_d], d), 1e-300))
        large[of_d] = -np.log(np.maximum(radius_beyond(least[of_d], d), 1e-300))
    if _scale_tails(small, n_gone)[0] < alpha:
        findings.broken(
            "noise",
            "the noise of whole records is smaller than claimed: the epsilon-quasis together tell more than ε allows.",
        )
    elif _scale_tails(large, n_gone)[1] < alpha:
        findings.warning("noise", "the noise of whole records is larger than claimed; each record should be one unit.")
    else:
        findings.passed(
            "noise", f"whole records: the largest of their noises follows its claim over {len(here):,} records."
        )

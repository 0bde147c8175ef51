# SPDX-License-Identifier: Apache-2.0
"""Tests scale, centre and shape of the noise, where a linkage tells which original each published value came from."""

from __future__ import annotations

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.noise_law import Rounding, radius_beyond
from kepsilon.auditing.noise_patterns import check_patterns
from kepsilon.auditing.residuals import GONE, SEED, Residuals, n_taken_out_with_class, released_as, residuals_of
from kepsilon.auditing.tail_bounds import UNIFORM_VARIANCE, bernstein_bound, dkw_bound, gamma_tail_bound
from kepsilon.table.arrays import FloatArray

CAP = 6.0
"""The largest noise that a record counts with, in units of the expected noise, where some records were taken out."""

TESTS_OF_ONE = 4
"""Tests of one ε-quasi: centre, too little noise, too much, shape."""
TESTS_OF_RECORDS = 2
"""Tests of the largest noise of whole records: too little, too much."""


def check_linked_noise(case: AuditCase) -> None:
    """With a linkage, tests scale, centre, shape and independence of the noise on each ε-quasi and on whole records."""
    names = list(case.policy.epsilon_quasis)
    if case.linkage is None or not names:
        return
    rng = np.random.default_rng(SEED)
    level = case.false_alarms.level("noise", n_tests=TESTS_OF_ONE * len(names) + TESTS_OF_RECORDS)
    by_name = {}
    for j, name in enumerate(names):
        residuals = residuals_of(case, j, rng)
        if not residuals.is_released.any():
            case.findings.note("noise", f"{name} has no noise in any class whose originals are known; nothing to test.")
            continue
        has_more = _judge(case, residuals, name, level=level)
        by_name[name] = residuals.with_sizes_drawn_anew(rng) if has_more else residuals
    check_patterns(case, by_name)
    if len(names) > 1:
        _check_radius(case, level=level)
    if case.policy.confidence is not None:
        case.findings.note(
            "noise",
            "records that confident k took out were chosen by their noise; the tests allow for any such choice, and see less.",
        )


def _judge(case: AuditCase, residuals: Residuals, name: str, *, level: float) -> bool:
    """Adds the finding on the noise of one ε-quasi: its first fault, or that it is as claimed.

    Tells whether there is more noise than claimed, which protects more than was promised and is no fault.
    """
    findings = case.findings
    uniform = residuals.uniform[residuals.is_released]
    tail = 2 * np.minimum(uniform, 1 - uniform)
    sizes = -np.log(np.maximum(tail, 1e-300))
    too_small, too_large = _scale_tails(sizes, residuals.n_gone)
    n_seen = len(sizes)
    ratio = float(sizes.mean())
    # The centre comes before the size: shared noise rests on a few draws, so its size can be anything.
    off_centre = max(0.0, abs(float((2 * uniform - 1).sum())) - residuals.n_gone)
    if 2 * bernstein_bound(off_centre, variance=residuals.n * UNIFORM_VARIANCE, largest=1.0) < level:
        findings.broken(
            "noise",
            f"the noise on {name} is not centred: it moves values one way more than the other, all of them or class by class.",
        )
        return False
    size = f"over {n_seen:,} records its size is {ratio:.2f} times what it should be"
    if too_small < level:
        findings.broken("noise", f"{name} has less noise than claimed: {size}.")
        return False
    if too_large < level:
        findings.warning("noise", f"{name} has more noise than claimed: {size}.")
        return True
    ordered = np.sort(uniform)
    places = np.arange(1, n_seen + 1) / n_seen
    distance = float(np.max(np.maximum(places - ordered, ordered - places + 1 / n_seen)))
    distance = distance * n_seen / residuals.n - residuals.n_gone / residuals.n
    if dkw_bound(distance, residuals.n) < level:
        findings.broken("noise", f"the noise on {name} has about the right size, but not the claimed distribution.")
        return False
    findings.passed(
        "noise",
        f"{name}: scale ({ratio:.3f} times the claimed one over {n_seen:,} records), centre and shape as claimed.",
    )
    return False


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


def _check_radius(case: AuditCase, *, level: float) -> None:
    """Tests the largest coordinate of each record's noise, bounded from both sides because of rounding and clamping."""
    classes, noise, of_original = case.classes, case.noise, released_as(case)
    chosen = classes.known_originals
    chosen = chosen[noise.n_active[classes.of_original[chosen]] > 1]
    if not chosen.size:
        return
    here = chosen[of_original[chosen] != GONE]
    n_gone = len(chosen) - len(here) + n_taken_out_with_class(case)
    ids = classes.of_original[here]
    least, most = np.zeros(len(here)), np.zeros(len(here))
    for j, (name, attribute) in enumerate(case.policy.epsilon_quasis.items()):
        active = np.nan_to_num(noise.ranges[ids, j]) > 0
        scale = np.where(active, noise.ranges[ids, j], 1.0) / case.epsilon
        published = case.released.numbers[name][of_original[here]]
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
    if _scale_tails(small, n_gone)[0] < level:
        case.findings.broken(
            "noise",
            "the noise of whole records is smaller than claimed: the epsilon-quasis together tell more than ε allows.",
        )
    elif _scale_tails(large, n_gone)[1] < level:
        case.findings.warning(
            "noise", "the noise of whole records is larger than claimed; each record should be one unit."
        )
    else:
        case.findings.passed(
            "noise", f"whole records: the largest of their noises follows its claim over {len(here):,} records."
        )

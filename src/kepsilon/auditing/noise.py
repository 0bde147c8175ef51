# SPDX-License-Identifier: Apache-2.0
"""Tests scale, centre and shape of the noise, where a linkage tells which original each published value came from."""

from __future__ import annotations

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.independent_noise import check_independence, n_tests_of_independence
from kepsilon.auditing.noise_of_records import check_noise_of_records, n_tests_of_records
from kepsilon.auditing.noise_patterns import check_patterns
from kepsilon.auditing.residuals import SEED, Residuals, residuals_of
from kepsilon.auditing.stated_laws import is_bounded
from kepsilon.auditing.tail_bounds import UNIFORM_VARIANCE, bernstein_bound, dkw_bound, exponential_tails

TESTS_OF_ONE = 4
"""Tests of one ε-quasi: centre, too little noise, too much, shape."""


def check_linked_noise(case: AuditCase) -> None:
    """With a linkage, tests scale, centre, shape and independence of the noise on each ε-quasi and on whole records."""
    names = list(case.policy.epsilon_quasis)
    if case.linkage is None or not names:
        return
    rng = np.random.default_rng(SEED)
    n_of_records = (n_tests_of_independence if is_bounded(case.policy) else n_tests_of_records)(len(names))
    level = case.false_alarms.level("noise", n_tests=TESTS_OF_ONE * len(names) + n_of_records)
    by_name = {}
    has_more = []
    for j, name in enumerate(names):
        residuals = residuals_of(case, j, rng)
        if not residuals.is_released.any():
            case.findings.note("noise", f"{name} has no noise in any class whose originals are known; nothing to test.")
            continue
        has_more.append(judge_noise(case, residuals, name, level=level))
        by_name[name] = residuals.with_sizes_drawn_anew(rng) if has_more[-1] else residuals
    check_patterns(case, by_name)
    if is_bounded(case.policy):
        check_independence(case, by_name, level=level)
    elif len(names) > 1:
        check_noise_of_records(case, has_more=all(has_more), level=level)
    if case.policy.confidence is not None:
        case.findings.note(
            "noise",
            "records that confident k took out were chosen by their noise; the tests allow for any such choice, and see less.",
        )


def judge_noise(case: AuditCase, residuals: Residuals, name: str, *, level: float, units: str = "records") -> bool:
    """Adds the finding on the noise of one ε-quasi: its first fault, or that it is as claimed.

    Tells whether there is more noise than claimed, which protects more than was promised and is no fault. `units` names what
    was drawn for.
    """
    findings = case.findings
    uniform = residuals.uniform[residuals.is_released]
    tail = 2 * np.minimum(uniform, 1 - uniform)
    sizes = -np.log(np.maximum(tail, 1e-300))
    too_small, too_large = exponential_tails(sizes, residuals.n_gone)
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
    size = f"over {n_seen:,} {units} its size is {ratio:.2f} times what it should be"
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
        f"{name}: scale ({ratio:.3f} times the claimed one over {n_seen:,} {units}), centre and shape as claimed.",
    )
    return False

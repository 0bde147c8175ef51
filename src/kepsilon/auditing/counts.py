# SPDX-License-Identifier: Apache-2.0
"""k by counting, and how many records every class has, and the release lacks, against the originals."""

from __future__ import annotations

import numpy as np

from kepsilon.auditing.classes import Classes, releases_all
from kepsilon.auditing.findings import Findings, counted, share
from kepsilon.auditing.tables import Original
from kepsilon.policy.choices import ALGORITHMS
from kepsilon.policy.policy import Policy


def check_counts(classes: Classes, original: Original, policy: Policy, findings: Findings) -> None:
    """k by counting, and every class against the originals that its labels cover."""
    smallest = int(classes.released.min())
    n_small = int(np.count_nonzero(classes.released < policy.k))
    findings.require(
        n_small == 0,
        "k",
        right=f"{classes.n_classes:,} classes, the smallest of {smallest:,} records (k = {policy.k}).",
        wrong=f"{n_small:,} of {classes.n_classes:,} classes have fewer than k = {policy.k} records, the smallest {smallest:,}.",
    )
    n_too_many = int(np.count_nonzero(classes.released > classes.covered))
    n_too_few = int(np.count_nonzero((classes.released < classes.originals) & classes.is_known))
    has_confidence = policy.confidence is not None
    n_released, is_sound = int(classes.released.sum()), True
    if n_too_many:
        is_sound = False
        findings.broken(
            "counts",
            f"{counted(n_too_many, 'class has', 'classes have')} more records than originals that their labels cover: a "
            "label does not contain its record, or records were added.",
        )
    if n_too_few and not has_confidence:
        is_sound = False
        findings.broken(
            "counts", f"{counted(n_too_few, 'class has', 'classes have')} lost records that k-anonymity would keep."
        )
    algorithm = ALGORITHMS[policy.algorithm]
    if releases_all(policy) and n_released != original.n_staying:
        is_sound = False
        findings.broken(
            "counts",
            f"{algorithm.title} leaves no record out, but {n_released:,} are released of {original.n_staying:,}.",
        )
    if classes.n_suppressed is not None:
        is_sound &= _check_suppression(classes, original, policy, findings)
    elif algorithm.may_suppress and not has_confidence:
        is_sound &= _check_left_out(n_released, original, policy, findings)
    n_unclear = int(np.count_nonzero(~classes.is_known))
    if is_sound and n_unclear == 0:
        many = "no more" if has_confidence else "as many"
        findings.passed(
            "counts", f"every class has {many} records {'than' if has_confidence else 'as'} it has originals."
        )
    elif is_sound:
        findings.passed("counts", "no class has more records than there are originals that its labels cover.")
    if classes.n_suppressed is None and n_unclear:
        why = "cover originals of others"
        if not releases_all(policy):
            by = "confident k took out" if has_confidence else "were left out"
            why = f"may cover originals of classes that {by}"
        findings.note(
            "counts",
            f"the labels of {n_unclear:,} of {counted(classes.n_classes, 'class', 'classes')} {why}; which originals are "
            "theirs is not known.",
        )


def _limit(original: Original, policy: Policy) -> int:
    """How many records the algorithm may leave out."""
    return policy.most_suppressed(original.n_staying) if ALGORITHMS[policy.algorithm].may_suppress else 0


def _check_left_out(n_released: int, original: Original, policy: Policy, findings: Findings) -> bool:
    """Records left out against the limit, where it is not known which classes they were in; whether counts hold."""
    n_left_out, limit = original.n_staying - n_released, _limit(original, policy)
    findings.require(
        n_left_out <= limit,
        "suppression",
        right=f"{counted(n_left_out, 'record', 'records')} left out, at most {limit:,} allowed.",
        wrong=f"{counted(n_left_out, 'record is', 'records are')} left out, but at most {limit:,} may be.",
    )
    return n_left_out <= limit


def _check_suppression(classes: Classes, original: Original, policy: Policy, findings: Findings) -> bool:
    """Records left out against the limit, where every class is known, also of those that are absent; whether counts hold."""
    n_below, n_absent = int(classes.n_suppressed or 0), int(classes.absent.sum())
    limit = _limit(original, policy)
    if policy.confidence is None and n_absent and n_below + n_absent > limit:
        findings.broken(
            "suppression",
            f"{counted(n_below + n_absent, 'record is', 'records are')} left out, {n_absent:,} of them in classes of k and "
            f"more, but at most {limit:,} may be.",
        )
        return False
    findings.require(
        n_below <= limit,
        "suppression",
        right=f"{counted(n_below, 'record', 'records')} in classes below k left out ({share(n_below, original.n_staying)}), "
        f"at most {limit:,} allowed.",
        wrong=f"{counted(n_below, 'record is', 'records are')} in classes below k at these levels, but at most {limit:,} may "
        "be left out.",
    )
    if n_absent and policy.confidence is None:
        findings.warning(
            "suppression",
            f"{counted(len(classes.absent), 'class', 'classes')} of k records and more not in the release ({n_absent:,} "
            "records); nothing in the policy asks for that.",
        )
        return False
    return n_below <= limit

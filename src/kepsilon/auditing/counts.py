# SPDX-License-Identifier: Apache-2.0
"""Checks by counting: k, the size of each class against its originals, and how many records were left out."""

from __future__ import annotations

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.classes import releases_all
from kepsilon.auditing.findings import counted, share
from kepsilon.policy.choices import ALGORITHMS


def check_counts(case: AuditCase) -> None:
    """Compares the records of each class with k and with its originals, and the records left out with their limit."""
    policy, original, classes, findings = case.policy, case.original, case.classes, case.findings
    smallest = int(classes.n_released.min())
    n_small = int(np.count_nonzero(classes.n_released < policy.k))
    findings.require(
        n_small == 0,
        "k",
        right=f"{classes.n_classes:,} classes, the smallest of {smallest:,} records (k = {policy.k}).",
        wrong=f"{n_small:,} of {classes.n_classes:,} classes have fewer than k = {policy.k} records, the smallest {smallest:,}.",
    )
    n_too_many = int(np.count_nonzero(classes.n_released > classes.n_covered))
    n_too_few = int(np.count_nonzero((classes.n_released < classes.n_originals) & classes.is_known))
    has_confidence = policy.confidence is not None
    n_released, is_sound = int(classes.n_released.sum()), True
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
        is_sound &= _check_suppression(case)
    elif policy.may_suppress and not has_confidence:
        is_sound &= _check_left_out(case, n_released)
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
        if not original.is_exact:
            why = "may cover records that the cap left out, or originals of other classes"
        elif not releases_all(policy):
            by = "confident k took out" if has_confidence else "were left out"
            why = f"may cover originals of classes that {by}"
        findings.note(
            "counts",
            f"the labels of {n_unclear:,} of {counted(classes.n_classes, 'class', 'classes')} {why}; which originals are "
            "theirs is not known.",
        )


def _limit(case: AuditCase) -> int:
    """Number of records that the algorithm may leave out."""
    return case.policy.most_suppressed(case.original.n_staying)


def _check_left_out(case: AuditCase, n_released: int) -> bool:
    """Whether no more records are left out than may be, where it is not known which classes they were in."""
    n_left_out, limit = case.original.n_staying - n_released, _limit(case)
    case.findings.require(
        n_left_out <= limit,
        "suppression",
        right=f"{counted(n_left_out, 'record', 'records')} left out, at most {limit:,} allowed.",
        wrong=f"{counted(n_left_out, 'record is', 'records are')} left out, but at most {limit:,} may be.",
    )
    return n_left_out <= limit


def _check_suppression(case: AuditCase) -> bool:
    """Whether only classes below k are left out, and within the limit, where the classes left out are known too (OLA)."""
    policy, original, classes, findings = case.policy, case.original, case.classes, case.findings
    n_below, n_absent = int(classes.n_suppressed or 0), int(classes.absent.sum())
    below = "below k" if policy.person is None and not policy.diverse else "that fail what the policy asks of them"
    limit = _limit(case)
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
        right=f"{counted(n_below, 'record', 'records')} in classes {below} left out ({share(n_below, original.n_staying)}), "
        f"at most {limit:,} allowed.",
        wrong=f"{counted(n_below, 'record is', 'records are')} in classes {below} at these levels, but at most {limit:,} may "
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

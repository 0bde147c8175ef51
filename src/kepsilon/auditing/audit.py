# SPDX-License-Identifier: Apache-2.0
"""Audits a release; the only module that knows the order of the checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from kepsilon.auditing.attacks import check_attacks
from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.classes import find_classes
from kepsilon.auditing.confident import check_confident_k
from kepsilon.auditing.counts import check_counts
from kepsilon.auditing.few_records import check_exact_values
from kepsilon.auditing.findings import FALSE_ALARM, Audit, Findings
from kepsilon.auditing.linkage import Linkage, read_linkage
from kepsilon.auditing.manifest import check_digest_only, check_files_beside
from kepsilon.auditing.noise import check_linked_noise
from kepsilon.auditing.noise_law import claimed_noise
from kepsilon.auditing.noise_unlinked import check_unlinked_noise
from kepsilon.auditing.order import check_order
from kepsilon.auditing.records import (
    check_constant_classes,
    check_kept_columns,
    check_linked_classes,
    check_linked_labels,
    share_contradicted,
)
from kepsilon.auditing.schema import (
    check_identifiers,
    check_published_numbers,
    read_release,
    require_not_exchanged,
)
from kepsilon.auditing.stated_laws import why_not_judged
from kepsilon.auditing.tables import Original, Released, read_original
from kepsilon.auditing.taken_out import check_taken_out
from kepsilon.engines.arrow.audited import AuditedTable
from kepsilon.errors import guarded
from kepsilon.policy.policy import Policy
from kepsilon.stopwatch import ignore_step

FEWEST_CONTRADICTIONS = 20
"""Released records that a linkage contradicts, at least, if it is that of another release."""

NOT_A_RELEASE = "The release lacks what a release under this policy has; what could be checked without it is below."

Checks = tuple[Callable[[AuditCase], None], ...]

CHECKS_OF_NOISE: Checks = (
    check_linked_noise,
    check_exact_values,
    check_unlinked_noise,
    check_confident_k,
    check_taken_out,
)
"""Checks that rest on the claimed law of the noise."""


def check_noise(case: AuditCase) -> None:
    """Makes the checks that rest on the law of the noise, or warns that the audit does not state that law."""
    if (why := why_not_judged(case.policy)) is not None:
        case.findings.warning("noise", why)
        return
    for check in CHECKS_OF_NOISE:
        check(case)


CHECKS_OF_CLASSES: Checks = (check_counts, check_linked_classes, check_linked_labels, check_kept_columns)
LATER_CHECKS: Mapping[str, Checks] = {
    "noise": (check_constant_classes, check_noise),
    "order": (check_order,),
    "attack": (check_attacks,),
}
"""Checks that follow those of classes, in order, by the step that `on_step` is told."""


@guarded
def audit(
    original: object,
    released: object,
    policy: Policy,
    *,
    linkage: object | None = None,
    on_step: Callable[[str], None] = ignore_step,
) -> Audit:
    """What a release keeps of its policy's promises, found by a code path of its own.

    `original`, `released` and `linkage` are paths or frames. Where the release is a file, the manifest and the curator's
    record beside it are checked too. Findings speak of columns and counts, never of a record's value.
    """
    findings = Findings(headline=NOT_A_RELEASE)
    # A tampered release can hold any number; checks judge what it does to a sum, so NumPy need not warn of it.
    with np.errstate(all="ignore"):
        on_step("read")
        source, table = AuditedTable(original), AuditedTable(released, is_release=True)
        require_not_exchanged(source, table, policy)
        case = _open_case(source, table, policy, findings, linkage=linkage, on_step=on_step)
        if case is not None:
            _check_all(case, table.path, on_step)
        elif table.path is not None:
            check_digest_only(table.path, findings)
    return Audit(findings=tuple(findings.found), headline=findings.headline, figures=findings.figures)


def _open_case(
    source: AuditedTable,
    table: AuditedTable,
    policy: Policy,
    findings: Findings,
    *,
    linkage: object | None,
    on_step: Callable[[str], None],
) -> AuditCase | None:
    """Reads both tables and the linkage, and finds the classes; None where the release does not allow that."""
    original = read_original(source, policy)
    released = read_release(table, original, policy, findings)
    on_step("identifiers")
    check_identifiers(original, table, policy, findings)
    if released is None:
        return None
    check_published_numbers(released, policy, findings)
    links = None
    if linkage is not None:
        links = read_linkage(linkage, n_originals=original.n_records, n_released=released.n_records, findings=findings)
    on_step("classes")
    case = _case_of(original, released, policy, findings, linkage=links)
    return None if case is None else _without_foreign_linkage(case)


def _case_of(
    original: Original, released: Released, policy: Policy, findings: Findings, *, linkage: Linkage | None
) -> AuditCase | None:
    """The case with its classes and the noise claimed for them; None, with findings, if labels cannot be understood."""
    classes = find_classes(original, released, policy, findings, linkage=linkage)
    if classes is None:
        return None
    return AuditCase(
        policy=policy,
        original=original,
        released=released,
        linkage=linkage,
        classes=classes,
        noise=claimed_noise(original, classes, policy),
        alpha=FALSE_ALARM / (20 * (len(original.published) + len(policy.epsilon_quasis) + 2)),
        findings=findings,
    )


def _without_foreign_linkage(case: AuditCase) -> AuditCase:
    """The case without its linkage, if that is the linkage of another release; otherwise the case as it is.

    A foreign linkage contradicts the release almost as often as rows drawn at random, and without it the release has no
    fault. A few wrong rows, or a release that is broken without any linkage, are left to the other checks.
    """
    if case.linkage is None:
        return case
    contradicted = share_contradicted(case, case.linkage.original_row)
    if contradicted * case.released.n_records < FEWEST_CONTRADICTIONS:
        return case
    any_rows = np.random.default_rng(0).permutation(case.linkage.original_row)
    if contradicted < share_contradicted(case, any_rows) / 2:
        return case
    unlinked = _case_of(case.original, case.released, case.policy, Findings(), linkage=None)
    if unlinked is None:
        return case
    for check in CHECKS_OF_CLASSES:
        check(unlinked)
    if any(finding.severity == "broken" for finding in unlinked.findings.found):
        return case
    case.findings.warning(
        "linkage", "this linkage does not belong to this release: it contradicts it; the rest is checked without it."
    )
    return replace(unlinked, findings=case.findings)


def _check_all(case: AuditCase, path: Path | None, on_step: Callable[[str], None]) -> None:
    """Makes all checks of a release whose classes are found, and compares the files beside it if it is a file itself."""
    for check in CHECKS_OF_CLASSES:
        check(case)
    for step, checks in LATER_CHECKS.items():
        on_step(step)
        for check in checks:
            check(case)
    if path is not None:
        on_step("manifest")
        check_files_beside(case, path)

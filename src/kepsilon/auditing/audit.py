# SPDX-License-Identifier: Apache-2.0
"""The order of the checks; the only module of the audit that knows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from kepsilon.auditing.attacks import check_attacks
from kepsilon.auditing.classes import Classes, find_classes
from kepsilon.auditing.confident import check_confident_k
from kepsilon.auditing.counts import check_counts
from kepsilon.auditing.few_records import check_exact_values
from kepsilon.auditing.findings import FALSE_ALARM, Audit, Findings
from kepsilon.auditing.linkage import Linkage, check_linkage, read_linkage
from kepsilon.auditing.manifest import check_beside, check_digest_only
from kepsilon.auditing.noise import check_linked_noise
from kepsilon.auditing.noise_law import claimed_noise
from kepsilon.auditing.noise_unlinked import check_unlinked_noise
from kepsilon.auditing.order import check_order
from kepsilon.auditing.records import check_kept, check_linked_labels, check_without_noise, share_contradicted
from kepsilon.auditing.schema import (
    check_identifiers,
    check_published_numbers,
    read_release,
    require_not_exchanged,
)
from kepsilon.auditing.stated_laws import unstated
from kepsilon.auditing.tables import Original, Released, read_original
from kepsilon.auditing.taken_out import check_taken_out
from kepsilon.engines.arrow.audited import AuditedTable
from kepsilon.policy.policy import Policy

FEWEST_CONTRADICTIONS = 20
"""Lines that a linkage of another release gets wrong at least."""

NOT_A_RELEASE = "The release lacks what a release under this policy has; what could be checked without it is below."


def ignore_step(step: str) -> None:
    """Shows nothing."""


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
    # A tampered release can hold any number; what comes of it in a sum is judged, not warned about.
    with np.errstate(all="ignore"):
        return _audit(original, released, policy, linkage=linkage, on_step=on_step)


def _audit(
    original: object,
    released: object,
    policy: Policy,
    *,
    linkage: object | None,
    on_step: Callable[[str], None],
) -> Audit:
    findings = Findings()
    on_step("read")
    source, table = AuditedTable(original), AuditedTable(released)
    require_not_exchanged(source, table, policy)
    before = read_original(source, policy)
    after = read_release(table, before, policy, findings)
    on_step("identifiers")
    check_identifiers(before, table, policy, findings)
    if after is None:
        return _ended(findings, NOT_A_RELEASE, table.path)
    check_published_numbers(after, policy, findings)
    links = None
    if linkage is not None:
        links = read_linkage(linkage, n_originals=before.n_records, n_released=after.n_records, findings=findings)
    on_step("classes")
    classes = find_classes(before, after, policy, findings, linkage=links)
    if classes is None:
        return _ended(findings, NOT_A_RELEASE, table.path)
    if links is not None and (unlinked := _unlinked(before, after, classes, policy, links)) is not None:
        findings.warning(
            "linkage",
            "this linkage does not belong to this release: it contradicts it; the rest is checked without it.",
        )
        links, classes = None, unlinked
    check_counts(classes, before, policy, findings)
    if links is not None:
        check_linkage(links, classes.of_released, findings)
        check_linked_labels(before, after, classes, links, policy, findings)
    check_kept(before, after, classes, policy, findings, linkage=links)
    on_step("noise")
    noise = claimed_noise(before, classes, policy)
    check_without_noise(after, classes, noise, policy, findings)
    alpha = FALSE_ALARM / (20 * (len(before.published) + len(policy.epsilon_quasis) + 2))
    if (why := unstated(policy)) is not None:
        findings.warning("noise", why)
    else:
        if links is not None:
            check_linked_noise(before, after, classes, noise, links, policy, findings, alpha=alpha)
            check_exact_values(before, after, classes, noise, links, policy, findings, alpha=alpha)
        else:
            check_unlinked_noise(before, after, classes, noise, policy, findings, alpha=alpha)
        check_confident_k(after, classes, noise, policy, findings)
        check_taken_out(before, after, classes, policy, findings, alpha=alpha)
    on_step("order")
    check_order(before, after, classes, policy, findings, linkage=links, alpha=alpha)
    on_step("attack")
    headline = check_attacks(after, classes, noise, policy, findings, linkage=links, alpha=alpha)
    if table.path is not None:
        on_step("manifest")
        check_beside(table.path, before, after, classes, noise, policy, findings, linkage=links)
    return Audit(findings=tuple(findings.found), headline=headline, figures=findings.figures)


def _unlinked(before: Original, after: Released, classes: Classes, policy: Policy, links: Linkage) -> Classes | None:
    """The classes as they are found without the linkage, if that is one of another release.

    It then contradicts this one almost as often as lines drawn at random, though the release has no fault. A few wrong
    lines, or a release that is broken without any linkage, are for the other checks to report.
    """
    contradicted = share_contradicted(before, after, classes, policy, links.original_row)
    if contradicted * after.n_records < FEWEST_CONTRADICTIONS:
        return None
    any_rows = np.random.default_rng(0).permutation(links.original_row)
    if contradicted < share_contradicted(before, after, classes, policy, any_rows) / 2:
        return None
    found = Findings()
    unlinked = find_classes(before, after, policy, found, linkage=None)
    if unlinked is None:
        return None
    check_counts(unlinked, before, policy, found)
    check_kept(before, after, unlinked, policy, found, linkage=None)
    return None if any(finding.severity == "broken" for finding in found.found) else unlinked


def _ended(findings: Findings, headline: str, path: Path | None) -> Audit:
    if path is not None:
        check_digest_only(path, findings)
    return Audit(findings=tuple(findings.found), headline=headline, figures=findings.figures)

# SPDX-License-Identifier: Apache-2.0
"""Audits a release; the only module that knows the order of the checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kepsilon.auditing.attackers import report_whole_records
from kepsilon.auditing.attacks import check_attacks
from kepsilon.auditing.averages import check_averages
from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.classes import ReconstructedClasses
from kepsilon.auditing.confident import check_confident_k
from kepsilon.auditing.counts import check_counts
from kepsilon.auditing.curators_record import check_record
from kepsilon.auditing.false_alarms import FALSE_ALARM, FalseAlarms
from kepsilon.auditing.few_records import check_exact_values
from kepsilon.auditing.file_bytes import check_bytes
from kepsilon.auditing.findings import Audit, AuditFinding, Findings
from kepsilon.auditing.label_tightness import check_label_tightness
from kepsilon.auditing.linkage import Linkage, read_linkage
from kepsilon.auditing.noise import check_linked_noise
from kepsilon.auditing.noise_law import claimed_noise
from kepsilon.auditing.noise_unlinked import check_unlinked_noise
from kepsilon.auditing.one_draw import check_one_draw
from kepsilon.auditing.order import check_order
from kepsilon.auditing.persons import (
    check_cap,
    check_persons,
    check_repeated_codes,
    check_sensitive_values,
    settled,
)
from kepsilon.auditing.public_manifest import check_manifest, stated_levels
from kepsilon.auditing.published_values import check_published_values
from kepsilon.auditing.readings import find_classes
from kepsilon.auditing.records import (
    check_constant_classes,
    check_inside_ranges,
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
from kepsilon.auditing.single_risk import check_single_risk
from kepsilon.auditing.stated_laws import why_noise_not_judged
from kepsilon.auditing.tables import Original, Released, read_original
from kepsilon.auditing.taken_out import check_taken_out
from kepsilon.engines.arrow.audited import AuditedTable
from kepsilon.errors import guarded
from kepsilon.policy.policy import Policy
from kepsilon.stopwatch import ignore_step

FEWEST_CONTRADICTIONS = 20
"""Released records that a linkage contradicts, at least, if it is that of another release."""

INDEPENDENT_OF_READING = ("k", "k persons", "cap")
"""Checks that count released records by their labels alone, whatever the labels stand for."""

NOT_A_RELEASE = "The release lacks what a release under this policy has; what could be checked without it is below."

Checks = tuple[Callable[[AuditCase], None], ...]

CHECKS_OF_NOISE: Checks = (
    check_inside_ranges,
    check_one_draw,
    check_linked_noise,
    check_exact_values,
    check_unlinked_noise,
    check_published_values,
    check_confident_k,
    check_taken_out,
)
"""Checks that rest on the claimed law of the noise."""


def check_noise(case: AuditCase) -> None:
    """Makes the checks that rest on the law of the noise, or warns that the audit does not state that law.

    Averages have checks of their own.
    """
    if case.policy.averages is not None:
        check_averages(case)
        return
    if (why := why_noise_not_judged(case.policy)) is not None:
        case.findings.warning("noise", why)
        return
    for check in CHECKS_OF_NOISE:
        check(case)


CHECKS_OF_CLASSES: Checks = (
    check_counts,
    check_persons,
    check_cap,
    check_sensitive_values,
    check_linked_classes,
    check_linked_labels,
    check_label_tightness,
    check_kept_columns,
)
LATER_CHECKS: Mapping[str, Checks] = {
    "noise": (check_constant_classes, check_noise),
    "order": (check_order,),
    "attack": (check_single_risk, check_attacks),
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
        cases = _open_cases(source, table, policy, findings, linkage=linkage, on_step=on_step)
        if cases:
            _check_readings(cases, table.path, findings, on_step)
        elif table.path is not None:
            check_manifest(table.path, policy, findings, released=None)
    return Audit(findings=tuple(findings.found), headline=findings.headline, figures=findings.figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cases:
    """One case for every way in which the labels of the release are read."""

    tried: tuple[AuditCase, ...]
    n_possible: int
    original: Original
    """The original as it is known without a linkage."""
    before: FalseAlarms
    """What tests that need no reading of the labels were given."""

    def __bool__(self) -> bool:
        return bool(self.tried)


def _open_cases(
    source: AuditedTable,
    table: AuditedTable,
    policy: Policy,
    findings: Findings,
    *,
    linkage: object | None,
    on_step: Callable[[str], None],
) -> _Cases | None:
    """Reads both tables and the linkage, and finds the classes; None where the release does not allow that."""
    original = read_original(source, policy)
    released = read_release(table, original, policy, findings)
    on_step("bytes")
    before = FalseAlarms(total=FALSE_ALARM)
    check_bytes(original, table, policy, findings, before)
    on_step("identifiers")
    check_identifiers(original, table, policy, findings)
    check_repeated_codes(original, policy, findings)
    if released is None:
        return None
    check_published_numbers(released, policy, findings)
    links = None
    if linkage is not None:
        links = read_linkage(linkage, n_originals=original.n_records, n_released=released.n_records, findings=findings)
    on_step("classes")
    stated = stated_levels(table.path) if table.path is not None else {}
    known = settled(original, policy, links)
    found = Findings()
    readings = find_classes(known, released, policy, found, linkage=links, stated=stated)
    findings.found += _not_sure(found.found) if known.has_open_labels else found.found
    if readings is None:
        return None
    tried = tuple(_case_of(known, released, policy, classes, linkage=links) for classes in readings.tried)
    n_possible = readings.n_possible + known.has_open_labels
    return _Cases(tried=tried, n_possible=n_possible, original=original, before=before)


def _not_sure(found: list[AuditFinding]) -> list[AuditFinding]:
    """Findings of which those that depend on how labels are read accuse nobody."""
    return [
        replace(finding, severity="warning")
        if finding.severity == "broken" and finding.check not in INDEPENDENT_OF_READING
        else finding
        for finding in found
    ]


def _case_of(
    original: Original, released: Released, policy: Policy, classes: ReconstructedClasses, *, linkage: Linkage | None
) -> AuditCase:
    """The case with its classes and the noise claimed for them, and no findings yet."""
    return AuditCase(
        policy=policy,
        original=original,
        released=released,
        linkage=linkage,
        classes=classes,
        noise=claimed_noise(original, classes, policy),
        false_alarms=FalseAlarms(total=FALSE_ALARM),
        findings=Findings(),
    )


def _check_readings(cases: _Cases, path: Path | None, findings: Findings, on_step: Callable[[str], None]) -> None:
    """Makes all checks in one way after another to read the labels, until one shows nothing broken.

    A sound release is sound as it was made, and the labels do not say which way that is; so what one way shows broken is
    no fault if another way explains the release. If no way does, the likeliest one is reported, unless there were more
    ways than could be tried: then only what does not depend on the way is called broken.
    """
    tried = []
    for candidate in cases.tried:
        case = _without_foreign_linkage(candidate, cases.original)
        _check_all(case, path, on_step)
        case.findings.figures = replace(case.findings.figures, false_alarm=cases.before.spent + case.false_alarms.spent)
        tried.append(case)
        if not case.findings.has_broken:
            break
    chosen = tried[0] if tried[-1].findings.has_broken else tried[-1]
    best = chosen.findings
    on_step("whole records")
    report_whole_records(chosen, path)  # once, because it accuses nobody and so does not decide which way is right
    if best.has_broken and cases.n_possible > len(cases.tried):
        best.found = _not_sure(best.found)
        best.warning(
            "labels",
            f"the labels can be read in {cases.n_possible:,} ways, because they stand at several levels of their "
            f"hierarchies{', or depend on which records the cap left out' * cases.original.has_open_labels}; "
            f"{len(cases.tried):,} were tried and none fits, and the others were not looked at. What depends on "
            "the way is not called broken. Levels that the curator's record beside the release states are tried first.",
        )
    findings.found += best.found
    findings.headline, findings.figures = best.headline, best.figures


def _without_foreign_linkage(case: AuditCase, original: Original) -> AuditCase:
    """The case without its linkage, if that is the linkage of another release; otherwise the case as it is.

    A foreign linkage contradicts the release almost as often as rows drawn at random, and without it the release has no
    fault. A few wrong rows, or a release that is broken without any linkage, are left to the other checks. `original` is
    what is known without a linkage.
    """
    if case.linkage is None:
        return case
    contradicted = share_contradicted(case, case.linkage.original_row)
    if contradicted * case.released.n_records < FEWEST_CONTRADICTIONS:
        return case
    any_rows = np.random.default_rng(0).permutation(case.linkage.original_row)
    if contradicted < share_contradicted(case, any_rows) / 2:
        return case
    readings = find_classes(original, case.released, case.policy, Findings(), linkage=None)
    for classes in () if readings is None else readings.tried:
        unlinked = _case_of(original, case.released, case.policy, classes, linkage=None)
        for check in CHECKS_OF_CLASSES:
            check(unlinked)
        if not unlinked.findings.has_broken:
            case.findings.warning(
                "linkage",
                "this linkage does not belong to this release: it contradicts it; the rest is checked without it.",
            )
            return replace(unlinked, findings=case.findings)
    return case


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
        check_manifest(path, case.policy, case.findings, released=case.released)
        check_record(case, path)

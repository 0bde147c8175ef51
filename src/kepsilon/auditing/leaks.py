# SPDX-License-Identifier: Apache-2.0
"""Looks for kept columns that give people away; it warns and accuses nobody, because what it finds is statistical."""

from __future__ import annotations

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.whole_records import LookedAt, records_in_classes
from kepsilon.evaluate.kept_columns.findings import KeptColumns
from kepsilon.evaluate.kept_columns.look import look_at_kept_columns
from kepsilon.evaluate.kept_columns.wording import what_it_tells
from kepsilon.evaluate.linking.attackers import quasis_in_words
from kepsilon.policy.names import shown_name


def report_leaks(case: AuditCase, looked: LookedAt) -> KeptColumns:
    """What the kept columns tell about the records looked at; columns that give people away become findings.

    A release of such a column is refused unless the policy accepts it. But the release may have been judged by another
    sample of its classes, so that a column near the thresholds can alarm here and not there: a warning, never broken.
    """
    policy, findings = case.policy, case.findings
    found = look_at_kept_columns(records_in_classes(case, looked), joining_tells=policy.joining_tells)
    quasis, accepted = quasis_in_words(policy), policy.accepted_leaks
    refused = {own.column for own in found.not_accepted(accepted)}
    for own in found.alarming:
        name = own.column
        tells = "; ".join(what_it_tells(own, found, quasis=quasis))
        if name in refused:
            findings.warning(
                "leaks",
                shown_name(
                    f"{name} gives people away, and the policy does not say why it may: {tells} (looked at "
                    f"{looked.in_words})."
                ),
            )
        else:
            reason = accepted.get(name) or "that of the other column"
            findings.note(
                "leaks",
                shown_name(f"{name} gives people away, which the policy accepts: {tells}. Its reason: {reason}"),
            )
    if found.n_records and not found.alarming:
        findings.passed("leaks", f"no kept column was found that gives people away (looked at {looked.in_words}).")
    return found

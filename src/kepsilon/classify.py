# SPDX-License-Identifier: Apache-2.0
"""Sorts columns by their role in the policy and drops identifiers. Algorithm 1, lines 1 to 4."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence

from kepsilon.errors import DataError, Problem
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import ColumnRoles, fraction


def classify(column_names: Sequence[str], policy: Policy, *, source: str) -> ColumnRoles:
    """The roles of the columns; DataError with every problem where columns and policy disagree."""
    problems = list(_disagreements(column_names, policy, source))
    if problems:
        raise DataError(problems)
    protected = (*policy.k_quasis, *policy.epsilon_quasis, *policy.kept)
    return ColumnRoles(
        k_quasis=tuple(policy.k_quasis),
        epsilon_quasis=tuple(policy.epsilon_quasis),
        kept=policy.kept,
        published=tuple(name for name in column_names if name in set(protected)),
        attributes=policy.k_quasis,
        precisions={name: fraction(own.precision) for name, own in policy.epsilon_quasis.items()},
        readings=policy.readings,
        person=policy.person,
        max_records_per_person=policy.max_records_per_person,
        diverse=policy.diverse,
    )


def _disagreements(column_names: Sequence[str], policy: Policy, source: str) -> list[Problem]:
    if not any(name in policy.attributes for name in column_names):
        # A file without a header has a record in its first line, so the message must not repeat a column name.
        return [
            Problem(
                where=source,
                what=f"none of the policy's attributes is among its {len(column_names)} column names.",
                fix="Is this the right file, and does it have a header line?",
            )
        ]
    problems = []
    for name, times in Counter(column_names).items():
        if times > 1:
            problems.append(
                Problem(
                    where=source,
                    what=f'{times} columns are named "{name}".',
                    fix="Give every column a name of its own.",
                )
            )
    for name in policy.attributes:
        if name not in column_names:
            close = difflib.get_close_matches(name, [c for c in column_names if c not in policy.attributes], n=1)
            hint = f'Did you mean "{close[0]}"?' if close else f"Take attributes.{name} out of the policy."
            problems.append(
                Problem(
                    where=source, what=f'the policy has a role for "{name}", but there is no such column.', fix=hint
                )
            )
    without_role = [name for name in dict.fromkeys(column_names) if name not in policy.attributes]
    if without_role and policy.unlisted_columns == "error":
        listed = ", ".join(f'"{name}"' for name in without_role)
        problems.append(
            Problem(
                where=source,
                what=f"no role in the policy for {'columns' if len(without_role) > 1 else 'column'} {listed}.",
                fix='Give each a role, or leave them out of the release: unlisted_columns = "drop"',
            )
        )
    return problems

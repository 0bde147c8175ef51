# SPDX-License-Identifier: Apache-2.0
"""What a local algorithm says where it cannot meet the requirements: what is in the way, and what would work."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kepsilon.errors import Problem, UnsatisfiableError
from kepsilon.kanonymise.algorithms.protocol import Request
from kepsilon.kanonymise.first_parts import FirstPartsFailError
from kepsilon.kanonymise.requirements.k_records import KRecords
from kepsilon.kanonymise.requirements.protocol import Requirement
from kepsilon.policy.choices import ALGORITHMS
from kepsilon.policy.roles import written
from kepsilon.table.frequency import FrequencyTable


def not_for_unions(request: Request, further: Sequence[Requirement]) -> UnsatisfiableError | None:
    """The refusal of a requirement that breaks when classes are merged; None if there is no such requirement."""
    for requirement in further:
        if not requirement.holds_for_unions:
            return _refusal(
                f"{_title(request)} cannot keep {requirement.claim}: it merges classes that end with equal labels.",
                'Use algorithm = "ola".',
            )
    return None


def cannot_be_met(error: FirstPartsFailError, table: FrequencyTable, request: Request) -> UnsatisfiableError:
    """The refusal where parts that must not be merged fail a requirement, and are too many to be left out."""
    unmet, n_records = error.requirement, error.n_records
    quasis = request.policy.k_quasis
    limited = [f'"{name}"' for name, own in quasis.items() if own.max_level is not None]
    has_missing = bool(request.fixed(table))
    but = _why_not_left_out(error, table, request)
    by_k = isinstance(unmet, KRecords)
    if by_k and has_missing and not limited:
        what = (
            f"{n_records:,} records have values missing that fewer than {unmet.claim} records miss together, and {but}."
        )
    elif limited:
        what = (
            f"{unmet.claim} cannot be met: max_level of {', '.join(limited)} keeps {n_records:,} records in {unmet.unmet}, "
            f"and {but}."
        )
    else:
        what = f"{unmet.claim} cannot be met: before any cut, {n_records:,} records are in {unmet.unmet}, and {but}."
    ways = []
    if limited:
        ways.append(f"a higher max_level of {' or '.join(limited)}, or none")
    if has_missing:
        ways.append('leave out records with missing values, missing = "suppress"')
    enough = math.ceil(1000 * error.n_left_out / table.n_records) / 1000
    if enough < 1 and (limited or has_missing):
        ways.append(f"allow max_suppression = {enough:g}")
    ways.append(unmet.remedy)
    return _refusal(what, f"What would work: {'; or '.join(ways)}.")


def _why_not_left_out(error: FirstPartsFailError, table: FrequencyTable, request: Request) -> str:
    """Why the records that fail are not simply left out."""
    policy, title = request.policy, _title(request)
    if not policy.may_suppress and policy.max_suppression:
        return (
            f"{title} leaves no record out: max_suppression = {written(policy.max_suppression)} has no effect, because "
            "it applies to what max_level or missing values keep apart, and nothing is kept apart here"
        )
    if not policy.may_suppress:
        return f"{title} leaves no record out"
    if error.n_left_out == table.n_records:
        return "nobody would be left without the records that fail"
    return f"{title} may leave out {policy.most_suppressed(table.n_records):,} of {error.n_left_out:,}"


def _title(request: Request) -> str:
    return ALGORITHMS[request.policy.algorithm].title


def _refusal(what: str, fix: str) -> UnsatisfiableError:
    return UnsatisfiableError(Problem(where="", what=what, fix=fix))

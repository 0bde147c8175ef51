# SPDX-License-Identifier: Apache-2.0
"""Notes on columns that would be kept under a proposal, and would give people away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from kepsilon.engines.arrow.profile import sampled_columns
from kepsilon.evaluate.kept_columns.look import look_at_kept_columns
from kepsilon.evaluate.kept_columns.wording import what_it_tells
from kepsilon.evaluate.linking.attackers import names_in_words
from kepsilon.policy.names import shown_name
from kepsilon.propose.proposal import Proposal
from kepsilon.table.arrays import IntArray
from kepsilon.table.whole_records import RecordsInClasses, WholeColumn

MOST_RECORDS = 20_000
CLASS_SIZE = 20
"""Records of a made-up class. There is no partition yet, so neighbours in the order of the k-quasis stand for one."""

KEPT = ("sensitive", "insensitive")
REFUSED = (
    "CAREFUL, it gives people away: {what} (measured on {n:,} records). With this role a release will be refused. Drop it, "
    'make it a quasi, publish it coarser, or say here why it may be published: accept_leak = "reason".'
)
NOTED = "Note: {what} (measured on {n:,} records)."


def with_leaks(proposals: Sequence[Proposal], source: object) -> list[Proposal]:
    """The proposals, with a note at each column that would be kept and tells something about the quasis."""
    by_role: dict[str | None, list[str]] = {}
    for proposal in (own for own in proposals if not own.is_left_out):
        by_role.setdefault(proposal.role, []).append(proposal.column.name)
    kept = [name for role in KEPT for name in by_role.get(role, ())]
    numeric = by_role.get("epsilon-quasi", [])
    if not kept or not (numeric or by_role.get("k-quasi")):
        return list(proposals)
    columns, rows = sampled_columns(source, most=MOST_RECORDS)
    k_quasis = _of(columns, by_role.get("k-quasi", ()))
    records = RecordsInClasses(
        class_ids=_made_up_classes(k_quasis, len(rows)),
        k_quasis=k_quasis,
        epsilon_quasis={name: own for name, own in _of(columns, numeric).items() if own.numbers is not None},
        kept=_of(columns, kept),
        identifiers=_of(columns, by_role.get("identifier", ())),
        rows=rows,
    )
    found = look_at_kept_columns(records)
    quasis = names_in_words([*records.k_quasis, *records.epsilon_quasis])
    notes = {
        own.column: (REFUSED if own.verdict == "alarm" else NOTED).format(
            what=shown_name("; ".join(what_it_tells(own, found, quasis=quasis))), n=len(rows)
        )
        for own in found.columns
        if own.reasons
    }
    return [
        replace(own, notes=(*own.notes, notes[own.column.name])) if own.column.name in notes else own
        for own in proposals
    ]


def _of(columns: Mapping[str, WholeColumn], names: Sequence[str]) -> dict[str, WholeColumn]:
    return {name: columns[name] for name in names}


def _made_up_classes(k_quasis: Mapping[str, WholeColumn], n_records: int) -> IntArray:
    """Classes of records that are neighbours when sorted by their k-quasis, those with few values first."""
    ordered = sorted(k_quasis.values(), key=lambda own: own.n_distinct, reverse=True)
    order = np.lexsort([own.codes for own in ordered]) if ordered else np.arange(n_records)
    class_ids: IntArray = np.empty(n_records, dtype=np.int64)
    class_ids[order] = np.minimum(np.arange(n_records) // CLASS_SIZE, max(0, n_records // CLASS_SIZE - 1))
    return class_ids

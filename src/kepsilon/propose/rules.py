# SPDX-License-Identifier: Apache-2.0
"""Rules that propose a role for a column from its profile, with the reason; the first rule that fits decides.

A reason names counts and shapes, never a value. If nothing tells whether a column is a k-quasi or sensitive, it is
proposed as a k-quasi: generalising too much costs detail, generalising too little costs somebody's privacy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kepsilon.engines.arrow.profile import ColumnProfile, Kind
from kepsilon.propose import identifier_rules, quasi_rules
from kepsilon.propose.column_names import meanings_of
from kepsilon.propose.meanings import Meaning
from kepsilon.propose.proposal import Proposal, Rule, different, k_quasi

SAFE_SIDE = "Neither its name nor its values say what it is: k-quasi is the safe side. If nobody could know it, make it sensitive."


def propose_role(column: ColumnProfile) -> Proposal:
    """The proposal of the first rule that fits, or else a k-quasi."""
    meanings = meanings_of(column.name)
    for rule in RULES:
        proposal = rule(column, meanings)
        if proposal is not None:
            return proposal
    return replace(k_quasi(column, f"{different(column)}. {SAFE_SIDE}"), is_guess=True)


def _unsupported(column: ColumnProfile, _: frozenset[Meaning]) -> Proposal | None:
    if column.kind is not Kind.OTHER:
        return None
    reason = f"DECIDE: it holds {Kind.OTHER.value}, which cannot be generalised. Drop it, or publish it as it is."
    return Proposal(column=column, role=None, reason=reason)


def _constant(column: ColumnProfile, _: frozenset[Meaning]) -> Proposal | None:
    if column.n_records in (column.n_null, column.n_blank):
        return Proposal(column=column, role="insensitive", reason="It is empty in every record.")
    if column.n_distinct == 1 and column.n_filled == column.n_records:
        reason = "It is the same in every record, so it tells nobody apart."
        return Proposal(column=column, role="insensitive", reason=reason)
    return None


RULES: Sequence[Rule] = (
    _unsupported,
    identifier_rules.shaped_like_an_identifier,
    identifier_rules.sampling_weight,
    identifier_rules.named_like_an_identifier,
    _constant,
    quasi_rules.dates,
    quasi_rules.years,
    quasi_rules.ages,
    quasi_rules.postcodes,
    identifier_rules.unique_or_free_text,
    identifier_rules.counter,
    identifier_rules.shaped_like_a_number_of_persons,
    quasi_rules.codes,
    quasi_rules.kinds,
    quasi_rules.sensitive,
    quasi_rules.demographic,
    quasi_rules.numbers,
    quasi_rules.many_texts,
)

# SPDX-License-Identifier: Apache-2.0
"""What `init` found: the text of the policy, and for the screen each column's role, the reason, and what to look at first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from kepsilon.json_values import Json
from kepsilon.propose.hierarchies import is_nominal, is_skewed
from kepsilon.propose.proposal import Proposal
from kepsilon.propose.toml_text import toml_string

NOT_PUBLISHED = "not published"
TO_DECIDE = "decide"
ALARMS = ("ATTENTION: ", "CAREFUL: ", "DECIDE: ")
"""Words that a note to be looked at first begins with."""

NOTED = "Note: "
"""What a note on a column begins with that is published as it is and tells a little about others, or is unique."""
LEAST_CHARACTERS = 15
"""A sentence of no more characters says too little by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedColumn:
    """One column of the table."""

    name: str
    role: str
    """A role of the policy, or "not published", or "decide" where the curator has to."""
    reason: str
    """One sentence, without values of records."""
    warnings: tuple[str, ...] = ()
    """What the curator should look at, in sentences without values of records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedPolicy:
    """A proposal for a policy, which is none until the curator has decided k and the limits."""

    text: str
    """The policy file, with comments."""
    n_records: int
    columns: tuple[ProposedColumn, ...]
    warnings: tuple[str, ...] = ()
    """What concerns the table as a whole; numbers that stand for missing values are named."""

    def to_json(self) -> Json:
        return asdict(self)


def proposed_column(proposal: Proposal) -> ProposedColumn:
    """The column in words for the screen."""
    role = NOT_PUBLISHED if proposal.is_left_out else proposal.role or TO_DECIDE
    if proposal.is_left_out:
        reason = _first_sentence(proposal.left_out_because, marks=".:")
    else:
        reason = _first_sentence(_without_alarm(proposal.reason))
    return ProposedColumn(name=proposal.column.name, role=role, reason=reason, warnings=tuple(_warnings(proposal)))


def table_warnings(parts: Sequence[str]) -> tuple[str, ...]:
    """Comments of the policy that begin with ATTENTION, each as one sentence or several."""
    found = []
    for part in parts:
        words = " ".join(line.removeprefix("# ") for line in part.splitlines() if line.startswith("#"))
        found += [
            _without_alarm(told.strip())
            for told in re.split(r"(?=ATTENTION: )", words)
            if told.startswith("ATTENTION: ")
        ]
    return tuple(found)


def missing_codes(proposals: Sequence[Proposal]) -> tuple[str, ...]:
    """Numbers and signs that are taken for missing values, in a sentence each; none where there are none."""
    coded = [own for own in proposals if own.column.missing and own.role != "identifier"]
    numbers = [
        f"{own.column.name} ({', '.join(own.column.missing)}: {own.column.n_coded:,} records)"
        for own in coded
        if own.column.number_codes
    ]
    signs = [
        f"{own.column.name} ({', '.join(map(toml_string, own.column.missing))}: {own.column.n_coded:,} records)"
        for own in coded
        if not own.column.number_codes
    ]
    found = []
    if numbers:
        found.append(f"Read as missing, because they stand apart from all other numbers: {'; '.join(numbers)}. Right?")
    if signs:
        found.append(f"Read as missing, because such signs stand for no value: {'; '.join(signs)}. Right?")
    if any(own.is_kept for own in coded):
        found[-1] += " Columns that are published as they are keep them."
    return tuple(found)


def _warnings(proposal: Proposal) -> Iterator[str]:
    """What the curator should look at in one column."""
    column = proposal.column
    if proposal.role is None:
        yield _without_alarm(proposal.reason)
    yield from (_without_alarm(note) for note in proposal.notes if note.startswith(ALARMS))
    if proposal.is_kept:
        yield from (note.removeprefix(NOTED) for note in proposal.notes if note.startswith(NOTED))
    if proposal.gives_away:
        yield proposal.left_out_because
    if not proposal.is_left_out and proposal.role != "identifier" and is_skewed(column) and not is_nominal(column):
        yield "Skewed: the largest numbers stay rare wherever they are published. Is it worth a top code?"


def _without_alarm(text: str) -> str:
    for word in ALARMS:
        text = text.removeprefix(word)
    return text[:1].upper() + text[1:]


def _first_sentence(text: str, *, marks: str = ".") -> str:
    """The first sentence, or the first two if that is a word or two."""
    sentences = re.split(rf"(?<=[{marks}])\s", text)
    n = 1 if len(sentences[0]) > LEAST_CHARACTERS else 2
    return " ".join(sentences[:n]).rstrip(":.") + "."

# SPDX-License-Identifier: Apache-2.0
"""Lines of a proposed policy on whom records are about: identifiers that repeat, `person`, `epsilon_per`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kepsilon.propose.column_names import meanings_of
from kepsilon.propose.meanings import Meaning
from kepsilon.propose.proposal import Proposal
from kepsilon.propose.toml_text import comment, toml_string

EPSILON_PER = """\
# Decide this too, for the same reason: what epsilon covers.
#   "record"   each record by itself: a person of r records spends r times epsilon
#   "person"   all records of a person together. It needs max_records_per_person = r: r records share epsilon, and
#              the others of a person are left out. Or, without it, declared ranges [low, high] and values that are
#              constant for each person: all records of a person then get one draw.

# epsilon_per = "record"    # or "person"
"""
CONSEQUENCE = (
    "Where several records belong to one person, k counts records, not persons: a class of k records can hold fewer than "
    "k persons. State person with a column that says whom a record is about, so that k counts persons."
)


def lines_about_persons(proposals: Sequence[Proposal]) -> Iterator[str]:
    """What the policy says or has to say about persons, where identifiers repeat; each a part of its own.

    An identifier of codes that repeats is refused unless the policy states what a person is. So `person` is proposed
    where a column names persons, and is otherwise left to the curator. Names that repeat may be namesakes.
    """
    person = person_of(proposals)
    identifiers = [own for own in proposals if own.role == "identifier"]
    repeating = [
        own
        for own in identifiers
        if own.column.repetition.repeats and (own.column.repetition.is_of_codes or not own.is_text)
    ]
    codes = [own for own in repeating if own.column.repetition.is_of_codes]
    apart = next((own for own in identifiers if _tells_apart(own)), None)
    if person is not None:
        yield _person(person)
        if any(own.role == "epsilon-quasi" and own.is_quasi for own in proposals):
            yield EPSILON_PER
    elif apart is not None:
        if codes:
            yield _records_are_persons(apart, codes)
    elif codes:
        yield _undecided(codes)
    elif repeating:
        yield "".join([*(comment(_namesakes(own)) for own in repeating), comment(CONSEQUENCE)])


def person_of(proposals: Sequence[Proposal]) -> Proposal | None:
    """The column that says whom a record is about, where it repeats; None where there is none, or the curator has to decide."""
    identifiers = [own for own in proposals if own.role == "identifier"]
    naming = [
        own
        for own in identifiers
        if own.names_a_person and own.column.repetition.repeats and own.column.repetition.is_of_codes
    ]
    if not naming:
        return None
    first = min(naming, key=lambda own: (own.may_number_records, own.column.repetition.n_distinct))
    return None if first.may_number_records and any(map(_tells_apart, identifiers)) else first


def counted_as(person: Proposal) -> str:
    """What k counts by the column that says whom a record is about."""
    return "households" if Meaning.HOUSEHOLD_ID in meanings_of(person.column.name) else "persons"


def _tells_apart(proposal: Proposal) -> bool:
    """Whether the column shows that no two records are about one person: each has a number of a person, and none repeats."""
    column = proposal.column
    is_of_persons = proposal.names_a_person and not proposal.may_number_records
    return is_of_persons and not column.repetition.repeats and not column.n_lacking


def _person(proposal: Proposal) -> str:
    """`person`, with what it counts and what it does."""
    column = proposal.column
    found = column.repetition
    n_lacking = column.n_records - found.n_records
    who = counted_as(proposal)
    told = (
        f"ATTENTION: {column.n_repeated:,} {who} have several records, going by column {toml_string(column.name)}: "
        f"{found.n_distinct:,} {who}, {found.n_records:,} records. With person, k counts {who}, not records: every "
        "published combination of k-quasis is shared by at least k of them. The column is used for that, and not published."
    )
    if n_lacking:
        told += f" {n_lacking:,} records do not say whom they are about, and would be left out."
    return f"{comment(told)}person = {toml_string(column.name)}\n"


def _records_are_persons(apart: Proposal, codes: Sequence[Proposal]) -> str:
    """`records_are_persons`, because another column shows it."""
    told = (
        f"Every record has its own value of {toml_string(apart.column.name)}, so no person has several records, although values of "
        f"{_names(codes)} repeat. If that is wrong, state person instead."
    )
    return f"{comment(told)}records_are_persons = true\n"


def _undecided(codes: Sequence[Proposal]) -> str:
    """What the curator has to decide where no column shows it."""
    return "".join(
        [
            *(comment(_namesakes(own)) for own in codes),
            comment(f"{CONSEQUENCE} Decide: without one of them a release is refused.\n"),
            f"\n# records_are_persons = true   # no person has several records; or person = {toml_string(codes[0].column.name)}\n",
        ]
    )


def _namesakes(proposal: Proposal) -> str:
    column = proposal.column
    return (
        f"ATTENTION: {column.n_repeated:,} values of column {toml_string(column.name)} occur in several records: namesakes, "
        "households, or persons with several records."
    )


def _names(proposals: Sequence[Proposal]) -> str:
    return " and ".join(toml_string(own.column.name) for own in proposals)

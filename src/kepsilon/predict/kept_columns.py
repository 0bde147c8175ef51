# SPDX-License-Identifier: Apache-2.0
"""Kept columns that give people away: what was found of each, in words, and the refusal of a release with such a column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kepsilon.errors import Problem
from kepsilon.evaluate.kept_columns.findings import KeptColumn as Measured
from kepsilon.evaluate.kept_columns.findings import KeptColumns, KeptPair
from kepsilon.json_values import JsonValue
from kepsilon.policy.policy import Policy
from kepsilon.predict.attackers import percent, quasis_in_words

ALARM, NOTE, NOTHING = "alarm", "note", "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptColumn(JsonValue):
    """What one kept column tells about the quasis."""

    links_per_class: float
    """Records of a class that whoever knows the quasis links through the column, on average; 1 by chance."""
    by: str | None
    """How they are linked: by a formula, by bins, by a table of exact values, or by a ratio."""
    share_linked: float
    """These links as a share of the records."""
    bits: float
    """Share of what generalising hid of a k-quasi that the column tells again, at most."""
    unique: float
    """Share of its values that no other record looked at has."""
    verdict: str
    """`alarm`, `note` or `nothing`."""
    reasons: tuple[str, ...]
    """What it is about, in one word or two each."""
    in_words: tuple[str, ...]
    """What it is about, in sentences that name who could use it."""


def kept_columns_of(found: KeptColumns, policy: Policy, *, without: float) -> dict[str, KeptColumn]:
    """What was found of every kept column; `without` is the share of records that is linked without any of them."""
    return {
        own.column: KeptColumn(
            links_per_class=own.links_per_class,
            by=own.by,
            share_linked=own.share_linked,
            bits=own.bits,
            unique=own.unique,
            verdict=own.verdict,
            reasons=own.reasons,
            in_words=tuple(what_it_tells(own, found, quasis=quasis_in_words(policy), without=without)),
        )
        for own in found.columns
    }


def what_it_tells(
    found: Measured, all_found: KeptColumns, *, quasis: str, without: float | None = None
) -> Iterator[str]:
    """What a column tells, and to whom, one sentence for each reason.

    `quasis` lists them in words; `without` is the share of records that is linked without any kept column, where known.
    """
    name = found.column
    beside = "" if without is None else f" ({percent(without)} without it)"
    words = {
        "links": f"whoever knows {quasis} works out what {name} must be{_from_one(found)}, and links "
        f"{percent(found.share_linked)} of the records through it{beside}",
        "bits": f"whoever sees the release learns {percent(found.bits)} of what generalising hid of {found.bits_of} "
        f"from {name}",
        "serial": f"{name} rises with the rows of the input: whoever knows their order knows whose record is whose",
        "identifiers": f"{percent(found.identifiers_inside)} of the texts of {name} hold an identifier of the same "
        "record: whoever reads the release reads who it is",
        "unique": f"{percent(found.unique)} of the values of {name} occur once: whoever knows the {name} of a person "
        "finds the record",
        "date": f"{name} holds exact dates: whoever knows such a date of a person has few records to choose from",
        "free text": f"{name} is free text: whoever knows a person may recognise what was written",
    }
    for reason in found.reasons:
        if reason == "pair":
            yield from (_pair_in_words(pair) for pair in all_found.pairs if name in pair.columns)
        else:
            yield words[reason]


def _from_one(found: Measured) -> str:
    """The one quasi that a column is worked out from, in words; empty where it takes several."""
    return "" if found.of is None else f" from {found.of}"


def _pair_in_words(pair: KeptPair) -> str:
    first, second = pair.columns
    together = "their ratio" if pair.kind == "ratio" else "their sum"
    return (
        f"whoever sees the release works out {pair.of} from {first} and {second} together: {together} tells "
        f"{percent(pair.r_squared)} of how it differs within a class"
    )


def leaks(columns: Mapping[str, KeptColumn], found: KeptColumns, policy: Policy) -> Iterator[Problem]:
    """A problem for each kept column that gives people away, unless the policy accepts that.

    Two columns that give something away only together are accepted by accepting one of them.
    """
    accepted = policy.accepted_leaks
    for measured in found.alarming:
        name = measured.column
        if name in accepted:
            continue
        is_only_with_others = set(measured.alarms) == {"pair"}
        pairs = [pair.columns for pair in found.pairs if pair.is_alarm and name in pair.columns]
        if not (is_only_with_others and all(accepted.keys() & set(names) for names in pairs)):
            yield _refusal(name, columns[name])


def _refusal(name: str, own: KeptColumn) -> Problem:
    return Problem(
        where=f"attributes.{name}",
        what=f"{name} gives people away: {'; '.join(own.in_words)}.",
        fix='Drop it (role = "identifier"), make it a quasi, publish it coarser, or say why it may be published all the same: '
        f'accept_leak = "reason" at attributes.{name}, which the manifest and the report print.',
    )


def notes_on_kept_columns(columns: Mapping[str, KeptColumn], policy: Policy, *, measured_on: str) -> Iterator[Problem]:
    """Warnings of columns that may give people away, of leaks that were accepted, and of reasons that are not needed."""
    accepted = policy.accepted_leaks
    for name, own in columns.items():
        if own.verdict == ALARM:
            yield Problem(
                where=f'column "{name}"',
                what=f"gives people away, which the policy accepts: {'; '.join(own.in_words)} ({measured_on}).",
                fix=f"The reason that the policy states: {accepted.get(name) or 'that of the other column'}",
            )
        elif own.verdict == NOTE:
            yield Problem(
                where=f'column "{name}"',
                what=f"{'; '.join(own.in_words)} ({measured_on}).",
                fix="It is published as it is. If that is too much, drop it, coarsen it, or make it a quasi.",
            )
        elif name in accepted:
            yield Problem(
                where=f"attributes.{name}.accept_leak",
                what="is stated, but nothing was found that the column gives away.",
                fix="The manifest prints the reason all the same; take it out if it is not needed.",
            )

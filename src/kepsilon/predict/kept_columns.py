# SPDX-License-Identifier: Apache-2.0
"""Kept columns that give people away: what was found of each, in words, and the refusal of a release with such a column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kepsilon.errors import Problem
from kepsilon.evaluate.kept_columns.findings import KeptColumns
from kepsilon.evaluate.kept_columns.wording import what_it_tells
from kepsilon.evaluate.linking.attackers import quasis_in_words
from kepsilon.json_values import JsonValue
from kepsilon.policy.policy import Policy

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
    """Share of its values that no other record looked at has, or no other person, where the policy says what a person is."""
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


def leaks(
    columns: Mapping[str, KeptColumn], found: KeptColumns, policy: Policy, *, measured_on: str
) -> Iterator[Problem]:
    """A problem for each kept column that gives people away, unless the policy accepts that."""
    for measured in found.not_accepted(policy.accepted_leaks):
        yield _refusal(measured.column, columns[measured.column], measured_on)


def _refusal(name: str, own: KeptColumn, measured_on: str) -> Problem:
    return Problem(
        where=f"attributes.{name}",
        what=f"{name} gives people away: {'; '.join(own.in_words)} ({measured_on}).",
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
                fix=_stated(name, policy),
            )
        elif own.verdict == NOTE:
            yield Problem(
                where=f'column "{name}"',
                what=f"{'; '.join(own.in_words)} ({measured_on}).",
                fix="It is published as it is. If that is too much, drop it, coarsen it, or make it a quasi.",
            )
        elif name in accepted:
            yield _not_needed(name)


def notes_on_accepted_leaks(found: Iterable[tuple[str, Mapping[str, KeptColumn]]], policy: Policy) -> Iterator[Problem]:
    """Warnings of leaks that were accepted, each said once for many predictions, in the words of the one that links most.

    `found` holds a name of each prediction, and what it found of the kept columns.
    """
    worst: dict[str, tuple[str, KeptColumn]] = {}
    looked_at: set[str] = set()
    for where, columns in found:
        looked_at |= columns.keys()
        for name, own in columns.items():
            if own.verdict == ALARM and (name not in worst or own.share_linked > worst[name][1].share_linked):
                worst[name] = where, own
    for name in policy.kept:
        if name in worst:
            where, own = worst[name]
            yield Problem(
                where=f'column "{name}"',
                what=f"is published though it may give people away, which the policy accepts: {'; '.join(own.in_words)} "
                f"({where}).",
                fix=_stated(name, policy),
            )
        elif name in policy.accepted_leaks and name in looked_at:
            yield _not_needed(name)


def _stated(name: str, policy: Policy) -> str:
    """The curator's reason for publishing a column that gives people away, or one of two that do so together."""
    return f"The reason that the policy states: {policy.accepted_leaks.get(name) or 'that of the other column'}"


def _not_needed(name: str) -> Problem:
    return Problem(
        where=f"attributes.{name}.accept_leak",
        what="is stated, but nothing was found that the column gives away.",
        fix="The manifest prints the reason all the same; take it out if it is not needed.",
    )

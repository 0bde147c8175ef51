# SPDX-License-Identifier: Apache-2.0
"""Which kept columns must not go out unseen, and which a curator should only know about.

Alarms:

- links: z ≥ 5, and either a fifth of what a perfect leak would link beyond chance, or twice as many as chance with at
  least 2 % of the records linked. A correlation of 0.7 in classes of a thousand links 3.5 times as many as chance, and yet
  only 0.35 % of the records: a note.
- bits: a fifth of what generalisation hid in a k-quasi is told again.
- alone: a column tells 90 % of how an ε-quasi differs within classes. In large classes even a copy links few records,
  because many share a value, and yet it undoes the noise of all.
- pair: two columns together explain much of an ε-quasi (`pairs.py`); both are alarmed, because dropping either helps.
- identifiers: texts that hold identifier values of their own records name people outright; no attack is needed.
- persons: a column joins the records of 90 % of the persons who have several, where figures are for records that
  nobody joins (ε for a record, or one draw in all records of a person).
- serial: values in the order of the input bring its order back, which the release hides by shuffling. Whoever has the
  input's order, from another extract or from knowing who came first, has everybody.

Notes: joined persons, links, bits, pairs and what is told alone below that; columns with repeated values that the input is
sorted by; values that are unique, exact dates and free text. Values, dates and texts say nothing by themselves: they tell those who
know them from elsewhere, which the curator can judge and a table cannot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kepsilon.evaluate.kept_columns.findings import Attacker, KeptPair, Reason
from kepsilon.evaluate.kept_columns.right_persons import RightPersons

SURE = 5.0
"""Standard deviations beyond chance; less is not even noted."""
ALARMING_SHARE_OF_PERFECT = 0.2
ALARMING_LINKS = 2.0
ALARMING_SHARE_LINKED = 0.02
NOTED_LINKS = 1.2
"""Columns link more than chance in nearly every table, because age and sex go with nearly everything. A fifth more is
worth a note."""
ALARMING_BITS = 0.2
ALARMING_TOLD = 0.9
NOTED_BITS = 0.05
NOTED_TOLD = 0.5
NOTED_UNIQUE = 1 / 3
ALARMING_JOINED = 0.9
NOTED_JOINED = 1 / 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """What one attacker links through one kept column."""

    links: float
    by_chance: float
    """Records that he would link by drawing one of the class by lot: one in a class, if every record shows a value."""
    n_shown: int
    """Records that show a value."""
    by: Attacker
    of: str | None
    largest: float = 1.0
    """The largest chance of one record to be linked: to the very one, or to the right person, where persons are known."""
    n_persons: int | None = None
    """Where links are of persons, each by the share of its records that is linked to it, how many persons there are in
    classes: then `links`, `by_chance` and `n_shown` count persons. None where they are of records."""
    n_right: float | None = None
    """Records for which the right person is found; None where it is not known whom records are about."""

    def share_linked(self, n_records: int) -> float:
        """Share of the sample's records that are linked, to a record of the right person where persons are known."""
        return (self.links if self.n_right is None else self.n_right) / n_records

    @property
    def per_class(self) -> float:
        """λ: links for each link by chance."""
        return self.links / self.by_chance if self.by_chance > 0 else 1.0

    @property
    def z(self) -> float:
        """(λ − 1) · √(links by chance). Less than one link by chance counts as one, so that a lucky link is no proof."""
        return (self.links - self.by_chance) / math.sqrt(max(self.by_chance, 1.0))

    def is_alarming(self, n_records: int) -> bool:
        """Whether so many links are an alarm in a sample of `n_records`."""
        n_all = n_records if self.n_persons is None else self.n_persons
        if self.z < SURE:
            return False
        share_of_perfect = (self.links - self.by_chance) / (self.n_shown - self.by_chance)
        is_frequent = self.per_class >= ALARMING_LINKS and self.links >= ALARMING_SHARE_LINKED * n_all
        return share_of_perfect >= ALARMING_SHARE_OF_PERFECT or is_frequent


def with_persons(own: Linked, found: RightPersons) -> tuple[Linked, Linked]:
    """What an attacker links by records, and by persons: either may be the one that is beyond chance.

    Ten persons are too few to tell a copy from chance if each has one value, but not if their records differ. And what is
    the same in all records of a person links few of them to the very record, but all to the person.
    """
    of_persons = Linked(
        links=found.persons,
        by_chance=found.by_chance,
        n_shown=found.n_shown,
        by=own.by,
        of=own.of,
        n_persons=found.n_persons,
        n_right=found.records,
        largest=found.largest,
    )
    of_records = replace(own, by_chance=found.links_by_chance, n_right=found.records, largest=found.largest)
    return of_records, of_persons


def by_the_best(linked: Sequence[Linked], n_records: int) -> Linked | None:
    """The attacker that alarms most: of those that alarm, or else of those that are sure, the one with most links.

    Where none is sure, the one with the largest z.
    """
    return max(
        linked,
        key=lambda own: (
            own.is_alarming(n_records),
            own.z >= SURE,
            own.share_linked(n_records) if own.z >= SURE else own.z,
        ),
        default=None,
    )


def reasons_of(
    *,
    best: Linked | None,
    n_records: int,
    bits: float,
    told: float,
    pairs: Sequence[KeptPair],
    joined: float,
    joining_tells: bool,
    identifiers_inside: float,
    is_serial: bool,
    is_sorted: bool,
    unique: float,
    is_date: bool,
    is_free_text: bool,
) -> tuple[tuple[Reason, ...], tuple[Reason, ...]]:
    """Reasons for an alarm, and for a note, about one column; `pairs` are those that it is in.

    `joining_tells` says whether to know which records are one person's tells more than figures for single records say.
    """
    found: list[tuple[Reason, bool, bool]] = [
        (
            "links",
            best is not None and best.is_alarming(n_records),
            best is not None and best.z >= SURE and best.per_class >= NOTED_LINKS,
        ),
        ("bits", bits >= ALARMING_BITS, bits >= NOTED_BITS),
        ("alone", told >= ALARMING_TOLD, told >= NOTED_TOLD),
        ("pair", any(own.is_alarm for own in pairs), bool(pairs)),
        ("identifiers", identifiers_inside > 0, False),
        ("persons", joining_tells and joined >= ALARMING_JOINED, joined >= NOTED_JOINED),
        ("serial", is_serial, is_sorted),
        ("unique", False, unique >= NOTED_UNIQUE),
        ("date", False, is_date),
        ("free text", False, is_free_text),
    ]
    alarms = tuple(reason for reason, is_alarm, _ in found if is_alarm)
    notes = tuple(reason for reason, is_alarm, is_note in found if is_note and not is_alarm)
    return alarms, notes

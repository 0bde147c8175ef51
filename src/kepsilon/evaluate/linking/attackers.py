# SPDX-License-Identifier: Apache-2.0
"""The attackers of a release: what each of them knows, and what share of the records each is expected to link.

Risk is always somebody's: the share that an attacker links depends on what the attacker knows. The headline is the largest
share among the attackers who need to know nothing but the quasis.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.linking.known_columns import SubsetAttacks
from kepsilon.json_values import Json, JsonValue
from kepsilon.policy.choices import MECHANISMS
from kepsilon.policy.names import shown_name
from kepsilon.policy.policy import Policy
from kepsilon.rounding import percent, percent_at_most
from kepsilon.table.arrays import IntArray

MOST_NAMES = 6
"""Columns that a sentence names one by one; of more it says how many there are."""

BY_CLASS, BY_QUASIS, BY_MATCHING, WORKING_OUT = "class", "quasis", "matching", "working out"
ONE_COLUMN, ANY_THREE, WORST_THREE, EVERYTHING = "one column", "any three", "worst three", "everything"
BY_JOINING, JOINING_ONE_COLUMN, JOINING_EVERYTHING = "joins equal values", "joins, one column", "joins, everything"
"""Names of attackers: what each of them knows or does, in a word or two."""

NOT_JOINING = ", without joining records with equal noisy values, which would link more"
"""What is added to how an attacker links who knows kept columns, where all records of a person carry one draw."""

_JOINS = "joins records with equal noisy values; as if no two persons had equal ones, so at most"

OF_CLASS = "the class of a person"
"""What somebody knows who guesses among the records of a class."""
OF_CLASS_OF_PERSONS = "the classes of everybody's records"
"""What somebody knows who guesses among the persons of a class."""

REAL = 5.0
"""Standard deviations above chance from which on a column counts as one that can be worked out from the quasis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attacker(JsonValue):
    """Somebody who knows something about everybody, and links released records to persons."""

    name: str
    """What the attacker knows or does, in a word or two."""
    knows: str
    """What the attacker knows of everybody, in words that follow “whoever knows”."""
    how: str
    """How the attacker links a released record, in words."""
    needs_only_quasis: bool
    """Whether the attacker needs to know nothing but the quasis."""
    risk: Estimate | None
    """Expected share of the records that are linked rightly; None where it is not known before the draw."""
    largest: float | None
    """The largest risk of a single record; None where it is not known."""
    realised: float | None = None
    """Share of the released records that are linked rightly; None before the draw, and where it was not measured."""
    column: str | None = None
    """The kept column that the attacker knows or works out, where it is one."""
    measured_on: str | None = None
    """Which records the figures were found on, in words; None where on all."""

    @property
    def in_words(self) -> str:
        """Who it is, as the subject of a sentence."""
        return shown_name(f"whoever knows {self.knows}, and {self.how}")

    @property
    def figures_in_words(self) -> str:
        """What the attacker links, in words: expected, as drawn, and the largest risk of a single record."""
        parts = []
        if self.risk is not None:
            parts.append(f"{percent(self.risk.total)} of the records, expected")
        if self.realised is not None:
            parts.append(f"{percent(self.realised)} as drawn")
        if self.largest is not None:
            parts.append(f"at most {percent_at_most(self.largest)} sure of any one record")
        return "; ".join(parts) + (f" ({self.measured_on})" if self.measured_on else "")

    def to_json(self) -> Json:
        return {
            "name": self.name,
            "knows": self.knows,
            "how": self.how,
            "column": self.column,
            "needs_only_quasis": self.needs_only_quasis,
            "expected": None if self.risk is None else self.risk.total,
            "standard_error": None if self.risk is None else self.risk.standard_error,
            "realised": self.realised,
            "largest": self.largest,
            "measured_on": self.measured_on,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline(JsonValue):
    """The largest share of records that any attacker links who needs to know nothing but the quasis."""

    risk: Estimate
    attacker: str
    """Who that is, in words that can be the subject of a sentence."""

    def to_json(self) -> Json:
        return {"share": self.risk.total, "attacker": self.attacker, "standard_error": self.risk.standard_error}


def headline_of(attackers: Iterable[Attacker]) -> Headline:
    """The headline: the first attacker of those with the largest share, among those who need only the quasis."""
    possible = [(own, own.risk) for own in attackers if own.needs_only_quasis and own.risk is not None]
    attacker, risk = max(possible, key=lambda pair: pair[1].total)
    return Headline(risk=risk, attacker=attacker.in_words)


def risk_in_words(attackers: Sequence[Attacker]) -> str:
    """The share that whoever knows the quasis links, and what joining records or working out a kept column adds, in sentences."""
    nearest = next(own for own in attackers if own.name == BY_QUASIS)
    risk = nearest.risk or Estimate()
    sentences = [f"Whoever knows {nearest.knows} links {percent(risk.total)} of the records, on average."]
    for own in attackers:
        if own.name == BY_JOINING and own.risk is not None:
            sentences.append(
                f"Whoever also joins records with equal noisy values links {percent_at_most(own.risk.at_most)} at most."
            )
        if own.name == WORKING_OUT and own.risk is not None:
            share = percent(own.risk.total)
            fewer = "as many" if share == percent(risk.total) else "fewer"
            sentences.append(
                f"Whoever also {own.how} links {share}."
                if own.risk.total > risk.total
                else f"Whoever {own.how} instead links {fewer}, {share}."
            )
    return " ".join(sentences)


def known_by_class(*, n_classes: int, n_records: int, smallest: int) -> Attacker:
    """Whoever knows the class of a person and guesses among its records."""
    return Attacker(
        name=BY_CLASS,
        knows=OF_CLASS,
        how="guesses among its records",
        needs_only_quasis=True,
        risk=Estimate(total=n_classes / n_records),
        largest=1 / smallest,
    )


def known_by_class_of_persons(most: IntArray, *, sizes: IntArray) -> Attacker:
    """Whoever knows which classes everybody's records are in, and names in each class the person with most of them.

    `most` is the largest number of records of one person in each class, `sizes` the records of each class.
    """
    return Attacker(
        name=BY_CLASS,
        knows=OF_CLASS_OF_PERSONS,
        how="names the person with most records of the class",
        needs_only_quasis=True,
        risk=Estimate(total=int(most.sum()) / int(sizes.sum())),
        largest=float(np.max(most / sizes)),
    )


def known_by_quasis(policy: Policy, *, risk: Estimate | None, largest: float | None) -> Attacker:
    """Whoever knows all quasis, and takes the likeliest original of the class, or the person whose originals are likeliest."""
    how = f"takes the {likeliest_in_words(policy)} original of the class"
    if not policy.epsilon_quasis:
        how = "guesses within the class"
    if policy.person is not None:
        how = "names the person whose records of the class are together the likeliest"
    if policy.averages is not None:
        how = "makes the same groups, and guesses within the group"
        if policy.person is not None:
            how = "makes the same groups, and names the person with most records of the group"
    return Attacker(
        name=BY_QUASIS,
        knows=quasis_in_words(policy),
        how=how,
        needs_only_quasis=True,
        risk=risk,
        largest=largest,
    )


def known_by_matching(policy: Policy, *, largest: float | None) -> Attacker:
    """Whoever knows all quasis, and matches all records of a class to all its originals at once."""
    return Attacker(
        name=BY_MATCHING,
        knows=quasis_in_words(policy),
        how="matches a whole class one to one",
        needs_only_quasis=True,
        risk=None,
        largest=largest,
    )


def known_by_joining(policy: Policy, *, risk: Estimate, largest: float) -> Attacker:
    """Whoever knows all quasis of all records, and joins released records with equal noisy values."""
    return Attacker(
        name=BY_JOINING,
        knows=f"{quasis_in_words(policy)} of all records of everybody",
        how=_JOINS,
        needs_only_quasis=True,
        risk=risk,
        largest=largest,
    )


def known_by_joining_with_kept(policy: Policy, *, column: str | None, risk: Estimate, largest: float) -> Attacker:
    """Whoever knows all quasis and one kept column, or everything, of all records, and joins released records.

    `column` is the kept column, None for everything.
    """
    return Attacker(
        name=JOINING_EVERYTHING if column is None else JOINING_ONE_COLUMN,
        knows=EVERYTHING if column is None else f"{quasis_in_words(policy)} and {column} of all records of everybody",
        how=_JOINS,
        needs_only_quasis=False,
        risk=risk,
        largest=largest,
        column=column,
    )


def known_by_working_out(policy: Policy, *, column: str, risk: Estimate, largest: float | None) -> Attacker:
    """Whoever knows all quasis, and works out a kept column from them.

    Nothing is drawn, so `largest` is 1 as soon as some record fits its own original better than any other of its class.
    """
    return Attacker(
        name=WORKING_OUT,
        knows=quasis_in_words(policy),
        how=f"works out what {column} must be",
        needs_only_quasis=True,
        risk=risk,
        largest=largest,
        column=column,
    )


def known_with_column(policy: Policy, *, column: str, risk: Estimate | None, largest: float | None) -> Attacker:
    """Whoever knows all quasis and one kept column."""
    nearest = (
        f"takes the {likeliest_in_words(policy)} original of the class with the same"
        if policy.epsilon_quasis
        else "guesses among the same"
    )
    if policy.person is not None:
        nearest = "names the likeliest person of the class with the same"
    if policy.averages is not None:
        nearest = "makes the same groups, and guesses within the group among the same"
        if policy.person is not None:
            nearest = "makes the same groups, and names the person with most records of the group with the same"
    return Attacker(
        name=ONE_COLUMN,
        knows=f"{quasis_in_words(policy)} and {column}",
        how=f"{nearest} {column}" + NOT_JOINING * (policy.person is not None and policy.draws_once_per_person),
        needs_only_quasis=False,
        risk=risk,
        largest=largest,
        column=column,
    )


def known_by_three(
    found: SubsetAttacks, *, n_sampled: int | None, names_persons: bool = False, are_averages: bool = False
) -> tuple[Attacker, Attacker]:
    """Whoever knows three attributes: on average over all sets of three that were tried, and by the worst set.

    `n_sampled` is the number of records that were looked at, None where these are all. `names_persons` says that persons
    have several records, so that the attacker names one of them. `are_averages` says that ε-quasis are averages, and that
    the attacker can tell those of a person's group.
    """
    size = len(found.worst_names)
    tried = f"{found.n_tried:,} of {found.n_possible:,}" if found.n_tried < found.n_possible else f"{found.n_tried:,}"
    noisy = " with no ε-quasi" if names_persons else " with at most one ε-quasi"
    sets = f"{tried} {'set' if found.n_possible == 1 else 'sets'} of {size}{'' if are_averages else noisy}"
    guesses = (
        "names the person with most of the records that fit" if names_persons else "guesses among the records that fit"
    )
    among = "" if n_sampled is None else f"; among {n_sampled:,} sampled records, so at most"
    return (
        Attacker(
            name=ANY_THREE,
            knows=f"any {size} attributes of a person",
            how=f"{guesses} (the mean of {sets}{among})",
            needs_only_quasis=False,
            risk=Estimate(total=found.mean),
            largest=found.largest,
        ),
        Attacker(
            name=WORST_THREE,
            knows=names_in_words(found.worst_names),
            how=f"{guesses} (the worst of {sets}{among})",
            needs_only_quasis=False,
            risk=Estimate(total=found.worst),
            largest=None,
        ),
    )


def known_by_everything(
    *, risk: Estimate | None, largest: float | None, names_persons: bool = False, could_join: bool = False
) -> Attacker:
    """Whoever knows the whole original table; `names_persons` as for `known_by_three`.

    `could_join` says that all records of a person carry one draw; the figures are for whoever does not join them.
    """
    return Attacker(
        name=EVERYTHING,
        knows=EVERYTHING,
        how=(
            "names the likeliest person by all columns"
            if names_persons
            else "takes the nearest original of all columns"
        )
        + NOT_JOINING * could_join,
        needs_only_quasis=False,
        risk=risk,
        largest=largest,
    )


def likeliest_in_words(policy: Policy) -> str:
    """Which original an attacker takes who knows the mechanism: the likeliest, which mostly is the nearest."""
    mechanisms = (MECHANISMS[own.mechanism] for own in policy.epsilon_quasis.values())
    return "nearest" if all(own.nearest_is_likeliest for own in mechanisms) else "likeliest"


def quasis_in_words(policy: Policy) -> str:
    """The quasis as a list in a sentence."""
    return names_in_words([*policy.k_quasis, *policy.epsilon_quasis])


def names_in_words(names: Sequence[str]) -> str:
    """Names of columns as a list in a sentence; of very many only the first ones."""
    if len(names) > MOST_NAMES:
        return f"{', '.join(names[: MOST_NAMES - 1])} and {len(names) - MOST_NAMES + 1} more columns"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))

# SPDX-License-Identifier: Apache-2.0
"""What was found about kept columns: figures and verdicts, never a value of a record."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from kepsilon.json_values import JsonValue

Attacker = Literal["formula", "bins", "table", "ratio"]
"""How the attacker works out what a kept column must be, from the quasis that he knows:

- formula: a formula of all quasis for the number, or for its logarithm; the nearest result in the class;
- bins: a formula for how likely each of 17 bins is; the likeliest original in the class;
- table: how often each value of one quasi goes with each bin;
- ratio: the most frequent quotient of the column and one quasi, as of a copy in other units.
"""
Verdict = Literal["alarm", "note", "nothing"]
PairKind = Literal["sum", "ratio"]
Reason = Literal["links", "bits", "alone", "pair", "identifiers", "persons", "serial", "unique", "date", "free text"]
"""Why a column is named:

- links: whoever knows the quasis links records through this column beyond chance;
- bits: the column tells whoever sees it what generalisation hid in a k-quasi;
- alone: the column tells whoever sees it an ε-quasi, whatever the noise is;
- pair: together with another kept column it tells an ε-quasi;
- identifiers: its texts hold identifier values of their own records;
- persons: it shows whoever sees it which records are one person's, as a pseudonym does;
- serial: it follows the order of the input, which shuffling hid;
- unique: at least a third of the records have a value that no other person has, so that whoever knows one finds the record;
- date: exact dates, which others may know;
- free text: texts in which anything may stand.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptColumn(JsonValue):
    """What one kept column tells whoever knows the quasis of everybody in a class."""

    column: str
    verdict: Verdict
    alarms: tuple[Reason, ...]
    """Reasons for which the release must not go out unseen."""
    notes: tuple[Reason, ...]
    """Reasons that the curator should know."""
    links_per_class: float
    """Records or persons linked by the best attacker for each that chance would link: one in a class, if no value is
    missing."""
    z: float
    """Standard deviations by which the links exceed chance: (links_per_class − 1) · √classes, if no value is missing."""
    share_linked: float
    """Records linked by that attacker, as a share of the sample's; to any record of the right person, where it is known whom
    they are about."""
    largest: float
    """The largest chance of one record to be linked by that attacker: 1/t where t originals of its class fit equally well,
    one of them its own, and 1 as soon as its own fits best alone."""
    by: Attacker | None
    """That attacker; None where no attacker could use the column."""
    of: str | None
    """The quasi that he uses; None where he uses all of them."""
    bits: float
    """Largest share of what generalisation hid in a k-quasi that the column tells; 0 where it could be chance."""
    bits_of: str | None
    """That k-quasi; None where bits are 0."""
    told: float
    """Largest share of how an ε-quasi differs within classes that the column tells by itself; 0 where records are few."""
    told_of: str | None
    """That ε-quasi; None where nothing is told."""
    unique: float
    """Share of the sample's records whose value no other record has, or, where it is known whom they are about, no other
    person."""
    joined: float
    """Share of the persons with several records whose value is the same in all of them and no other person's; 0 where these
    are few, or it is not known whom records are about."""
    is_date: bool
    """Whether it holds dates that are finer than months."""
    is_free_text: bool
    """Whether it holds long texts of many words, most of them different."""
    is_serial: bool
    """Whether nearly all values differ and their order is the order of the input."""
    identifiers_inside: float
    """Share of its values that hold an identifier value of the same record, or a word of it; 0 where it could be chance."""

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """All reasons, alarms first."""
        return (*self.alarms, *self.notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPair(JsonValue):
    """Two kept numbers that together tell an ε-quasi better than each alone."""

    columns: tuple[str, str]
    of: str
    """The ε-quasi."""
    kind: PairKind
    """`sum` if it is near a sum or difference of multiples of the two, `ratio` if near a product or ratio of powers."""
    r_squared: float
    """Share of the ε-quasi's variance within classes that the two explain."""
    gain: float
    """By how much that exceeds what the better of them explains alone."""
    is_alarm: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptColumns(JsonValue):
    """What kept columns tell about the records of some classes."""

    n_records: int
    """Records that were looked at."""
    n_classes: int
    names_persons: bool = False
    """Whether it was known whom the records are about."""
    columns: tuple[KeptColumn, ...]
    """All kept columns, in their order."""
    pairs: tuple[KeptPair, ...]

    @property
    def alarming(self) -> tuple[KeptColumn, ...]:
        """The columns with an alarm, in their order."""
        return tuple(own for own in self.columns if own.verdict == "alarm")

    def not_accepted(self, accepted: Collection[str]) -> tuple[KeptColumn, ...]:
        """The columns with an alarm that is not accepted, in their order; `accepted` names columns.

        Two columns that give something away only together are accepted by accepting one of them.
        """
        return tuple(own for own in self.alarming if not self._is_accepted(own, accepted))

    def _is_accepted(self, alarming: KeptColumn, accepted: Collection[str]) -> bool:
        if alarming.column in accepted:
            return True
        pairs = [pair.columns for pair in self.pairs if pair.is_alarm and alarming.column in pair.columns]
        return set(alarming.alarms) == {"pair"} and all(set(accepted) & set(names) for names in pairs)

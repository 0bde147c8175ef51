# SPDX-License-Identifier: Apache-2.0
"""Rules that propose a role for a column from its profile, with the reason; the first rule that fits decides.

A reason names counts and shapes, never a value. If nothing tells whether a column is a k-quasi or sensitive, it is
proposed as a k-quasi: generalising too much costs detail, generalising too little costs somebody's privacy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kepsilon.engines.arrow.profile import FEW, HINTS, ColumnProfile, Kind, Shape
from kepsilon.propose.column_names import Meaning, meanings_of, words_of
from kepsilon.propose.hierarchies import (
    LONGEST_CODE,
    MOST_KINDS,
    Hierarchy,
    coarse_step,
    dates_hierarchy,
    fitting_hierarchy,
    groups_of,
    is_code,
    is_nominal,
    is_numeric,
    is_skewed,
    mask_of,
    precision_of,
    round_domain,
)

NEARLY_UNIQUE = 0.9
FREE_TEXT_LENGTH = 40
WORDY_LENGTH, WORDY_VALUES = 20, 100
"""Text of several words is free text from this mean length and this many different values on."""
LEAST_SHARE = 20
"""A column numbers persons or records only if it has a different value for one in so many records, or very many values."""
HEAVIEST = 1_000
"""A column called weight that goes beyond this holds sampling weights: no scale for people does."""
PRIVATE = frozenset({Meaning.CLINICAL, Meaning.FINANCIAL})
PERSONS_OWN = frozenset({Shape.EMAIL, Shape.SSN, Shape.UUID})
"""Shapes of values that belong to one person; a phone number does not, because a household shares it."""
SAFE_SIDE = "Neither its name nor its values say what it is: k-quasi is the safe side. If nobody could know it, make it sensitive."


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The role that is proposed for one column, with its keys in the policy and the reason."""

    column: ColumnProfile
    role: str | None
    """None if the curator has to decide."""
    reason: str
    notes: tuple[str, ...] = ()
    names_a_person: bool = False
    may_number_records: bool = False
    """Whether its name leaves open if it numbers persons, records or something else."""
    hierarchy: Hierarchy | None = None
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Groups of values copied from the data; they are offered in a comment, not used."""
    precision: float | None = None
    coarse: float | None = None
    """A round step for `range = { coarse = … }`."""
    domain: tuple[float, float] | None = None
    """Round bounds for numbers that cannot be negative."""
    is_guess: bool = False
    """Whether nothing told that others may know it, so that it is a k-quasi for safety alone."""
    left_out_because: str = ""
    """Why the column is not published; its section is then a comment. Empty where it is published, or is an identifier."""

    @property
    def is_left_out(self) -> bool:
        return bool(self.left_out_because)

    @property
    def is_quasi(self) -> bool:
        return self.role in ("k-quasi", "epsilon-quasi") and not self.is_left_out

    @property
    def is_kept(self) -> bool:
        """Whether the column is published as it is."""
        return self.role in ("sensitive", "insensitive") and not self.is_left_out


Rule = Callable[[ColumnProfile, frozenset[Meaning]], Proposal | None]
"""Proposes a role for a column, given what its name means; None if the rule does not fit."""


def propose_role(column: ColumnProfile) -> Proposal:
    """The proposal of the first rule that fits, or else a k-quasi."""
    meanings = meanings_of(column.name)
    for rule in RULES:
        proposal = rule(column, meanings)
        if proposal is not None:
            return proposal
    return replace(_k_quasi(column, f"{_different(column)}. {SAFE_SIDE}"), is_guess=True)


def _unsupported(column: ColumnProfile, _: frozenset[Meaning]) -> Proposal | None:
    if column.kind is not Kind.OTHER:
        return None
    reason = f"DECIDE: it holds {Kind.OTHER.value}, which cannot be generalised. Drop it, or publish it as it is."
    return Proposal(column=column, role=None, reason=reason)


def _shaped_like_an_identifier(column: ColumnProfile, _: frozenset[Meaning]) -> Proposal | None:
    for shape in HINTS:
        share = column.shapes.get(shape, 0.0)
        if share >= 0.5:
            reason = f"{'All' if share == 1 else 'Most'} of its values look like {shape.value}."
            return Proposal(column=column, role="identifier", reason=reason, names_a_person=shape in PERSONS_OWN)
    return None


def _sampling_weight(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    if not is_numeric(column) or column.n_distinct <= FEW or column.low < 0:
        return None
    named_weight = "weight" in words_of(column.name)
    if Meaning.SAMPLING_WEIGHT not in meanings and not (named_weight and column.high > HEAVIEST):
        return None
    return Proposal(
        column=column,
        role="sensitive",
        reason="Sampling weights: how many people of the population a record stands for.",
        left_out_because=(
            "Weights have no role yet, so they are dropped: many are nearly their record's own, and they follow from age, sex "
            "and region by a formula that others know. Without them the release describes the sample, not the population; "
            "weighted figures can be worked out by you and published beside it."
        ),
    )


def _named_like_an_identifier(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    if column.n_distinct <= 2 and column.n_distinct < column.n_filled:
        return None  # a column such as has_phone, which holds yes and no
    numbers_many = _has_very_many(column)
    reasons = {
        Meaning.PERSON_ID: "Its name says that it tells persons apart.",
        Meaning.HOUSEHOLD_ID: "Its name says that it numbers households: whoever knows one member finds the others.",
        Meaning.NAME: "Its name says that it holds names.",
        Meaning.CONTACT: "Its name says that it leads to a person or a home.",
        Meaning.RECORD_ID: f"Its name says that it numbers something, and it has {_different(column).lower()}.",
    }
    for meaning, reason in reasons.items():
        is_number = meaning in (Meaning.PERSON_ID, Meaning.HOUSEHOLD_ID, Meaning.RECORD_ID)
        # A code of insurance or the number of a member in a household has few values: it tells no persons apart.
        if meaning in meanings and (numbers_many or not is_number):
            return Proposal(
                column=column,
                role="identifier",
                reason=reason,
                names_a_person=is_number,
                may_number_records=meaning is Meaning.RECORD_ID,
            )
    return None


def _shaped_like_a_number_of_persons(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    """Codes of one length that repeat although there are very many of them, as numbers of patients in a list of stays do."""
    is_long = column.min_length == column.max_length >= LONGEST_CODE + 1 and not column.decimals
    found = column.repetition
    if (
        not is_long
        or not found.is_of_codes
        or meanings & (PRIVATE | {Meaning.QUANTITY, Meaning.ORDERED, Meaning.POSTCODE})
    ):
        return None
    of_digits = column.kind is Kind.WHOLE and column.is_all(Shape.DIGITS)
    of_letters_and_digits = column.kind is Kind.TEXT and column.is_all(Shape.CODE)
    if not (of_digits or of_letters_and_digits) or column.n_distinct <= FEW or not _has_very_many(column):
        return None
    again = "and many repeat, as a person's number does" if found.repeats else "and no two are alike"
    return Proposal(
        column=column,
        role="identifier",
        reason=f"{column.n_distinct:,} different codes of {column.max_length} characters, {again}.",
        names_a_person=True,
        may_number_records=True,
    )


def _constant(column: ColumnProfile, _: frozenset[Meaning]) -> Proposal | None:
    if column.n_records in (column.n_null, column.n_blank):
        return Proposal(column=column, role="insensitive", reason="It is empty in every record.")
    if column.n_distinct == 1 and column.n_filled == column.n_records:
        reason = "It is the same in every record, so it tells nobody apart."
        return Proposal(column=column, role="insensitive", reason=reason)
    return None


def _date(column: ColumnProfile, _: frozenset[Meaning]) -> Proposal | None:
    if column.kind is not Kind.DATE:
        return None
    ambiguous = column.is_all(Shape.DATE_DAY_FIRST) and column.is_all(Shape.DATE_MONTH_FIRST)
    note = "DECIDE: whether day or month stands first cannot be told from the data. Check the format."
    return _k_quasi(
        column,
        "Dates: others often know when somebody was born, admitted or moved. Generalised to months, quarters, years.",
        hierarchy=dates_hierarchy(column),
        notes=[note] * ambiguous,
    )


def _year(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    named_otherwise = Meaning.YEAR not in meanings and meanings & (PRIVATE | {Meaning.QUANTITY})
    if not column.is_all(Shape.YEAR) or named_otherwise:
        return None
    hierarchy: Hierarchy = {"type": "intervals", "widths": [2, 4, 8]}
    return _k_quasi(column, "Years. Generalised to intervals of 2, 4 and 8 years.", hierarchy=hierarchy)


def _age(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    if Meaning.AGE not in meanings or not is_numeric(column) or not 0 <= column.low < column.high <= 130:
        return None
    hierarchy: Hierarchy = {"type": "intervals", "widths": [5, 10, 20]}
    return _k_quasi(column, "Ages. Generalised to intervals of 5, 10 and 20 years.", hierarchy=hierarchy)


def _postcode(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    if Meaning.POSTCODE not in meanings or column.max_length > 12 or column.decimals:
        return None
    cut = column.kind is Kind.WHOLE and column.min_length < column.max_length
    note = "CAREFUL: their lengths differ. If zeros in front were lost, say in a spreadsheet, masking mixes up areas."
    reason = "Postcodes. Masked from the right, one character per level."
    return _k_quasi(column, reason, hierarchy=mask_of(column), notes=[note] * cut)


def _unique_or_free_text(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    if column.kind is not Kind.TEXT:
        return None
    if column.n_distinct >= max(2, NEARLY_UNIQUE * column.n_filled):
        nearly = "" if column.n_distinct == column.n_filled else "nearly "
        reason = f"Text that is {nearly}unique: {column.n_distinct:,} different values in {column.n_filled:,} records."
    elif column.n_distinct > FEW and (
        Meaning.FREE_TEXT in meanings or column.mean_length > FREE_TEXT_LENGTH or _is_wordy(column)
    ):
        reason = "Free text, which often names people or says who is meant."
    else:
        return None
    return Proposal(column=column, role="identifier", reason=reason, notes=_advice(column))


def _is_wordy(column: ColumnProfile) -> bool:
    """Whether nearly all values have several words, and there are too many of them for a list to choose from."""
    has_words = column.repetition.n_with_blanks >= NEARLY_UNIQUE * column.n_filled
    return has_words and column.mean_length >= WORDY_LENGTH and column.n_distinct > WORDY_VALUES


def _counter(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    is_unique = column.n_distinct == column.n_filled > 1
    if column.kind is not Kind.WHOLE or not is_unique or meanings & (PRIVATE | {Meaning.QUANTITY}):
        return None
    if column.high - column.low < 2 * column.n_distinct:
        how = "as close together as a counter's"
    elif column.min_length >= 8 or column.min_length == column.max_length >= 6:
        how = "as long as those of a register"
    else:
        return None
    return Proposal(
        column=column, role="identifier", reason=f"Every record has a number of its own, and they are {how}."
    )


def _code(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    if not is_code(column) or meanings & PRIVATE:
        return None
    reason = f"Codes of {column.max_length} digits, as postcodes are. Masked from the right, one digit per level."
    return _k_quasi(column, reason, hierarchy=mask_of(column))


def _kinds(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    if not is_nominal(column) or meanings & PRIVATE:
        return None
    reason = f"{_different(column)} that are codes of kinds: neither intervals nor averages of them mean anything."
    found = _k_quasi(column, reason, hierarchy={"type": "suppress"})
    return replace(found, is_guess=Meaning.DEMOGRAPHIC not in meanings)


def _sensitive(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    private = meanings & PRIVATE
    if not private or (Meaning.DEMOGRAPHIC in meanings and column.kind is Kind.TEXT):
        return None
    topic = "clinical" if Meaning.CLINICAL in private else "financial"
    otherwise = (
        "even roughly, make it an epsilon-quasi"
        if is_numeric(column) and column.n_distinct > FEW
        else "make it a k-quasi"
    )
    reason = (
        f"Its name looks {topic}: what the data is about, published as it is. If others could know it, {otherwise}."
    )
    return Proposal(column=column, role="sensitive", reason=reason, notes=_advice(column))


def _demographic(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    if Meaning.DEMOGRAPHIC not in meanings or column.kind is Kind.DECIMAL:
        return None
    return _k_quasi(column, f"Its name says that others may know it. {_different(column)}.")


def _number(column: ColumnProfile, _: frozenset[Meaning]) -> Proposal | None:
    if not has_many_numbers(column):
        return None
    decimals = f" with up to {column.decimals} decimal{'s' * (column.decimals > 1)}" if column.decimals else ""
    return epsilon_quasi(
        column, f"{_different(column)}{decimals}: too many to generalise well, so noise hides them within each class."
    )


def has_many_numbers(column: ColumnProfile) -> bool:
    """Whether the column holds so many different numbers that noise can hide them."""
    return is_numeric(column) and column.n_distinct > FEW


def epsilon_quasi(column: ColumnProfile, reason: str) -> Proposal:
    """A column of numbers as an ε-quasi, with what the curator should know about them."""
    precision, was_cut = precision_of(column)
    notes = ["The precision is coarser than the data: so many digits would mean nothing under noise."] * was_cut
    if column.kind is Kind.WHOLE and column.n_unique > column.n_filled / 3:
        notes.append(
            f"CAREFUL: {column.n_unique:,} records hold a number that no other record holds. If it can be looked up somewhere "
            "(a number of a register, a sampling weight), make it an identifier."
        )
    if column.n_lacking:
        notes.append(
            f'{column.n_lacking:,} records lack it and would be left out. With missing = "class" they stay, and lacking it becomes '
            "part of the class."
        )
    return Proposal(
        column=column,
        role="epsilon-quasi",
        reason=reason,
        notes=(*notes, *_advice(column)),
        precision=precision,
        coarse=coarse_step(column, precision),
        domain=round_domain(column, precision),
    )


RULES: Sequence[Rule] = (
    _unsupported,
    _shaped_like_an_identifier,
    _sampling_weight,
    _named_like_an_identifier,
    _constant,
    _date,
    _year,
    _age,
    _postcode,
    _unique_or_free_text,
    _counter,
    _shaped_like_a_number_of_persons,
    _code,
    _kinds,
    _sensitive,
    _demographic,
    _number,
)


def _k_quasi(
    column: ColumnProfile, reason: str, *, hierarchy: Hierarchy | None = None, notes: Sequence[str] = ()
) -> Proposal:
    hierarchy = hierarchy or fitting_hierarchy(column)
    notes = [*notes, *_advice(column)]
    if column.n_blank and hierarchy["type"] in ("intervals", "dates"):
        notes.append(
            f"DECIDE: {column.n_blank:,} records hold empty text or nothing but blanks, which this hierarchy cannot place. Write "
            'null (an empty cell), or leave those records out: unlisted = "suppress".'
        )
    if hierarchy["type"] == "suppress" and column.n_distinct > FEW:
        notes.append('For so many values a hierarchy file is better: { type = "file", path = "levels.csv" }.')
    groups = groups_of(column) if hierarchy["type"] == "suppress" else ()
    return Proposal(
        column=column, role="k-quasi", reason=reason, notes=tuple(notes), hierarchy=hierarchy, groups=groups
    )


def _has_very_many(column: ColumnProfile) -> bool:
    """Whether there are so many values that they may tell persons or records apart."""
    return column.n_distinct * LEAST_SHARE >= column.n_filled or column.n_distinct > MOST_KINDS


def _different(column: ColumnProfile) -> str:
    what = {Kind.WHOLE: "whole number", Kind.DECIMAL: "number"}.get(column.kind, "value")
    return f"{column.n_distinct:,} different {what}s" if column.n_distinct != 1 else f"One {what}"


def _advice(column: ColumnProfile) -> tuple[str, ...]:
    """Notes on what the curator should check in the data."""
    advice = []
    if column.kind is Kind.TEXT and column.n_filled / 2 <= column.n_numbers < column.n_filled:
        advice.append(
            f"{column.n_numbers:,} records hold numbers, {column.n_filled - column.n_numbers:,} hold text. If the text stands for "
            "a missing value, write empty cells instead and run init again, or make it a quasi with missing_values."
        )
    if column.is_all(Shape.COMMA):
        advice.append(
            'These are numbers with a comma. If it is a decimal comma, decimal = "," makes numbers of them, and then no other '
            "quasi may have decimal points. If it stands between thousands, take it out and run init again."
        )
    if column.missing:
        listed = ", ".join(f'"{text}"' for text in column.missing)
        why = ", which stands apart from all other numbers" if column.number_codes else " where others hold numbers"
        unsure = " If it is a number like others, remove missing_values." if column.number_codes else ""
        advice.append(f"{column.n_coded:,} records hold {listed}{why}: read as missing in a quasi.{unsure}")
    if is_skewed(column) and not is_nominal(column):
        advice.append(
            "Skewed: most records lie in a small part of its range. Step and range were chosen for most records, and the "
            "largest numbers stay rare wherever they are published: is it worth a limit, or a top code?"
        )
    hinted = [shape.value for shape in HINTS if 0 < column.shapes.get(shape, 0.0) < 0.5]
    if hinted:
        advice.append(f"CAREFUL: some of its values look like {' or '.join(hinted)}.")
    return tuple(advice)

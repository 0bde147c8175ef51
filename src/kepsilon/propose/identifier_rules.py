# SPDX-License-Identifier: Apache-2.0
"""Rules for columns that tell persons or records apart: names, numbers, addresses, free text, sampling weights."""

from __future__ import annotations

import re

from kepsilon.engines.arrow.profile import FEW, ColumnProfile, Kind
from kepsilon.engines.arrow.shapes import HINTS, Shape
from kepsilon.propose.column_names import words_of
from kepsilon.propose.hierarchies import LONGEST_CODE, has_very_many, is_numeric
from kepsilon.propose.meanings import Meaning
from kepsilon.propose.proposal import PRIVATE, Proposal, advice, different

NEARLY_UNIQUE = 0.9
FREE_TEXT_LENGTH = 40
WORDY_LENGTH, WORDY_VALUES = 20, 100
"""Text of several words is free text from this mean length and this many different values on."""
WEIGHT = "weight|gewicht|poids|peso|w(t|gt)s?[a-z0-9]*|[a-z0-9]*w(t|gt|eight)"
"""What the weight of a body or of a record is called, by word."""
NEWBORNS = ".*(birth|born|geburt).*|bwt"
"""Words of names of weights that are in grams, and so beyond `HEAVIEST`."""
HEAVIEST = 1_000
"""A column called weight that goes beyond this holds sampling weights: no scale for people does."""
ACCOUNTS = frozenset({"insurance", "insured", "account", "acct", "card", "payer"})
"""Words of names that are as often those of a company's code as of a person's number."""
PERSONS_OWN = frozenset({Shape.EMAIL, Shape.SSN, Shape.UUID})
"""Shapes of values that belong to one person; a phone number does not, because a household shares it."""


def shaped_like_an_identifier(column: ColumnProfile, _: frozenset[Meaning]) -> Proposal | None:
    for shape in HINTS:
        share = column.shapes.get(shape, 0.0)
        if share >= 0.5:
            reason = f"{'All' if share == 1 else 'Most'} of its values look like {shape.value}."
            return Proposal(column=column, role="identifier", reason=reason, names_a_person=shape in PERSONS_OWN)
    return None


def sampling_weight(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    if not is_numeric(column) or column.n_distinct <= FEW or column.low < 0:
        return None
    words = words_of(column.name)
    of_newborns = any(re.fullmatch(NEWBORNS, word) for word in words)
    named_weight = any(re.fullmatch(WEIGHT, word) for word in words) and not of_newborns
    if Meaning.SAMPLING_WEIGHT not in meanings and not (named_weight and column.high > HEAVIEST):
        return None
    return Proposal(
        column=column,
        role="sensitive",
        reason="It says how many people of the population a record stands for.",
        left_out_because=(
            "Sampling weights have no role yet, so they are dropped: many are nearly their record's own, and they follow from "
            "age, sex and region by a formula that others know. Without them the release describes the sample, not the "
            "population; weighted figures can be worked out by you and published beside it."
        ),
    )


def named_like_an_identifier(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    if column.n_distinct <= 2 and column.n_distinct < column.n_filled:
        return None  # a column such as has_phone, which holds yes and no
    reasons = {
        Meaning.PERSON_ID: "Its name says that it tells persons apart.",
        Meaning.HOUSEHOLD_ID: "Its name says that it numbers households: whoever knows one member finds the others.",
        Meaning.NAME: "Its name says that it holds names.",
        Meaning.CONTACT: "Its name says that it leads to a person or a home.",
        Meaning.RECORD_ID: f"Its name says that it numbers something, and it has {different(column).lower()}.",
        Meaning.SOME_NAME: f"Its name says that it holds names, and it has {different(column).lower()}.",
    }
    for meaning, reason in reasons.items():
        is_number = meaning in (Meaning.PERSON_ID, Meaning.HOUSEHOLD_ID, Meaning.RECORD_ID)
        if meaning in meanings and _has_enough(column, meaning):
            return Proposal(
                column=column,
                role="identifier",
                reason=reason,
                names_a_person=is_number,
                may_number_records=meaning is Meaning.RECORD_ID,
            )
    return None


def shaped_like_a_number_of_persons(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
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
    if not (of_digits or of_letters_and_digits) or column.n_distinct <= FEW or not has_very_many(column):
        return None
    again = "and many repeat, as a person's number does" if found.repeats else "and no two are alike"
    return Proposal(
        column=column,
        role="identifier",
        reason=f"{column.n_distinct:,} different codes of {column.max_length} characters, {again}.",
        names_a_person=True,
        may_number_records=True,
    )


def unique_or_free_text(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
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
    return Proposal(column=column, role="identifier", reason=reason, notes=advice(column), is_text=True)


def counter(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
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


def _is_wordy(column: ColumnProfile) -> bool:
    """Whether nearly all values have several words, and there are too many of them for a list to choose from."""
    has_words = column.repetition.n_with_blanks >= NEARLY_UNIQUE * column.n_filled
    return has_words and column.mean_length >= WORDY_LENGTH and column.n_distinct > WORDY_VALUES


def _has_enough(column: ColumnProfile, meaning: Meaning) -> bool:
    """Whether there are enough values for what the name says.

    The number of a member in a household has few values, and a code of insurance not very many: they tell no persons apart.
    """
    if meaning in (Meaning.NAME, Meaning.CONTACT):
        return True
    of_persons = meaning in (Meaning.PERSON_ID, Meaning.HOUSEHOLD_ID) and not ACCOUNTS & set(words_of(column.name))
    return has_very_many(column) or (of_persons and column.n_distinct > FEW)

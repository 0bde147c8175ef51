# SPDX-License-Identifier: Apache-2.0
"""Rules for columns that others may know, and for what the data is about: dates, years, ages, codes, kinds, numbers."""

from __future__ import annotations

from dataclasses import replace

from kepsilon.engines.arrow.profile import FEW, ColumnProfile, Kind
from kepsilon.engines.arrow.shapes import Shape
from kepsilon.propose.hierarchies import (
    Hierarchy,
    dates_hierarchy,
    has_very_many,
    is_code,
    is_nominal,
    is_numeric,
    mask_of,
)
from kepsilon.propose.meanings import Meaning
from kepsilon.propose.proposal import PRIVATE, Proposal, advice, different, epsilon_quasi, k_quasi

MOST_TEXTS = 100
"""Text has no levels but "*" to be generalised by; with more values than this, hardly anything else would be left."""


def dates(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    if column.kind is not Kind.DATE:
        return None
    ambiguous = column.is_all(Shape.DATE_DAY_FIRST) and column.is_all(Shape.DATE_MONTH_FIRST)
    note = "DECIDE: whether day or month stands first cannot be told from the data. Check the format."
    is_paperwork = Meaning.PAPERWORK in meanings
    known = (
        "few others know when that was"
        if is_paperwork
        else "others often know when somebody was born, admitted or moved"
    )
    found = k_quasi(
        column,
        f"Dates: {known}. Generalised to months, quarters, years.",
        hierarchy=dates_hierarchy(column),
        notes=[note] * ambiguous,
    )
    return replace(found, is_guess=is_paperwork)


def years(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    named_otherwise = Meaning.YEAR not in meanings and meanings & (PRIVATE | {Meaning.QUANTITY})
    if not column.is_all(Shape.YEAR) or named_otherwise:
        return None
    hierarchy: Hierarchy = {"type": "intervals", "widths": [2, 4, 8]}
    return k_quasi(column, "Years. Generalised to intervals of 2, 4 and 8 years.", hierarchy=hierarchy)


def ages(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    if Meaning.AGE not in meanings or not is_numeric(column) or not 0 <= column.low < column.high <= 130:
        return None
    hierarchy: Hierarchy = {"type": "intervals", "widths": [5, 10, 20]}
    return k_quasi(column, "Ages. Generalised to intervals of 5, 10 and 20 years.", hierarchy=hierarchy)


def postcodes(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    if Meaning.POSTCODE not in meanings or column.max_length > 12 or column.decimals:
        return None
    cut = column.kind is Kind.WHOLE and column.min_length < column.max_length
    note = "CAREFUL: their lengths differ. If zeros in front were lost, say in a spreadsheet, masking mixes up areas."
    reason = "Postcodes. Masked from the right, one character per level."
    return k_quasi(column, reason, hierarchy=mask_of(column), notes=[note] * cut)


def codes(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    if not is_code(column) or meanings & PRIVATE:
        return None
    reason = f"Codes of {column.max_length} digits, as postcodes are. Masked from the right, one digit per level."
    return k_quasi(column, reason, hierarchy=mask_of(column))


def kinds(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    if not is_nominal(column) or meanings & PRIVATE:
        return None
    reason = f"{different(column)} that are codes of kinds: neither intervals nor averages of them mean anything."
    found = k_quasi(column, reason, hierarchy={"type": "suppress"})
    return replace(found, is_guess=Meaning.DEMOGRAPHIC not in meanings)


def sensitive(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
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
    return Proposal(column=column, role="sensitive", reason=reason, notes=advice(column))


def demographic(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    if Meaning.DEMOGRAPHIC not in meanings or column.kind is Kind.DECIMAL:
        return None
    return k_quasi(column, f"Its name says that others may know it. {different(column)}.")


def numbers(column: ColumnProfile, _: frozenset[Meaning]) -> Proposal | None:
    if not has_many_numbers(column):
        return None
    decimals = f" with up to {column.decimals} decimal{'s' * (column.decimals > 1)}" if column.decimals else ""
    return epsilon_quasi(
        column, f"{different(column)}{decimals}: too many to generalise well, so noise hides them within each class."
    )


def many_texts(column: ColumnProfile, _: frozenset[Meaning]) -> Proposal | None:
    """Text that nothing is known of, with so many values that only a list of levels could generalise it."""
    if column.kind is not Kind.TEXT or column.n_distinct <= MOST_TEXTS or not has_very_many(column):
        return None
    left_out_because = (
        "So many different texts could be names of persons, or lead to them. If they do, make it an identifier. If they do "
        'not, and you have a file of their levels: hierarchy = { type = "file", path = "levels.csv" }.'
    )
    return replace(
        k_quasi(column, f"Text, with {different(column).lower()}."), is_guess=True, left_out_because=left_out_because
    )


def has_many_numbers(column: ColumnProfile) -> bool:
    """Whether the column holds so many different numbers that noise can hide them."""
    return is_numeric(column) and column.n_distinct > FEW and not is_nominal(column)

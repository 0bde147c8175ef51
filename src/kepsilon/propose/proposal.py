# SPDX-License-Identifier: Apache-2.0
"""The role that is proposed for one column, with the keys it needs and what the curator should know about the column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kepsilon.engines.arrow.profile import FEW, ColumnProfile, Kind
from kepsilon.engines.arrow.shapes import HINTS, Shape
from kepsilon.propose.hierarchies import (
    Hierarchy,
    coarse_step,
    fitting_hierarchy,
    groups_of,
    is_nominal,
    is_skewed,
    precision_of,
    round_domain,
)
from kepsilon.propose.meanings import Meaning

PRIVATE = frozenset({Meaning.CLINICAL, Meaning.FINANCIAL})
"""Meanings of columns that the data is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The role that is proposed for one column, with its keys in the policy and the reason."""

    column: ColumnProfile
    role: str | None
    """None if the curator has to decide."""
    reason: str
    notes: tuple[str, ...] = ()
    names_a_person: bool = False
    is_text: bool = False
    """Whether it is an identifier because it is text that is unique, or free; where such text repeats it says nothing."""
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

    follows_from: str = ""
    """The column that says the same, if that is why this one is left out."""

    gives_away: bool = False
    """Whether it is left out because it would give people away if it were kept as it is."""

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


def k_quasi(
    column: ColumnProfile, reason: str, *, hierarchy: Hierarchy | None = None, notes: Sequence[str] = ()
) -> Proposal:
    hierarchy = hierarchy or fitting_hierarchy(column)
    notes = [*notes, *advice(column)]
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
        notes=(*notes, *advice(column)),
        precision=precision,
        coarse=coarse_step(column, precision),
        domain=round_domain(column, precision),
    )


def different(column: ColumnProfile) -> str:
    what = {Kind.WHOLE: "whole number", Kind.DECIMAL: "number"}.get(column.kind, "value")
    return f"{column.n_distinct:,} different {what}s" if column.n_distinct != 1 else f"One {what}"


def advice(column: ColumnProfile) -> tuple[str, ...]:
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
        why = ", which stands apart from all other numbers" if column.number_codes else ""
        if not column.number_codes and column.kind in (Kind.WHOLE, Kind.DECIMAL):
            why = " where others hold numbers"
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

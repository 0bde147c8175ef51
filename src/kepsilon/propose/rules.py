# SPDX-License-Identifier: Apache-2.0
"""From the profile of a column to a role, with the reason: the first rule that fits decides.

A reason speaks of counts and shapes, never of a value. Where nothing tells a k-quasi from a sensitive attribute, the
proposal is k-quasi: generalising too much costs use, generalising too little costs somebody's privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kepsilon.engines.profile import DATES, FEW, HINTS, ColumnProfile, Kind, Shape
from kepsilon.propose.column_names import Meaning, meanings_of

NEARLY_UNIQUE = 0.9
FREE_TEXT_LENGTH = 40
SHARED_BY_MANY = 20
"""A value is copied into the policy only if at least so many records hold it."""
STEPS = 100_000
"""A proposed precision divides the range into no more steps than this, ten times over at most."""
LARGEST = 2.0**53
DATE_FORMATS = {
    Shape.DATE_ISO: None,
    Shape.DATE_COMPACT: None,
    Shape.DATE_DOTS: "%d.%m.%Y",
    Shape.DATE_DAY_FIRST: "%d/%m/%Y",
    Shape.DATE_MONTH_FIRST: "%m/%d/%Y",
}
PERSONS_OWN = frozenset({Shape.EMAIL, Shape.SSN, Shape.UUID})
"""Shapes that stand for one person; a phone is shared by a household."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A role for one column: keys as they stand in the policy, and why."""

    column: ColumnProfile
    reason: str
    role: str | None
    """None: the curator has to say."""
    keys: tuple[tuple[str, object], ...] = ()
    notes: tuple[str, ...] = ()
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Groups of values copied from the data, to be offered and not used."""
    names_a_person: bool = False
    coarse: float | None = None
    """A step for `range = { coarse = … }` that suits the numbers."""


def propose_role(column: ColumnProfile) -> Proposal:
    meanings = meanings_of(column.name)
    for rule in RULES:
        proposal = rule(column, meanings)
        if proposal is not None:
            return proposal
    return _k_quasi(column, f"{_values(column)}. {SAFE_SIDE}")


SAFE_SIDE = "Neither name nor values say what it is; k-quasi is the safe side. If nobody could look it up, make it sensitive."
Rule = Callable[[ColumnProfile, frozenset[Meaning]], Proposal | None]


def _unsupported(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:  # noqa: ARG001 (one signature for all rules)
    if column.kind is not Kind.OTHER:
        return None
    return Proposal(
        column=column,
        role=None,
        reason=f"It holds {Kind.OTHER.value}, which cannot be generalised. Decide: identifier drops it, sensitive publishes it as it is.",
    )


def _shaped_like_an_identifier(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:  # noqa: ARG001
    for shape in HINTS:
        share = column.shapes.get(shape, 0.0)
        if share >= 0.5:
            much = "All" if share == 1 else f"{share:.0%} of all"
            return Proposal(
                column=column,
                role="identifier",
                reason=f"{much} values look like {shape.value}.",
                names_a_person=shape in PERSONS_OWN,
            )
    return None


def _named_like_an_identifier(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    if column.n_distinct <= 2 and column.n_distinct < column.n_filled:
        return None  # "has_phone": yes or no
    kinds = {
        Meaning.PERSON_ID: "Its name says that it tells persons apart.",
        Meaning.NAME: "Its name says that it holds names.",
        Meaning.CONTACT: "Its name says that it leads to a person or a home.",
    }
    for meaning, reason in kinds.items():
        if meaning in meanings:
            return Proposal(column=column, role="identifier", reason=reason, names_a_person=meaning is Meaning.PERSON_ID)
    if Meaning.RECORD_ID in meanings and column.n_distinct * 20 >= column.n_filled and column.n_distinct > 2:
        reason = f"Its name says that it is a number of something, and {_values(column).lower()} tell records apart."
        return Proposal(column=column, role="identifier", reason=reason, names_a_person=True)
    return None


def _constant(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:  # noqa: ARG001
    if column.n_distinct == 0 and not (column.n_blank and column.n_null):
        return Proposal(column=column, role="insensitive", reason="It is empty in every record.")
    if column.n_distinct == 1 and column.n_filled == column.n_records:
        return Proposal(
            column=column, role="insensitive", reason="It holds the same value in every record, so it tells nobody apart."
        )
    return None


def _date(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:  # noqa: ARG001
    if column.kind is not Kind.DATE:
        return None
    shape = next(shape for shape in DATES if column.is_all(shape))
    hierarchy: dict[str, object] = {"type": "dates", "units": ["month", "quarter", "year"]}
    if DATE_FORMATS[shape] is not None:
        hierarchy["format"] = DATE_FORMATS[shape]
    notes = []
    if column.is_all(Shape.DATE_DAY_FIRST) and column.is_all(Shape.DATE_MONTH_FIRST):
        notes.append("Whether day or month stands first cannot be told from the data: check the format.")
    reason = "Dates. Others often know when somebody was born, admitted or moved; months, quarters, then years are left."
    return _with_hierarchy(column, reason, hierarchy, notes=notes)


def _year(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    if not column.is_all(Shape.YEAR) or column.decimals:
        return None
    if Meaning.YEAR not in meanings and meanings & {Meaning.CLINICAL, Meaning.FINANCIAL}:
        return None
    return _with_hierarchy(column, "Years, generalised to 2, 4, then 8 years.", {"type": "intervals", "widths": [2, 4, 8]})


def _postcode(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    named = Meaning.POSTCODE in meanings and column.max_length <= 12 and not column.decimals
    coded = is_code(column) and not meanings & {Meaning.CLINICAL, Meaning.FINANCIAL}
    if not named and not coded:
        return None
    lengths = f"{column.max_length} characters" if column.min_length == column.max_length else f"up to {column.max_length} characters"
    what = "Postcodes" if named else "Codes"
    notes = []
    if named and column.kind is Kind.WHOLE and column.min_length < column.max_length:
        notes.append("The lengths differ: were zeros at the front lost, say in a spreadsheet? Then masking mixes up areas.")
    return _with_hierarchy(
        column, f"{what} of {lengths}; masked from the right, one character per level.", {"type": "mask"}, notes=notes
    )


def _age(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    if Meaning.AGE not in meanings or not is_numeric(column) or not 0 <= column.low <= column.high <= 130:
        return None
    return _with_hierarchy(column, "Ages, generalised to 5, 10, then 20 years.", {"type": "intervals", "widths": [5, 10, 20]})


def _free_or_unique_text(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    if column.kind is not Kind.TEXT:
        return None
    if column.n_distinct >= max(2, NEARLY_UNIQUE * column.n_filled):
        unique = "unique" if column.n_distinct == column.n_filled else "nearly unique"
        return Proposal(
            column=column,
            role="identifier",
            reason=f"Text that is {unique}: {column.n_distinct:,} values in {column.n_filled:,} records.",
            notes=_notes(column),
        )
    if (Meaning.FREE_TEXT in meanings or column.mean_length > FREE_TEXT_LENGTH) and column.n_distinct > FEW:
        return Proposal(column=column, role="identifier", reason="Free text, which often names people or says who is meant.")
    return None


def _counter(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    is_unique = column.n_distinct == column.n_filled > 1
    if column.kind is not Kind.WHOLE or not is_unique or meanings & {Meaning.CLINICAL, Meaning.FINANCIAL}:
        return None
    n = column.n_distinct
    counts_up = column.high - column.low < 2 * n
    looks_like_an_id = column.min_length == column.max_length >= 6 or column.min_length >= 8
    if not counts_up and not looks_like_an_id:
        return None
    how = "they lie as close as a counter's" if counts_up else "they look like the numbers of a register"
    return Proposal(column=column, role="identifier", reason=f"A whole number of its own in each record, and {how}.")


def _sensitive(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    private = meanings & {Meaning.CLINICAL, Meaning.FINANCIAL}
    if not private or (Meaning.DEMOGRAPHIC in meanings and column.kind is Kind.TEXT):
        return None
    look = "clinical" if Meaning.CLINICAL in private else "financial"
    reason = f"Its name looks {look}: what the release is about, published as it is."
    if is_numeric(column) and column.n_distinct > FEW:
        reason += " If others could know the number even roughly, make it an epsilon-quasi instead."
    else:
        reason += " If others could know it, make it a k-quasi instead."
    return Proposal(column=column, role="sensitive", reason=reason, notes=_notes(column))


def _demographic(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:
    if Meaning.DEMOGRAPHIC not in meanings or column.kind is Kind.DECIMAL:
        return None
    return _k_quasi(column, f"Its name says that others may know it. {_values(column)}.")


def _number(column: ColumnProfile, meanings: frozenset[Meaning]) -> Proposal | None:  # noqa: ARG001
    if not is_numeric(column) or column.n_distinct <= FEW or column.high == column.low:
        return None
    precision, was_cut = precision_of(column)
    read_off = "no decimals" if not column.decimals else f"up to {column.decimals} decimal{'s' * (column.decimals > 1)}"
    reason = f"{_values(column)}, with {read_off}: too many to generalise well, so noise hides them within each class."
    notes = list(_notes(column))
    if was_cut:
        notes.append("The precision is coarser than the data: finer steps would show the grid that noise is drawn on.")
    if column.n_unique > column.n_filled / 3:
        notes.append(
            f"{column.n_unique:,} records hold a number that no other record has. If it could be looked up exactly (a record "
            "number, a sampling weight), make it an identifier."
        )
    if column.n_null or column.n_blank:
        notes.append(
            f"{column.n_null + column.n_blank:,} records lack it and would be left out; missing = \"class\" keeps them, and being "
            "without it becomes part of the class."
        )
    return Proposal(
        column=column,
        role="epsilon-quasi",
        reason=reason,
        keys=(("precision", precision), ("range", "class")),
        notes=tuple(notes),
        coarse=max(nice((column.high - column.low) / 10), precision),
    )


RULES: Sequence[Rule] = (
    _unsupported,
    _shaped_like_an_identifier,
    _named_like_an_identifier,
    _constant,
    _date,
    _year,
    _age,
    _free_or_unique_text,
    _counter,
    _postcode,
    _sensitive,
    _demographic,
    _number,
)


def _k_quasi(column: ColumnProfile, reason: str) -> Proposal:
    """A k-quasi whose hierarchy fits its values."""
    if is_code(column):
        return _with_hierarchy(column, reason, {"type": "mask"})
    if is_numeric(column) and column.n_distinct > 3 and column.high > column.low:
        unit = nice((column.high - column.low) / 16)
        if column.kind is Kind.WHOLE:
            unit = max(1, unit)
        return _with_hierarchy(column, reason, {"type": "intervals", "widths": [2 * unit, 4 * unit, 8 * unit]})
    groups = groups_of(column)
    notes: list[str] = []
    if column.kind is Kind.TEXT and column.n_distinct > FEW:
        notes.append('With so many values, write a hierarchy file and name it: { type = "file", path = "….csv" }.')
    return Proposal(
        column=column,
        role="k-quasi",
        reason=reason,
        keys=(("hierarchy", {"type": "suppress"}),),
        notes=(*notes, *_notes(column)),
        groups=groups,
    )


def _with_hierarchy(
    column: ColumnProfile, reason: str, hierarchy: dict[str, object], *, notes: Sequence[str] = ()
) -> Proposal:
    notes = list(notes)
    if column.n_blank and hierarchy["type"] in ("intervals", "dates"):
        notes.append(
            f"{column.n_blank:,} records hold a quoted empty text, which the hierarchy cannot place. Either write null (an empty cell) "
            'or leave those records out: unlisted = "suppress"'
        )
    return Proposal(column=column, role="k-quasi", reason=reason, keys=(("hierarchy", hierarchy),), notes=tuple(notes))


def groups_of(column: ColumnProfile) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Values that many records share, in groups: by a first word in common, or else two halves of the alphabet."""
    shared = [value for value, n_records in column.values if n_records >= SHARED_BY_MANY]
    if column.kind is not Kind.TEXT or len(shared) < 4:
        return ()
    by_word: dict[str, list[str]] = {}
    for value in shared:
        by_word.setdefault(_first_word(value), []).append(value)
    groups = {word: tuple(values) for word, values in by_word.items() if word and len(values) > 1}
    rest = tuple(value for value in shared if not any(value in values for values in groups.values()))
    if not groups:
        half = (len(rest) + 1) // 2
        groups = {_free("group 1", shared): rest[:half], _free("group 2", shared): rest[half:]}
    elif rest:
        groups[_free("Other", [*shared, *groups])] = rest
    return tuple(groups.items())


def is_numeric(column: ColumnProfile) -> bool:
    """Numbers that hierarchies and noise can place."""
    return column.kind in (Kind.WHOLE, Kind.DECIMAL) and max(abs(column.low), abs(column.high)) < LARGEST


def is_code(column: ColumnProfile) -> bool:
    """Digits of one length that are no quantity: zeros in front, or as many digits as postcodes have."""
    if not column.is_all(Shape.DIGITS) or column.min_length != column.max_length or column.is_all(Shape.YEAR):
        return False
    return column.leading_zeros or (4 <= column.max_length <= 10 and column.n_distinct > FEW)


def precision_of(column: ColumnProfile) -> tuple[float, bool]:
    """A power of ten read off the decimals, and whether the grid of the noise made it coarser."""
    own = 10.0**-column.decimals if column.decimals else 1.0
    finest = max((column.high - column.low) / STEPS, max(abs(column.low), abs(column.high)) / LARGEST * 8)
    if own * 10 >= finest:
        return _tidy(own), False
    return _tidy(10.0 ** math.floor(math.log10(finest))), True


def nice(number: float) -> float:
    """1, 2 or 5 times a power of ten, the first that is not smaller."""
    power = 10.0 ** math.floor(math.log10(number))
    return _tidy(next(step * power for step in (1, 2, 5, 10) if step * power >= number * (1 - 1e-9)))


def _tidy(number: float) -> float:
    """Without the dust of binary fractions, and whole where it is whole."""
    tidy = float(f"{number:.6g}")
    return int(tidy) if tidy.is_integer() else tidy


def _values(column: ColumnProfile) -> str:
    what = {Kind.WHOLE: "whole numbers", Kind.DECIMAL: "numbers"}.get(column.kind, "values")
    return f"{column.n_distinct:,} different {what}"


def _notes(column: ColumnProfile) -> tuple[str, ...]:
    """What the data could be improved by."""
    notes = []
    if column.kind is Kind.TEXT and 0 < column.n_numbers < column.n_filled and column.n_numbers >= column.n_filled / 2:
        notes.append(
            f"{column.n_numbers:,} records hold numbers and {column.n_filled - column.n_numbers:,} hold text. If the text stands for "
            "missing, write empty cells and propose again."
        )
    if column.is_all(Shape.DECIMAL_COMMA):
        notes.append("These are numbers with a decimal comma; write a decimal point and propose again.")
    hinted = [shape.value for shape in HINTS if 0 < column.shapes.get(shape, 0.0) < 0.5]
    if hinted:
        notes.append(f"CAREFUL: some of its values look like {' or '.join(hinted)}.")
    return tuple(notes)


def _first_word(value: str) -> str:
    return value.replace("-", " ").replace("_", " ").replace("/", " ").partition(" ")[0]


def _free(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "…"
    return name

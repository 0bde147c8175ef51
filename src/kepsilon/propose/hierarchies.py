# SPDX-License-Identifier: Apache-2.0
"""Proposes a hierarchy or a precision that suits the values of a column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from kepsilon.engines.arrow.profile import FEW, ColumnProfile, Kind
from kepsilon.engines.arrow.shapes import DATES, Shape
from kepsilon.propose.column_names import meanings_of, words_of
from kepsilon.propose.meanings import Meaning

SHARED_BY_MANY = 20
"""A value is copied into the proposed policy only if at least so many records hold it."""
LARGEST = 2.0**53
"""Beyond this a double does not tell whole numbers apart, and no hierarchy places them."""
NARROWEST = 1e-9
"""A column whose numbers all lie closer together than this gets no numeric treatment: nothing is measured so finely."""
MOST_STEPS = 10_000_000
"""Most steps of the precision in a range: more than 2^24 would show the steps that noise is drawn in."""
ENOUGH_STEPS = 100_000
"""Most steps for numbers of more than 6 decimals: computed numbers have more decimals than any measurement."""
SHORTEST_CODE, LONGEST_CODE = 5, 6
"""Digits that codes without zeros in front have, unless their name says more: four are as likely an amount of money, and
seven or more are a number of a register."""
MOST_KINDS = 1_000
"""Numbers whose name says that they are kinds are taken for such up to this many, as codes of occupations are."""
LEAST_SHARE = 20
"""A column numbers persons or records only if it has a different value for one in so many records, or very many values."""
FEW_KINDS = 12
"""Numbers that follow each other are taken for kinds up to this many, where their name does not tell."""
SKEWED = 4
"""A column is skewed if its range is more than so many times that of nine tenths of its records."""
DATE_FORMATS = {Shape.DATE_DOTS: "%d.%m.%Y", Shape.DATE_DAY_FIRST: "%d/%m/%Y", Shape.DATE_MONTH_FIRST: "%m/%d/%Y"}
TIMES = {Shape.MINUTES: " %H:%M", Shape.SECONDS: " %H:%M:%S"}

PER_CENT = frozenset({"percent", "percentage", "pct"})
"""Words of a column's name which say that its numbers end at 100."""

Hierarchy = dict[str, object]


def fitting_hierarchy(column: ColumnProfile) -> Hierarchy:
    """A mask for codes, intervals for numbers with several values, and else one label for all, also for numbers that are kinds."""
    if is_code(column):
        return mask_of(column)
    if is_numeric(column) and column.n_distinct > 3 and not is_nominal(column):
        return intervals_of(column)
    return {"type": "suppress"}


def intervals_of(column: ColumnProfile) -> Hierarchy:
    """Intervals of three round widths, about an eighth, a quarter and a half of the range of most numbers.

    Of a skewed column the whole range would make intervals so wide that nearly all records share the first. Widths are 2, 4
    and 8, or 5, 10 and 20, or 10, 20 and 40 times a power of ten, which read better than 4, 8 and 16 do.
    """
    unit = nice(bulk_range(column) / 16)
    unit = max(1, unit) if column.kind is Kind.WHOLE else unit
    factors = (2.5, 5, 10) if f"{unit:e}".startswith("2") else (2, 4, 8)
    return {"type": "intervals", "widths": [tidy(unit * factor) for factor in factors]}


def mask_of(column: ColumnProfile) -> Hierarchy:
    """A mask, with the length that a policy has to state where codes have unequal lengths."""
    if column.min_length == column.padded_length and not column.n_blank:
        return {"type": "mask"}
    return {"type": "mask", "length": max(column.padded_length, 1)}


def public_step(column: ColumnProfile, hierarchy: Hierarchy | None) -> float | None:
    """A round step, at least the smallest width, whose cells hold two numbers on average; None where there are no intervals.

    It is 1, 2 or 5 times a power of ten, so that the bounds of labels, which are its multiples, read well.
    """
    widths = None if hierarchy is None else hierarchy.get("widths")
    if not isinstance(widths, list):
        return None
    spacing = bulk_range(column) / max(1, column.n_distinct - 1)
    step = nice(max(2 * spacing, widths[0]))
    return step if step < LARGEST else nice(widths[0])


def dates_hierarchy(column: ColumnProfile) -> Hierarchy:
    """Months, quarters and years, with the format in which the column writes its dates."""
    shape = next(shape for shape in DATES if column.is_all(shape))
    hierarchy: Hierarchy = {"type": "dates", "units": ["month", "quarter", "year"]}
    time = next((written for own, written in TIMES.items() if column.is_all(own)), "")
    return {**hierarchy, "format": DATE_FORMATS[shape] + time} if shape in DATE_FORMATS else hierarchy


def groups_of(column: ColumnProfile) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Groups of the values that many records share: by a common first word, or else two halves in the order of the values.

    Each group is a label and its values; there are none if fewer than four values are shared by many.
    """
    shared = [
        value
        for value, n_records in column.values
        if n_records >= SHARED_BY_MANY and value.strip() not in column.missing
    ]
    if column.kind is not Kind.TEXT or len(shared) < 4:
        return ()
    by_word: dict[str, list[str]] = {}
    for value in shared:
        by_word.setdefault(_first_word(value), []).append(value)
    groups = {word: tuple(values) for word, values in by_word.items() if word and len(values) > 1}
    if 3 * sum(map(len, groups.values())) < len(shared):
        groups = {}
    rest = tuple(value for value in shared if not any(value in values for values in groups.values()))
    if not groups:
        half = (len(rest) + 1) // 2
        groups = {_free("group 1", shared): rest[:half], _free("group 2", shared): rest[half:]}
    elif rest:
        groups[_free("Others", [*shared, *groups])] = rest
    return tuple(groups.items())


def is_numeric(column: ColumnProfile) -> bool:
    """Whether the column holds different numbers that hierarchies and noise can handle."""
    if column.kind not in (Kind.WHOLE, Kind.DECIMAL) or column.high - column.low < NARROWEST:
        return False
    return max(abs(column.low), abs(column.high)) < LARGEST


def is_code(column: ColumnProfile) -> bool:
    """Whether the column holds codes: digits of one length, with leading zeros or as many digits as postcodes have."""
    if not column.is_all(Shape.DIGITS) or column.min_length != column.max_length or column.is_all(Shape.YEAR):
        return False
    if column.leading_zeros:
        return True
    return (
        SHORTEST_CODE <= column.max_length <= LONGEST_CODE
        and column.n_distinct > FEW
        and not meanings_of(column.name) & {Meaning.QUANTITY, Meaning.ORDERED}
    )


def is_nominal(column: ColumnProfile) -> bool:
    """Whether whole numbers are names of kinds: intervals of them, noise and averages would mean nothing.

    Their name says so, or they are few and follow each other from 0 or 1 or have gaps as no measurement has, or some mean
    missing as 77 and 99 do; unless the name speaks of a count, a rank or a quantity.
    """
    if column.kind is not Kind.WHOLE or column.low < 0 or column.is_all(Shape.YEAR):
        return False
    meanings = meanings_of(column.name)
    if Meaning.NOMINAL in meanings and column.n_distinct <= MOST_KINDS:
        return not meanings & {Meaning.AGE, Meaning.YEAR, Meaning.QUANTITY}
    if meanings & {Meaning.ORDERED, Meaning.QUANTITY, Meaning.AGE, Meaning.YEAR} or column.n_distinct > FEW:
        return False
    follow_each_other = column.low in (0, 1) and column.high - column.low < 2 * column.n_distinct
    is_few = column.n_distinct <= FEW_KINDS
    return bool(column.number_codes) or (is_few and (follow_each_other or _has_odd_gaps(column)))


def _has_odd_gaps(column: ColumnProfile) -> bool:
    """Whether whole numbers neither stand at equal distances nor are all multiples of 5, as 1, 2, 3, 6, 11 and 18."""
    numbers = sorted({int(float(text)) for text, _ in column.values if text.strip() and text not in column.missing})
    distances = {after - before for before, after in pairwise(numbers)}
    return len(distances) > 1 and math.gcd(*numbers) % 5 != 0


def has_very_many(column: ColumnProfile) -> bool:
    """Whether there are so many values that they may tell persons or records apart."""
    return column.n_distinct * LEAST_SHARE >= column.n_filled or column.n_distinct > MOST_KINDS


def is_skewed(column: ColumnProfile) -> bool:
    """Whether nine tenths of the records lie in a small part of the range of a column of numbers."""
    return is_numeric(column) and column.high - column.low > SKEWED * bulk_range(column)


def bulk_range(column: ColumnProfile) -> float:
    """How far apart the numbers of most records are; all of them, where most agree."""
    low, high = column.bulk
    return high - low if high - low >= NARROWEST else column.high - column.low


def precision_of(column: ColumnProfile) -> tuple[float, bool]:
    """A power of ten that suits the column's decimals, and whether it is coarser than they are."""
    own = 10.0**-column.decimals
    n_steps = MOST_STEPS if column.decimals <= 6 else ENOUGH_STEPS
    finest = max((column.high - column.low) / n_steps, max(abs(column.low), abs(column.high)) / LARGEST * 8)
    if own >= finest:
        return tidy(own), False
    return tidy(10.0 ** math.ceil(math.log10(finest))), True


def coarse_step(column: ColumnProfile, precision: float) -> float:
    """A round step that ranges are widened to: 1, 2 or 5 times a power of ten, about a fifth of the range of most numbers."""
    return max(nice(bulk_range(column) / 5), precision)


def round_domain(column: ColumnProfile, precision: float) -> tuple[float, float] | None:
    """From 0 to a round number of at least twice the largest; None where some number is negative, or too large for it.

    A column of per cent ends at 100.
    """
    if column.low < 0 or column.high <= 0:
        return None
    is_percent = PER_CENT & set(words_of(column.name)) and column.high <= 100
    high = max(100 if is_percent else nice(2 * column.high), precision)
    return (0, high) if high / precision < LARGEST / 4 else None


def nice(number: float) -> float:
    """The smallest number not below `number` that is 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(number))
    return tidy(next(step * power for step in (1, 2, 5, 10) if step * power >= number * (1 - 1e-9)))


def tidy(number: float) -> float:
    """The number rounded to six digits, as an int if it is whole."""
    rounded = float(f"{number:.6g}")
    return int(rounded) if rounded.is_integer() else rounded


def _first_word(value: str) -> str:
    return value.replace("-", " ").replace("_", " ").replace("/", " ").partition(" ")[0]


def _free(name: str, taken: Sequence[str]) -> str:
    """The name, with dots added until no value or label has it."""
    while name in taken:
        name += "…"
    return name

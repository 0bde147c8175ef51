# SPDX-License-Identifier: Apache-2.0
"""Profiles of the columns of a file or frame, from which roles are proposed: counts and shapes, and few values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kepsilon.engines.arrow.coding import numbers_among
from kepsilon.engines.arrow.column_facts import BLANK_INSIDE, HOLDS_SOMETHING
from kepsilon.engines.arrow.missing_codes import SIGNS, WORDS_BESIDE_NUMBERS, are_among, codes_among
from kepsilon.engines.arrow.shapes import DATES, MONTHS, PATTERNS, Shape
from kepsilon.engines.arrow.whole_columns import taken_rows, whole_columns
from kepsilon.engines.protocol import Repetition
from kepsilon.errors import DataError, Problem
from kepsilon.sources.kinds import open_source
from kepsilon.sources.protocol import Source
from kepsilon.table.arrays import IntArray
from kepsilon.table.whole_records import WholeColumn

FEW = 30
"""The values of a column are listed, with counts, where there are at most this many distinct ones."""
SAMPLE = 100_000
"""Shapes are tried on a sample of about this many distinct values, and on all only where the whole sample has one."""


class Kind(Enum):
    """What the values of a column are."""

    TEXT = "text"
    WHOLE = "whole numbers"
    DECIMAL = "decimal numbers"
    DATE = "dates"
    OTHER = "lists, structures or bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnProfile:
    """Counts and shapes of one column; its values only where they are few, for hierarchies that list them."""

    name: str
    n_records: int
    n_null: int = 0
    n_blank: int = 0
    """Records that hold empty text or white space only, which is not null."""
    n_distinct: int = 0
    """Distinct values. Here and below, null and blank are not counted as values."""
    n_repeated: int = 0
    """Distinct values that several records hold."""
    n_unique: int = 0
    """Values that only one record holds."""
    bits: float = 0.0
    """Entropy of the values over the records that have one: how much detail the column holds about a record."""
    kind: Kind = Kind.TEXT
    n_numbers: int = 0
    """Records that hold a number, also where others hold text."""
    min_length: int = 0
    mean_length: float = 0.0
    max_length: int = 0
    padded_length: int = 0
    """Length of the longest text with the blanks around it, which the other lengths leave out."""
    leading_zeros: bool = False
    decimals: int = 0
    """Largest number of decimals, zeros at the end not counted."""
    low: float = 0.0
    high: float = 0.0
    bulk: tuple[float, float] = (0.0, 0.0)
    """Between these numbers lie nine tenths of the records; of a skewed column, far less than nine tenths of its range."""
    shapes: Mapping[Shape, float] = field(default_factory=lambda: MappingProxyType({}))
    """By shape, the share of the distinct values that have it; shapes that no value has are left out."""
    n_months: int = 0
    """Distinct months of a column of dates."""
    values: tuple[tuple[str, int], ...] = ()
    """Up to `FEW` distinct values with how many records hold each, blanks included; empty where there are more."""
    missing: tuple[str, ...] = ()
    """Texts and numbers (`missing_codes.py`) that stand for a missing value among numbers; they are not counted as values."""
    n_coded: int = 0
    """Records that hold one of these texts."""
    number_codes: tuple[str, ...] = ()
    """Those of them that are numbers, such as 77 and 99."""
    has_commas: bool = False
    """Whether these are numbers that are text with a decimal comma."""
    has_points: bool = False
    """Whether these are numbers that are text, some of them with a decimal point."""
    repetition: Repetition = field(default_factory=lambda: Repetition(n_distinct=0, n_records=0))
    """How far its values repeat, as a release would find where the column is an identifier."""

    @property
    def n_lacking(self) -> int:
        """Records without a value."""
        return self.n_null + self.n_blank + self.n_coded

    @property
    def n_filled(self) -> int:
        return self.n_records - self.n_lacking

    def is_all(self, shape: Shape) -> bool:
        """Whether all distinct values have a shape."""
        return self.shapes.get(shape, 0.0) == 1.0


def profile_columns(source: object) -> tuple[str, tuple[Problem, ...], list[ColumnProfile]]:
    """The name of a file or frame, notes on how it was read, and the profile of each of its columns, in order."""
    opened = open_source(source)
    for name, times in Counter(opened.column_names).items():
        if times > 1:
            raise DataError(
                Problem(
                    where=opened.name,
                    what=f'{times} columns are named "{name}".',
                    fix="Give every column a name of its own.",
                )
            )
    profiles = [profile_column(name, column) for name, column in _columns(opened)]
    if any(own.has_points for own in profiles) and any(own.has_commas for own in profiles):
        # A policy has one decimal sign, and points are its default; so commas are left to the curator.
        profiles = [profile_column(name, column, commas=False) for name, column in _columns(opened)]
    if not profiles or profiles[0].n_records == 0:
        raise DataError(Problem(where=opened.name, what="has a header, but no records."))
    return opened.name, opened.notes, profiles


def profile_column(name: str, column: pa.ChunkedArray, *, commas: bool = True) -> ColumnProfile:
    """The profile of one column, found from its distinct values and their counts.

    With `commas`, texts that are numbers with a decimal comma are taken for numbers.
    """
    try:
        counted = _value_counts(column)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return ColumnProfile(name=name, n_records=len(column), n_null=column.null_count, kind=Kind.OTHER)
    counts = counted.column("counts")
    texts = counted.column("texts")
    is_null = pc.is_null(texts)
    is_blank = pc.fill_null(pc.equal(pc.utf8_trim_whitespace(texts), ""), fill_value=False)
    filled = counted.filter(pc.invert(pc.or_(is_null, is_blank)))
    profile = ColumnProfile(name=name, n_records=len(column), repetition=_repetition(counted, column.type))
    if _is_text(column.type):
        filled, profile = _as_numbers(filled, profile, commas=commas)
        if not profile.missing:
            filled, profile = _without_signs(filled, profile)
    filled, profile = _without_codes(filled, profile)
    profile = replace(
        profile,
        n_null=_total(counts.filter(is_null)),
        n_blank=_total(counts.filter(is_blank)),
        n_distinct=len(filled),
        n_repeated=_total(pc.greater(filled.column("counts"), 1)),
        n_unique=_total(pc.equal(filled.column("counts"), 1)),
        bits=_entropy(filled.column("counts")),
    )
    if not len(filled):
        return profile
    listed = counted.filter(pc.invert(is_null))
    if len(listed) <= FEW:
        pairs = zip(listed.column("texts").to_pylist(), listed.column("counts").to_pylist(), strict=True)
        profile = replace(profile, values=tuple(sorted(pairs)))
    return _with_values(profile, filled.column("texts"), filled.column("counts"))


def profile_numbers(name: str, texts: Sequence[str], counts: IntArray) -> ColumnProfile:
    """The profile of distinct numbers, written with a decimal point, and of how many records hold each."""
    profile = ColumnProfile(
        name=name,
        n_records=int(counts.sum()),
        n_distinct=len(texts),
        n_repeated=int(np.count_nonzero(counts > 1)),
        n_unique=int(np.count_nonzero(counts == 1)),
    )
    values = pa.chunked_array([pa.array(texts, pa.large_string())])
    return _with_values(profile, values, pa.chunked_array([pa.array(counts)])) if len(texts) else profile


def _repetition(counted: pa.Table, kind: pa.DataType) -> Repetition:
    """How far values repeat, from distinct values and their counts; all but null, blanks and NaN are values."""
    present = counted.filter(pc.is_valid(counted.column("texts")))
    if not _is_text(kind):
        if pa.types.is_floating(kind.value_type if pa.types.is_dictionary(kind) else kind):
            present = present.filter(pc.not_equal(present.column("texts"), "nan"))  # names nobody
        return Repetition(n_distinct=len(present), n_records=_total(present.column("counts")))
    present = present.filter(pc.match_substring_regex(present.column("texts"), HOLDS_SOMETHING))
    has_blank = pc.match_substring_regex(present.column("texts"), BLANK_INSIDE)
    return Repetition(
        n_distinct=pc.count_distinct(pc.utf8_trim_whitespace(present.column("texts"))).as_py(),
        n_records=_total(present.column("counts")),
        n_with_blanks=_total(present.column("counts").filter(has_blank)),
    )


def _as_numbers(counted: pa.Table, profile: ColumnProfile, *, commas: bool) -> tuple[pa.Table, ColumnProfile]:
    """Distinct texts that are numbers but for some that mean missing: the numbers, with a point, and what was found.

    Where other texts are among them, nothing is changed. A comma before exactly three digits could stand between
    thousands, so at least one number must have another comma.
    """
    trimmed = pc.utf8_trim_whitespace(counted.column("texts"))
    is_code = are_among(trimmed, SIGNS | WORDS_BESIDE_NUMBERS)
    numbers, texts = counted.filter(pc.invert(is_code)), trimmed.filter(pc.invert(is_code))
    if not len(texts):
        return counted, profile
    if not pc.all(numbers_among(texts)).as_py():
        pointed = pc.replace_substring(texts, ",", ".")
        has_point = pc.any(pc.match_substring(texts, ".")).as_py()
        is_decimal = pc.any(pc.match_substring_regex(texts, ",([0-9]{0,2}|[0-9]{4,})([eE].*)?$")).as_py()
        if not (commas and is_decimal) or has_point or not pc.all(numbers_among(pointed)).as_py():
            return counted, profile
        texts, profile = pointed, replace(profile, has_commas=True)
    codes = trimmed.filter(is_code)
    profile = replace(
        profile,
        missing=tuple(sorted(set(codes.to_pylist()))),
        n_coded=_total(counted.column("counts").filter(is_code)),
        has_points=not profile.has_commas and bool(pc.any(pc.match_substring(texts, ".")).as_py()),
    )
    return pa.table({"texts": texts, "counts": numbers.column("counts")}), profile


def _without_signs(counted: pa.Table, profile: ColumnProfile) -> tuple[pa.Table, ColumnProfile]:
    """Distinct texts but for those that stand for a missing value whatever the others are, and what was found."""
    is_sign = are_among(counted.column("texts"), SIGNS)
    found, others = counted.filter(is_sign), counted.filter(pc.invert(is_sign))
    if not len(found) or not len(others):
        return counted, profile
    signs = tuple(sorted(set(pc.utf8_trim_whitespace(found.column("texts")).to_pylist())))
    return others, replace(profile, missing=signs, n_coded=_total(found.column("counts")))


def _without_codes(counted: pa.Table, profile: ColumnProfile) -> tuple[pa.Table, ColumnProfile]:
    """Distinct numbers but for those that mean missing, and what was found; nothing is changed where some are no numbers."""
    texts = counted.column("texts")
    if not len(texts) or not pc.all(numbers_among(texts)).as_py():
        return counted, profile
    is_code = pa.array(codes_among(pc.cast(texts, pa.float64()).to_numpy(), counted.column("counts").to_numpy()))
    if not pc.any(is_code).as_py():
        return counted, profile
    found = counted.filter(is_code)
    codes = sorted(set(pc.utf8_trim_whitespace(found.column("texts")).to_pylist()), key=float)
    profile = replace(
        profile,
        missing=(*profile.missing, *codes),
        n_coded=profile.n_coded + _total(found.column("counts")),
        number_codes=tuple(codes),
    )
    return counted.filter(pc.invert(is_code)), profile


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def sampled_columns(source: object, *, most: int) -> tuple[dict[str, WholeColumn], IntArray]:
    """At most `most` records of a file or frame, evenly spaced: all columns by name, and the row of each record."""
    found: dict[str, WholeColumn] = {}
    rows: IntArray = np.zeros(0, dtype=np.int64)
    for name, column in _columns(open_source(source)):
        rows = np.unique(np.linspace(0, len(column) - 1, min(most, len(column))).astype(np.int64))
        found |= whole_columns(taken_rows(pa.table({name: column}), rows))
    return found, rows


def _columns(opened: Source) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """The columns with their names, read one at a time; a kind that is read whole, such as CSV, is read once."""
    whole = None if opened.by_column else opened.arrow_table(opened.column_names)
    for name in opened.column_names:
        table = opened.arrow_table([name]) if whole is None else whole
        yield name, table.column(name)


def _value_counts(column: pa.ChunkedArray) -> pa.Table:
    """Distinct values as text, with how many records hold each."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())  # value_counts takes a null string view for an empty text
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        # Ten million different numbers are sorted in a second and hashed in five.
        values, counts = np.unique(column.drop_null().to_numpy(), return_counts=True)
        distinct, nulls = pa.array(values), pa.nulls(int(column.null_count > 0), pa.large_string())
        return pa.table(
            {
                "texts": pa.chunked_array([distinct.cast(pa.large_string()), nulls]),
                "counts": pa.chunked_array([pa.array(counts), pa.array([column.null_count] * len(nulls), pa.int64())]),
            }
        )
    counted = pc.value_counts(column)
    return pa.table({"texts": counted.field(0).cast(pa.large_string()), "counts": counted.field(1)})


def _with_values(profile: ColumnProfile, texts: pa.ChunkedArray, counts: pa.ChunkedArray) -> ColumnProfile:
    """The profile with lengths, shapes and numbers of the distinct values added."""
    trimmed = pc.utf8_trim_whitespace(texts)
    sample = trimmed.take(pa.array(np.arange(0, len(trimmed), max(1, len(trimmed) // SAMPLE))))
    lengths = pc.utf8_length(trimmed)
    extremes = pc.min_max(lengths)
    shares = {shape: _share(pattern, sample, trimmed) for shape, pattern in PATTERNS.items()}
    shapes = {shape: share for shape, share in shares.items() if share}
    is_number = numbers_among(trimmed)
    profile = replace(
        profile,
        n_numbers=_total(counts.filter(is_number)),
        min_length=extremes["min"].as_py(),
        mean_length=pc.mean(lengths).as_py(),
        max_length=extremes["max"].as_py(),
        padded_length=pc.max(pc.utf8_length(texts)).as_py(),
        leading_zeros=_has_leading_zeros(trimmed) if Shape.DIGITS in shapes else False,
        shapes=MappingProxyType(shapes),
    )
    shape = next((shape for shape in DATES if profile.is_all(shape)), None)
    if shape is not None and (shape is Shape.DATE_ISO or _times_agree(profile)):
        groups = r"\1\2" if shape is Shape.DATE_MONTH_FIRST else r"\1"
        months = pc.replace_substring_regex(trimmed, MONTHS[shape], groups)
        return replace(profile, kind=Kind.DATE, n_months=pc.count_distinct(months).as_py())
    return _with_numbers(profile, trimmed, counts) if pc.all(is_number).as_py() else profile


def _times_agree(profile: ColumnProfile) -> bool:
    """Whether dates have no time of day, or all have one that is written alike, so that one format reads them."""
    shares = [profile.shapes.get(shape, 0.0) for shape in (Shape.MINUTES, Shape.SECONDS)]
    return sum(shares) == 0 or 1 in shares


def _entropy(counts: pa.ChunkedArray) -> float:
    """Entropy in bits of values that so many records hold."""
    shares = counts.to_numpy() / max(1, _total(counts))
    return float(-(shares * np.log2(shares)).sum()) if len(shares) else 0.0


def _share(pattern: str, sample: pa.ChunkedArray, texts: pa.ChunkedArray) -> float:
    """Share of texts that match a pattern, estimated from the sample; 1 only if all texts match."""
    share: float = pc.mean(pc.match_substring_regex(sample, pattern)).as_py()
    return share if share < 1 else pc.mean(pc.match_substring_regex(texts, pattern)).as_py()


def _has_leading_zeros(texts: pa.ChunkedArray) -> bool:
    return bool(pc.any(pc.match_substring_regex(texts, "^0[0-9]+$")).as_py())


def _with_numbers(profile: ColumnProfile, texts: pa.ChunkedArray, counts: pa.ChunkedArray) -> ColumnProfile:
    """The profile of a column of numbers, with the smallest, the largest, the bulk and the decimals added."""
    numbers = pc.cast(texts, pa.float64()).to_numpy()
    order = np.argsort(numbers)
    below = np.cumsum(counts.to_numpy()[order])
    bulk = numbers[order[np.searchsorted(below, [0.05 * below[-1], 0.95 * below[-1]])]]
    has_exponent = pc.or_(pc.match_substring(texts, "e"), pc.match_substring(texts, "E"))
    plain = texts.filter(pc.and_(pc.invert(has_exponent), pc.match_substring(texts, ".")))
    shortened = pc.utf8_rtrim(plain, "0")
    places = pc.subtract(pc.subtract(pc.utf8_length(shortened), pc.find_substring(shortened, ".")), 1)
    decimals = max(0, pc.max(places).as_py() or 0)
    for text in texts.filter(has_exponent).slice(0, SAMPLE).to_pylist():
        exponent = Decimal(text).normalize().as_tuple().exponent
        decimals = max(decimals, -exponent if isinstance(exponent, int) else 0)
    return replace(
        profile,
        kind=Kind.DECIMAL if decimals else Kind.WHOLE,
        decimals=decimals,
        low=float(numbers[order[0]]),
        high=float(numbers[order[-1]]),
        bulk=(float(bulk[0]), float(bulk[1])),
    )


def _total(numbers: pa.ChunkedArray) -> int:
    return int(pc.sum(numbers).as_py() or 0)

# SPDX-License-Identifier: Apache-2.0
"""Arrow columns as the kernels need them: k-quasis as codes of their values, ε-quasis as doubles."""

from __future__ import annotations

import decimal
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kepsilon.engines.arrow.moving import stored
from kepsilon.engines.arrow.numpy_arrays import from_numpy, to_doubles, to_positions
from kepsilon.errors import DataError, Problem
from kepsilon.policy.numbers import LONGEST, NUMBER, parse_double
from kepsilon.policy.reading import PLAIN, Reading
from kepsilon.sources.columns import in_one_piece
from kepsilon.sources.dictionaries import with_one_dictionary
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.codes import Domain, Label, code_domain
from kepsilon.table.keys import count_codes

_SHORT = 1 << 16
"""Entries of the dictionaries of all chunks of a column together, up to which each chunk is coded by itself."""


def encode(column: pa.ChunkedArray, name: str, source: str) -> tuple[tuple[Label, ...], IntArray]:
    """Distinct values as text (null last, as None), and the position of every record's value among them."""
    pieces = _pieces(column)
    positions: dict[Label, int] = {}
    codes: IntArray = np.empty(len(column), dtype=np.int32)
    first = 0
    for piece in pieces:
        array, listed = distinct_texts(piece, name, source)
        try:
            texts: list[Label] = listed.to_pylist()
        except UnicodeDecodeError:
            raise not_text(name, source) from None
        if pa.types.is_floating(array.dictionary.type):
            texts = ["0" if text == "-0" else text for text in texts]  # equal, and grouped as one by every engine
        # A dictionary may list a value twice, list null, or list values that no record holds.
        remap = np.array([positions.setdefault(text, len(positions)) for text in texts], dtype=np.int32)
        null = positions.setdefault(None, len(positions)) if array.indices.null_count else 0
        codes[first : first + len(array)] = np.append(remap, np.int32(null))[
            to_positions(array.indices, null=len(texts))
        ]
        first += len(array)
    if None in positions:
        positions, codes = _null_last(positions, codes)
    return only_occurring(tuple(positions), codes)


def _pieces(column: pa.ChunkedArray) -> list[pa.ChunkedArray]:
    """The column in pieces that are coded one by one: its chunks, where their dictionaries are short.

    That saves to join them. Long dictionaries are joined by Arrow, which is faster at that.
    """
    is_short = pa.types.is_dictionary(column.type) and sum(len(own.dictionary) for own in column.chunks) <= _SHORT
    return [pa.chunked_array([own]) for own in column.chunks] if is_short else [column]


def _null_last(positions: Mapping[Label, int], codes: IntArray) -> tuple[dict[Label, int], IntArray]:
    """The values in their order with null behind them, and the codes of that order."""
    texts: list[Label] = [text for text in positions if text is not None]
    found = {text: i for i, text in enumerate([*texts, None])}
    return found, np.array([found[text] for text in positions], dtype=np.int32)[codes]


def distinct_texts(column: pa.ChunkedArray, name: str, source: str) -> tuple[pa.DictionaryArray, pa.Array]:
    """The column as a dictionary, and the entries of the dictionary as text; DataError where they are no single values."""
    if pa.types.is_nested(column.type):
        raise DataError(
            Problem(where=f'{source}: column "{name}"', what="holds lists or structures, not single values.")
        )
    column = stored(column)
    try:
        is_coded = pa.types.is_dictionary(column.type)
        array = in_one_piece(with_one_dictionary(column) if is_coded else column.dictionary_encode())
        return array, array.dictionary.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise not_text(name, source) from None


def not_text(name: str, source: str) -> DataError:
    """The error of a column whose values are not all text or numbers."""
    return DataError(Problem(where=f'{source}: column "{name}"', what="holds values that are not text or numbers."))


def only_occurring(values: tuple[Label, ...], codes: IntArray) -> tuple[tuple[Label, ...], IntArray]:
    """The values that some record holds, and the position of every record's value among them."""
    occurs = count_codes(codes, n_values=len(values)) > 0
    n_occurring = int(np.count_nonzero(occurs))
    if occurs[:n_occurring].all():  # those that no record holds, such as null, come last
        return values[:n_occurring], codes
    renumbered = np.cumsum(occurs, dtype=np.int32) - 1
    return tuple(value for value, found in zip(values, occurs, strict=True) if found), renumbered[codes]


def holds_numbers(kind: pa.DataType) -> bool:
    """Whether a column of this type, or of categories of it, holds numbers and not text."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def as_doubles(column: pa.ChunkedArray, name: str, source: str, reading: Reading = PLAIN) -> FloatArray:
    """A column as doubles, NaN where it is missing; DataError where some values are no numbers."""
    values, wrong = read_doubles(column, name, source, reading)
    wrong.refuse_any(name, source, reading)
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongNumbers:
    """How many records hold an ε-quasi that cannot be given noise; the parts of a column add up."""

    n_texts: int = 0
    """Records with text that is no number."""
    n_not_finite: int = 0
    """Records with NaN or an infinity."""

    def __add__(self, other: WrongNumbers) -> WrongNumbers:
        return WrongNumbers(n_texts=self.n_texts + other.n_texts, n_not_finite=self.n_not_finite + other.n_not_finite)

    def refuse_any(self, name: str, source: str, reading: Reading) -> None:
        """Raises DataError where there is such a record."""
        sign = 'with a decimal comma, because of decimal = ","' if reading.decimal == "," else "with a decimal point"
        where = f'{source}: column "{name}"'
        if self.n_texts:
            raise DataError(
                Problem(
                    where=where,
                    what=f"is an epsilon-quasi, but {self.n_texts:,} records hold text that is not a number.",
                    fix="They are not shown, because they come from records. To see them here: kepsilon check --show-values "
                    f"with this column\nTexts that mean missing are listed in missing_values. Numbers are read {sign}.",
                )
            )
        if self.n_not_finite:
            raise DataError(
                Problem(
                    where=where,
                    what=f"{self.n_not_finite:,} records hold NaN or an infinity, which no noise can hide.",
                    fix="Write missing values as null (an empty cell).",
                )
            )


def read_doubles(
    column: pa.ChunkedArray, name: str, source: str, reading: Reading = PLAIN
) -> tuple[FloatArray, WrongNumbers]:
    """A column as doubles, NaN where it is missing, and how many values are no numbers; if any is, ignore the doubles.

    A number means missing if its double is that of a number which the reading lists.
    """
    listed = reading.typed_numbers
    if pa.types.is_null(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        listed = reading.numbers
        column, n_texts = _parsed(column, reading)
        if n_texts:
            return np.zeros(0), WrongNumbers(n_texts=n_texts)
    if not holds_numbers(column.type):
        raise DataError(
            Problem(
                where=f'{source}: column "{name}"',
                what=f"is an epsilon-quasi, but holds {column.type}, not numbers.",
                fix="Give it another role.",
            )
        )
    # A null becomes NaN here, so if there are more NaN than nulls, some were NaN in the data.
    values: FloatArray = to_doubles(column)
    n_wrong = len(values) - int(np.count_nonzero(np.isfinite(values))) - column.null_count
    if reading.lists_nan:
        n_wrong = int(np.count_nonzero(np.isinf(values)))
    if listed:
        values = np.where(np.isin(values, _doubles(listed, column.type)), np.nan, values)
    return values, WrongNumbers(n_not_finite=n_wrong)


def _doubles(numbers: Collection[Fraction], kind: pa.DataType) -> FloatArray:
    """The doubles that numbers become in a column of this type.

    A float of 32 bits that was 99.9 is another double than 99.9, and Arrow does not round decimals to the nearest double.
    """
    if pa.types.is_decimal(kind):
        units = [number * 10**kind.scale for number in numbers]
        held = [int(own) for own in units if own.denominator == 1 and len(str(abs(own.numerator))) <= kind.precision]
        with decimal.localcontext(prec=100):
            exact = [decimal.Decimal(own).scaleb(-kind.scale) for own in held]
        return to_doubles(pa.chunked_array([pa.array(exact, kind)]))
    doubles: FloatArray = np.array([float(number) for number in numbers])
    if pa.types.is_floating(kind) and kind.bit_width < 64:
        with np.errstate(over="ignore"):
            doubles = doubles.astype(kind.to_pandas_dtype()).astype(np.float64)
    finite: FloatArray = doubles[np.isfinite(doubles)]
    return finite


def _parsed(column: pa.ChunkedArray, reading: Reading) -> tuple[pa.ChunkedArray, int]:
    """Text as numbers, null where it is blank or a text that means missing, and how many other texts are no numbers."""
    text, is_number = column, numbers_among(column)
    if reading.decimal != "." or not pc.all(is_number).as_py():  # blanks or texts around numbers, or instead of them
        text = pc.utf8_trim_whitespace(text)
        means_missing = pc.is_in(text, value_set=pa.array(["", *sorted(reading.texts)], text.type))
        text = pc.if_else(means_missing, pa.scalar(None, text.type), text)
        if reading.decimal == ",":
            has_point = pc.match_substring(text, ".")
            text = pc.replace_substring(text, ",", ".")
            is_number = pc.and_(numbers_among(text), pc.invert(has_point))
        else:
            is_number = numbers_among(text)
    n_texts = _count(pc.invert(is_number))
    return (text, n_texts) if n_texts else (text.cast(pa.float64()), 0)


def numbers_among(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Which texts, without blanks around them, are numbers by the rule of `policy.numbers`; null for null."""
    is_written_so = pc.and_(pc.match_substring_regex(texts, NUMBER), pc.less_equal(pc.binary_length(texts), LONGEST))
    candidates = pc.if_else(is_written_so, texts, pa.scalar("0", texts.type))
    return pc.and_(is_written_so, pc.is_finite(candidates.cast(pa.float64())))


def _count(claims: pa.ChunkedArray) -> int:
    """How many claims are true; null is not."""
    return pc.sum(claims).as_py() or 0


def is_number_or_missing(text: str, reading: Reading, *, is_typed: bool) -> bool:
    """Whether the text of an ε-quasi is read as a number, or as missing; `is_typed` if its column is one of numbers."""
    if is_typed:
        return parse_double(text) is not None or (text == "nan" and reading.lists_nan)
    return not text.strip() or reading.means_missing(text) or reading.with_point(text) is not None


def missingness(name: str, is_missing: BoolArray) -> tuple[Domain, IntArray]:
    """The domain and the codes of "is this ε-quasi missing?", as one more attribute without hierarchy.

    A missing value is visible in the release, so it has to be part of what makes a class.
    """
    texts = ["present", "missing"]
    occurring = [i for i, found in enumerate([not is_missing.all(), bool(is_missing.any())]) if found]
    domain, codes = code_domain(f"{name} is missing", [[texts[i] for i in occurring]], generalises=False)
    of_flag = np.zeros(2, dtype=np.int16)
    of_flag[occurring] = codes
    return domain, of_flag[is_missing.astype(np.int8)]


def rank_by_hash(keys: IntArray) -> tuple[IntArray, IntArray]:
    """A `Rank` that uses Arrow's hash table, which is faster than sorting all keys."""
    coded = from_numpy(keys).dictionary_encode()
    distinct = to_positions(coded.dictionary, null=0)
    order = np.argsort(distinct)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return distinct[order], place[to_positions(coded.indices, null=0)]

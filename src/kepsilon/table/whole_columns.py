# SPDX-License-Identifier: Apache-2.0
"""Makes a `WholeColumn` of numbers or of texts, and finds out whether the texts are numbers or dates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.whole_records import MISSING, WholeColumn
from kepsilon.table.written_numbers import (
    Parse,
    ways_to_read_around_numbers,
    ways_to_read_dates,
    ways_to_read_numbers,
)

_LEAST_SHARE = 0.95
"""Share of the records that has to hold numbers, or dates, for texts to be taken as such."""

_FEW_WORDS = 10
_MANY_NUMBERS = 16
_LEAST_BESIDE_WORDS = 0.2
"""Texts are also taken as numbers, or dates, where no more words than this stand beside more different ones than this, if
so large a share of the records holds them: “not done” and “>60” are what a laboratory writes instead of a number."""

_PLACEHOLDERS = frozenset({"na", "n/a", "nan", "null", "none", "nil", "-", "--", ".", "?", "missing", "unknown"})
"""Words for a missing value, in lower case; they do not count when the share is worked out."""


def number_column(
    values: NDArray[np.generic], *, is_missing: BoolArray, unit: float = 1.0, is_date: bool = False
) -> WholeColumn:
    """The column of some numbers; each stands for its value divided by `unit`.

    `values`, integers or floats, and `is_missing` have shape (n_records,). NaN is missing, and −0.0 is 0.0. Integers are
    told apart exactly, also where a double does not. An infinity has a code, but no number.
    """
    if np.issubdtype(values.dtype, np.floating):
        values = values.astype(np.float64, copy=False) + 0.0  # turns −0.0 into 0.0
        is_missing = is_missing | np.isnan(values)
    codes: IntArray = np.full(len(values), MISSING, dtype=np.int32)
    distinct, codes[~is_missing] = np.unique(values[~is_missing], return_inverse=True)
    return WholeColumn(codes=codes, numbers=finite(distinct.astype(np.float64) / unit), texts=(), is_date=is_date)


def numbers_of(parts: Sequence[WholeColumn]) -> FloatArray | None:
    """The number of each record of a column that was read in parts, NaN where it has none; None for a column of texts.

    Whether texts are numbers, and how these are written, is decided for all parts together.
    """
    if any(own.texts for own in parts):
        position: dict[str, int] = {}
        codes = []
        for own in parts:
            # The last entry is what the code MISSING finds.
            of_code = np.array([*(position.setdefault(text, len(position)) for text in own.texts), MISSING])
            codes.append(of_code[own.codes])
        parts = [text_column(list(position), np.concatenate(codes))]
    numbers = []
    for own in parts:
        if own.numbers is None and own.n_distinct:
            return None
        of_code = np.array([np.nan]) if own.numbers is None else np.append(own.numbers, np.nan)
        numbers.append(of_code[own.codes])
    return np.concatenate(numbers) if numbers else None


def finite(numbers: FloatArray) -> FloatArray:
    """Numbers with NaN for infinities, which no arithmetic can use."""
    return np.where(np.isfinite(numbers), numbers, np.nan)


def ranked_column(
    codes: IntArray, order: IntArray, *, numbers: FloatArray | None = None, texts: Sequence[str] = ()
) -> WholeColumn:
    """The column of values that were coded in any order, with codes that are ranks.

    `codes`, shape (n_records,), are positions among the distinct values, or MISSING. `order`, shape (n_left,), lists the
    positions in rising order of their values; values that it leaves out are missing. `numbers` and `texts` are of the
    values in `order`.
    """
    rank: IntArray = np.full(
        int(max(codes.max(initial=MISSING), order.max(initial=MISSING))) + 2, MISSING, dtype=np.int32
    )
    rank[order] = np.arange(len(order))  # the last entry, which the code MISSING finds, stays MISSING
    return WholeColumn(codes=rank[codes], numbers=numbers, texts=tuple(texts))


def text_column(texts: Sequence[str], codes: IntArray, *, are_read: bool = True) -> WholeColumn:
    """The column of some texts, as numbers or dates where nearly all, or many beside a few words, are written like that.

    `texts` are the distinct values in any order, and `codes`, shape (n_records,), the position of each record's value
    among them, or MISSING. Blank text is missing. Unless `are_read`, texts are never taken for numbers or dates.
    """
    counts = np.bincount(codes[codes != MISSING], minlength=len(texts))
    held = [i for i in np.flatnonzero(counts).tolist() if texts[i].strip()]
    order: IntArray = np.array(sorted(held, key=texts.__getitem__), dtype=np.int64)
    in_order = [texts[i] for i in order.tolist()]
    numbers, is_date = _read(in_order, counts[order]) if are_read else (None, False)
    if numbers is not None:
        by_number = np.argsort(numbers, kind="stable")  # NaN comes last, and equal numbers stay in the order of text
        order, numbers = order[by_number], numbers[by_number]
        in_order = [in_order[i] for i in by_number.tolist()]
    column = ranked_column(codes, order, numbers=numbers, texts=in_order)
    return WholeColumn(codes=column.codes, numbers=numbers, texts=column.texts, is_date=is_date)


def _read(texts: Sequence[str], counts: IntArray) -> tuple[FloatArray | None, bool]:
    """The number of each text, NaN for those that are none, and whether they are dates; None where most are neither."""
    words = np.array([len(text) < 10 and text.strip().lower() in _PLACEHOLDERS for text in texts], dtype=np.bool_)
    weights = np.where(words, 0, counts)
    most_wrong = (1 - _LEAST_SHARE) * weights.sum()
    if not weights.any():
        return None, False
    ways = (
        (ways_to_read_numbers(texts), False),
        (ways_to_read_dates(), True),
        (ways_to_read_around_numbers(texts), False),
    )
    for parsers, is_date in ways:
        best: tuple[FloatArray, int] | None = None
        for parse in parsers:
            found = _parsed(texts, weights, parse, most_wrong=most_wrong)
            if found is not None and (best is None or found[1] < best[1]):
                best = found
            if best is not None and best[1] == 0:
                break
        if best is not None:
            return best[0], is_date
    return None, False


def _parsed(
    texts: Sequence[str], weights: IntArray, parse: Parse, *, most_wrong: float
) -> tuple[FloatArray, int] | None:
    """What `parse` makes of each text, NaN for nothing, and the weight of those; None where most are nothing.

    That is, where their weight exceeds `most_wrong`, and they are not a few words beside many numbers.
    """
    numbers = np.full(len(texts), np.nan)
    wrong = n_words = 0
    for i, (text, weight) in enumerate(zip(texts, weights.tolist(), strict=True)):
        number = parse(text)
        if number is None:
            wrong += weight
            n_words += weight > 0
            if wrong > most_wrong and n_words > _FEW_WORDS:
                return None
        else:
            numbers[i] = number
    if wrong > most_wrong:
        are_many = len(np.unique(numbers[~np.isnan(numbers)])) > _MANY_NUMBERS
        if not are_many or weights.sum() - wrong < _LEAST_BESIDE_WORDS * weights.sum():
            return None
    return numbers, wrong

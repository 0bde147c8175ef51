# SPDX-License-Identifier: Apache-2.0
"""Kept columns that are risky for what they are: exact dates, free text, and numbers in the order of the input."""

from __future__ import annotations

import re

import numpy as np

from kepsilon.evaluate.kept_columns.coding import numbers_of
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.whole_records import MISSING, WholeColumn

FEWEST_WORDS = 5
FEWEST_CHARACTERS = 25
"""Texts with so many words and characters on average are sentences rather than categories."""
FEWEST_DIFFERENT = 0.05
"""Share of texts that differ; with fewer, long texts are names of categories."""
SERIAL_CORRELATION = 0.99
SERIAL_DISTINCT = 0.95
FEWEST_SERIAL = 10
"""Ten values in the order of the input by chance: once in two million columns."""

FEWEST_SORTED = 20
"""Different values, at least, of a column that the input counts as sorted by."""

_LAST_DIGITS = re.compile(r"(\d{1,15})\D*$")


def is_exact_date(column: WholeColumn) -> bool:
    """Whether the column holds several dates, and not only the first days of months or years."""
    if not column.is_date or len(np.unique(column.codes[column.codes != MISSING])) < 2:
        return False
    values = numbers_of(column)
    if values is None:
        return True
    days = np.floor(np.unique(values[~np.isnan(values)]))
    days = days[np.abs(days) < 1e8]  # NumPy's dates end somewhere; what is farther is no date of a person
    dates = days.astype(np.int64).astype("datetime64[D]")
    return bool(np.any(dates != dates.astype("datetime64[M]").astype("datetime64[D]")))


def is_free_text(column: WholeColumn) -> bool:
    """Whether the column holds long texts of many words, many of them different."""
    present = column.codes[column.codes != MISSING]
    if not column.texts or column.is_date or column.numbers is not None or not len(present):
        return False
    counts = np.bincount(present, minlength=len(column.texts))
    if np.count_nonzero(counts) < FEWEST_DIFFERENT * len(present):
        return False
    characters = np.array([len(text) for text in column.texts])
    if counts @ characters < FEWEST_CHARACTERS * len(present):
        return False
    words = np.array([len(text.split()) for text in column.texts])
    return bool(counts @ words >= FEWEST_WORDS * len(present))


def is_serial(column: WholeColumn, rows: IntArray | None) -> bool:
    """Whether nearly all values differ, and their order is that of the input or its reverse.

    Texts are also compared by the last number in them, because “P10” comes after “P9” and not before it.
    """
    if rows is None:
        return False
    present = np.flatnonzero(column.codes != MISSING)
    codes = column.codes[present]
    if len(codes) < FEWEST_SERIAL or np.count_nonzero(np.bincount(codes)) < SERIAL_DISTINCT * len(codes):
        return False
    if _rank_correlation(codes, rows[present]) >= SERIAL_CORRELATION:
        return True
    if column.numbers is not None or not column.texts:
        return False
    last = np.array([float(found[1]) if (found := _LAST_DIGITS.search(text)) else np.nan for text in column.texts])
    numbers = last[codes]
    if np.isnan(numbers).any() or len(np.unique(numbers)) < SERIAL_DISTINCT * len(numbers):
        return False
    return _rank_correlation(numbers, rows[present]) >= SERIAL_CORRELATION


def is_sorted(column: WholeColumn, rows: IntArray | None) -> bool:
    """Whether the input is sorted by the column, or nearly, though values repeat: about where a record stood is told."""
    if rows is None:
        return False
    present = np.flatnonzero(column.codes != MISSING)
    codes = column.codes[present]
    counts = np.bincount(codes) if len(codes) else np.zeros(0, dtype=np.int64)
    if np.count_nonzero(counts) < FEWEST_SORTED:
        return False
    middle = np.cumsum(counts) - (counts + 1) / 2  # equal values share the mean of their ranks
    ranks = middle[codes] - (len(codes) - 1) / 2
    order = np.argsort(np.argsort(rows[present], kind="stable"), kind="stable") - (len(codes) - 1) / 2
    # Sums of products, because a dot product waits for threads, which takes longer than itself.
    sizes = np.square(ranks).sum() * np.square(order).sum()
    return bool(abs((ranks * order).sum()) >= SERIAL_CORRELATION * np.sqrt(sizes))


def _rank_correlation(one: IntArray | FloatArray, other: IntArray) -> float:
    """Spearman's correlation without its sign, equal values ranked as they come."""
    ranks = [np.argsort(np.argsort(own, kind="stable"), kind="stable") - (len(own) - 1) / 2 for own in (one, other)]
    return float(abs((ranks[0] * ranks[1]).sum()) / np.square(ranks[0]).sum())

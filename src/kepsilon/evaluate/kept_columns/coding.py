# SPDX-License-Identifier: Apache-2.0
"""Columns made ready for the attackers: as numbers without extremes, and in a few bins."""

from __future__ import annotations

import numpy as np

from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.whole_records import MISSING, WholeColumn

N_BINS = 16
"""Most bins of a column; missing values are one more."""
MANY_VALUES = 16
"""A column with more distinct numbers than this is measured, not coded."""

_OWN_BIN = N_BINS // 2
"""Of a column with many categories, this many of the most frequent have a bin of their own."""
_RECORDS_PER_CODE = 20
"""Numbers of which each occurs this often on average may be codes, such as those of districts."""
_TAIL = 0.0005
"""This share of the numbers is clipped at either end, so that single huge values do not hide what the others tell."""


_MOST_CODES = 4
_SHARE_OF_CODE = 0.01
_TIMES_OTHERS = 5
_APART = 0.5
"""At most so many numbers at the ends are taken for codes, such as 999 for “not done”: those that this share of the records
has, and that are so many times as frequent as others, or so much of the range of all others apart from them."""


def numbers_of(column: WholeColumn) -> FloatArray | None:
    """The column's numbers, NaN where missing or infinite, shape (n_records,); None for a column of texts."""
    if column.numbers is None:
        return None
    finite = np.where(np.isfinite(column.numbers), column.numbers, np.nan)
    return np.append(finite, np.nan)[column.codes]  # MISSING is −1: the last place


def is_measured(column: WholeColumn) -> bool:
    """Whether the column holds more than a few distinct numbers."""
    values = numbers_of(column)
    return values is not None and len(np.unique(values[~np.isnan(values)])) > MANY_VALUES


def without_codes(values: FloatArray) -> FloatArray | None:
    """Numbers with NaN for codes such as 999 or −1 among them, shape (n_records,); None where there are none.

    One number in twenty that means something else spoils a formula for all others, as no attacker would let it.
    """
    found, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    first, last = 0, len(found)
    while len(found) - (last - first) < _MOST_CODES and last - first > MANY_VALUES + 1:
        if _is_code(found[first:last], counts[first:last]):
            first += 1
        elif _is_code(-found[first:last][::-1], counts[first:last][::-1]):
            last -= 1
        else:
            break
    if last - first == len(found):
        return None
    is_code = (values < found[first]) | (values > found[last - 1])
    return np.where(is_code, np.nan, values)


def _is_code(found: FloatArray, counts: IntArray) -> bool:
    """Whether the first of some numbers, in rising order, is a code."""
    is_frequent = counts[0] >= _TIMES_OTHERS * np.median(counts[1:])
    scaled = found / np.abs(found).max()  # so that no difference overflows
    is_apart = scaled[1] - scaled[0] >= _APART * (scaled[-1] - scaled[1])
    return bool(counts[0] >= _SHARE_OF_CODE * counts.sum() and (is_frequent or is_apart))


def standardised(values: FloatArray) -> FloatArray | None:
    """Numbers with mean 0 and standard deviation 1, the tails clipped, NaN where missing; None where they do not vary."""
    present = ~np.isnan(values)
    largest = np.abs(values[present]).max(initial=0.0)
    if largest == 0:
        return None
    # Divided first, so that the squares of huge or tiny numbers neither overflow nor vanish.
    scaled = values / largest
    low, high = np.quantile(scaled[present], [_TAIL, 1 - _TAIL])
    clipped = np.clip(scaled, low, high)
    centred = clipped - clipped[present].mean()
    spread = float(np.sqrt(np.mean(centred[present] ** 2)))
    return centred / spread if spread > 1e-13 else None


def standardised_logarithms(values: FloatArray) -> FloatArray | None:
    """Logarithms as in `standardised`; None where a number is not positive."""
    if not np.nanmin(values, initial=np.inf) > 0:
        return None
    return standardised(np.log(values))


def bins_by_size(column: WholeColumn, *, n_bins: int = N_BINS) -> IntArray:
    """Bins of about equally many records by the order of the values, missing ones in a bin of their own, shape (n_records,).

    Equal values share a bin. Where there are no more values than bins, each value has its own.
    """
    counts = _counts(column)
    if n_occurring(column) <= n_bins:
        return _dense(column.codes)
    before = np.cumsum(counts) - counts
    return _dense(np.append(before * n_bins // counts.sum(), MISSING)[column.codes])


def bins_by_value(column: WholeColumn) -> IntArray:
    """Bins of equal values, missing ones in a bin of their own, shape (n_records,).

    With more values than bins, the most frequent have their own and the others share the rest in turn. So two values that
    occur in one class are rarely in one bin, which they would be if all rare ones were lumped or neighbours joined.
    """
    counts = _counts(column)
    if n_occurring(column) <= N_BINS:
        return _dense(column.codes)
    rank = np.empty(len(counts), dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    bins = np.where(rank < _OWN_BIN, rank, _OWN_BIN + rank % (N_BINS - _OWN_BIN))
    return _dense(np.append(bins, MISSING)[column.codes])


def may_be_codes(column: WholeColumn) -> bool:
    """Whether to look at the column as categories: texts, few values, or numbers that occur again and again."""
    counts = _counts(column)
    most = max(N_BINS, int(counts.sum()) // _RECORDS_PER_CODE)
    return column.numbers is None or n_occurring(column) <= most


def unique_share(column: WholeColumn) -> float:
    """Share of the records whose value no other record has."""
    return float(np.count_nonzero(_counts(column) == 1) / max(len(column.codes), 1))


def n_occurring(column: WholeColumn) -> int:
    """Distinct values of the records at hand; codes may be those of a larger table, and have gaps."""
    return int(np.count_nonzero(_counts(column)))


def _counts(column: WholeColumn) -> IntArray:
    """Records of each code; of missing values none."""
    return np.bincount(column.codes[column.codes != MISSING])


def _dense(codes: IntArray) -> IntArray:
    """Codes renumbered from 0 without gaps, in their order; small, because many columns hold them at a time."""
    return np.unique(codes, return_inverse=True)[1].ravel().astype(np.int16)

# SPDX-License-Identifier: Apache-2.0
"""Facts about a single column: whether its values repeat, and which its role cannot place."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kepsilon.engines.arrow.coding import encode, holds_numbers, is_number_or_missing
from kepsilon.engines.arrow.moving import stored
from kepsilon.engines.protocol import Repetition
from kepsilon.policy.reading import Reading
from kepsilon.policy.roles import Attribute, EpsilonQuasi, KQuasi
from kepsilon.sources.columns import movable
from kepsilon.table.arrays import IntArray
from kepsilon.table.domains import place_values

HOLDS_SOMETHING = r"[^\s\pZ]"
"""A pattern of texts that are not blank, whatever blanks of Unicode are in them."""
BLANK_INSIDE = r"[^\s\pZ][\s\pZ]+[^\s\pZ]"
"""A pattern of texts with a blank that is neither at their beginning nor at their end."""
_MIXING = np.uint64(0x9E3779B97F4A7C15)
"""An odd number whose product spreads the bits of a hash."""


def repetition(parts: Iterable[pa.ChunkedArray], *, most: int) -> Repetition:
    """Whether the values of a column repeat; the column comes in parts.

    About `most` values are held at a time, as hashes. Where there are more, only a sample of the values is followed,
    each in all its records, so that repeated values still show; the number of distinct values is then an estimate.
    """
    followed = _Followed()
    n_records = n_waiting = n_with_blanks = 0
    for part in parts:
        values = present(part)
        n_records += len(values)
        n_with_blanks += with_blanks_inside(values)
        if pa.types.is_nested(values.type) or pa.types.is_null(values.type):
            continue
        followed.add(_hashes(values))
        n_waiting += len(values)
        if n_waiting > most:
            followed.shrink(most)
            n_waiting = 0
    followed.shrink(most)
    n_distinct = max(min(1, n_records), n_records - followed.n_repeated)
    return Repetition(
        n_distinct=n_distinct, n_records=n_records, n_with_blanks=n_with_blanks, is_estimate=followed.is_sample
    )


def present(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values of a column that are neither null, NaN nor blank; texts without the blanks around them."""
    values = stored(column)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    values = values.drop_null()
    if pa.types.is_floating(values.type):
        return values.filter(pc.invert(pc.is_nan(values)))
    if not _is_text(values.type):
        return values
    trimmed = pc.utf8_trim_whitespace(values)
    return trimmed.filter(pc.not_equal(trimmed, ""))


def with_blanks_inside(values: pa.ChunkedArray) -> int:
    """How many texts have a blank that is neither at their beginning nor at their end."""
    if not _is_text(values.type):
        return 0
    return int(pc.sum(pc.match_substring_regex(values, BLANK_INSIDE)).as_py() or 0)


def offending(table: pa.Table, attribute: Attribute, source: str, reading: Reading) -> list[tuple[str, int]]:
    """Values of the table's only column that its role cannot place, with how many records hold each.

    The most frequent come first. These are values of records: only a curator who asks may see them.
    """
    (name,) = table.column_names
    column = movable(table).column(0)
    is_typed = holds_numbers(stored(column).type)
    values, codes = encode(column, name, source)
    counts = np.bincount(codes, minlength=len(values))
    if isinstance(attribute, KQuasi):
        wrong = ~place_values(name, attribute, values, reading=reading, is_typed=is_typed).is_covered
    elif isinstance(attribute, EpsilonQuasi):
        fits = (v is None or is_number_or_missing(v, reading, is_typed=is_typed) for v in values)
        wrong = ~np.fromiter(fits, dtype=np.bool_, count=len(values))
    else:
        wrong = np.zeros(len(values), dtype=np.bool_)
    found = [(str(values[i]), int(counts[i])) for i in np.flatnonzero(wrong)]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))


def _hashes(values: pa.ChunkedArray) -> IntArray:
    """A hash of 64 bits of every value. Numbers are hashed as text: to Python −1 and −2 have one hash, and each NaN another."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if not (_is_text(values.type) or _is_bytes(values.type)):
        values = values.cast(pa.large_string())
    return np.array([hash(value) for value in values.to_pylist()], dtype=np.int64).view(np.uint64)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    is_plain = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)
    return bool(is_plain or pa.types.is_fixed_size_binary(kind))


class _Followed:
    """Hashes of the values that are followed, and how many records hold each; counts are right after `shrink`."""

    def __init__(self) -> None:
        self._hashes: IntArray = np.zeros(0, dtype=np.uint64)
        self._counts: IntArray = np.zeros(0, dtype=np.int64)
        self._waiting: list[IntArray] = []
        self._halvings = 0
        """One value in 2^halvings is followed."""

    def add(self, hashes: IntArray) -> None:
        """Lets the hashes of more records wait for `shrink`, if their values are followed."""
        # The first bits decide which values are followed, so they are mixed with the others.
        mixed = hashes * _MIXING
        self._waiting.append(mixed[self._is_followed(mixed)])

    def shrink(self, most: int) -> None:
        """Adds up the hashes that wait, and follows fewer values where there are more than `most`."""
        hashes, places = np.unique(np.concatenate([self._hashes, *self._waiting]), return_inverse=True)
        before = np.concatenate([self._counts, np.ones(len(places) - len(self._counts), dtype=np.int64)])
        counts = np.bincount(places, weights=before, minlength=len(hashes)).astype(np.int64)
        self._waiting = []
        while len(hashes) > most:
            self._halvings += 1
            stays = self._is_followed(hashes)
            hashes, counts = hashes[stays], counts[stays]
        self._hashes, self._counts = hashes, counts

    @property
    def is_sample(self) -> bool:
        return self._halvings > 0

    @property
    def n_repeated(self) -> int:
        """How many records of the whole column hold a value that a record before them holds."""
        return int(self._counts.sum() - len(self._counts)) << self._halvings

    def _is_followed(self, mixed: IntArray) -> IntArray | slice:
        """Positions of the mixed hashes whose values are followed: those whose first bits are all 0."""
        return np.flatnonzero(mixed >> np.uint64(64 - self._halvings) == 0) if self._halvings else slice(None)

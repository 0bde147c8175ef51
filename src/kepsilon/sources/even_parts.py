# SPDX-License-Identifier: Apache-2.0
"""Cuts a table into parts for a file, so that the file does not depend on the pieces in which its records came.

An engine hands over its records in pieces that depend on memory, on the input's files and on the cluster. If row groups
or batches of a file were these pieces, they would tell about the input. The size of a part is worked out from the
first records of the table alone.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from kepsilon.sources.columns import in_one_piece
from kepsilon.sources.kept_types import released_type
from kepsilon.sources.rebuilding import rebuilt

_LOOKED_AT = 1 << 10
"""Records whose width decides how many make a part."""

_MOST_RECORDS = 1 << 20
_MOST_BYTES = 64 << 20
"""Records and bytes of a part, at the most; later records can be wider than those that were looked at."""


class EvenParts:
    """Takes tables of one schema, and hands on parts of equal numbers of records; the last may be smaller."""

    def __init__(self, write: Callable[[pa.Table], None]) -> None:
        self._write = write
        self._waiting: list[pa.Table] = []
        self._n_waiting = 0
        self._size: int | None = None

    def add(self, table: pa.Table) -> None:
        """Takes more records, and hands on the parts that are full."""
        self._waiting.append(table)
        self._n_waiting += len(table)
        if self._size is None and self._n_waiting >= _LOOKED_AT:
            self._size = _records_of_part(self._together())
        if self._size is not None and self._n_waiting >= self._size:
            together, first = self._together(), 0
            while first + self._size <= len(together):
                self._write(together.slice(first, self._size))
                first += self._size
            self._waiting, self._n_waiting = [together.slice(first)], len(together) - first

    def finish(self) -> None:
        """Hands on the records that are left; a part without records where there was none at all."""
        if not self._waiting:
            return
        together = self._together()
        size = self._size or _records_of_part(together)
        for first in range(0, max(1, len(together)) if self._size is None else len(together), size):
            self._write(together.slice(first, size))
        self._waiting, self._n_waiting = [], 0

    def _together(self) -> pa.Table:
        return self._waiting[0] if len(self._waiting) == 1 else pa.concat_tables(self._waiting)


def _records_of_part(table: pa.Table) -> int:
    """A power of two of records that take no more bytes together than there is room for, judged by the first records."""
    head = table.slice(0, _LOOKED_AT)
    n_bytes = 0
    for column in head.columns:
        plain = released_type(column.type, inside=True, views=False)
        n_bytes += rebuilt(in_one_piece(column), plain).nbytes
    size = _MOST_RECORDS
    while size > 1 and size * n_bytes > _MOST_BYTES * max(1, len(head)):
        size //= 2
    return size

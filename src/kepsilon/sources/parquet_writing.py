# SPDX-License-Identifier: Apache-2.0
"""Writes Parquet files that are functions of their columns, whatever tables these come in."""

from __future__ import annotations

import base64
import contextlib
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import parquet

from kepsilon.sources.columns import CODED_TEXT, in_one_piece, movable, moved_type, shown_type
from kepsilon.sources.even_parts import EvenParts
from kepsilon.sources.kept_types import released_type
from kepsilon.sources.rebuilding import narrowest, rebuilt

_LOOKED_AT = 1 << 12
_REPEATED = 20
"""Text is written as a dictionary if each value comes so often, on average, in so many first records of a file."""

_UNREPEATED = 0.98
"""Share of different values among so many first records from which on a column is written without a dictionary.

From about 100,000 different values on. Parquet would give up such a dictionary at 1 MB, in every row group again, and keep
what it has of it, which takes time and room.
"""

_COUNTED = 16
"""Bits of an index type for which entries are counted; wider ones have numbers for all."""


class ParquetWriter:
    """Writes one file.

    Text that repeats is written as a sorted dictionary of the values of each row group, which is fast. The schema of the
    file says text.
    """

    def __init__(self, where: Path | BinaryIO, stack: contextlib.ExitStack) -> None:
        self._where, self._stack = where, stack
        self._shown: pa.Schema | None = None
        """Types as whoever opens the file will see them."""
        self._parts = EvenParts(self._write_group)
        self._kinds: list[pa.DataType] = []
        """Types that columns are handed to Arrow in."""
        self._entries: dict[int, set[Any]] = {}
        """Entries of each column that is a dictionary in the file, by its place, as far as they have to be counted."""
        self._writer: Any = None
        self._threads: ThreadPoolExecutor | None = None
        self._ready: Future[pa.Table] | None = None
        """The last row group that came, which is made anew while the one before it is written."""

    def write(self, table: pa.Table) -> None:
        table = movable(table)
        if self._shown is None:
            self._shown = as_read_back(pa.schema([pa.field(own.name, shown_type(own)) for own in table.schema]))
            self._entries = {i: set() for i, own in enumerate(self._shown) if pa.types.is_dictionary(own.type)}
        columns = [
            _as_stored(table.column(i), table.schema.field(i), field.type) for i, field in enumerate(self._shown)
        ]
        self._parts.add(pa.Table.from_arrays(columns, names=table.column_names))

    def finish(self) -> None:
        """Writes what is left, and the schema: only now it is known how many entries dictionaries have."""
        self._parts.finish()
        self._write_ready()
        if self._writer is not None and self._shown is not None:
            shown = pa.schema([_with_entries(own, self._entries.get(i)) for i, own in enumerate(self._shown)])
            recorded = base64.b64encode(shown.serialize().to_pybytes()).decode()
            self._writer.add_key_value_metadata({"ARROW:schema": recorded})

    def _write_group(self, part: pa.Table) -> None:
        """Writes a row group, or rather the one before it."""
        assert self._shown is not None  # noqa: S101 (tables come in through `write`)
        if self._writer is None:
            self._kinds = [_written_type(part.column(i), field.type) for i, field in enumerate(self._shown)]
            schema = pa.schema(list(zip(part.column_names, self._kinds, strict=True)))
            plain = {
                name
                for name, column, kind in zip(part.column_names, part.columns, self._kinds, strict=True)
                if _is_unrepeated(column, kind)
            }
            coded = [path for path in _leaves(schema) if path not in plain]
            self._writer = self._stack.enter_context(
                parquet.ParquetWriter(
                    self._where, schema, compression="snappy", store_schema=False, use_dictionary=coded or False
                )
            )
        for i, entries in self._entries.items():
            _add_entries(entries, part.column(i), self._shown.field(i).type)
        if self._threads is None:
            self._threads = self._stack.enter_context(ThreadPoolExecutor(1))
        following = self._threads.submit(self._made_anew, part)
        self._write_ready()
        self._ready = following

    def _made_anew(self, part: pa.Table) -> pa.Table:
        """The records of a row group, with nothing of others."""
        columns = [rebuilt(in_one_piece(column), kind) for column, kind in zip(part.columns, self._kinds, strict=True)]
        return pa.Table.from_arrays(columns, schema=self._writer.schema)

    def _write_ready(self) -> None:
        if self._ready is not None:
            table, self._ready = self._ready.result(), None
            self._writer.write_table(table, row_group_size=max(1, len(table)))


def _add_entries(entries: set[Any], column: pa.ChunkedArray, kind: pa.DataType) -> None:
    """Adds the entries of some records to those of a dictionary, unless its index type has numbers for any number."""
    if kind.index_type.bit_width <= _COUNTED and len(entries) <= 1 << _COUNTED:
        own = rebuilt(in_one_piece(column), moved_type(kind))
        entries.update(own.dictionary.to_pylist())


def _with_entries(field: pa.Field, entries: set[Any] | None) -> pa.Field:
    """A field whose dictionary, if it is one, has an index type with numbers for so many entries."""
    if entries is None:
        return field
    kind = field.type
    index_type = narrowest(kind.index_type, len(entries))
    return pa.field(field.name, pa.dictionary(index_type, kind.value_type, ordered=kind.ordered))


def as_read_back(schema: pa.Schema) -> pa.Schema:
    """The schema of a file, as Arrow reads it, whose columns had these types; Parquet has no date64, for example."""
    recorded = base64.b64encode(schema.serialize().to_pybytes()).decode()
    sink = pa.BufferOutputStream()
    plain = pa.schema([pa.field(field.name, moved_type(field.type)) for field in schema])
    with parquet.ParquetWriter(sink, plain, store_schema=False) as writer:
        writer.add_key_value_metadata({"ARROW:schema": recorded})
    found = parquet.read_metadata(pa.BufferReader(sink.getvalue())).schema.to_arrow_schema()
    return pa.schema([pa.field(field.name, released_type(field.type)) for field in found])


def _as_stored(column: pa.ChunkedArray, field: pa.Field, shown: pa.DataType) -> pa.ChunkedArray:
    """A movable column in the type that its file will have; coded text stays coded."""
    kind = moved_type(shown)
    if field.metadata == CODED_TEXT or (pa.types.is_dictionary(kind) and pa.types.is_dictionary(column.type)):
        return column
    if str(kind) == str(column.type):
        return column
    return pa.chunked_array([rebuilt(chunk, kind) for chunk in column.chunks], type=kind)


def _written_type(column: pa.ChunkedArray, shown: pa.DataType) -> pa.DataType:
    """The type in which a column is handed to Arrow, judged by the first records of the file.

    It must not depend on whether an engine held text as a dictionary, but only on its values.
    """
    kind = moved_type(shown)
    if pa.types.is_dictionary(kind) and kind.ordered:
        return kind
    values = kind.value_type if pa.types.is_dictionary(kind) else kind
    if not (pa.types.is_string(values) or pa.types.is_large_string(values)):
        return values
    head = rebuilt(in_one_piece(column.slice(0, _LOOKED_AT)), values)
    is_repeating = len(head) > 0 and len(head.drop_null().unique()) * _REPEATED <= len(head)
    return pa.dictionary(pa.int32(), values) if is_repeating else values


def _is_unrepeated(column: pa.ChunkedArray, kind: pa.DataType) -> bool:
    """Whether nearly all values of a flat column differ, judged by the first records; `kind` is handed to Arrow.

    Never for what is handed over as a dictionary: without one in the file, a declared order would be lost.
    """
    if pa.types.is_dictionary(kind) or pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType):
        return False
    try:
        head = rebuilt(in_one_piece(column.slice(0, _LOOKED_AT)), kind).drop_null()
        return len(head) > 0 and len(head.unique()) >= _UNREPEATED * len(head)
    except pa.ArrowNotImplementedError:  # Arrow compares no short decimals
        return False


def _leaves(schema: pa.Schema) -> list[str]:
    """The paths of all flat columns, at any depth, in a Parquet file of this schema; of a flat column, its name."""
    sink = pa.BufferOutputStream()
    parquet.ParquetWriter(sink, schema, store_schema=False).close()
    leaves = parquet.read_metadata(pa.BufferReader(sink.getvalue())).schema
    return [leaves.column(i).path for i in range(len(leaves))]

# SPDX-License-Identifier: Apache-2.0
"""Writes Parquet files that are functions of their columns, whatever tables these come in."""

from __future__ import annotations

import base64
import contextlib
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import parquet

from kepsilon.sources.columns import CODED_TEXT, in_one_piece, movable, moved_type, shown_type
from kepsilon.sources.even_parts import EvenParts
from kepsilon.sources.kept_types import released_type
from kepsilon.sources.parquet_footer import MAGIC
from kepsilon.sources.parquet_groups import JoinedGroups
from kepsilon.sources.rebuilding import narrowest, rebuilt

_LOOKED_AT = 1 << 12
_REPEATED = 20
"""Text is written as a dictionary if each value comes so often, on average, in so many first records of a file."""

_UNREPEATED = 0.98
"""Share of different values among so many first records from which on a column is written without a dictionary.

From about 100,000 different values on. Parquet would give up such a dictionary at 1 MB, in every row group again, and keep
what it has of it, which takes time and room.
"""

_AT_A_TIME = 2
"""Row groups that are encoded at a time; each takes its records twice and what becomes of them."""

_COUNTED = 16
"""Bits of an index type for which entries are counted; wider ones have numbers for all."""


class ParquetWriter:
    """Writes one file.

    Text that repeats is written as a sorted dictionary of the values of each row group, which is fast. The schema of the
    file says text. Two row groups are made anew and encoded at a time.
    """

    def __init__(self, where: Path | BinaryIO, stack: contextlib.ExitStack) -> None:
        self._where, self._stack = where, stack
        self._shown: pa.Schema | None = None
        """Types as whoever opens the file will see them."""
        self._parts = EvenParts(self._write_group)
        self._entries: dict[int, set[Any]] = {}
        """Entries of each column that is a dictionary in the file, by its place, as far as they have to be counted."""
        self._layout: _Layout | None = None
        """Known once the first records are there."""
        self._file: BinaryIO | None = None
        self._joined = JoinedGroups()
        self._threads: ThreadPoolExecutor | None = None
        self._encoding: deque[Future[pa.Buffer]] = deque()
        """Row groups that are not in the file yet, in order."""

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
        self._wait_until(0)
        if self._file is not None and self._layout is not None and self._shown is not None:
            shown = pa.schema([_with_entries(own, self._entries.get(i)) for i, own in enumerate(self._shown)])
            recorded = base64.b64encode(shown.serialize().to_pybytes()).decode()
            self._file.write(self._joined.footer(self._layout.encoded(None, {"ARROW:schema": recorded})))

    def _write_group(self, part: pa.Table) -> None:
        """Begins to encode a row group, and writes those before it that are done."""
        assert self._shown is not None  # noqa: S101 (tables come in through `write`)
        if self._layout is None or self._threads is None:
            self._layout = _Layout.of(part, self._shown)
            self._file = self._opened()
            self._file.write(MAGIC)
            self._threads = self._stack.enter_context(ThreadPoolExecutor(_AT_A_TIME))
        for i, entries in self._entries.items():
            _add_entries(entries, part.column(i), self._shown.field(i).type)
        self._wait_until(_AT_A_TIME - 1)
        self._encoding.append(self._threads.submit(self._layout.encoded, part))

    def _opened(self) -> BinaryIO:
        return self._stack.enter_context(self._where.open("wb")) if isinstance(self._where, Path) else self._where

    def _wait_until(self, n_left: int) -> None:
        """Writes row groups until so many are left that are being encoded."""
        while len(self._encoding) > n_left and self._file is not None:
            self._file.write(self._joined.add(self._encoding.popleft().result()))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """How columns are written, judged by the first records of the file."""

    schema: pa.Schema
    """Types that columns are handed to Arrow in."""
    coded: list[str]
    """Paths of flat columns that get a dictionary."""

    @classmethod
    def of(cls, part: pa.Table, shown: pa.Schema) -> _Layout:
        kinds = [_written_type(part.column(i), field.type) for i, field in enumerate(shown)]
        schema = pa.schema(list(zip(part.column_names, kinds, strict=True)))
        plain = {
            name
            for name, column, kind in zip(part.column_names, part.columns, kinds, strict=True)
            if _is_unrepeated(column, kind)
        }
        return cls(schema=schema, coded=[path for path in _leaves(schema) if path not in plain])

    def encoded(self, part: pa.Table | None, metadata: Mapping[str, str] | None = None) -> pa.Buffer:
        """A file with one row group: these records, with nothing of others. Without a part, it has none."""
        sink = pa.BufferOutputStream()
        with parquet.ParquetWriter(
            sink, self.schema, compression="snappy", store_schema=False, use_dictionary=self.coded or False
        ) as writer:
            if part is not None:
                columns = [
                    rebuilt(in_one_piece(own), kind) for own, kind in zip(part.columns, self.schema.types, strict=True)
                ]
                writer.write_table(pa.Table.from_arrays(columns, schema=self.schema), row_group_size=max(1, len(part)))
            if metadata:
                writer.add_key_value_metadata(dict(metadata))
        return sink.getvalue()


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
    """The schema of a file, as Arrow reads it, whose columns had these types; Parquet has no date64, for example.

    Arrow reads dictionaries of text and bytes only. Of others it would not even know the type of their values, such as a
    time zone, so these are written as plain values.
    """
    found = _as_arrow_reads(schema)
    plain = [
        own.with_type(own.type.value_type) if _is_no_longer_a_dictionary(own, read) else own
        for own, read in zip(schema, found, strict=True)
    ]
    return found if pa.schema(plain) == schema else _as_arrow_reads(pa.schema(plain))


def _is_no_longer_a_dictionary(before: pa.Field, read: pa.Field) -> bool:
    return pa.types.is_dictionary(before.type) and not pa.types.is_dictionary(read.type)


def _as_arrow_reads(schema: pa.Schema) -> pa.Schema:
    """The schema that Arrow reads from a file in which this one is recorded."""
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

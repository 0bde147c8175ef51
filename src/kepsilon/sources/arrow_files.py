# SPDX-License-Identifier: Apache-2.0
"""Arrow files and streams, also called Feather, in and out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from kepsilon.errors import DataError, Problem
from kepsilon.sources.columns import decoded, in_one_piece, metadata_names, movable, without_dictionaries
from kepsilon.sources.even_parts import EvenParts
from kepsilon.sources.files import OpenedFile, readable
from kepsilon.sources.protocol import Sink, Write
from kepsilon.sources.rebuilding import rebuilt


class ArrowFiles:
    """Arrow files and streams, known by their suffix."""

    name = "Arrow"
    suffixes = (".arrow", ".feather")
    other_suffixes = (".ipc",)
    open_in_parts = None

    def takes(self, source: object) -> bool:
        del source
        return False

    def open(self, source: Path) -> OpenedFile:
        return OpenedFile(
            path=source,
            column_names=tuple(_reader(source).schema.names),
            read=partial(_read, source),
            by_column=True,
            beside=partial(_beside, source),
        )

    @contextlib.contextmanager
    def writing(self, sink: Sink) -> Iterator[Write]:
        with contextlib.ExitStack() as stack:
            writer = _Writer(sink.target, stack, in_parts=sink.in_parts)
            yield writer.write
            writer.finish()

    def types_in(self, path: Path, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """The types of a file's columns; `asked` are those of the input."""
        del asked
        return {field.name: field.type for field in _reader(path).schema}

    def render(self, path: Path, copy: BinaryIO) -> None:
        """Writes the table of a file again, as a release of it would be written."""
        with contextlib.ExitStack() as stack:
            writer = _Writer(copy, stack, in_parts=False)
            writer.write(_reader(path).read_all())
            writer.finish()


def _read(path: Path, columns: Sequence[str]) -> pa.Table:
    """The named columns, checked in full: who follows damaged offsets reads elsewhere in memory."""
    with readable(path, damaged="is damaged: it is not whole, valid Arrow data."):
        table = _reader(path).read_all().select(list(columns))
        table.validate(full=True)
    return table


def _reader(path: Path) -> Any:
    try:
        return pa.ipc.open_file(pa.memory_map(str(path)))
    except pa.ArrowInvalid:
        try:
            return pa.ipc.open_stream(pa.memory_map(str(path)))
        except pa.ArrowInvalid:
            raise DataError(Problem(where=str(path), what="is not an Arrow or Feather file.")) from None


def _beside(path: Path) -> tuple[str, ...]:
    """Names of the metadata of the schema, of the file and of each batch."""
    reader = _reader(path)
    more = [getattr(reader, "metadata", None)]
    with contextlib.suppress(OSError, pa.ArrowException):  # such a batch is refused where its records are read
        for metadata in _beside_batches(reader):
            more.append(metadata)
    return metadata_names(reader.schema, *more)


def _beside_batches(reader: Any) -> Iterator[Any]:
    """The metadata of each batch."""
    if hasattr(reader, "num_record_batches"):
        for i in range(reader.num_record_batches):
            yield reader.get_batch_with_custom_metadata(i)[1]
        return
    with contextlib.suppress(StopIteration):
        while True:
            yield reader.read_next_batch_with_custom_metadata()[1]


class _Writer:
    """Writes an Arrow file that is a function of its columns, whatever tables they come in.

    The file has one dictionary for all records, so a table in parts is written without dictionaries.
    """

    def __init__(self, where: Path | BinaryIO, stack: contextlib.ExitStack, *, in_parts: bool) -> None:
        self._where, self._stack, self._in_parts = where, stack, in_parts
        self._parts = EvenParts(self._write_batch)
        self._writer: Any = None

    def write(self, table: pa.Table) -> None:
        table = movable(table)
        self._parts.add(decoded(without_dictionaries(table) if self._in_parts else table))

    def finish(self) -> None:
        self._parts.finish()

    def _write_batch(self, part: pa.Table) -> None:
        if self._writer is None:
            file = self._where
            if isinstance(file, Path):
                file = self._stack.enter_context(pa.OSFile(str(file), "wb"))
            self._writer = self._stack.enter_context(
                pa.ipc.new_file(file, part.schema, options=pa.ipc.IpcWriteOptions())
            )
        columns = [_made_anew(in_one_piece(column)) for column in part.columns]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=part.schema))


def _made_anew(array: pa.Array) -> pa.Array:
    """The array made anew; a dictionary stays whole, for the file has only one."""
    if not pa.types.is_dictionary(array.type):
        return rebuilt(array, array.type)
    indices = rebuilt(array.indices, array.type.index_type)
    return pa.DictionaryArray.from_arrays(indices, array.dictionary, ordered=array.type.ordered)

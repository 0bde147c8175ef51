# SPDX-License-Identifier: Apache-2.0
"""Arrow files and streams, also called Feather, in and out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from kepsilon.errors import DataError, Problem
from kepsilon.sources.columns import decoded, metadata_names, without_dictionaries
from kepsilon.sources.files import OpenedFile, readable
from kepsilon.sources.protocol import Sink, Write


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
            yield _Writer(sink.target, stack, in_parts=sink.in_parts).write


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
    """Writes an Arrow file. It has one dictionary for all records, so a table in parts is written without dictionaries."""

    def __init__(self, target: Path, stack: contextlib.ExitStack, *, in_parts: bool) -> None:
        self._target, self._stack, self._in_parts = target, stack, in_parts
        self._writer: Any = None

    def write(self, table: pa.Table) -> None:
        shown = without_dictionaries(table) if self._in_parts else decoded(table)
        if self._writer is None:
            file = self._stack.enter_context(pa.OSFile(str(self._target), "wb"))
            self._writer = self._stack.enter_context(pa.ipc.new_file(file, shown.schema))
        self._writer.write_table(shown, max_chunksize=1 << 20)

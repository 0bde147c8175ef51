# SPDX-License-Identifier: Apache-2.0
"""A Parquet or Arrow file written again from the table that it holds, and compared byte by byte.

A file that comes out the same holds its table and nothing else. Where it differs, it is written again in the layout that
it has itself, as far as that is known; what differs even then is not explained by the table or by a layout.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

import pyarrow as pa
from pyarrow import parquet

from kepsilon.sources.folders import files_of, is_many
from kepsilon.sources.kinds import find_kind
from kepsilon.sources.parquet_footer import chunks_of

Verdict = Literal["same", "other layout", "other program", "unexplained"]
"""What comes of writing a file again: the same bytes as a release has; the same bytes in a layout of its own; a file
that another program wrote, or another version of Arrow; or bytes that are not those of its table."""

_UNWRITABLE = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, pa.ArrowKeyError, ValueError, KeyError)


def render_again(path: Path) -> Verdict | None:
    """The verdict on a file, or the worst one on the files of a folder; None for a kind of file that is not rendered."""
    kind = find_kind(path)
    render = getattr(kind, "render", None)
    if render is None:
        return None
    files = files_of(path) if is_many(path) else (path,)
    order: list[Verdict] = ["same", "other layout", "other program", "unexplained"]
    return max((_verdict(file, render) for file in files), key=order.index)


def _verdict(file: Path, render: Callable[[Path, BinaryIO], None]) -> Verdict:
    if _is_same(file, partial(render, file)):
        return "same"
    is_parquet = _starts_with(file, b"PAR1")
    if is_parquet:
        if not _is_this_arrow(file):
            return "other program"
        layouts = _parquet_layouts(file)
    else:
        layouts = _arrow_layouts(file)
    if any(_is_same(file, write) for write in layouts):
        return "other layout"
    return "unexplained" if is_parquet or _has_head_of_this_arrow(file) else "other program"


def _is_same(file: Path, write: Callable[[BinaryIO], None]) -> bool:
    """Whether a function writes exactly the bytes of a file."""
    with file.open("rb") as original, contextlib.suppress(*_UNWRITABLE):
        comparison = _Comparison(original)
        write(cast("BinaryIO", comparison))
        return comparison.is_same and not original.read(1)
    return False


def _starts_with(file: Path, head: bytes) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(head)) == head


class _Comparison(io.RawIOBase):
    """A file to write to that compares what is written with another file, and stores nothing."""

    def __init__(self, original: BinaryIO) -> None:
        super().__init__()
        self._original = original
        self._n_written = 0
        self.is_same = True

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._n_written

    def write(self, content: Any) -> int:
        piece = memoryview(content).cast("B")
        if self.is_same:
            self.is_same = self._original.read(len(piece)) == piece
        self._n_written += len(piece)
        return len(piece)


def _is_this_arrow(file: Path) -> bool:
    """Whether this version of Arrow wrote a Parquet file, as far as the file says."""
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table({"a": pa.array([], pa.int8())}), sink)
    own = parquet.read_metadata(pa.BufferReader(sink.getvalue())).created_by
    try:
        return bool(parquet.read_metadata(file).created_by == own)
    except UnicodeDecodeError:  # in a damaged file, and in none of Arrow's
        return False


def _parquet_layouts(file: Path) -> Iterator[Callable[[BinaryIO], None]]:
    """Ways to write a Parquet file with the row groups, compression and encodings that it has itself."""
    metadata = parquet.read_metadata(file)
    columns = [metadata.schema.column(i) for i in range(metadata.num_columns)]
    texts = {column.path for column in columns if column.physical_type == "BYTE_ARRAY"}
    chunks = next(iter(chunks_of(file)), [])
    coded = [chunk.path for chunk in chunks if chunk.has_dictionary]
    by_text = [path for path in coded if path in texts]
    for read_dictionary in ([], by_text, [path for path in by_text if _is_sorted(file, path)]):
        for page_version in ("1.0", "2.0"):
            for has_index in (False, True):
                yield partial(
                    _write_parquet,
                    file,
                    read_dictionary,
                    compression={chunk.path: chunk.compression for chunk in chunks} or "snappy",
                    use_dictionary=coded or False,
                    version=metadata.format_version,
                    write_statistics=[chunk.path for chunk in chunks if chunk.has_statistics] or False,
                    data_page_version=page_version,
                    write_page_index=has_index,
                )


def _is_sorted(file: Path, column: str) -> bool:
    """Whether the dictionary of a column of text is sorted, as those of releases are."""
    with contextlib.suppress(*_UNWRITABLE), parquet.ParquetFile(file, read_dictionary=[column]) as opened:
        found = opened.read_row_group(0, columns=[column]).column(0)
        if pa.types.is_dictionary(found.type) and found.num_chunks:
            entries = found.chunk(0).dictionary.to_pylist()
            return bool(entries == sorted(entries))
    return False


def _write_parquet(file: Path, read_dictionary: list[str], copy: BinaryIO, **options: Any) -> None:
    """Writes a file again, one row group for each that it has, with its own schema and metadata."""
    with parquet.ParquetFile(file, read_dictionary=read_dictionary) as opened:
        stored = opened.metadata.metadata or {}
        schema = opened.read_row_group(0).schema if opened.num_row_groups else opened.schema_arrow
        recorded = stored.get(b"ARROW:schema")
        is_arrows = recorded is not None and not read_dictionary
        with parquet.ParquetWriter(copy, schema, store_schema=is_arrows, **options) as writer:
            if recorded is not None and not is_arrows:
                writer.add_key_value_metadata({"ARROW:schema": recorded.decode()})
            for i in range(opened.num_row_groups):
                table = opened.read_row_group(i)
                writer.write_table(table.cast(schema), row_group_size=max(1, len(table)))


def _arrow_layouts(file: Path) -> Iterator[Callable[[BinaryIO], None]]:
    """Ways to write an Arrow file or stream with the batches that it has itself."""
    for new in (pa.ipc.new_file, pa.ipc.new_stream):
        for compression in (None, "lz4", "zstd"):
            yield partial(_write_arrow, file, new, compression)


def _write_arrow(file: Path, new: Callable[..., Any], compression: str | None, copy: BinaryIO) -> None:
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with _arrow_reader(file) as reader:
        footer = {"metadata": reader.metadata} if getattr(reader, "metadata", None) and new is pa.ipc.new_file else {}
        with new(copy, reader.schema, options=options, **footer) as writer:
            for batch in _batches(reader):
                writer.write_batch(batch)


def _arrow_reader(file: Path) -> Any:
    try:
        return pa.ipc.open_file(pa.memory_map(str(file)))
    except pa.ArrowInvalid:
        return pa.ipc.open_stream(pa.memory_map(str(file)))


def _batches(reader: Any) -> Iterator[pa.RecordBatch]:
    if hasattr(reader, "num_record_batches"):
        yield from (reader.get_batch(i) for i in range(reader.num_record_batches))
    else:
        yield from reader


def _has_head_of_this_arrow(file: Path) -> bool:
    """Whether an Arrow file begins as this version of Arrow begins a file of its schema; other programs write it otherwise."""
    with _arrow_reader(file) as reader:
        schema = reader.schema
    for new, n_magic in ((pa.ipc.new_file, 8), (pa.ipc.new_stream, 0)):
        sink = pa.BufferOutputStream()
        new(sink, schema).close()
        own = sink.getvalue().to_pybytes()
        # The schema is the first message: four bytes that say so, four with its length, and the message.
        n_head = n_magic + 8 + int.from_bytes(own[n_magic + 4 : n_magic + 8], "little")
        if _starts_with(file, own[:n_head]):
            return True
    return False

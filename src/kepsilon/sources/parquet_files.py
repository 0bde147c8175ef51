# SPDX-License-Identifier: Apache-2.0
"""Reads Parquet from a file, a folder or a pattern, whole or in parts, and writes it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from kepsilon.errors import AnonymisationError, DataError, Problem
from kepsilon.sources.columns import lost_orders, marked, metadata_names, unordered, without_order
from kepsilon.sources.files import changed, readable
from kepsilon.sources.folders import SUFFIXES, files_of, is_many
from kepsilon.sources.parquet_footer import chunks_of
from kepsilon.sources.parquet_writing import ParquetWriter
from kepsilon.sources.protocol import Sink, Write

_LARGEST_DICTIONARY_PAGE = 1 << 20
"""Bytes of a dictionary beyond which Arrow stores values without it, if it is not told otherwise."""
_MOST_PLACES = 64
_SAMPLED_AT_ONCE = 1 << 15
_SAMPLING_SEED = 20160712
"""Fixed, so that a table always gives the same estimate; nothing that is released depends on it."""

_BYTES_PER_POSITION = 4
"""Bytes of a value of a column that is read as a dictionary."""


class Parquet:
    """Parquet files, by suffix, and all folders and patterns."""

    name = "Parquet"
    suffixes = SUFFIXES[:1]
    other_suffixes = SUFFIXES[1:]

    def takes(self, source: object) -> bool:
        return isinstance(source, Path) and is_many(source)

    def open(self, source: Path) -> ParquetFiles:
        return ParquetFiles(source)

    def open_in_parts(self, source: Path) -> ParquetFiles:
        return ParquetFiles(source)

    @contextlib.contextmanager
    def writing(self, sink: Sink) -> Iterator[Write]:
        with contextlib.ExitStack() as stack:
            writer = ParquetWriter(sink.target, stack)
            yield writer.write
            writer.finish()

    def types_in(self, path: Path, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """The types of a file's columns; `asked` are those of the input."""
        del asked
        return {field.name: field.type for field in ParquetFiles(path).schema}

    def render(self, path: Path, copy: BinaryIO) -> None:
        """Writes the table of a file again, as a release of it would be written."""
        with contextlib.ExitStack() as stack:
            writer = ParquetWriter(copy, stack)
            with _opened(path, ()) as opened:
                for i in range(opened.num_row_groups):
                    writer.write(opened.read_row_group(i))
                if not opened.num_row_groups:
                    none = [pa.chunked_array([], type=field.type) for field in opened.schema_arrow]
                    writer.write(pa.Table.from_arrays(none, names=opened.schema_arrow.names))
            writer.finish()


PARQUET = Parquet()


RECORDS_PER_FILE = 1 << 22
"""Records of every file of a folder but the last, which has the rest."""


def file_in(folder: Path, number: int) -> Path:
    """The file of a folder with this number, counted from 0."""
    return folder / f"part-{number:05d}.parquet"


def write_folder(tables: Iterable[pa.Table], folder: Path) -> None:
    """Writes the records of all tables, one after the other, to Parquet files of `RECORDS_PER_FILE` records.

    Where a file ends depends on the number of released records alone. How many tables there are, and how large each of
    them is, depends on memory and on records that were left out.
    """
    n_files = room = 0
    with contextlib.ExitStack() as stack:
        for table in tables:
            first = 0
            while first < len(table):
                if not room:
                    stack.close()  # the file before is full
                    file = file_in(folder, n_files)
                    write = stack.enter_context(PARQUET.writing(Sink(target=file, final_name=file)))
                    n_files, room = n_files + 1, RECORDS_PER_FILE
                piece = table.slice(first, room)
                write(piece)
                first, room = first + len(piece), room - len(piece)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What shows whether a file was changed since it was opened."""

    n_records: int
    size: int
    changed: int
    """When it was last written to, in nanoseconds."""
    schema: pa.Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a file holds its records."""

    groups: tuple[int, ...]
    """Records of each row group."""
    column_bytes: Mapping[str, int]
    """Uncompressed bytes of each column, by its path in the schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A row group from which records are sampled."""

    file: Path
    group: int
    n_records: int


class ParquetFiles:
    """Files with the same columns, read as one table, whole or in parts, any number of times."""

    by_column = True
    tells_null_from_empty = True
    notes: tuple[Problem, ...] = ()

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        self.paths = files_of(path)
        self.inputs: tuple[Path, ...] = (path.absolute(), *(file.absolute() for file in self.paths))
        self._stamps: dict[Path, Stamp] = {}
        self._layouts: dict[Path, Layout] = {}
        for file in self.paths:
            self._stamps[file], metadata = _read_footer(file)
            self._layouts[file] = _layout(file, metadata)
        self.schema: pa.Schema = self._stamps[self.paths[0]].schema
        for file, stamp in self._stamps.items():
            _refuse_other_columns(file, stamp.schema, self.schema, first=self.paths[0])
        self._disordered = tuple(field.name for field in self.schema if self._is_disordered(field))
        self.type_changes = lost_orders(self._disordered)
        for name in self._disordered:
            i = self.schema.get_field_index(name)
            self.schema = self.schema.set(i, pa.field(name, unordered(self.schema.field(i).type)))
        self.column_names: tuple[str, ...] = tuple(self.schema.names)
        self.n_records = sum(stamp.n_records for stamp in self._stamps.values())

    def _is_disordered(self, field: pa.Field) -> bool:
        """Whether a column is of ordered categories, but the files do not store the order.

        Arrow then lists categories as records first use them, and their order would tell that of the input.
        """
        if not (pa.types.is_dictionary(field.type) and field.type.ordered):
            return False
        first: pa.Array | None = None
        for file in self.paths:
            with _opened(file, ()) as opened:
                for i, group in enumerate(chunks_of(file)):
                    chunks = opened.read_row_group(i, columns=[field.name]).column(0).chunks
                    entries = [own.dictionary for own in chunks]
                    first = entries[0] if first is None and entries else first
                    is_stored = all(own.has_dictionary for own in group if own.path == field.name)
                    if not is_stored or any(not own.equals(first) for own in entries):
                        return True
        return first is not None and first.nbytes > _LARGEST_DICTIONARY_PAGE

    def coded(self, columns: Sequence[str], k_quasis: Sequence[str]) -> list[str]:
        """The columns of text that are read faster as dictionaries: k-quasis, and those whose values repeat often."""
        filled = [self._repeating(file) for file, n_records in self.n_records_by_file.items() if n_records]
        few = {*k_quasis, *(set.intersection(*filled) if filled else ())}
        return [name for name in columns if name in few and pa.types.is_string(self.schema.field(name).type)]

    def _repeating(self, file: Path) -> set[str]:
        """Columns whose values repeat so often that a value takes no more in the file than a position in a dictionary."""
        most = _BYTES_PER_POSITION * self._stamps[file].n_records
        return {name for name, n_bytes in self._layouts[file].column_bytes.items() if n_bytes <= most}

    def width(self, column: str) -> int:
        """Mean bytes of a value in the files, uncompressed."""
        total = 0
        for layout in self._layouts.values():
            for path, n_bytes in layout.column_bytes.items():
                total += n_bytes * (path == column or path.startswith(f"{column}."))
        return -(-total // max(1, self.n_records))

    def parts(self, columns: Sequence[str], *, coded: Sequence[str], n_records: int) -> Iterator[pa.Table]:
        """The named columns of all files, `n_records` records at a time; refused where a file was changed."""
        for file in self.paths:
            self._refuse_changed(file)
            n_seen = 0
            with _opened(file, coded) as opened:
                for batch in opened.iter_batches(batch_size=n_records, columns=list(columns)):
                    n_seen += batch.num_rows
                    batch.validate(full=True)
                    table = pa.Table.from_batches([batch]).select(list(columns))
                    yield marked(without_order(table, self._disordered), coded)
            if n_seen != self._stamps[file].n_records:
                raise changed(file)

    def places(self) -> list[Place]:
        """Row groups to sample from: all, or some that are spread evenly over the records where there are many."""
        found = [
            Place(file=file, group=i, n_records=n)
            for file, layout in self._layouts.items()
            for i, n in enumerate(layout.groups)
            if n
        ]
        if len(found) <= _MOST_PLACES:
            return found
        ends = np.cumsum([place.n_records for place in found])
        wanted = (np.arange(_MOST_PLACES) + 0.5) * (self.n_records / _MOST_PLACES)
        return [found[i] for i in np.unique(np.searchsorted(ends, wanted, side="right")).tolist()]

    def sample(self, columns: Sequence[str], *, coded: Sequence[str], most: int, seen: int) -> Iterator[pa.Table]:
        """Up to about `most` records, drawn at random from the first records of some row groups.

        About `seen` records are read for that and no more, for row groups can be very long.
        """
        places = self.places()
        window = self.n_records if self.n_records <= seen else -(-seen // max(1, len(places)))
        n_there = [min(window, place.n_records) for place in places]
        share = min(1.0, most / max(1, sum(n_there)))
        rng = np.random.default_rng(_SAMPLING_SEED)
        for place, n in zip(places, n_there, strict=True):
            n_seen = 0
            with _opened(place.file, coded) as opened:
                n_at_once = min(n, _SAMPLED_AT_ONCE)
                for batch in opened.iter_batches(n_at_once, row_groups=[place.group], columns=list(columns)):
                    batch.validate(full=True)
                    here = min(batch.num_rows, n - n_seen)
                    chosen = np.flatnonzero(rng.random(here) < share)
                    table = pa.Table.from_batches([batch.slice(0, here)]).select(list(columns))
                    table = without_order(table, self._disordered)
                    yield marked(table if share == 1 else table.take(pa.array(chosen)), coded)
                    n_seen += here
                    if n_seen >= n:
                        break

    def arrow_table(self, columns: Sequence[str], *, coded: Sequence[str] = ()) -> pa.Table:
        """The named columns of all records; text of k-quasis in `coded`, and text that repeats, as dictionaries."""
        texts = self.coded(columns, coded)
        table = pa.concat_tables([self._whole(file, columns, texts) for file in self.paths])
        if columns and table.num_rows != self.n_records:
            raise changed(self.path)
        return table

    def _whole(self, file: Path, columns: Sequence[str], coded: Sequence[str]) -> pa.Table:
        self._refuse_changed(file)
        with _worded(file):
            table = parquet.read_table(file, columns=list(columns), read_dictionary=list(coded), partitioning=None)
            table.validate(full=True)  # who follows damaged positions reads elsewhere in memory
            return marked(without_order(table, self._disordered), coded)

    def beside(self) -> tuple[str, ...]:
        """Names of the metadata of all files."""
        schemas = [_read_footer(file)[1].schema.to_arrow_schema() for file in self.paths]
        return tuple(sorted({name for schema in schemas for name in metadata_names(schema)}))

    def like(self, table: pa.Table) -> pa.Table:
        return table

    @property
    def n_records_by_file(self) -> dict[Path, int]:
        """Records of each file, in the order in which files are read."""
        return {file: stamp.n_records for file, stamp in self._stamps.items()}

    def refuse_changed(self) -> None:
        """Refused where a file was changed since it was opened."""
        for file in self.paths:
            self._refuse_changed(file)

    def _refuse_changed(self, file: Path) -> None:
        try:
            now, _ = _read_footer(file)
        except AnonymisationError:
            raise changed(file) from None
        if now != self._stamps[file]:
            raise changed(file)


def _worded(file: Path) -> contextlib.AbstractContextManager[None]:
    """Words the errors of reading a file for the user."""
    return readable(file, damaged="is damaged: some of its columns cannot be read.")


@contextlib.contextmanager
def _opened(file: Path, coded: Sequence[str]) -> Iterator[parquet.ParquetFile]:
    with (
        _worded(file),
        parquet.ParquetFile(file, read_dictionary=list(coded), buffer_size=1 << 20) as opened,
    ):
        yield opened


def _read_footer(file: Path) -> tuple[Stamp, parquet.FileMetaData]:
    """The stamp of a file, and the metadata at its end."""
    with readable(file, damaged="is not a Parquet file, or is damaged."):
        status = file.stat()
        try:
            metadata = parquet.read_metadata(file)
            schema = metadata.schema.to_arrow_schema().remove_metadata()
            schema.names  # noqa: B018 (names are decoded when they are asked for)
        except UnicodeDecodeError:
            raise DataError(Problem(where=str(file), what="a column has a name that is not UTF-8 text.")) from None
    stamp = Stamp(n_records=metadata.num_rows, size=status.st_size, changed=status.st_mtime_ns, schema=schema)
    return stamp, metadata


def _layout(file: Path, metadata: parquet.FileMetaData) -> Layout:
    """How a file holds its records; Arrow is asked for nothing but the lengths of row groups (see `parquet_footer`)."""
    n_bytes: dict[str, int] = {}
    with _worded(file):
        for group in chunks_of(file):
            for chunk in group:
                n_bytes[chunk.path] = n_bytes.get(chunk.path, 0) + chunk.n_bytes
    groups = tuple(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))
    return Layout(groups=groups, column_bytes=n_bytes)


def _refuse_other_columns(file: Path, schema: pa.Schema, expected: pa.Schema, *, first: Path) -> None:
    """Refuses a file whose columns differ from those of the first file."""

    def kinds(own: pa.Schema) -> dict[str, pa.DataType]:
        return {field.name: field.type for field in own}

    mine, theirs = kinds(schema), kinds(expected)
    differing = [name for name in {**theirs, **mine} if mine.get(name) != theirs.get(name)]
    if differing:
        listed = ", ".join(f'"{name}"' for name in differing)
        raise DataError(
            Problem(
                where=str(file),
                what=f"columns {listed} are missing, new, or of another type than in {first.name}.",
                fix="All files of a table need the same columns.",
            )
        )

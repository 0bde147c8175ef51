# SPDX-License-Identifier: Apache-2.0
"""Tables in files: which kind a path is, what columns it has, reading some of them, and writing a release."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kepsilon.engines.csv_files import CsvDialect, read_csv, sniff, write_csv
from kepsilon.errors import DataError, EngineError, Problem

CSV = (".csv", ".tsv", ".txt")
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
BYTES_PER_POSITION = 4
CODED_TEXT = {b"kepsilon": b"coded text"}
"""Marks, inside the process, a column that is text outside and a dictionary here; no file ever carries the mark."""
KINDS = "CSV (.csv, .tsv), Parquet (.parquet) or Arrow (.arrow, .feather)"


def require_known_kind(path: Path) -> None:
    if path.suffix.lower() not in CSV + PARQUET + ARROW:
        raise DataError(
            Problem(where=str(path), what="cannot tell what kind of file this is from its suffix.", fix=f"Use {KINDS}.")
        )


class FileSource:
    """A file, known by its columns; `read` takes only those asked for."""

    def __init__(self, path: Path) -> None:
        require_known_kind(path)
        if not path.exists():
            raise DataError(Problem(where=str(path), what="there is no such file."))
        if path.is_dir():
            raise DataError(Problem(where=str(path), what="is a folder, not a file.", fix=f"Name one file: {KINDS}."))
        self.path = path
        self.paths = (path,)
        self.inputs: tuple[Path, ...] = (path,)
        self.name = path.name
        self.dialect: CsvDialect | None = None
        suffix = path.suffix.lower()
        try:
            if suffix in CSV:
                self.dialect = sniff(path)
                self.column_names = self.dialect.column_names
            elif suffix in PARQUET:
                self.column_names = tuple(_parquet_schema(path).names)
            else:
                self.column_names = tuple(_arrow_reader(path).schema.names)
        except OSError as error:
            raise _unreadable(path, error) from None

    def arrow_table(self, columns: Sequence[str], *, coded: Sequence[str] = ()) -> Any:
        """The named columns; those in `coded` come as dictionaries where the file has them so."""
        suffix = self.path.suffix.lower()
        try:
            if self.dialect is not None:
                table = read_csv(self.path, self.dialect, columns)
            elif suffix in PARQUET:
                table = _read_parquet(self.path, columns, coded)
            else:
                table = _read_arrow(self.path, columns)
        except OSError as error:
            raise _unreadable(self.path, error) from None
        return table


Write = Callable[[Any], None]
"""Writes some more records, all of one schema."""


def writer_for(path: Path, *, delimiter: str = ",") -> Callable[[Any, Path], None]:
    """How to write a table whose final name is `path`: the suffix decides."""

    def write_table(table: Any, target: Path) -> None:
        with writing(path, target, delimiter=delimiter) as write:
            write(table)

    return write_table


def write_folder(tables: Iterable[Any], folder: Path) -> None:
    """A Parquet file for each table."""
    for i, table in enumerate(tables):
        name = Path(f"part-{i:05d}.parquet")
        writer_for(name)(table, folder / name)


@contextlib.contextmanager
def writing(path: Path, target: Path, *, delimiter: str = ",", in_parts: bool = False) -> Iterator[Write]:
    """Writes a table whose final name is `path` to `target`, `in_parts` if not all records are at hand at once."""
    suffix = path.suffix.lower()
    with contextlib.ExitStack() as stack:
        if suffix in CSV:
            chosen = "\t" if suffix == ".tsv" else delimiter
            file = stack.enter_context(target.open("wb"))
            yield lambda table: write_csv(_writable_as_csv(table, path), file, delimiter=chosen)
        elif suffix in PARQUET:
            yield _ParquetWriter(target, stack).write
        else:
            yield _ArrowWriter(target, stack, in_parts=in_parts).write


def _writable_as_csv(table: Any, path: Path) -> Any:
    table = _without_dictionaries(table)
    unfit = [f.name for f in table.schema if not _fits_a_cell(f.type)]
    if unfit:
        listed = ", ".join(f'"{name}"' for name in unfit)
        raise DataError(
            Problem(
                where=str(path),
                what=f"columns {listed} hold lists, structures or bytes, which CSV has no way to write.",
                fix="Write Parquet (.parquet) or Arrow (.arrow), or leave those columns out.",
            )
        )
    return table


def _fits_a_cell(kind: Any) -> bool:
    import pyarrow as pa

    is_bytes = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    return not (pa.types.is_nested(kind) or is_bytes or isinstance(kind, pa.BaseExtensionType))


def _read_parquet(path: Path, columns: Sequence[str], coded: Sequence[str]) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    schema = _parquet_schema(path)
    repeating = {*coded, *few_valued(path)}
    texts = [name for name in columns if name in repeating and pa.types.is_string(schema.field(name).type)]
    try:
        table = parquet.read_table(path, columns=list(columns), read_dictionary=texts, partitioning=None)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(Problem(where=str(path), what="is damaged: some of its columns cannot be read.")) from None
    for name in texts:
        i = table.schema.get_field_index(name)
        table = table.set_column(i, table.schema.field(i).with_metadata(CODED_TEXT), table.column(i))
    return table


def few_valued(path: Path) -> set[str]:
    """Columns of a Parquet file whose values repeat often."""
    from pyarrow import parquet

    metadata = parquet.read_metadata(path)
    return repeating(column_bytes(metadata), metadata.num_rows)


def repeating(n_bytes: Mapping[str, int], n_records: int) -> set[str]:
    """Columns whose values repeat so often that the file needs less for each than a position in a dictionary does."""
    return {name for name, size in n_bytes.items() if size <= BYTES_PER_POSITION * n_records}


def column_bytes(metadata: Any) -> dict[str, int]:
    """How much a Parquet file holds of each column, by its path in the schema and uncompressed."""
    n_bytes: dict[str, int] = {}
    for group in range(metadata.num_row_groups):
        for i in range(metadata.num_columns):
            column = metadata.row_group(group).column(i)
            n_bytes[column.path_in_schema] = n_bytes.get(column.path_in_schema, 0) + column.total_uncompressed_size
    return n_bytes


def _parquet_schema(path: Path) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return parquet.read_schema(path)
    except pa.ArrowInvalid:
        raise DataError(Problem(where=str(path), what="is not a Parquet file.")) from None


def _read_arrow(path: Path, columns: Sequence[str]) -> Any:
    """Checked in full, because damaged offsets would make whoever follows them read elsewhere in memory."""
    import pyarrow as pa

    try:
        table = _arrow_reader(path).read_all().select(list(columns))
        table.validate(full=True)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowIndexError, IndexError):
        raise DataError(Problem(where=str(path), what="is damaged: it is not whole, valid Arrow data.")) from None
    return table


def _arrow_reader(path: Path) -> Any:
    import pyarrow as pa

    try:
        return pa.ipc.open_file(pa.memory_map(str(path)))
    except pa.ArrowInvalid:
        try:
            return pa.ipc.open_stream(pa.memory_map(str(path)))
        except pa.ArrowInvalid:
            raise DataError(Problem(where=str(path), what="is not an Arrow or Feather file.")) from None


class _ParquetWriter:
    """Coded text is handed over as dictionaries, which is fast, but recorded as text, which is what it is."""

    def __init__(self, target: Path, stack: contextlib.ExitStack) -> None:
        self._target, self._stack = target, stack
        self._writer: Any = None

    def write(self, table: Any) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        if self._writer is None:
            shown = pa.schema([pa.field(field.name, _shown_type(field)) for field in table.schema])
            self._writer = self._stack.enter_context(
                parquet.ParquetWriter(self._target, table.schema, compression="snappy", store_schema=False)
            )
            recorded = base64.b64encode(shown.serialize().to_pybytes()).decode()
            self._writer.add_key_value_metadata({"ARROW:schema": recorded})
        self._writer.write_table(table, row_group_size=1 << 20)


class _ArrowWriter:
    """An Arrow file has one dictionary for all its records; in parts there is none, and values are written as they are."""

    def __init__(self, target: Path, stack: contextlib.ExitStack, *, in_parts: bool) -> None:
        self._target, self._stack, self._in_parts = target, stack, in_parts
        self._writer: Any = None

    def write(self, table: Any) -> None:
        import pyarrow as pa

        shown = _without_dictionaries(table) if self._in_parts else decoded(table)
        if self._writer is None:
            file = self._stack.enter_context(pa.OSFile(str(self._target), "wb"))
            self._writer = self._stack.enter_context(pa.ipc.new_file(file, shown.schema))
        self._writer.write_table(shown, max_chunksize=1 << 20)


def decoded(table: Any) -> Any:
    """The same table with coded text as plain text."""
    import pyarrow as pa

    schema = pa.schema([pa.field(field.name, _shown_type(field)) for field in table.schema])
    return table if schema.equals(table.schema) else table.cast(schema)


def _without_dictionaries(table: Any) -> Any:
    import pyarrow as pa

    plain = [pa.field(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in table.schema]
    return table.cast(pa.schema(plain))


def _shown_type(field: Any) -> Any:
    return field.type.value_type if field.metadata == CODED_TEXT else field.type


def _unreadable(path: Path, error: OSError) -> EngineError:
    return EngineError(Problem(where=str(path), what=f"cannot be read: {error.strerror or 'input/output error'}."))

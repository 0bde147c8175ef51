# SPDX-License-Identifier: Apache-2.0
"""Writes a drawn table as every kind of input there is, and reads a release back with code that is not the package's."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import ipc, parquet

from rigs.columns import Column

CSV_KINDS = ("csv", "tsv", "txt")
FILE_KINDS = (*CSV_KINDS, "parquet", "arrow", "feather", "folder", "pattern")
FRAME_KINDS = ("arrow table", "polars", "lazy polars", "pandas", "duckdb")


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How a CSV file is written."""

    delimiter: str = ","
    line_end: str = "\n"
    quote_all: bool = False
    mark: bool = False
    """Whether the file begins with a byte order mark."""
    end: bool = True
    """Whether the last line ends."""


def draw_dialect(rng: random.Random, kind: str) -> Dialect:
    return Dialect(
        delimiter="\t" if kind == "tsv" else rng.choice([",", ",", ";", "|", "\t"]),
        line_end=rng.choice(["\n", "\n", "\r\n"]),
        quote_all=rng.random() < 0.3,
        mark=rng.random() < 0.2,
        end=rng.random() < 0.9,
    )


def arrow_table(columns: Sequence[Column]) -> pa.Table:
    return pa.Table.from_arrays([column.array for column in columns], names=[column.name for column in columns])


def csv_text(columns: Sequence[Column], dialect: Dialect) -> str:
    """The table as CSV; null and empty text are both an empty cell."""

    def cell(value: Any) -> str:
        written = "" if value is None else str(value)
        special = set(written) & {dialect.delimiter, '"', "\n", "\r"}
        alone = not written and len(columns) == 1
        return '"' + written.replace('"', '""') + '"' if special or dialect.quote_all or alone else written

    rows = [[column.name for column in columns], *zip(*(column.values for column in columns), strict=True)]
    text = dialect.line_end.join(dialect.delimiter.join(map(cell, row)) for row in rows)
    return text + dialect.line_end * dialect.end


def write(columns: Sequence[Column], folder: Path, kind: str, dialect: Dialect, rng: random.Random) -> Path:
    """Writes the table into a folder as a kind of file; returns the path or pattern to read."""
    if kind in CSV_KINDS:
        path = folder / f"table.{kind}"
        path.write_bytes(csv_text(columns, dialect).encode("utf-8-sig" if dialect.mark else "utf-8"))
        return path
    table = arrow_table(columns)
    if kind in ("folder", "pattern"):
        (folder / "parts").mkdir()
        cuts = sorted(rng.choices(range(table.num_rows + 1), k=rng.choice([0, 1, 2])))
        for i, (low, high) in enumerate(zip([0, *cuts], [*cuts, table.num_rows], strict=True)):
            parquet.write_table(table.slice(low, high - low), folder / "parts" / f"part-{i}.parquet")
        return folder / "parts" if kind == "folder" else folder / "parts" / "*.parquet"
    path = folder / f"table.{kind}"
    if kind == "parquet":
        parquet.write_table(table, path, row_group_size=rng.choice([7, 100, 10_000]))
    else:
        opened: Callable[..., Any] = rng.choice([ipc.new_file, ipc.new_stream])
        with pa.OSFile(str(path), "wb") as file, opened(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=rng.choice([5, 10_000]))
    return path


def parquet_can_hold(array: pa.Array) -> bool:
    """Whether Parquet has a type for a column."""
    try:
        parquet.write_table(pa.table({"x": array}), pa.BufferOutputStream())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return False
    return True


def as_frame(columns: Sequence[Column], kind: str) -> Any:
    """The table as a frame of some library; a column that the library has no type for becomes text first.

    `array` of each column is then what the frame holds: pandas, for one, makes doubles of whole numbers with gaps.
    """
    if kind == "arrow table":
        return _in_pieces(arrow_table(columns))
    make = {"polars": _polars, "lazy polars": _polars, "pandas": _pandas, "duckdb": _duckdb}[kind]
    for column in columns:
        try:
            column.array = _in_one(make(pa.table({"x": column.array})))
        except BaseException as error:  # whatever the library says
            # A panic of Polars is no Exception.
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            texts = pa.array([None if value is None else str(value) for value in column.values], pa.string())
            column.array = _in_one(make(pa.table({"x": texts})))
    frame = make(arrow_table(columns))
    return frame.lazy() if kind == "lazy polars" else frame


def _in_pieces(table: pa.Table) -> pa.Table:
    """The table in two pieces, each of which lists the entries of its dictionaries in an order of its own."""
    cut = table.num_rows // 3
    columns = [
        pa.chunked_array([own.slice(0, cut).combine_chunks(), _turned(own.slice(cut).combine_chunks())], type=own.type)
        for own in table.columns
    ]
    return pa.Table.from_arrays(columns, names=table.column_names)


def _turned(array: pa.Array) -> pa.Array:
    """A dictionary with its entries the other way round, unless their order is declared; other arrays as they are."""
    if not pa.types.is_dictionary(array.type) or array.type.ordered or not len(array.dictionary):
        return array
    last = len(array.dictionary) - 1
    entries = pa.concat_arrays([array.dictionary.slice(i, 1) for i in range(last, -1, -1)])
    places = [None if i is None else last - i for i in array.indices.to_pylist()]
    return pa.DictionaryArray.from_arrays(pa.array(places, array.type.index_type), entries)


def _polars(table: pa.Table) -> Any:
    import polars as pl

    return pl.from_arrow(table)


def _pandas(table: pa.Table) -> Any:
    return table.to_pandas()


def _duckdb(table: pa.Table) -> Any:
    import duckdb

    return duckdb.from_arrow(table)


def from_frame(frame: Any) -> pa.Table:
    """A frame that the package gave back as an Arrow table."""
    if isinstance(frame, pa.Table):
        return frame
    if type(frame).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(frame, preserve_index=False)
    return pa.table(frame)


def _in_one(frame: Any) -> pa.Array:
    chunks = from_frame(frame).column(0)
    return pa.concat_arrays(chunks.chunks) if chunks.num_chunks else pa.array([], chunks.type)


def read(path: Path, *, delimiter: str) -> tuple[list[str], list[list[Any]], bool]:
    """Names and values of a release by column, and whether they are all text (as in CSV, where null is empty text)."""
    if path.suffix in (".csv", ".tsv", ".txt"):
        csv.field_size_limit(1 << 30)
        text = path.read_bytes().decode("utf-8")
        mark = "\t" if path.suffix == ".tsv" else delimiter
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True))
        names = rows[0] if rows else []
        records = [row for row in rows[1:] if row] if len(names) > 1 else [row or [""] for row in rows[1:]]
        if any(len(row) != len(names) for row in records):
            raise ValueError("a record of the release has another number of cells than the header")
        return names, [[row[i] or None for row in records] for i in range(len(names))], True
    if path.is_dir():
        parts = [parquet.read_table(part, partitioning=None) for part in sorted(path.glob("*.parquet"))]
        table = pa.concat_tables(parts)
    elif path.suffix == ".parquet":
        table = parquet.ParquetFile(path).read()
    else:
        with pa.OSFile(str(path)) as file:
            table = ipc.open_file(file).read_all()
    return table.column_names, [column.to_pylist() for column in table.columns], False

# SPDX-License-Identifier: Apache-2.0
"""Reads and writes CSV. Every column is read as text, so that 01234 stays 01234; the policy decides what is a number.

Arrow's messages quote the offending line, which is a record, so none of them is passed on.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from kepsilon.encodings import UTF_8_MARK, Encoding, encoding_of, not_utf_8
from kepsilon.errors import DataError, Problem
from kepsilon.sources.columns import without_dictionaries
from kepsilon.sources.counted_reading import counted_reading
from kepsilon.sources.files import readable
from kepsilon.sources.protocol import Sink, Write

DELIMITERS = (",", ";", "\t", "|")
HEADER_BYTES = 1 << 20
BLOCK_BYTES = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvDialect:
    """How a CSV file is written, and its column names."""

    delimiter: str
    encoding: Encoding
    column_names: tuple[str, ...]
    header_lines: int
    """Lines up to the end of the header, blank ones before it included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvFile:
    """A CSV file, which has to be read whole even for one column."""

    path: Path
    dialect: CsvDialect
    is_release: bool = False
    """Whether the file is a release: a quoted empty cell is then no missing one, and a cell may hold whole lines."""
    by_column = False

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def column_names(self) -> tuple[str, ...]:
        return self.dialect.column_names

    @property
    def inputs(self) -> tuple[Path, ...]:
        return (self.path,)

    @property
    def tells_null_from_empty(self) -> bool:
        """Not with a single column: there a null is written as empty text, for an empty line would be skipped."""
        return len(self.column_names) > 1

    @property
    def notes(self) -> tuple[Problem, ...]:
        return () if self.dialect.encoding == "utf-8" else (not_utf_8(self.name),)

    def arrow_table(self, columns: Sequence[str], *, coded: Sequence[str] = ()) -> pa.Table:
        del coded  # all columns are read as plain text
        with readable(self.path):
            return read_csv(self.path, self.dialect, columns, is_release=self.is_release)

    def beside(self) -> tuple[str, ...]:
        return ()

    def like(self, table: pa.Table) -> pa.Table:
        return table


class CsvFiles:
    """CSV files. A release is written with the delimiter of the CSV file that it comes from."""

    name = "CSV"
    suffixes = (".csv", ".tsv")
    other_suffixes = (".txt",)
    open_in_parts = None

    def takes(self, source: object) -> bool:
        del source
        return False

    def open(self, source: Path) -> CsvFile:
        return CsvFile(path=source, dialect=sniff(source))

    @contextlib.contextmanager
    def writing(self, sink: Sink) -> Iterator[Write]:
        delimiter = sink.like.dialect.delimiter if isinstance(sink.like, CsvFile) else ","
        if _is_tsv(sink.final_name):
            delimiter = "\t"
        with sink.target.open("wb") as file:
            yield lambda table: write_csv(_writable(table, sink.final_name), file, delimiter=delimiter)

    def types_in(self, path: Path, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """Text for every column that was not text before; `asked` are the types of the input."""
        del path
        texts = (pa.string(), pa.large_string(), pa.string_view())
        return {name: "text" for name, kind in asked.items() if kind not in texts}


def sniff(path: Path) -> CsvDialect:
    """The dialect of a file, found from its beginning."""
    with path.open("rb") as file:
        head = file.read(HEADER_BYTES)
    if not head.strip():
        raise DataError(Problem(where=str(path), what="is empty.", fix="A table needs a header line and records."))
    encoding = encoding_of(path)
    text = head.removeprefix(UTF_8_MARK).decode(
        encoding, errors="ignore"
    )  # only a letter cut in two at the end is ignored
    delimiter = "\t" if _is_tsv(path) else _most_frequent(_first_line(text.lstrip("\r\n")))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        header = next((fields for fields in reader if fields), [])
    except csv.Error:
        raise DataError(Problem(where=str(path), what="its header line cannot be read as CSV.")) from None
    return CsvDialect(delimiter=delimiter, encoding=encoding, column_names=tuple(header), header_lines=reader.line_num)


def read_csv(path: Path, dialect: CsvDialect, columns: Sequence[str], *, is_release: bool) -> pa.Table:
    """The named columns as Arrow text; an empty field is null, and so is a quoted one where it is no release."""
    from pyarrow import csv as arrow_csv

    def attempt(file: Path | pa.NativeFile, block_size: int) -> pa.Table:
        return arrow_csv.read_csv(
            file,
            # Names are given, not read: Arrow would keep a byte order mark in the first one.
            read_options=arrow_csv.ReadOptions(
                encoding=dialect.encoding,
                column_names=list(dialect.column_names),
                skip_rows=dialect.header_lines,
                block_size=block_size,
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=dialect.delimiter,
                newlines_in_values=True,
                ignore_empty_lines=len(dialect.column_names) > 1,  # in a single column an empty line is a null
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(dialect.column_names, pa.string()),
                include_columns=list(columns),
                strings_can_be_null=True,
                quoted_strings_can_be_null=not is_release,
                null_values=[""],
            ),
        )

    block_size = BLOCK_BYTES
    while True:
        try:
            with counted_reading(path) as file:
                table = attempt(file, block_size)
        except pa.ArrowInvalid as error:
            if "straddl" in str(error) and block_size < path.stat().st_size:
                block_size = path.stat().st_size + 1  # a single field is longer than a block
            elif "Empty CSV" in str(error):
                return pa.table({name: pa.array([], pa.string()) for name in columns})
            else:
                break
        else:
            if not is_release:  # where a cell may hold whole lines, because its original did
                _refuse_swallowed_records(path, dialect, n_records=table.num_rows)
            if len(dialect.column_names) == 1:
                table = table.slice(0, max(0, table.num_rows - _n_blank_at_end(path)))
            return table
    raise DataError(_ragged(path, dialect))


def _refuse_swallowed_records(path: Path, dialect: CsvDialect, *, n_records: int) -> None:
    """Refuses a file in which a stray quote has made one field of many records.

    Such a field would be published as it is, with the identifiers of all those records in it. A file with as many lines
    as records has no line break inside a field; only other files are read again, slowly and strictly.
    """
    if _n_lines(path) == n_records + dialect.header_lines:
        return
    problem = Problem(
        where=str(path),
        what="quotes do not match: the file ends inside a quoted cell.",
        fix="A quote inside a cell must be doubled, and the cell quoted.",
    )
    try:
        for _, line, fields in _records(path, dialect):
            for field in fields:
                if ("\n" in field or "\r" in field) and _holds_a_record(field, dialect):
                    problem = Problem(
                        where=str(path),
                        what=f"a quoted cell that ends on line {line} holds line breaks and what looks like whole records.",
                        fix="Most likely a quote is missing or left over before that line. If the cell is right, give the data "
                        "as Parquet.",
                    )
                    break
            else:
                continue
            break
        else:
            return
    except csv.Error:
        pass
    raise DataError(problem)


def _holds_a_record(field: str, dialect: CsvDialect) -> bool:
    """Whether a field of several lines may hold whole records.

    A quote that opens in one record and closes in the same column of another encloses n − 1 delimiters for every line
    break, in a file of n columns, however they are spread over the lines.
    """
    n_delimiters = len(dialect.column_names) - 1
    lines = [line for line in re.split(r"\r\n|\r|\n", field) if line]
    return n_delimiters > 0 and len(lines) > 1 and field.count(dialect.delimiter) >= n_delimiters * (len(lines) - 1)


def _n_lines(path: Path) -> int | None:
    """How many lines a file has, also counting a last one without line break; None if a line ends in a bare return."""
    n_feeds = n_returns = n_pairs = 0
    last = b"\n"
    with path.open("rb") as file:
        while block := file.read(1 << 24):
            n_feeds += block.count(b"\n")
            n_returns += block.count(b"\r")
            n_pairs += block.count(b"\r\n") + (last == b"\r" and block.startswith(b"\n"))
            last = block[-1:]
    return None if n_returns != n_pairs else n_feeds + (last != b"\n")


def _n_blank_at_end(path: Path) -> int:
    """How many empty lines a file ends with."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - HEADER_BYTES))
        tail = file.read().replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return max(0, len(tail) - len(tail.rstrip(b"\n")) - 1)


def write_csv(table: pa.Table, file: BinaryIO, *, delimiter: str) -> None:
    """Appends records to a file, after a header where the file is empty."""
    from pyarrow import csv as arrow_csv

    if table.num_columns == 1 and table.column(0).null_count:
        # A null alone on its line would be an empty line, which readers skip.
        table = table.set_column(0, table.schema.names[0], table.column(0).cast("string").fill_null(""))
    options = arrow_csv.WriteOptions(delimiter=delimiter, quoting_style="needed", include_header=file.tell() == 0)
    arrow_csv.write_csv(table, file, options)


def _writable(table: pa.Table, path: Path) -> pa.Table:
    """The table without dictionaries; refused where a column is of a type that CSV cannot hold."""
    table = without_dictionaries(table)
    unfit = [f.name for f in table.schema if not _fits_a_field(f.type)]
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


def _fits_a_field(kind: pa.DataType) -> bool:
    is_bytes = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    return not (pa.types.is_nested(kind) or is_bytes or isinstance(kind, pa.BaseExtensionType))


def _ragged(path: Path, dialect: CsvDialect) -> Problem:
    """Says which lines do not have as many fields as the header: by line number, never by content."""
    n_columns = len(dialect.column_names)
    try:
        wrong = [line for line, _, fields in _records(path, dialect, strict=False) if len(fields) != n_columns]
    except csv.Error:
        wrong = []
    if not wrong:
        return Problem(
            where=str(path),
            what="cannot be read as CSV: quotes do not match, or a cell holds bytes that are not text.",
            fix="Open it in the program that wrote it and save it again as UTF-8 CSV.",
        )
    return Problem(
        where=str(path),
        what=f"{len(wrong):,} records do not have the {n_columns} cells of the header; the first begins on line {wrong[0]}.",
        fix="A cell that holds the delimiter or a line break must be quoted.",
    )


def _records(path: Path, dialect: CsvDialect, *, strict: bool = True) -> Iterator[tuple[int, int, list[str]]]:
    """The lines that each record begins and ends on, and its fields; `strict` raises csv.Error where quotes do not match."""
    csv.field_size_limit(1 << 30)
    with path.open(encoding=dialect.encoding, errors="replace", newline="") as file:
        reader = csv.reader(file, delimiter=dialect.delimiter, strict=strict)
        last = 0
        for fields in reader:
            if fields:
                yield last + 1, reader.line_num, fields
            last = reader.line_num


def _is_tsv(path: Path) -> bool:
    return path.suffix.lower() == ".tsv"


def _first_line(text: str) -> str:
    """The text up to the first line break outside quotes."""
    in_quotes = False
    for i, character in enumerate(text):
        if character == '"':
            in_quotes = not in_quotes
        elif character in "\r\n" and not in_quotes:
            return text[:i]
    return text


def _most_frequent(header: str) -> str:
    """The delimiter that occurs most often in a header outside quotes; a comma where none occurs."""
    outside = "".join(part for i, part in enumerate(header.split('"')) if i % 2 == 0)
    counts = {delimiter: outside.count(delimiter) for delimiter in DELIMITERS}
    best = max(counts, key=lambda delimiter: counts[delimiter])
    return best if counts[best] else ","

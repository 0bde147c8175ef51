# SPDX-License-Identifier: Apache-2.0
"""CSV in and out: every column as text, so that 01234 stays 01234; the policy decides what is a number.

Arrow's own messages quote the offending line, which is a record, so none of them is passed on.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kepsilon.errors import DataError, Problem

DELIMITERS = (",", ";", "\t", "|")
HEADER_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvDialect:
    delimiter: str
    encoding: str
    """utf-8 or latin-1."""
    column_names: tuple[str, ...]


def sniff(path: Path) -> CsvDialect:
    """Delimiter, encoding and column names from the head of the file."""
    with path.open("rb") as file:
        head = file.read(HEADER_BYTES)
    if not head.strip():
        raise DataError(Problem(where=str(path), what="is empty.", fix="A table needs a header line and records."))
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(Problem(where=str(path), what="is UTF-16 text.", fix="Save it as UTF-8."))
    encoding = "utf-8"
    try:
        text = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4 or len(head) < HEADER_BYTES:
            encoding = "latin-1"
        text = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8" if encoding == "utf-8" else encoding, errors="replace")
    delimiter = "\t" if path.suffix.lower() == ".tsv" else _most_frequent(_first_line(text))
    try:
        header = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    except csv.Error:
        raise DataError(Problem(where=str(path), what="its header line cannot be read as CSV.")) from None
    return CsvDialect(delimiter=delimiter, encoding=encoding, column_names=tuple(header))


def read_csv(path: Path, dialect: CsvDialect, columns: Sequence[str]) -> Any:
    """The named columns as Arrow text; an empty cell is a null, a quoted empty cell is the empty text."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    def attempt(encoding: str) -> Any:
        return arrow_csv.read_csv(
            path,
            read_options=arrow_csv.ReadOptions(encoding=encoding),
            parse_options=arrow_csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(dialect.column_names, pa.string()),
                include_columns=list(columns),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                null_values=[""],
            ),
        )

    try:
        try:
            return attempt(dialect.encoding)
        except pa.ArrowInvalid as error:
            # Bytes that are not UTF-8 may come only after the head that was sniffed.
            if dialect.encoding == "utf-8" and "UTF8" in str(error):
                return attempt("latin-1")
            raise
    except pa.ArrowInvalid:
        raise DataError(_ragged(path, dialect)) from None


def write_csv(table: Any, path: Path, *, delimiter: str) -> None:
    from pyarrow import csv as arrow_csv

    with path.open("wb") as file:
        arrow_csv.write_csv(table, file, arrow_csv.WriteOptions(delimiter=delimiter, quoting_style="needed"))


def _ragged(path: Path, dialect: CsvDialect) -> Problem:
    """Which lines have another number of cells than the header: by line number, never by content."""
    n_columns = len(dialect.column_names)
    try:
        wrong = [line for line, n_cells in _cells_by_line(path, dialect) if n_cells != n_columns]
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
        what=f"{len(wrong):,} records do not have the {n_columns} cells of the header; the first is on line {wrong[0]}.",
        fix="A cell that holds the delimiter or a line break must be quoted.",
    )


def _cells_by_line(path: Path, dialect: CsvDialect) -> Iterator[tuple[int, int]]:
    with path.open(encoding=dialect.encoding, errors="replace", newline="") as file:
        reader = csv.reader(file, delimiter=dialect.delimiter)
        for cells in reader:
            if cells:
                yield reader.line_num, len(cells)


def _first_line(text: str) -> str:
    """The header up to the first line break outside quotes."""
    in_quotes = False
    for i, character in enumerate(text):
        if character == '"':
            in_quotes = not in_quotes
        elif character in "\r\n" and not in_quotes:
            return text[:i]
    return text


def _most_frequent(header: str) -> str:
    outside = "".join(part for i, part in enumerate(header.split('"')) if i % 2 == 0)
    counts = {delimiter: outside.count(delimiter) for delimiter in DELIMITERS}
    best = max(counts, key=lambda delimiter: counts[delimiter])
    return best if counts[best] else ","

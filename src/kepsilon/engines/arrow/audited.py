# SPDX-License-Identifier: Apache-2.0
"""A table as the audit reads it: each column by itself, with every record, unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kepsilon.engines.arrow.coding import as_doubles, encode, holds_numbers
from kepsilon.engines.arrow.moving import stored
from kepsilon.engines.arrow.numpy_arrays import from_numpy, to_doubles
from kepsilon.engines.arrow.whole_columns import taken_rows, whole_column
from kepsilon.errors import DataError, Problem
from kepsilon.policy.reading import PLAIN, Reading
from kepsilon.sources.columns import in_one_piece, movable
from kepsilon.sources.csv_files import CsvFile
from kepsilon.sources.kept_types import without_times
from kepsilon.sources.kinds import open_release, open_source
from kepsilon.sources.protocol import Source
from kepsilon.sources.rebuilding import null_mask, rebuilt
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.codes import Label
from kepsilon.table.whole_records import WholeColumn


class AuditedTable:
    """A file or frame whose columns are read when they are asked for."""

    def __init__(self, source: object, *, is_release: bool = False) -> None:
        """Opens a table; `is_release` says that empty text stands for null where its format writes nulls so."""
        self.path: Path | None = Path(source) if isinstance(source, str | Path) else None
        self._source = open_release(source) if is_release else open_source(source)
        self.name: str = self._source.name
        self.column_names: tuple[str, ...] = self._source.column_names
        self._n_records: int | None = None
        self._whole: Any = None
        """All columns, where the kind of source is read whole; filled when first needed."""
        self._texts: dict[str, tuple[tuple[Label, ...], IntArray]] = {}
        self.reads_empty_as_null: bool = is_release and not self._source.tells_null_from_empty

    @property
    def n_records(self) -> int:
        if self._n_records is None:
            self._n_records = 0
            if self.column_names:
                self._n_records = len(self._column(self.column_names[0]))
        return self._n_records

    @property
    def metadata(self) -> tuple[str, ...]:
        """Names of what the table holds beside its columns, such as the index of a pandas frame."""
        return self._source.beside()

    @property
    def source(self) -> Source:
        """The file or frame as it was opened."""
        return self._source

    @property
    def csv_delimiter(self) -> str | None:
        """The delimiter of a CSV file; None for other kinds of tables."""
        return self._source.dialect.delimiter if isinstance(self._source, CsvFile) else None

    def has_null_and_empty(self, name: str) -> bool:
        """Whether some records hold null in a column, and others empty text."""
        values, _ = self.texts(name)
        return None in values and "" in values

    def written_numbers(self, name: str) -> tuple[list[str], list[str]] | None:
        """Distinct numbers of a column as they are written, and as a release would write them.

        None where they are stored as numbers of the machine, or where some are no numbers.
        """
        column = self._column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        is_text = _is_text(column.type)
        if not (is_text or pa.types.is_decimal(column.type)):
            return None
        texts = [text for text in column.unique().drop_null().cast(pa.string()).to_pylist() if text]
        try:
            values = as_doubles(pa.chunked_array([pa.array(texts, pa.string())]), name, self.name)
        except DataError:
            return None
        return texts, from_numpy(values).cast(pa.string()).to_pylist()

    def texts(self, name: str) -> tuple[tuple[Label, ...], IntArray]:
        """Distinct values as text, null as None, and the position of every record's value among them."""
        if name not in self._texts:
            self._texts[name] = self._coded(name)
        return self._texts[name]

    def labels(self, name: str) -> tuple[tuple[Label, ...], IntArray]:
        """As `texts`, for a k-quasi: bytes are the text that they encode, as they are for whoever generalises them."""
        return self._folded(*encode(self._column(name), name, self.name))

    def is_time(self, name: str) -> bool:
        """Whether a column holds times, whose text has more or fewer zeros at its end in other formats."""
        kind = _value_type(self._column(name).type)
        return bool(pa.types.is_timestamp(kind) or pa.types.is_time(kind))

    def holds_doubles(self, name: str) -> bool:
        """Whether a column is one of floating-point numbers, of which some may be NaN."""
        return bool(pa.types.is_floating(_value_type(self._column(name).type)))

    def _coded(self, name: str) -> tuple[tuple[Label, ...], IntArray]:
        column = self._column(name)
        if pa.types.is_dictionary(column.type) and not _is_text(column.type.value_type):
            # What a value is written as must not depend on whether it stands in a dictionary.
            values = column.type.value_type
            column = pa.chunked_array([rebuilt(chunk, values) for chunk in column.chunks], type=values)
        is_bytes = pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)
        if pa.types.is_nested(column.type) or is_bytes or pa.types.is_fixed_size_binary(column.type):
            written = [None if value is None else repr(value) for value in _python_values(column)]
            column = pa.chunked_array([pa.array(written, pa.string())])
        elif pa.types.is_floating(column.type):
            # In a k-quasi zero and minus zero are one value; in a kept column they are two, which every file tells apart.
            column = column.cast(pa.string())
        try:
            values, codes = encode(column, name, self.name)
        except DataError:  # a type that Arrow does not write as text, such as a duration
            written = [None if value is None else str(value) for value in _python_values(column)]
            values, codes = encode(pa.chunked_array([pa.array(written, pa.string())]), name, self.name)
        return self._folded(values, codes)

    def _folded(self, values: tuple[Label, ...], codes: IntArray) -> tuple[tuple[Label, ...], IntArray]:
        """The values with empty text as null, where the format writes nulls so."""
        if self.reads_empty_as_null and "" in values:
            values, codes = empty_as_null(values, codes)
        return values, codes.astype(np.int64)

    def is_typed(self, name: str) -> bool:
        """Whether a column is one of numbers, not text."""
        return holds_numbers(stored(self._column(name)).type)

    def numbers(self, name: str, reading: Reading = PLAIN) -> FloatArray:
        """A column of numbers as doubles, NaN where it is missing; an original needs the reading of its policy."""
        column = self._column(name)
        is_text = _is_text(column.type)
        if is_text and not self._source.tells_null_from_empty:
            column = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
        return as_doubles(column, name, self.name, reading)

    def whole_columns(self, names: Sequence[str], rows: IntArray) -> dict[str, WholeColumn]:
        """Some columns of the records at some rows, which rise, read as those who attack kept columns read them."""
        return {name: whole_column(taken_rows(pa.table({name: self._column(name)}), rows).column(0)) for name in names}

    def _column(self, name: str) -> Any:
        if not self._source.by_column and len(set(self.column_names)) == len(self.column_names):
            if self._whole is None:  # a kind that reads all columns for any one of them is read once
                self._whole = self._source.arrow_table(self.column_names)
            column = movable(self._whole.select([name])).column(0)
        else:
            column = movable(self._source.arrow_table([name])).column(0)
        if self._n_records is None:
            self._n_records = len(column)
        return column


def _value_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values of a column, which may be a dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _python_values(column: pa.ChunkedArray) -> list[Any]:
    """The values as Python objects; dates and times as the numbers that stand for them where Python has no such dates."""
    try:
        return cast("list[Any]", column.to_pylist())
    except (OverflowError, ValueError):
        pass
    kind = without_times(column.type)
    return [value for chunk in column.chunks for value in rebuilt(chunk, kind).to_pylist()]


def read_whole_numbers(source: object, names: tuple[str, ...], *, what: str) -> tuple[IntArray, ...]:
    """Columns of whole numbers, none missing, such as those of a linkage file; anything else is refused."""
    table = AuditedTable(source)
    lacking = [name for name in names if name not in table.column_names]
    if lacking:
        listed = ", ".join(names)
        raise DataError(
            Problem(
                where=table.name,
                what=f"is not {what}: it has no column {' and no column '.join(lacking)}.",
                fix=f"It should have {listed}, as `kepsilon anonymise --linkage` writes them.",
            )
        )
    columns = []
    for name in names:
        try:
            column = table._column(name)  # noqa: SLF001 (a table of this module)
            whole = in_one_piece(column.cast(pa.int64()) if not pa.types.is_dictionary(column.type) else column)
            is_wrong = bool(null_mask(whole).any()) or not pa.types.is_integer(whole.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            is_wrong = True
        if is_wrong:
            raise DataError(
                Problem(where=f'{table.name}: column "{name}"', what="should hold whole numbers, one for every record.")
            )
        columns.append(to_doubles(pa.chunked_array([whole])).astype(np.int64))
    return tuple(columns)


def empty_as_null(values: tuple[Label, ...], codes: IntArray) -> tuple[tuple[Label, ...], IntArray]:
    """Distinct values, and the position of every record's value among them, with empty text counted as null."""
    positions: dict[Label, int] = {}
    remap = np.array([positions.setdefault(value or None, len(positions)) for value in values], dtype=np.int64)
    return tuple(positions), remap[codes]

# SPDX-License-Identifier: Apache-2.0
"""A table as an auditor reads it: every column on its own, by record, with nothing changed and nothing left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kepsilon.engines.coding import as_doubles, encode
from kepsilon.engines.files import CSV, PARQUET, FileSource, _arrow_reader, _parquet_schema
from kepsilon.engines.frames import FrameSource
from kepsilon.engines.moving import movable
from kepsilon.engines.numpy_arrays import in_one_piece, null_mask, to_doubles
from kepsilon.engines.parquet_files import ParquetFiles, is_many
from kepsilon.errors import DataError, Problem
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.codes import Label


class AuditedTable:
    """A file or frame; columns are read when they are asked for."""

    def __init__(self, source: object) -> None:
        self.path: Path | None = Path(source) if isinstance(source, str | Path) else None
        self._source: Any = FrameSource(source) if self.path is None else _opened(self.path)
        self._beside_frame = () if self.path is not None else _beside_frame(source)
        self.name: str = self._source.name
        self.column_names: tuple[str, ...] = self._source.column_names
        self._n_records: int | None = None
        self._whole: Any = None
        self._texts: dict[str, tuple[tuple[Label, ...], IntArray]] = {}

    @property
    def n_records(self) -> int:
        if self._n_records is None:
            self._n_records = 0
            if self.column_names:
                self._n_records = len(self._column(self.column_names[0]))
        return self._n_records

    @property
    def metadata(self) -> tuple[str, ...]:
        """Names of what the table says beside its columns, such as the index of a pandas frame."""
        if self.path is None:
            single = [name for name in self.column_names if self.column_names.count(name) == 1]
            found = [] if self._source.library == "pandas" else _names_of(self._source.arrow_table(single).schema)
            return (*found, *self._beside_frame)
        if isinstance(self._source, ParquetFiles):
            return tuple(sorted({name for file in self._source.paths for name in _names_of(_parquet_schema(file))}))
        suffix = self.path.suffix.lower()
        if suffix in CSV:
            return ()
        if suffix in PARQUET:
            return tuple(_names_of(_parquet_schema(self.path)))
        return tuple(_names_of_arrow_file(_arrow_reader(self.path)))

    def n_hidden_values(self, name: str) -> int:
        """Entries in the dictionary of a column that no record shows."""
        if self.path is not None and self.path.suffix.lower() in CSV:
            return 0
        # Text of a Parquet file comes with the dictionary of its pages, where it is coded as one.
        column = self._source.arrow_table([name], coded=[name]).column(0)
        if not pa.types.is_dictionary(column.type) or not len(column):
            return 0
        try:
            column = column.unify_dictionaries()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return 0
        is_hidden = ~null_mask(column.chunk(0).dictionary)
        used = pc.unique(pa.chunked_array([chunk.indices for chunk in column.chunks])).drop_null()
        is_hidden[used.to_numpy(zero_copy_only=False).astype(np.int64)] = False
        return int(np.count_nonzero(is_hidden))

    def texts(self, name: str) -> tuple[tuple[Label, ...], IntArray]:
        """Distinct values as text, null as None, and the position of every record's value among them."""
        if name not in self._texts:
            self._texts[name] = self._coded(name)
        return self._texts[name]

    def _coded(self, name: str) -> tuple[tuple[Label, ...], IntArray]:
        column = self._column(name)
        is_bytes = pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)
        if pa.types.is_nested(column.type) or is_bytes or pa.types.is_fixed_size_binary(column.type):
            written = [None if value is None else repr(value) for value in column.to_pylist()]
            column = pa.chunked_array([pa.array(written, pa.string())])
        values, codes = encode(column, name, self.name)
        if self._is_single_column_of_text and "" in values:
            # Alone on its line a null is written as an empty text, for an empty line would be skipped.
            values, codes = _merged(values, codes)
        return values, codes.astype(np.int64)

    def numbers(self, name: str) -> FloatArray:
        """A column of numbers as doubles, NaN where it is missing."""
        column = self._column(name)
        if self._is_single_column_of_text:
            column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
        return as_doubles(column, name, self.name)

    @property
    def _is_single_column_of_text(self) -> bool:
        return self.path is not None and self.path.suffix.lower() in CSV and len(self.column_names) == 1

    def _column(self, name: str) -> Any:
        if (
            self.path is not None
            and self.path.suffix.lower() in CSV
            and len(set(self.column_names)) == len(self.column_names)
        ):
            if self._whole is None:  # a text file is read in full, whatever is asked of it, so it is read once
                self._whole = self._source.arrow_table(self.column_names)
            column = movable(self._whole.select([name])).column(0)
        else:
            column = movable(self._source.arrow_table([name])).column(0)
        if self._n_records is None:
            self._n_records = len(column)
        return column


def _opened(path: Path) -> FileSource | ParquetFiles:
    return ParquetFiles(path) if is_many(path) else FileSource(path)


def _names_of(schema: Any) -> list[str]:
    """Keys of the metadata of a schema and of its fields, however deep these lie."""
    names = {key.decode(errors="replace") for key in (schema.metadata or {})}
    for i in range(len(schema)):
        fields = [schema.field(i)]
        while fields:
            field = fields.pop()
            names |= {key.decode(errors="replace") for key in (field.metadata or {})}
            if pa.types.is_nested(field.type):
                fields += [field.type.field(j) for j in range(field.type.num_fields)]
    return sorted(names)


def _names_of_arrow_file(reader: Any) -> list[str]:
    """The same with what stands at the end of the file and beside each batch."""
    names = set(_names_of(reader.schema))
    names |= {key.decode(errors="replace") for key in (getattr(reader, "metadata", None) or {})}
    try:
        for _, beside in _batches(reader):
            names |= {key.decode(errors="replace") for key in (beside or {})}
    except (OSError, pa.ArrowInvalid):
        pass  # a batch that cannot be read is refused where its records are read
    return sorted(names)


def _batches(reader: Any) -> Iterator[tuple[Any, Any]]:
    if hasattr(reader, "num_record_batches"):
        yield from (reader.get_batch_with_custom_metadata(i) for i in range(reader.num_record_batches))
        return
    try:
        while True:
            yield reader.read_next_batch_with_custom_metadata()
    except StopIteration:
        return


def _beside_frame(frame: Any) -> tuple[str, ...]:
    """What a pandas frame holds beside its columns: an index other than 0, 1, 2, …, and attributes."""
    if type(frame).__module__.partition(".")[0] != "pandas":
        return ()
    index = frame.index
    is_plain = (
        type(index).__name__ == "RangeIndex"
        and (getattr(index, "start", None), getattr(index, "step", None)) == (0, 1)
        and index.name is None
    )
    found = () if is_plain else ("index",)
    return (*found, "attrs") if getattr(frame, "attrs", None) else found


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


def _merged(values: tuple[Label, ...], codes: IntArray) -> tuple[tuple[Label, ...], IntArray]:
    """The empty text counted as null."""
    positions: dict[Label, int] = {}
    remap = np.array([positions.setdefault(value or None, len(positions)) for value in values], dtype=np.int64)
    return tuple(positions), remap[codes]

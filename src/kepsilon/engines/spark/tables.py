# SPDX-License-Identifier: Apache-2.0
"""Parquet files and DataFrames as Spark reads them, with columns named c0, c1 …, because real names may hold anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlparse

import pyarrow as pa

from kepsilon.engines.on_disk.details import n_details
from kepsilon.engines.on_disk.needs import Foreseen, Needs
from kepsilon.engines.room import LEAST_WIDTH, Advice, Room, no_advice
from kepsilon.engines.spark.session import as_hadoop, settled, worded_spark
from kepsilon.errors import DataError, Problem
from kepsilon.policy.roles import ColumnRoles
from kepsilon.sources.files import changed
from kepsilon.sources.parquet_files import ParquetFiles

ROW = "original_row"
"""The column with the position of a record in the input."""


class SparkTable(Protocol):
    """A table that Spark can read any number of times."""

    name: str
    schema: pa.Schema
    """Types as they are in the input."""
    inputs: tuple[Path, ...]
    has_rows: bool
    """Whether a record has a position in the input."""
    settings: Mapping[str, str]
    """Settings that the session needs while the table is read."""

    def columns(self, names: Sequence[str], *, rows: bool) -> Any:
        """A Spark frame of the named columns as c0, c1 …, with the position in the input beside them if `rows`."""

    def coded(self, columns: Sequence[str]) -> list[str]:
        """Columns of text whose values repeat so often that they are moved faster as dictionaries."""

    def room(self, roles: ColumnRoles, memory: int, folder: Path, *, linkage: bool) -> tuple[Room, Advice]:
        """What memory has room for, and advice where that is too little; refused at once where a sample shows it."""

    def needs(self, roles: ColumnRoles, memory: int, folder: Path, *, linkage: bool) -> Needs:
        """The memory and disk that a release will take."""

    def refuse_changed(self, n_records: int) -> None:
        """Refused where the records differ from those when the table was opened, as far as that shows without reading."""


class FilesOnSpark:
    """Parquet files that Spark reads."""

    has_rows = True
    settings: Mapping[str, str] = {"spark.sql.caseSensitive": "true", "spark.sql.session.timeZone": "UTC"}
    """Column names may differ in case only, and a time stamp means the same moment on every worker."""

    def __init__(self, files: ParquetFiles, session: Any) -> None:
        _refuse_kinds(files.name, [field.name for field in files.schema if not _is_read(field.type)])
        _refuse_names(files.paths)
        self._files, self._session = files, session
        self.name, self.schema, self.inputs = files.name, files.schema, files.inputs

    def columns(self, names: Sequence[str], *, rows: bool) -> Any:
        from pyspark.sql import functions

        frame = self._session.read.parquet(*(as_hadoop(file) for file in self._files.paths))
        places = [f"c{i}" for i in range(len(frame.columns))]
        if not rows:
            return _numbered(frame.toDF(*places), frame.columns, names)
        metadata = frame.metadataColumn("_metadata")
        with_rows = frame.select("*", metadata["file_path"], metadata["row_index"]).toDF(*places, "file", "row")
        firsts = self._session.createDataFrame(self._first_rows(with_rows), "path string, first bigint")
        numbered = with_rows.join(functions.broadcast(firsts), with_rows["file"] == firsts["path"])
        return _numbered(numbered, frame.columns, names, (functions.col("first") + functions.col("row")).alias(ROW))

    def _first_rows(self, with_rows: Any) -> list[tuple[str, int]]:
        """The path of every file as Spark spells it, and the position of the file's first record in the input."""
        spelled = [row[0] for row in with_rows.select("file").distinct().collect()]
        paths = {Path(unquote(urlparse(own).path)).resolve(): own for own in spelled}
        first, found = 0, []
        for file, n_records in self._files.n_records_by_file.items():
            if n_records:
                found.append((paths[file.resolve()], first))
            first += n_records
        return found

    def coded(self, columns: Sequence[str]) -> list[str]:
        return self._files.coded(columns, ())

    def room(self, roles: ColumnRoles, memory: int, folder: Path, *, linkage: bool) -> tuple[Room, Advice]:
        foreseen = self._foresee(roles, memory, folder, linkage=linkage)
        return foreseen.room, foreseen.advise

    def needs(self, roles: ColumnRoles, memory: int, folder: Path, *, linkage: bool) -> Needs:
        return self._foresee(roles, memory, folder, linkage=linkage).needs

    def _foresee(self, roles: ColumnRoles, memory: int, folder: Path, *, linkage: bool) -> Foreseen:
        foreseen = Foreseen(self._files, roles, memory=memory, linkage=linkage, at_once=True)
        foreseen.refuse(folder)
        return foreseen

    def refuse_changed(self, n_records: int) -> None:
        self._files.refuse_changed()
        if n_records != self._files.n_records:
            raise changed(self._files.path)


class FrameOnSpark:
    """A Spark DataFrame. Spark computes its records anew each time they are read, and in any order."""

    has_rows = False
    settings: Mapping[str, str] = {}
    """The session's settings are left alone, because the DataFrame's expressions may depend on them."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.name = "DataFrame"
        self.inputs: tuple[Path, ...] = ()
        with worded_spark():
            _refuse_namesakes(frame.columns)
            _refuse_kinds(self.name, [field.name for field in frame.schema.fields if not _is_carried(field.dataType)])
        with settled(frame.sparkSession, self.settings):
            empty = frame.toDF(*(f"c{i}" for i in range(len(frame.columns)))).limit(0).toArrow()
        self.schema = empty.schema.remove_metadata().empty_table().rename_columns(list(frame.columns)).schema

    def columns(self, names: Sequence[str], *, rows: bool) -> Any:
        if rows:
            raise ValueError("records of a DataFrame have no position")
        places = [f"c{i}" for i in range(len(self._frame.columns))]
        return _numbered(self._frame.toDF(*places), self._frame.columns, names)

    def coded(self, columns: Sequence[str]) -> list[str]:
        del columns
        return []

    def room(self, roles: ColumnRoles, memory: int, folder: Path, *, linkage: bool) -> tuple[Room, Advice]:
        """As `SparkTable.room`, without a sample: values of no fixed width are taken for short texts."""
        del folder, linkage
        width = 4 + 8 * len(roles.epsilon_quasis) + 8 * n_details(roles)
        for name in roles.kept:
            kind = self.schema.field(name).type
            width += (kind.bit_width + 7) // 8 if pa.types.is_primitive(kind) else LEAST_WIDTH
        room = Room(
            memory=memory,
            n_epsilon_quasis=len(roles.epsilon_quasis),
            in_blocks=roles.are_figures_simulated,
            record_width=width,
            n_details=n_details(roles),
            has_persons=roles.person is not None,
        )
        return room, no_advice

    def needs(self, roles: ColumnRoles, memory: int, folder: Path, *, linkage: bool) -> Needs:
        del roles, memory, folder, linkage
        raise DataError(Problem(where=self.name, what="nothing is known of a DataFrame before it is counted."))

    def refuse_changed(self, n_records: int) -> None:
        """Nothing shows a change without reading; the counts of all classes are compared instead."""


def _numbered(frame: Any, all_names: Sequence[str], names: Sequence[str], *more: Any) -> Any:
    """The named columns as c0, c1 …, of a frame that has all columns as c0, c1 … in the order of `all_names`."""
    position = {name: i for i, name in enumerate(all_names)}
    return frame.select(*(frame[f"c{position[name]}"].alias(f"c{i}") for i, name in enumerate(names)), *more)


def _refuse_namesakes(names: Sequence[str]) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(
            Problem(
                where="DataFrame", what=f'several columns are named "{twice}".', fix="Give every column its own name."
            )
        )


_CARRIED = (
    "Null String Char Varchar Binary Boolean Byte Short Integer Long Float Double Decimal Date Timestamp TimestampNTZ"
)


def _refuse_kinds(source: str, others: Sequence[str]) -> None:
    """Refuses columns of types that Spark does not read, or that would come back as another type."""
    if others:
        listed = ", ".join(f'"{name}"' for name in others)
        raise DataError(
            Problem(
                where=source,
                what=f"columns {listed} are of types that Spark cannot carry as they are.",
                fix="Make plain text, numbers or timestamps in microseconds of them first, or drop them.",
            )
        )


def _is_read(kind: pa.DataType) -> bool:
    """Whether Spark reads a column of this type from Parquet; where one is not read, Spark reads none of the file."""
    if pa.types.is_dictionary(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _is_read(kind.value_type)
    if pa.types.is_struct(kind):
        return all(_is_read(field.type) for field in kind)
    if pa.types.is_map(kind):
        return _is_read(kind.key_type) and _is_read(kind.item_type)
    is_fine = pa.types.is_timestamp(kind) and kind.unit == "ns"
    is_other = pa.types.is_time(kind) or pa.types.is_duration(kind) or pa.types.is_interval(kind)
    is_other |= pa.types.is_null(kind) or pa.types.is_float16(kind) or isinstance(kind, pa.BaseExtensionType)
    return not (is_fine or is_other)


def _refuse_names(files: Sequence[Path]) -> None:
    """Refuses files with names that Spark cannot spell, or that it skips without a word."""
    for file in files:
        if ":" in str(file.absolute()) or file.name.startswith(("_", ".")):
            raise DataError(
                Problem(
                    where=str(file),
                    what="Spark reads no file whose path holds a colon, or whose name begins with an underscore or a dot.",
                    fix="Rename it.",
                )
            )


def _is_carried(kind: Any, *, inside: bool = False) -> bool:
    """Whether a Spark type comes back unchanged; intervals, variants, times of day and collated text do not."""
    name = type(kind).__name__.removesuffix("Type")
    if name == "Array":
        return _is_carried(kind.elementType, inside=True)
    if name == "Map":
        return _is_carried(kind.keyType, inside=True) and _is_carried(kind.valueType, inside=True)
    if name == "Struct":
        return all(_is_carried(field.dataType, inside=True) for field in kind.fields)
    if name == "String":
        return "collate" not in kind.simpleString()
    return name in _CARRIED.split() and not (inside and name == "Null")

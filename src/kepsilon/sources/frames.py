# SPDX-License-Identifier: Apache-2.0
"""Reads tables in memory (Arrow, Polars, pandas and DuckDB), and gives a release back as the kind that was read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from kepsilon.errors import NOT_SHOWN, DataError, EngineError, Problem, calling_others
from kepsilon.sources.columns import metadata_names
from kepsilon.sources.kept_types import NotInArrow, released_type
from kepsilon.sources.undeclared_types import stated
from kepsilon.table.type_changes import TypeChange


class Frames:
    """Tables in memory: pandas, Polars, and everything that offers an Arrow C stream."""

    name = "table in memory"
    suffixes = ()
    other_suffixes = ()
    open_in_parts = None
    writing = None

    def takes(self, source: object) -> bool:
        library = _library(source)
        if library in ("pandas", "polars"):
            return True
        return calling_others(
            lambda: hasattr(source, "__arrow_c_stream__"), lambda kind: _failed(source, library, kind)
        )

    def open(self, source: object) -> FrameSource:
        return FrameSource(source)


class FrameSource:
    """A table in memory."""

    name = "table"
    inputs: tuple[Path, ...] = ()
    by_column = True
    tells_null_from_empty = True
    notes: tuple[Problem, ...] = ()

    def __init__(self, frame: Any) -> None:
        self.library = _library(frame)
        frame, self._table, self._beside = calling_others(
            lambda: _read(frame, self.library), lambda kind: _failed(frame, self.library, kind)
        )
        self.column_names: tuple[str, ...] = tuple(self._table.column_names)
        self._checked: set[str] = set()
        self._enums = _enums(frame) if self.library == "polars" else []
        only_used = "Enum of the categories that released records hold"
        self.type_changes = tuple(TypeChange(column=name, before="Enum", after=only_used) for name in self._enums)
        if self.library == "duckdb":
            self.type_changes = tuple(_changes_of_duckdb(frame, self._table.schema))
        self._pandas_types = _pandas_types(frame) if self.library == "pandas" else {}

    def arrow_table(self, columns: Sequence[str], *, coded: Sequence[str] = ()) -> pa.Table:
        """The named columns, checked in full: who follows damaged offsets reads elsewhere in memory, or gives bytes for text."""
        del coded  # text is read as the frame holds it
        table = self._table.select(list(columns))
        unchecked = [name for name in columns if name not in self._checked]
        problems = [
            Problem(
                where=f'{self.name}: column "{name}"',
                what="is damaged: it is not valid Arrow data, such as text that is no UTF-8.",
                fix="Make the table anew from its source.",
            )
            for name in unchecked
            if not _is_valid(table.column(name))
        ]
        if problems:
            raise DataError(problems)
        self._checked.update(unchecked)
        return table

    def beside(self) -> tuple[str, ...]:
        return self._beside

    def like(self, table: pa.Table) -> Any:
        """An Arrow table as the kind of frame that was read."""
        if self.library == "polars":
            return self._as_polars(table)
        if self.library == "pandas":
            return self._as_pandas(table)
        if self.library == "duckdb":
            import duckdb

            return duckdb.from_arrow(table)
        return table

    def _as_polars(self, table: pa.Table) -> Any:
        """A Polars frame. An Enum stays one, in its order, with the categories that released records hold."""
        import polars as pl

        frame = pl.from_arrow(table)
        for name in self._enums:
            if name in table.column_names and pa.types.is_dictionary(table.schema.field(name).type):
                categories = table.column(name).chunk(0).dictionary.to_pylist()
                frame = frame.with_columns(frame.get_column(name).cast(pl.Enum(categories)))
        return frame

    def _as_pandas(self, table: pa.Table) -> Any:
        """A pandas frame. Columns that kept their Arrow type also keep pandas' own type, such as Int64."""
        frame = table.to_pandas()
        for i, field in enumerate(table.schema):
            name, column = field.name, table.column(i)
            kind: Any = self._pandas_types.get(name)
            is_as_before = name in self._pandas_types and field.type == self._table.schema.field(name).type
            if is_as_before and hasattr(kind, "__from_arrow__"):
                frame[name] = kind.__from_arrow__(column)
            elif pa.types.is_nested(field.type):
                # A null beside or above whole numbers would make doubles of them, which do not hold all their digits.
                frame[name] = column.to_pandas(integer_object_nulls=True)
            elif is_as_before and str(kind) == "object" and str(frame[name].dtype) != "object":
                frame[name] = type(frame[name])(column.to_pylist(), dtype=object)
        return frame


def _is_valid(column: pa.ChunkedArray) -> bool:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _library(frame: object) -> str:
    """The name of the library that a frame comes from."""
    return type(frame).__module__.partition(".")[0].lstrip("_")


def _read(frame: Any, library: str) -> tuple[Any, pa.Table, tuple[str, ...]]:
    """The frame, its Arrow table, and names of what it holds beside its columns; a lazy frame is worked out here."""
    if library == "polars" and hasattr(frame, "collect"):
        frame = frame.collect()
    table = _as_arrow(frame, library)
    return frame, table, _beside_pandas(frame) if library == "pandas" else metadata_names(table.schema)


def _failed(frame: Any, library: str, kind: str) -> DataError:
    """The error for a table whose own code failed with an error of this kind while it was read."""
    own = type(frame).__name__
    return DataError(
        Problem(
            where="table",
            what=f"the {own} could not be read: {library or 'its code'} raised {kind}.",
            fix=f"{NOT_SHOWN}\nTo find the fault, make a table of it yourself first, with pyarrow.table(...) or .collect().",
        )
    )


def _as_arrow(frame: Any, library: str) -> pa.Table:
    """The frame as an Arrow table."""
    if isinstance(frame, pa.Table):
        return frame
    if library == "pandas":
        problem = _unusable_pandas(frame)
        if problem is not None:
            raise DataError(problem)
        # An index holds record numbers, sometimes names; it is dropped, and what matters should be a column.
        named = _with_text_names(frame)
        found = {name: _python_objects(named[name]) for name in named.columns}
        objects = {name: own for name, own in found.items() if own is not None}
        return stated(pa.Table.from_pandas(named, preserve_index=False), objects)
    if library == "polars":
        return _polars_as_arrow(frame)
    if not hasattr(frame, "__arrow_c_stream__"):
        raise not_a_table(frame)
    return _duckdb_as_arrow(frame) if library == "duckdb" else pa.table(frame)


def _python_objects(column: Any) -> Any:
    """The Python objects that a pandas column, or its categories, are made of; None where their type is stated."""
    categories = getattr(column.dtype, "categories", None)
    own = column if categories is None else categories
    return own if str(own.dtype) == "object" else None


_ALTERED = ("bit", "uhugeint", "time with time zone")
"""Types of which DuckDB hands other values over: bytes of its own, negative numbers for large ones, times without zone."""


def _duckdb_as_arrow(frame: Any) -> pa.Table:
    """A DuckDB relation as Arrow. Columns whose values would change become empty stand-ins."""
    table = pa.table(frame)
    for i, kind in enumerate(getattr(frame, "types", ())):
        altered = next((own for own in _types_inside(kind) if own in _ALTERED), None)
        if altered is not None:
            nulls = pa.ExtensionArray.from_storage(NotInArrow(altered.upper()), pa.nulls(table.num_rows))
            table = table.set_column(i, table.column_names[i], nulls)
    return table


def _types_inside(kind: Any) -> Iterator[str]:
    """The names of a type of DuckDB and of all types inside it."""
    name = str(kind.id)
    yield name
    if name in ("list", "array", "map", "struct", "union"):
        for _, own in kind.children:
            if hasattr(own, "id"):
                yield from _types_inside(own)


def _polars_as_arrow(frame: Any) -> pa.Table:
    """A Polars frame as Arrow. Columns of types that Arrow lacks become empty stand-ins.

    Python objects are among them, which Polars would export as addresses in memory.
    """
    if not hasattr(frame, "schema"):
        raise not_a_table(frame)
    lacking = {
        name: NotInArrow("Object (Python objects)") for name, kind in frame.schema.items() if _holds_objects(kind)
    }
    try:
        table = pa.table(frame.drop(list(lacking)) if lacking else frame)
    except _NOT_TAKEN:
        for name, kind in frame.schema.items():
            if name not in lacking and not _is_taken(frame.select(name)):
                lacking[name] = NotInArrow(str(kind))
        table = pa.table(frame.drop(list(lacking)))
    for i, name in enumerate(frame.columns):
        if name in lacking:
            table = table.add_column(i, name, pa.ExtensionArray.from_storage(lacking[name], pa.nulls(frame.height)))
    return table


_NOT_TAKEN = (pa.ArrowInvalid, pa.ArrowNotImplementedError)


def _is_taken(column: Any) -> bool:
    """Whether Arrow takes a Polars column; 128-bit integers are a type of Polars alone."""
    try:
        pa.table(column)
    except _NOT_TAKEN:
        return False
    return True


def _enums(frame: Any) -> list[str]:
    """The names of the Enum columns of a Polars frame."""
    return [name for name, kind in getattr(frame, "schema", {}).items() if type(kind).__name__ == "Enum"]


def _changes_of_duckdb(frame: Any, schema: pa.Schema) -> Iterator[TypeChange]:
    """The columns of a DuckDB relation that Arrow, and so a release, has as another type, such as UUID as text."""
    import duckdb

    for field, before in zip(schema, frame.types, strict=True):
        if released_type(field.type) != field.type:
            continue  # which is said of Arrow's types
        with contextlib.suppress(Exception):  # of a type that is refused
            (after,) = duckdb.from_arrow(pa.table({"a": pa.array([], field.type)})).types
            if after != before:
                # The whole name of an ENUM, and of what has one inside, lists values.
                yield TypeChange(column=field.name, before=_name_in_duckdb(before), after=_name_in_duckdb(after))


def _name_in_duckdb(kind: Any) -> str:
    """The name of a type of DuckDB, without any values."""
    name = str(kind)
    return str(kind.id).upper() if "ENUM" in name else name


def _pandas_types(frame: Any) -> Mapping[str, Any]:
    """The types of a pandas frame's columns, by name."""
    return {str(name): kind for name, kind in zip(frame.columns, frame.dtypes, strict=True)}


def _holds_objects(kind: Any) -> bool:
    """Whether a Polars type is that of Python objects, or has it inside."""
    inside = [getattr(kind, "inner", None), *(field.dtype for field in getattr(kind, "fields", None) or ())]
    return str(kind) == "Object" or any(_holds_objects(own) for own in inside if own is not None)


def not_a_table(source: object) -> EngineError:
    """The error for an object that no kind of table reads."""
    return EngineError(
        Problem(
            where="input",
            what=f"a {type(source).__name__} is not a table that can be read.",
            fix="Give a path, or an Arrow, Polars, pandas or DuckDB table.",
        )
    )


def _beside_pandas(frame: Any) -> tuple[str, ...]:
    """What a pandas frame holds beside its columns: an index other than 0, 1, 2, …, and attributes."""
    index = frame.index
    is_plain = (
        type(index).__name__ == "RangeIndex"
        and (getattr(index, "start", None), getattr(index, "step", None)) == (0, 1)
        and index.name is None
    )
    found = () if is_plain else ("index",)
    return (*found, "attrs") if getattr(frame, "attrs", None) else found


def _unusable_pandas(frame: Any) -> Problem | None:
    """Why a pandas frame cannot be read: two columns of one name, or a column of mixed types; None if it can."""
    names = [str(name) for name in frame.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        return Problem(
            where="table", what=f'several columns are named "{twice}".', fix="Give every column its own name."
        )
    for position, name in enumerate(names):
        try:
            pa.Array.from_pandas(frame.iloc[:, position])
        except Exception:  # noqa: BLE001 (a value that Python's own code fails on may raise anything)
            return Problem(
                where=f'table: column "{name}"',
                what="holds values of several types, or of one that is not known.",
                fix='Make them one type first, for example with .astype("string").',
            )
    return None


def _with_text_names(frame: Any) -> Any:
    return frame if all(isinstance(name, str) for name in frame.columns) else frame.rename(columns=str)

# SPDX-License-Identifier: Apache-2.0
"""Arrow columns of any type as `WholeColumn`, which never fails on odd values: no error may quote one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from kepsilon.engines.arrow.moving import stored
from kepsilon.engines.arrow.numpy_arrays import from_numpy, to_positions
from kepsilon.sources.columns import in_one_piece
from kepsilon.sources.kept_types import released_type, without_times
from kepsilon.sources.rebuilding import null_mask, rebuilt
from kepsilon.table.arrays import IntArray
from kepsilon.table.whole_columns import finite, number_column, ranked_column, text_column
from kepsilon.table.whole_records import MISSING, WholeColumn

_PER_DAY = {"s": 86_400.0, "ms": 86_400e3, "us": 86_400e6, "ns": 86_400e9}
"""How many of each unit of time make a day."""

_ODD = (pa.ArrowException, ArithmeticError, LookupError, TypeError, ValueError, NotImplementedError, ImportError)
"""What Arrow and Python raise over types and values that they cannot turn into others."""


def whole_columns(table: pa.Table) -> dict[str, WholeColumn]:
    """Every column of a table of some records, by name."""
    return {name: whole_column(table.column(i)) for i, name in enumerate(table.column_names)}


def taken_rows(table: pa.Table, rows: IntArray) -> pa.Table:
    """The records at some rows, which rise; chunks and dictionaries are left as they are, and no whole column is copied."""
    return pa.Table.from_arrays([_taken(column, rows) for column in table.columns], names=table.column_names)


def _taken(column: pa.ChunkedArray, rows: IntArray) -> pa.ChunkedArray:
    """The values at some rows; in a plainer type, or as text, where Arrow cannot take values of that type."""
    with contextlib.suppress(*_ODD):
        return _taken_in_chunks(column, rows)
    with contextlib.suppress(*_ODD):
        return _taken_in_chunks(_plain(column), rows)
    written = [None if value is None else repr(value) for value in _python_values(column)]
    return pa.chunked_array([pa.array([written[i] for i in rows.tolist()], pa.string())])


def _taken_in_chunks(column: pa.ChunkedArray, rows: IntArray) -> pa.ChunkedArray:
    ends = np.cumsum([0, *(len(chunk) for chunk in column.chunks)])
    cuts = np.searchsorted(rows, ends)
    chunks = [
        chunk.take(from_numpy(rows[first:last] - start))
        for chunk, start, first, last in zip(column.chunks, ends[:-1], cuts[:-1], cuts[1:], strict=True)
        if last > first
    ]
    return pa.chunked_array(chunks, type=column.type)


def in_any_order(rows: IntArray, taken: Callable[[IntArray], Mapping[str, WholeColumn]]) -> dict[str, WholeColumn]:
    """Columns of the records at some rows, in their order; `taken` gives those of rows that rise."""
    order = np.argsort(rows)
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return {name: column.of(places) for name, column in taken(rows[order]).items()}


def whole_column(column: pa.ChunkedArray) -> WholeColumn:
    """One column. A type that Arrow does not code is coded by how Python writes its values."""
    column = _plain(column)
    with contextlib.suppress(*_ODD):
        found = _coded(column)
        if found is not None:
            return found
    return _rendered(column)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column without extension types, dictionaries, run ends and views, as far as Arrow can do without."""
    with contextlib.suppress(*_ODD):
        column = stored(column)
        if pa.types.is_dictionary(column.type):
            chunks = [chunk.dictionary.take(chunk.indices) for chunk in column.chunks]
            column = stored(pa.chunked_array(chunks, type=column.type.value_type))
        kind = released_type(column.type, views=False)
        if kind != column.type:
            column = pa.chunked_array([rebuilt(chunk, kind) for chunk in column.chunks], type=kind)
    return column


def _coded(column: pa.ChunkedArray) -> WholeColumn | None:
    """A column of a plain type; None where it is of another type."""
    kind = column.type
    if pa.types.is_null(kind):
        return WholeColumn(codes=np.full(len(column), MISSING, dtype=np.int32), numbers=None, texts=())
    if pa.types.is_boolean(kind):
        return _coded(column.cast(pa.int8()))
    if pa.types.is_float16(kind):
        return _coded(column.cast(pa.float32()))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _of_numbers(column)
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return _of_times(column)
    if pa.types.is_decimal(kind):
        return _of_decimals(column)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _of_texts(column, are_read=True)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return _of_texts(column, are_read=False)
    return None


def _of_numbers(column: pa.ChunkedArray, **meaning: Any) -> WholeColumn:
    array = in_one_piece(column)
    return number_column(to_positions(array, null=0), is_missing=null_mask(array), **meaning)


def _of_times(column: pa.ChunkedArray) -> WholeColumn:
    """Dates and moments as days since 1970, times of day and durations in days.

    They are read as the numbers that they are stored as, because Python has no dates before the year 1 or after 9999.
    """
    kind = column.type
    whole = pa.int32() if kind.bit_width == pa.int32().bit_width else pa.int64()
    is_date = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    unit = 1.0 if pa.types.is_date32(kind) else _PER_DAY["ms" if pa.types.is_date64(kind) else kind.unit]
    numbers = pa.chunked_array([chunk.view(whole) for chunk in column.chunks], type=whole)
    return _of_numbers(numbers, unit=unit, is_date=bool(is_date))


def _of_decimals(column: pa.ChunkedArray) -> WholeColumn:
    array = in_one_piece(column).dictionary_encode()
    values = array.dictionary.to_pylist()
    order = sorted((i for i, value in enumerate(values) if value is not None), key=values.__getitem__)
    return ranked_column(
        to_positions(array.indices, null=MISSING),
        np.array(order, dtype=np.int64),
        numbers=finite(np.array([float(values[i]) for i in order], dtype=np.float64)),
    )


def _of_texts(column: pa.ChunkedArray, *, are_read: bool) -> WholeColumn:
    """Text, or bytes as the text that they encode; equal bytes share a code, also where they encode none."""
    array = in_one_piece(column.cast(pa.large_binary())).dictionary_encode()
    entries: list[bytes | None] = array.dictionary.to_pylist()
    texts = ["" if entry is None else entry.decode(errors="backslashreplace") for entry in entries]
    return text_column(texts, to_positions(array.indices, null=MISSING), are_read=are_read)


def _rendered(column: pa.ChunkedArray) -> WholeColumn:
    """Values of any type by how Python writes them; those that it cannot write are taken for equal."""
    position: dict[str, int] = {}
    codes = [
        MISSING if value is None else position.setdefault(repr(value), len(position))
        for value in _python_values(column)
    ]
    return text_column(list(position), np.array(codes, dtype=np.int32), are_read=False)


def _python_values(column: pa.ChunkedArray) -> list[Any]:
    """The values as Python objects; dates and times as numbers where Python has no such dates."""
    with contextlib.suppress(*_ODD):
        return list(column.to_pylist())
    with contextlib.suppress(*_ODD):
        kind = without_times(column.type)
        return [value for chunk in column.chunks for value in rebuilt(chunk, kind).to_pylist()]
    return [_python_value(value) for chunk in column.chunks for value in chunk]


def _python_value(value: Any) -> Any:
    with contextlib.suppress(*_ODD):
        return value.as_py()
    return NotImplemented

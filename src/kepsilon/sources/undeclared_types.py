# SPDX-License-Identifier: Apache-2.0
"""Columns of Python objects, whose Arrow type is not stated but made from what all records hold.

Such a type can tell about single records, also about those that a release leaves out: a structure has a field for each key
that any dictionary has, in the order in which they first come, and decimals have as many digits as the longest of them.
Where every value by itself would give one and the same type, it tells nothing. Whether all numbers are whole, and of how
many bits those of NumPy are, is not asked for.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from kepsilon.errors import DataError, Problem

_DIFFERS = b"kepsilon:undeclared"
"""Metadata of a field whose type tells about single records: what they differ in. No file ever holds it."""

_ONE_TYPE = (str, bytes, bool, int, float)
"""Values of any one of these types, a million of which are looked at quickly, give one Arrow type."""

_MISSING = ("NAType", "NaTType")
"""The types of what pandas puts where a value is missing."""

Place = tuple[str, ...]
"""Where a value stands in another: the keys that lead to it, and a star for all elements of lists."""


def stated(table: pa.Table, objects: Mapping[str, Iterable[Any]]) -> pa.Table:
    """The table with decimals as wide as they can be, and with marks on columns that `refuse_undeclared` refuses.

    `objects` are the values of the columns of Python objects, by name; the categories where they are such.
    """
    for name, values in objects.items():
        i = table.schema.get_field_index(name)
        field = table.schema.field(i)
        kind = _widest(field.type)
        differs = _difference(values)
        marked = pa.field(name, kind, metadata=None if differs is None else {_DIFFERS: differs.encode()})
        table = table.set_column(i, marked, _cast(table.column(i), kind))
    return table


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """The column in another type; of categories, the entries are cast, as Arrow itself does not."""
    if not pa.types.is_dictionary(kind):
        return column.cast(kind)
    chunks = [
        pa.DictionaryArray.from_arrays(own.indices, own.dictionary.cast(kind.value_type), ordered=kind.ordered)
        for own in column.chunks
    ]
    return pa.chunked_array(chunks, type=kind)


def refuse_undeclared(fields: Iterable[pa.Field], source: str) -> None:
    """DataError that names every field whose type tells about single records."""
    found = {field.name: (field.metadata or {}).get(_DIFFERS) for field in fields}
    problems = [
        Problem(
            where=f'{source}: column "{name}"',
            what=f"holds Python objects: {differs.decode()}. Its type would tell about records that are left out.",
            fix="State the type, for example with .astype(pandas.ArrowDtype(…)), or leave the column out of the policy.",
        )
        for name, differs in found.items()
        if differs is not None
    ]
    if problems:
        raise DataError(problems)


def _difference(values: Iterable[Any]) -> str | None:
    """What the values differ in that decides on the type of their column; None if in nothing."""
    listed = list(values)
    types = {own for own in set(map(type, listed)) - {type(None)} if own.__name__ not in _MISSING}
    if float in types and types != {float} and not any(own == own for own in listed if type(own) is float):
        types.remove(float)  # NaN stands for missing
    if len(types) <= 1 and types <= set(_ONE_TYPE):
        return None
    found: dict[Place, set[frozenset[tuple[Any, ...]]]] = {}
    for value in listed:
        own: dict[Place, set[tuple[Any, ...]]] = {}
        for place, family in _families(value, ()):
            own.setdefault(place, set()).add(family)
        for place, families in own.items():
            found.setdefault(place, set()).add(frozenset(families))
    several = next((ways for ways in found.values() if len(ways) > 1), None)
    if several is None:
        return None
    heads = {family[0] for families in several for family in families}
    if heads == {"dictionary"}:
        return "dictionaries with different keys, or keys in different orders"
    return "decimals with different numbers of digits" if heads == {"decimal"} else "values of several types"


def _families(value: Any, place: Place) -> Iterator[tuple[Place, tuple[Any, ...]]]:
    """What decides on the type of a value and of all that it holds, each with its place; nothing for what is missing."""
    if value is None or type(value).__name__ in _MISSING or (isinstance(value, float) and value != value):
        return
    if isinstance(value, dict):
        yield place, ("dictionary", *map(str, value))
        for key, own in value.items():
            yield from _families(own, (*place, str(key)))
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield place, ("list",)
        yield (*place, "*"), _of_numpy(value.dtype)
    elif isinstance(value, list | tuple | set | frozenset | np.ndarray):
        yield place, ("list",)
        for own in value:
            yield from _families(own, (*place, "*"))
    else:
        yield place, _family(value)


def _family(value: Any) -> tuple[Any, ...]:
    """What decides on the type of a value that holds no others."""
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        return "decimal", max(0, -exponent) if isinstance(exponent, int) else str(exponent)
    if isinstance(value, str | bytes | bytearray):
        return ("text" if isinstance(value, str) else "bytes",)
    if isinstance(value, dt.datetime | dt.time):
        return ("datetime" if isinstance(value, dt.datetime) else "time", str(value.tzinfo))
    if isinstance(value, bool | int | float) and not isinstance(value, np.generic):
        return _of_numpy(np.dtype(type(value)))
    return _of_numpy(value.dtype) if isinstance(value, np.generic) else (type(value).__qualname__,)


def _of_numpy(kind: np.dtype[Any]) -> tuple[str]:
    """What decides on the type of NumPy's values; text of any length is text.

    Whole numbers and others are one here, for pandas itself makes doubles of whole numbers beside which one is missing.
    """
    return ({"U": "text", "S": "bytes", "i": "number", "u": "number", "f": "number"}.get(kind.kind, kind.name),)


def _widest(kind: pa.DataType) -> pa.DataType:
    """A type with decimals of as many digits as Arrow can hold, at any depth; how many they have tells the largest value."""
    if pa.types.is_decimal(kind):
        is_wide = kind.precision > _DIGITS
        return pa.decimal256(_WIDE_DIGITS, kind.scale) if is_wide else pa.decimal128(_DIGITS, kind.scale)
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _widest(kind.value_type), ordered=kind.ordered)
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(kind.field(i).name, _widest(kind.field(i).type)) for i in range(kind.num_fields)])
    return pa.list_(_widest(kind.value_type)) if pa.types.is_list(kind) else kind


_DIGITS, _WIDE_DIGITS = 38, 76
"""Digits that decimals of 128 and of 256 bits can have."""

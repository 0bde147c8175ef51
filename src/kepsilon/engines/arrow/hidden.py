# SPDX-License-Identifier: Apache-2.0
"""What Arrow columns hold in memory beside the values that they show, and the order of their dictionaries.

For the audit: under a null, outside the range of a list, before or after a slice, or in an entry of a dictionary that no
record uses, there can be values of records that were left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kepsilon.engines.arrow.numpy_arrays import from_numpy, to_positions
from kepsilon.sources.kept_types import is_list_like, is_view, released_type
from kepsilon.sources.rebuilding import list_places, null_mask, rebuilt
from kepsilon.table.arrays import BoolArray, IntArray

UNUSED_ENTRY = "entries of a dictionary"
UNDER_NULL = "values under nulls, or that no list or slice covers"


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenValues:
    """Values of one flat column, at any depth of a column, that no record shows."""

    path: str
    """Where in the column, such as `[].name`; empty for the column itself."""
    where: str
    """UNUSED_ENTRY or UNDER_NULL."""
    texts: frozenset[str]
    """The distinct values as text. They come from a file that may hold anything: for comparison only."""


def hidden_values(column: pa.ChunkedArray, *, under_nulls: bool) -> list[HiddenValues]:
    """What a column holds beside what it shows, by path and place; without `under_nulls`, only entries of dictionaries."""
    found: dict[tuple[str, str], set[str]] = {}
    for chunk in column.chunks:
        for path, where, values in _hidden(chunk, np.ones(len(chunk), dtype=np.bool_), "", UNDER_NULL):
            if under_nulls or where == UNUSED_ENTRY:
                found.setdefault((path, where), set()).update(_texts(values))
    return [
        HiddenValues(path=path, where=where, texts=frozenset(texts)) for (path, where), texts in found.items() if texts
    ]


def leaf_texts(column: pa.ChunkedArray) -> dict[str, list[str]]:
    """The distinct values that a column shows, as text in the order in which they first come up, by path."""
    found: dict[str, dict[str, None]] = {}
    kind = released_type(column.type, inside=True, views=False)
    for chunk in column.chunks:
        for path, values in _leaves(rebuilt(chunk, kind), ""):
            distinct = _rough(values.drop_null())
            distinct = distinct if pa.types.is_boolean(values.type) else distinct.unique()
            found.setdefault(path, {}).update(dict.fromkeys(_texts_in_order(distinct)))
    return {path: list(values) for path, values in found.items()}


def dictionary_orders(column: pa.ChunkedArray) -> Iterator[tuple[str, list[str], bool]]:
    """Path, entries and order of each dictionary in a column, at any depth; only those that are not sorted or declared.

    The last says whether entries stand in the order in which the records of the column first use them.
    """
    for chunk in column.chunks:
        for path, own in _dictionaries(chunk, ""):
            entries = _texts_in_order(own.dictionary)
            if own.type.ordered or entries == sorted(entries):
                continue
            used = to_positions(own.indices.drop_null().unique(), null=0)
            yield path, entries, bool((np.diff(used) > 0).all())


def _hidden(array: pa.Array, shown: BoolArray, path: str, where: str) -> Iterator[tuple[str, str, pa.Array]]:
    """Flat arrays of values that are not shown, with path and place; `shown` says which records of `array` are."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        yield from _hidden(array.storage, shown, path, where)
        return
    if pa.types.is_null(kind) or pa.types.is_run_end_encoded(kind) or pa.types.is_union(kind):
        return
    visible = shown & ~null_mask(array)
    if pa.types.is_dictionary(kind):
        used = np.zeros(len(array.dictionary), dtype=np.bool_)
        used[to_positions(array.indices, null=0)[visible]] = True
        yield from _hidden(array.dictionary, used, path, UNUSED_ENTRY)
    elif pa.types.is_struct(kind):
        for i in range(kind.num_fields):
            yield from _hidden(array.field(i), visible, f"{path}.{kind.field(i).name}", where)
    elif pa.types.is_fixed_size_list(kind):
        size = kind.list_size
        values = array.values.slice(array.offset * size, len(array) * size)
        yield from _hidden(values, np.repeat(visible, size), f"{path}[]", where)
    elif is_list_like(kind) or pa.types.is_map(kind):
        starts, lengths = list_places(array)
        starts, lengths = starts[visible & (lengths > 0)], lengths[visible & (lengths > 0)]
        step = np.zeros(len(array.values) + 1, dtype=np.int64)
        np.add.at(step, starts, 1)
        np.add.at(step, starts + lengths, -1)
        yield from _hidden(array.values, np.cumsum(step[:-1]) > 0, f"{path}[]", where)
    else:
        bare, is_visible = _without_validity(array, visible)
        yield path, where, bare.take(from_numpy(np.flatnonzero(~is_visible)))


def _without_validity(array: pa.Array, visible: BoolArray) -> tuple[pa.Array, BoolArray]:
    """A flat array with the values under its nulls and around its slice, and which of all these are visible."""
    if is_view(array.type):
        bare = pa.Array.from_buffers(array.type, len(array), [None, *array.buffers()[1:]], offset=array.offset)
        return bare.cast(released_type(array.type, views=False)), visible
    n, width = array.offset + len(array), array.type.bit_width if _is_fixed(array.type) else 0
    buffer = array.buffers()[1]
    if width >= 8 and buffer is not None:
        n = max(n, buffer.size * 8 // width)
    bare = pa.Array.from_buffers(array.type, n, [None, *array.buffers()[1:]])
    is_visible = np.zeros(n, dtype=np.bool_)
    is_visible[array.offset : array.offset + len(array)] = visible
    return bare, is_visible


def _is_fixed(kind: pa.DataType) -> bool:
    return bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_fixed_size_binary(kind))


def _leaves(array: pa.Array, path: str) -> Iterator[tuple[str, pa.Array]]:
    """Flat arrays of all values of a rebuilt array, with their paths as `_hidden` gives them."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        yield from _leaves(array.storage, path)
    elif pa.types.is_struct(kind):
        for i in range(kind.num_fields):
            yield from _leaves(array.field(i), f"{path}.{kind.field(i).name}")
    elif is_list_like(kind) or pa.types.is_map(kind) or pa.types.is_fixed_size_list(kind):
        yield from _leaves(array.values, f"{path}[]")
    else:
        yield path, array


def _dictionaries(array: pa.Array, path: str) -> Iterator[tuple[str, pa.DictionaryArray]]:
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        yield from _dictionaries(array.storage, path)
    elif pa.types.is_dictionary(kind):
        yield path, array
    elif pa.types.is_struct(kind):
        for i in range(kind.num_fields):
            yield from _dictionaries(array.field(i), f"{path}.{kind.field(i).name}")
    elif is_list_like(kind) or pa.types.is_map(kind) or pa.types.is_fixed_size_list(kind):
        yield from _dictionaries(array.values, f"{path}[]")


def _texts(values: pa.Array) -> set[str]:
    """Distinct values as text, without nulls and without what a cleared buffer holds: zeros and empty text."""
    if pa.types.is_dictionary(values.type):
        values = rebuilt(values, released_type(values.type, inside=True, views=False))
    distinct = values.drop_null()
    if not pa.types.is_boolean(values.type):
        distinct = _rough(distinct).unique()
    return {text for text in _texts_in_order(distinct) if text not in _CLEARED}


_CLEARED = frozenset({"", "0", "0.0", "False", "nan", "b''"})


def _rough(values: pa.Array) -> pa.Array:
    """Dates, times and decimals as the numbers they are stored as: an arbitrary number need not be a date."""
    kind = values.type
    if pa.types.is_temporal(kind):
        return values.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    if pa.types.is_decimal(kind):
        return values.view(pa.binary(kind.bit_width // 8))
    return values


def _texts_in_order(values: pa.Array) -> list[str]:
    """Flat values as text; bytes that are no text, and text that is not UTF-8, by their bytes."""
    kind = values.type
    if is_view(kind):
        values = rebuilt(values, released_type(kind, views=False))
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        as_bytes = values.cast(pa.large_binary()).to_pylist()
        return ["" if text is None else text.decode(errors="backslashreplace") for text in as_bytes]
    if pa.types.is_fixed_size_binary(values.type):
        return ["" if not any(text or b"") else str(text) for text in values.to_pylist()]
    return [str(value) for value in _rough(values).to_pylist()]


def first_rows(entries: list[str], shown: list[str]) -> IntArray:
    """The place of each entry among values in the order in which they first come up; entries that do not are left out."""
    place = {text: i for i, text in enumerate(shown)}
    return np.array([place[text] for text in entries if text in place], dtype=np.int64)

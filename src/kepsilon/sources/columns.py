# SPDX-License-Identifier: Apache-2.0
"""Changes of Arrow columns when they are read and written: types that Arrow can move, types that are shown, metadata."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import pyarrow as pa

from kepsilon.sources.dictionaries import with_one_dictionary
from kepsilon.sources.kept_types import released_type
from kepsilon.sources.rebuilding import rebuilt
from kepsilon.table.type_changes import TypeChange

CODED_TEXT = {b"kepsilon": b"coded text"}
"""Metadata that marks a column which is a dictionary in memory and text in files; no file ever holds the mark."""

_SHOWN = b"kepsilon:shown"
"""Key of the metadata that holds the type which a column will be shown in, where it is moved in another."""

_NARROW = 16
"""Bits of an index type that may not be enough for the dictionaries of several files together."""


def marked(table: pa.Table, coded: Sequence[str]) -> pa.Table:
    """The table with the named columns marked as coded text, in types whose records Arrow can move."""
    for name in coded:
        if name in table.column_names:
            i = table.schema.get_field_index(name)
            table = table.set_column(i, table.schema.field(i).with_metadata(CODED_TEXT), table.column(i))
    return movable(table)


def movable(table: pa.Table) -> pa.Table:
    """The table in types whose records Arrow can move, with marks of the types that they will be shown in.

    Views become plain text and bytes, list views lists, and dictionaries inside other types their values. All other
    metadata is dropped, because it can hold anything.
    """
    schema = moved_schema(table.schema)
    columns = []
    for own, moved, column in zip(table.schema, schema, table.columns, strict=True):
        is_moved = moved.type.equals(own.type, check_metadata=True)
        chunks = column.chunks if is_moved else [_moved(chunk, moved.type) for chunk in column.chunks]
        columns.append(column if is_moved else pa.chunked_array(chunks, type=moved.type))
    return pa.Table.from_arrays(columns, schema=schema)


def disordered(table: pa.Table) -> tuple[str, ...]:
    """Columns of ordered categories whose pieces list different entries: joined, they would be in the order of the pieces."""
    return tuple(
        field.name
        for field, column in zip(table.schema, table.columns, strict=True)
        if pa.types.is_dictionary(field.type)
        and field.type.ordered
        and any(not chunk.dictionary.equals(column.chunk(0).dictionary) for chunk in column.chunks)
    )


def without_order(table: pa.Table, names: Collection[str]) -> pa.Table:
    """The table with the named columns as categories without an order, which a release then lists sorted."""
    for i, field in enumerate(table.schema):
        if field.name in names and pa.types.is_dictionary(field.type):
            kind = unordered(field.type)
            chunks = [pa.DictionaryArray.from_arrays(own.indices, own.dictionary) for own in table.column(i).chunks]
            table = table.set_column(i, field.with_type(kind), pa.chunked_array(chunks, type=kind))
    return table


def unordered(kind: pa.DictionaryType) -> pa.DictionaryType:
    """The type of categories without an order."""
    return pa.dictionary(kind.index_type, kind.value_type)


def lost_orders(names: Iterable[str]) -> tuple[TypeChange, ...]:
    """What to say of categories whose order is not known for certain."""
    return tuple(TypeChange(column=name, before="ordered categories", after="categories, sorted") for name in names)


def moved_schema(schema: pa.Schema) -> pa.Schema:
    """The types that records are moved in, with marks of those that they will be shown in."""
    fields = []
    for field in schema:
        kind = moved_type(field.type)
        mark = field.metadata if field.metadata == CODED_TEXT else _mark(field, kind)
        fields.append(pa.field(field.name, kind, metadata=mark))
    return pa.schema(fields)


def moved_type(kind: pa.DataType) -> pa.DataType:
    """The type that records of a column are moved in."""
    kind = released_type(kind, views=False)
    if pa.types.is_dictionary(kind) and kind.index_type.bit_width <= _NARROW:
        return pa.dictionary(pa.int32(), kind.value_type, ordered=kind.ordered)
    return kind


def _moved(chunk: pa.Array, kind: pa.DataType) -> pa.Array:
    if not pa.types.is_dictionary(kind):
        return rebuilt(chunk, kind)
    entries = rebuilt(chunk.dictionary, kind.value_type)
    return pa.DictionaryArray.from_arrays(chunk.indices.cast(kind.index_type), entries, ordered=kind.ordered)


def _mark(field: pa.Field, kind: pa.DataType) -> dict[bytes, bytes] | None:
    """The mark of a column that is moved in the type `kind`; None where it is shown in that type."""
    if field.metadata is not None and _SHOWN in field.metadata:
        return {_SHOWN: field.metadata[_SHOWN]}
    shown = released_type(field.type)
    return None if shown == kind else {_SHOWN: pa.schema([pa.field("", shown)]).serialize().to_pybytes()}


def shown_type(field: pa.Field) -> pa.DataType:
    """The type that a column is shown in: text where it is coded text, a view where it came as one."""
    metadata = field.metadata or {}
    if _SHOWN in metadata:
        return pa.ipc.read_schema(pa.py_buffer(metadata[_SHOWN])).field(0).type
    return field.type.value_type if field.metadata == CODED_TEXT else field.type


def taken_field(before: pa.Field, kind: pa.DataType) -> pa.Field:
    """The field of a column that was taken in the type `kind`, with the mark of the field that it was taken from."""
    is_coded = before.metadata == CODED_TEXT or not pa.types.is_dictionary(before.type)
    if pa.types.is_dictionary(kind):
        return pa.field(before.name, kind, metadata=CODED_TEXT if is_coded else before.metadata)
    return before.with_type(kind)


def decoded(table: pa.Table) -> pa.Table:
    """The table as it is shown, with every column made anew: coded text as text, views as views."""
    fields, columns = [], []
    for i, field in enumerate(table.schema):
        kind, column = shown_type(field), table.column(i)
        if pa.types.is_dictionary(kind):
            chunks = [rebuilt(in_one_piece(column), kind)]
            kind = chunks[0].type
        else:
            chunks = [rebuilt(chunk, kind) for chunk in column.chunks]
        fields.append(pa.field(field.name, kind))
        columns.append(pa.chunked_array(chunks, type=kind))
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def in_one_piece(column: pa.ChunkedArray) -> pa.Array:
    """The column as one array, with one dictionary if it has any."""
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_dictionary(column.type):
        column = with_one_dictionary(column)
    joined = column.combine_chunks()
    return joined.chunk(0) if isinstance(joined, pa.ChunkedArray) else joined


def without_dictionaries(table: pa.Table) -> pa.Table:
    """The table with plain values for every dictionary, also for those that are dictionaries in files."""
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            kind = field.type.value_type
            chunks = [rebuilt(chunk, kind) for chunk in table.column(i).chunks]
            table = table.set_column(i, pa.field(field.name, kind), pa.chunked_array(chunks, type=kind))
    return table


def metadata_names(schema: pa.Schema, *more: Mapping[bytes, bytes] | None) -> tuple[str, ...]:
    """Keys of the metadata of a schema, of its fields at any depth, and of `more` metadata."""
    found: set[bytes] = set()
    for metadata in (schema.metadata, *more):
        found.update(metadata or {})
    for i in range(len(schema)):
        fields = [schema.field(i)]
        while fields:
            field = fields.pop()
            found.update(field.metadata or {})
            if pa.types.is_nested(field.type):
                fields += [field.type.field(j) for j in range(field.type.num_fields)]
    return tuple(sorted({key.decode(errors="replace") for key in found}))

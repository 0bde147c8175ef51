# SPDX-License-Identifier: Apache-2.0
"""Changes of Arrow columns when they are read and written: text as dictionaries, types that Arrow can move, metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

CODED_TEXT = {b"kepsilon": b"coded text"}
"""Metadata that marks a column which is a dictionary in memory and text in files; no file ever holds the mark."""


def marked(table: pa.Table, coded: Sequence[str]) -> pa.Table:
    """The table with the named columns marked as coded text, in types whose records Arrow can move."""
    for name in coded:
        if name in table.column_names:
            i = table.schema.get_field_index(name)
            table = table.set_column(i, table.schema.field(i).with_metadata(CODED_TEXT), table.column(i))
    return movable(table)


def movable(table: pa.Table) -> pa.Table:
    """The table in types whose records Arrow can move: views become text, dictionaries in nested types their values.

    Metadata is dropped, because it can hold anything.
    """
    for i, field in enumerate(table.schema):
        if pa.types.is_run_end_encoded(field.type):
            chunks = [pc.run_end_decode(chunk) for chunk in table.column(i).chunks]
            table = table.set_column(i, field.name, pa.chunked_array(chunks, type=field.type.value_type))
    fields = []
    for field in table.schema:
        mark = CODED_TEXT if field.metadata == CODED_TEXT else None
        fields.append(pa.field(field.name, _movable_type(field.type), metadata=mark))
    schema = pa.schema(fields)
    return (
        table.replace_schema_metadata(None) if schema.equals(table.schema, check_metadata=True) else table.cast(schema)
    )


def _movable_type(kind: pa.DataType, *, inside: bool = False) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_dictionary(kind):
        values = _movable_type(kind.value_type)
        # The dictionaries of several files become one, which may need more than 8 or 16 bits.
        index = kind.index_type if kind.index_type.bit_width > 16 else pa.int32()
        return values if inside or pa.types.is_nested(values) else pa.dictionary(index, values, ordered=kind.ordered)
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _movable_type(f.type, inside=True), f.nullable) for f in kind])
    if pa.types.is_list(kind):
        return pa.list_(_movable_type(kind.value_type, inside=True))
    if pa.types.is_large_list(kind):
        return pa.large_list(_movable_type(kind.value_type, inside=True))
    return kind


def decoded(table: pa.Table) -> pa.Table:
    """The table with coded text as plain text."""
    schema = shown_schema(table)
    return table if schema.equals(table.schema) else table.cast(schema)


def shown_schema(table: pa.Table) -> pa.Schema:
    """The schema as files have it: coded text is text."""
    return pa.schema(
        [pa.field(f.name, f.type.value_type if f.metadata == CODED_TEXT else f.type) for f in table.schema]
    )


def without_dictionaries(table: pa.Table) -> pa.Table:
    """The table with plain values for every dictionary, also for those that are dictionaries in files."""
    plain = [pa.field(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in table.schema]
    return table.cast(pa.schema(plain))


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

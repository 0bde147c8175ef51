# SPDX-License-Identifier: Apache-2.0
"""Arrow columns as they come in and go out: text as dictionaries, types that Arrow can move, names of metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

CODED_TEXT = {b"kepsilon": b"coded text"}
"""Marks, inside the process, a column that is text outside and a dictionary here; no file ever carries the mark."""


def marked(table: pa.Table, coded: Sequence[str]) -> pa.Table:
    """The table with the mark of coded text on the named columns, in types whose records Arrow can move."""
    for name in coded:
        if name in table.column_names:
            i = table.schema.get_field_index(name)
            table = table.set_column(i, table.schema.field(i).with_metadata(CODED_TEXT), table.column(i))
    return movable(table)


def movable(table: pa.Table) -> pa.Table:
    """The table in types whose records Arrow can move: views become text, dictionaries inside others values.

    Metadata of the file stays behind; it can say anything.
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
        # Dictionaries of several files have to become one, and 8 or 16 bits may not be enough for that.
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
    """The types that others see: coded text is text."""
    return pa.schema(
        [pa.field(f.name, f.type.value_type if f.metadata == CODED_TEXT else f.type) for f in table.schema]
    )


def without_dictionaries(table: pa.Table) -> pa.Table:
    """The table with the values of every dictionary written out, also of those that are dictionaries outside."""
    plain = [pa.field(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in table.schema]
    return table.cast(pa.schema(plain))


def metadata_names(schema: pa.Schema, *more: Mapping[bytes, bytes] | None) -> tuple[str, ...]:
    """Keys of the metadata of a schema and of its fields, however deep these lie, and of `more` metadata."""
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

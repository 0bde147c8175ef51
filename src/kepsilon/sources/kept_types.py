# SPDX-License-Identifier: Apache-2.0
"""The Arrow types that a published column may have, and the type that each of them has in a release.

This is an allow-list. A type that is not named here is refused, because nobody has shown what its buffers hold beside
the values of the records that are released.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from kepsilon.errors import DataError, Problem
from kepsilon.table.type_changes import TypeChange

_FLAT = (
    "is_null is_boolean is_integer is_floating is_decimal is_date is_time is_timestamp is_duration is_string "
    "is_large_string is_string_view is_binary is_large_binary is_binary_view is_fixed_size_binary"
)
_IS_FLAT = tuple(getattr(pa.types, name) for name in _FLAT.split() if hasattr(pa.types, name))

_EXTENSIONS = ("arrow.uuid", "arrow.json", "arrow.bool8")
"""Extension types whose meaning does not depend on parameters or metadata, which could hold anything."""

EXTENSION_NAME = b"ARROW:extension:name"
"""Metadata that names the extension type of a field whose type is not registered with Arrow."""


class NotInArrow(pa.ExtensionType):  # type: ignore[misc]
    """Stands for a column of a type that Arrow does not have, such as Polars' Python objects and integers of 128 bits."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(pa.null(), "kepsilon.not_in_arrow")

    def __arrow_ext_serialize__(self) -> bytes:
        return self.name.encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> NotInArrow:
        del storage_type
        return cls(serialized.decode())


def type_changes(fields: Iterable[pa.Field]) -> tuple[TypeChange, ...]:
    """The columns whose type changes in a release of any kind."""
    found = [(field, released_type(field.type)) for field in fields]
    return tuple(
        TypeChange(column=field.name, before=str(field.type), after=str(kind))
        for field, kind in found
        if kind != field.type
    )


def refuse_other_types(fields: Iterable[pa.Field], source: str) -> None:
    """DataError that names every field whose type is not on the list."""
    problems = [
        Problem(where=f'{source}: column "{field.name}"', what=what, fix=fix)
        for field in fields
        for what, fix in _refusals(field)
    ]
    if problems:
        raise DataError(problems)


def _refusals(field: pa.Field) -> Iterator[tuple[str, str]]:
    """Why a column cannot be released, and what to do; nothing where it can."""
    found = _unlisted(field)
    if found is None:
        return
    kind, fix = found
    is_inside = not isinstance(field.type, pa.BaseExtensionType) and kind != str(field.type)
    whole = f", inside {field.type}" if is_inside else ""
    yield f"is of type {kind}{whole}, which cannot be released.", f"{fix}, or leave the column out of the policy."


def _unlisted(field: pa.Field) -> tuple[str, str] | None:
    """The name of the first type in a field, at any depth, that is not on the list, and what to make of it instead."""
    kind = field.type
    declared = (field.metadata or {}).get(EXTENSION_NAME)
    if declared is not None and declared.decode(errors="replace") not in _EXTENSIONS:
        name = declared.decode(errors="replace")
        return f"extension<{name}>", "Make plain values of it first, such as text, numbers or bytes"
    if isinstance(kind, NotInArrow):
        return kind.name, "Make text or numbers that Arrow has of it first"
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name in _EXTENSIONS:
            return None
        return f"extension<{kind.extension_name}>", "Make plain values of it first, such as text, numbers or bytes"
    if any(is_one(kind) for is_one in _IS_FLAT):
        return None
    if pa.types.is_struct(kind) and not kind.num_fields:
        return str(kind), "Give the structure a field"
    children = _children(kind)
    if not children:
        instead = "a duration or text" if pa.types.is_interval(kind) else "one type"
        return str(kind), f"Make {instead} of it first"
    return next((found for child in children if (found := _unlisted(child)) is not None), None)


def _children(kind: pa.DataType) -> list[pa.Field]:
    """The fields inside a type of which records are made of other types; none for a type that is not on the list."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return [pa.field("values", kind.value_type)]
    if pa.types.is_map(kind):
        return [kind.key_field, kind.item_field]
    if is_list_like(kind) or pa.types.is_fixed_size_list(kind):
        return [kind.value_field]
    return [kind.field(i) for i in range(kind.num_fields)] if pa.types.is_struct(kind) else []


def is_list_like(kind: pa.DataType) -> bool:
    """Whether a type is a list of any length, with offsets of 32 or 64 bits, as list or as list view."""
    is_plain = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return bool(is_plain or _is_any(kind, "is_list_view", "is_large_list_view"))


def is_view(kind: pa.DataType) -> bool:
    """Whether a type is a view of text or bytes."""
    return _is_any(kind, "is_string_view", "is_binary_view")


def _is_any(kind: pa.DataType, *names: str) -> bool:
    """Whether Arrow's test of one of these names says so; older versions of Arrow have neither the types nor the tests."""
    return any(getattr(pa.types, name)(kind) for name in names if hasattr(pa.types, name))


def released_type(kind: pa.DataType, *, inside: bool = False, views: bool = True) -> pa.DataType:
    """The type that a column of a listed type has in a release.

    List views become lists, and run-end encoded columns, and dictionaries inside other types, become their values, for
    their buffers hold more than the values of some records. Fields inside other types may always be null, and have no
    metadata. Without `views`, views become the plain types that records are moved in.
    """
    if pa.types.is_dictionary(kind):
        values = released_type(kind.value_type, inside=True, views=False)
        if inside or pa.types.is_nested(values) or pa.types.is_null(values):
            return released_type(kind.value_type, inside=True, views=views)
        shown = released_type(kind.value_type, inside=True, views=views)
        return pa.dictionary(kind.index_type, shown, ordered=kind.ordered)
    if pa.types.is_run_end_encoded(kind):
        return released_type(kind.value_type, inside=True, views=views)
    if pa.types.is_struct(kind):
        return pa.struct([_field(kind.field(i), views=views) for i in range(kind.num_fields)])
    if pa.types.is_map(kind):
        key = _field(kind.key_field, views=views).with_nullable(False)
        return pa.map_(key, _field(kind.item_field, views=views), keys_sorted=kind.keys_sorted)
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_field(kind.value_field, views=views), kind.list_size)
    if is_list_like(kind):
        make = pa.large_list if _is_any(kind, "is_large_list", "is_large_list_view") else pa.list_
        return make(_field(kind.value_field, views=views))
    if is_view(kind) and not views:
        return pa.large_string() if _is_any(kind, "is_string_view") else pa.large_binary()
    return kind


def without_times(kind: pa.DataType) -> pa.DataType:
    """A released type with dates, times and durations as the numbers that stand for them, at any depth."""
    if pa.types.is_temporal(kind):
        return pa.int32() if kind.bit_width < pa.int64().bit_width else pa.int64()
    if pa.types.is_struct(kind):
        return pa.struct([(kind.field(i).name, without_times(kind.field(i).type)) for i in range(kind.num_fields)])
    if pa.types.is_map(kind):
        return pa.map_(without_times(kind.key_type), without_times(kind.item_type))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(without_times(kind.value_type), kind.list_size)
    if is_list_like(kind):
        make = pa.large_list if pa.types.is_large_list(kind) else pa.list_
        return make(without_times(kind.value_type))
    return kind


def _field(field: pa.Field, *, views: bool) -> pa.Field:
    return pa.field(field.name, released_type(field.type, inside=True, views=views))

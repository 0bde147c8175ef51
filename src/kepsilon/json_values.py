# SPDX-License-Identifier: Apache-2.0
"""Writes results as JSON: frozen dataclasses become JSON objects.

A field is written under its own name, unless its metadata says otherwise: `written_as("dm*")` gives another name,
`inline()` writes the keys of a part beside those of the whole, and `left_out_if_none()` writes no key for None.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Generic, TypeVar

Item_co = TypeVar("Item_co", covariant=True)

Json = dict[str, Any]
"""A JSON object, as it is written to a file or was read from one."""

_NAME, _INLINE, _OPTIONAL = "json name", "json inline", "json optional"


def written_as(name: str) -> dict[str, object]:
    """Metadata of a field that has another name in JSON."""
    return {_NAME: name}


def inline() -> dict[str, object]:
    """Metadata of a field whose value is written as keys beside those of the whole."""
    return {_INLINE: True}


def left_out_if_none() -> dict[str, object]:
    """Metadata of a field that is not written where it is None."""
    return {_OPTIONAL: True}


class FrozenMapping(Mapping[str, Item_co], Generic[Item_co]):
    """A mapping that cannot be changed, such as figures by attribute."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Item_co] | None = None) -> None:
        self._items: dict[str, Item_co] = dict(items or {})

    def __getitem__(self, name: str) -> Item_co:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return repr(self._items)


def frozen(value: Any) -> Any:
    """A copy that cannot be changed: JSON objects become frozen mappings, and lists tuples, at any depth."""
    if isinstance(value, Mapping) and not isinstance(value, JsonValue):
        return FrozenMapping({str(key): frozen(own) for key, own in value.items()})
    if isinstance(value, list | tuple):
        return tuple(frozen(own) for own in value)
    return value


class JsonValue:
    """A frozen dataclass that can be written as JSON."""

    __slots__ = ()

    def to_json(self) -> Json:
        """All fields as a new JSON object; changing it does not change this value."""
        return _object(self)


class JsonMapping(JsonValue, Mapping[str, Any]):
    """A frozen dataclass that can also be read by its JSON keys, as in `record["records"]["released"]`."""

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        return self.to_json()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_json())

    def __len__(self) -> int:
        return len(self.to_json())


def json_of(value: object) -> Any:
    """A value as JSON holds it: an object, list, text, number, true, false or null."""
    if isinstance(value, JsonValue):
        return value.to_json()
    if dataclasses.is_dataclass(value):
        return _object(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): json_of(own) for key, own in value.items()}
    if isinstance(value, str | bytes):
        return value
    if isinstance(value, Sequence):
        return [json_of(own) for own in value]
    return value


def _object(value: Any) -> Json:
    found: Json = {}
    for field in dataclasses.fields(value):
        own = getattr(value, field.name)
        if own is None and (_OPTIONAL in field.metadata or _INLINE in field.metadata):
            continue
        if _INLINE in field.metadata:
            found |= json_of(own)
        else:
            found[field.metadata.get(_NAME, field.name)] = json_of(own)
    return found

# SPDX-License-Identifier: Apache-2.0
"""The pages of record keys and manifest keys, from the typed values that are written as JSON."""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Iterator, Mapping

from kepsilon.publish.manifest import Manifest
from kepsilon.publish.record import Record
from reference.field_texts import cell, described, field_texts
from reference.plain_keys import PLAIN, WRITTEN

KINDS = {int: "whole number", float: "number", str: "text", bool: "true or false"}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key: where it stands, what kind of value it has, and what it says. `*` stands for names, `[]` for list items."""

    path: str
    kind: str
    text: str


def keys_of(cls: type, path: str = "") -> Iterator[Key]:
    """Every key of a value's JSON, and those of its parts."""
    hints = typing.get_type_hints(cls)
    if cls.__name__ in WRITTEN:
        yield from _worded_keys(cls, path, hints)
        return
    for own in dataclasses.fields(cls):
        hint, metadata = hints[own.name], own.metadata
        if "json inline" in metadata:
            yield from _inlined(cls, own.name, hint, path)
            continue
        name = str(metadata.get("json name", own.name))
        parts = list(_dataclasses_in(hint))
        text = described(cls, own.name, PLAIN, parts[0] if parts else None)
        absent = " It is left out where there is none." if "json optional" in metadata else ""
        yield Key(path=path + name, kind=kind_of(hint), text=text + absent)
        for part in parts:
            yield from keys_of(part, path + name + _joint(hint))


def _worded_keys(cls: type, path: str, hints: Mapping[str, object]) -> Iterator[Key]:
    """The keys of a class that words its JSON itself."""
    for key, source in WRITTEN[cls.__name__].items():
        text = described(cls, source, PLAIN) if source in field_texts(cls) else source
        hint = hints.get(source, hints.get(key, float))
        parts = [part for part in _dataclasses_in(hint) if part.__name__ in WRITTEN]
        yield Key(
            path=path + key, kind="number" if not parts and list(_dataclasses_in(hint)) else kind_of(hint), text=text
        )
        for part in parts:
            yield from keys_of(part, f"{path}{key}.")


def _inlined(cls: type, name: str, hint: object, path: str) -> Iterator[Key]:
    """The keys of a field that is written beside those of the whole."""
    parts = list(_dataclasses_in(hint))
    if typing.get_origin(hint) is not None and issubclass(typing.get_origin(hint) or object, Mapping):
        inside = typing.get_args(hint)[1]
        yield Key(path=path + "*", kind=kind_of(inside), text=described(cls, name, PLAIN, None))
        for part in parts:
            yield from keys_of(part, path + "*.")
        return
    for part in parts:
        yield from keys_of(part, path)


def kind_of(hint: object) -> str:
    """The kind of a JSON value, in words."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return " or ".join("null" if own is types.NoneType else kind_of(own) for own in arguments)
    if origin is tuple:
        return f"list of {kind_of(arguments[0])}s"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"{kind_of(arguments[1])} by name"
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return "object"
    return KINDS.get(hint, "text") if isinstance(hint, type) else "value"


def _dataclasses_in(hint: object) -> Iterator[type]:
    arguments = typing.get_args(hint)
    if not arguments and isinstance(hint, type) and dataclasses.is_dataclass(hint):
        yield hint
    for own in arguments:
        yield from _dataclasses_in(own)


def _joint(hint: object) -> str:
    origins = {typing.get_origin(own) for own in (hint, *typing.get_args(hint))}
    if tuple in origins:
        return "[]."
    return ".*." if any(isinstance(own, type) and issubclass(own, Mapping) for own in origins) else "."


def table(keys: Iterator[Key]) -> list[str]:
    return [
        "| key | value | meaning |",
        "|---|---|---|",
        *(f"| `{k.path}` | {k.kind} | {cell(_in_json(k.text))} |" for k in keys),
    ]


def _in_json(text: str) -> str:
    """A text about a Python value, about the JSON value that it is written as."""
    return re.sub(r"\bNone\b", "null", text)


def record_page() -> str:
    """The keys of the curator's record."""
    return "\n".join(
        [
            "# Keys of the curator's record",
            "",
            "Every key of `OUTPUT.curator.json`, which is for the curator only. "
            "[Record and manifest](record.md) explains them in sentences.",
            "",
            "Every risk on this page is that of an attacker who knows the quasis of everybody, unless another is named.",
            "",
            "`*` stands for the name of a column, a quantile or a step; `[]` for every item of a list.",
            "Shares are from 0 to 1.",
            "",
            *table(keys_of(Record)),
            "",
        ]
    )


def manifest_page() -> str:
    """The keys of the public manifest."""
    return "\n".join(
        [
            "# Keys of the manifest",
            "",
            "Every key of `OUTPUT.manifest.json`, which is given away with the release. "
            "It follows from the policy and the release alone: [what the manifest tells](../explanation/promise.md#what-the-manifest-tells).",
            "",
            "`policy` has the keys of the [policy](policy-keys.md), without those that are the curator's own.",
            "`*` stands for the name of a column.",
            "",
            *table(keys_of(Manifest)),
            "",
        ]
    )

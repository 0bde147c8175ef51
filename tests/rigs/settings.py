# SPDX-License-Identifier: Apache-2.0
"""Every setting that a policy can have, read from the policy's JSON Schema, and the settings that a document uses.

A setting is named by its path, with roles and types in it: `attributes.k-quasi.hierarchy.mask.side`. A closed set of
values adds one name for each: `algorithm = ola`. A value of several shapes adds one for each: `… .domain = [low, high]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import kepsilon

Node = Mapping[str, Any]


@cache
def schema() -> Node:
    return kepsilon.json_schema()


ONLY_OF_SENSITIVE = ("attributes.insensitive.l_diversity", "attributes.insensitive.t_closeness")
"""What the schema allows because both roles share their keys, and every policy refuses."""


@cache
def all_settings() -> frozenset[str]:
    """Names of all keys, values and shapes that a policy can have."""
    return frozenset(name for name in _walk(schema(), "") if not name.startswith(ONLY_OF_SENSITIVE))


@cache
def all_keys() -> frozenset[str]:
    """Names of all keys; what a role or a type is called is no key."""
    return frozenset(name for name in all_settings() if " = " not in name)


@cache
def values_of(key: str) -> tuple[str, ...]:
    """The values of a key that has a closed set of them."""
    start = f"{key} = "
    return tuple(sorted(name.removeprefix(start) for name in all_settings() if name.startswith(start)))


def settings_of(document: Mapping[str, Any]) -> frozenset[str]:
    """Names of the settings that a policy document uses; defaults that it does not state are not among them."""
    return frozenset(_used(schema(), "", document))


def _resolved(node: Node) -> Node:
    while "$ref" in node:
        node = schema()["$defs"][node["$ref"].rpartition("/")[2]]
    return node


def _alternatives(node: Node) -> list[Node]:
    """The shapes that a value may have, null left out: it stands for a key that is not stated."""
    found = [_resolved(own) for own in node.get("anyOf") or node.get("oneOf") or [node]]
    return [own for own in found if own.get("type") != "null"]


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _walk(node: Node, path: str, *, tag: str = "") -> Iterator[str]:
    node = _resolved(node)
    if "discriminator" in node:
        tag = node["discriminator"]["propertyName"]
        for name, reference in node["discriminator"]["mapping"].items():
            yield f"{path}.{tag} = {name}"
            yield from _walk({"$ref": reference}, _join(path, name), tag=tag)
        return
    shapes = _alternatives(node)
    if len(shapes) > 1 or shapes[0] is not node:
        for shape in shapes:
            yield from _walk(shape, path)
        return
    yield from (f"{path} = {value}" for value in _closed_set(node))
    if "prefixItems" in node:
        yield f"{path} = [low, high]"
    for key, child in node.get("properties", {}).items():
        if key != tag:
            yield _join(path, key)
            yield from _walk(child, _join(path, key))
    for below in ("items", "additionalProperties"):  # what a list holds, and tables whose keys the curator chooses
        if isinstance(node.get(below), Mapping):
            yield from _walk(node[below], path)


def _used(node: Node, path: str, value: Any, *, tag: str = "") -> Iterator[str]:
    node = _resolved(node)
    if "discriminator" in node:
        tag = node["discriminator"]["propertyName"]
        name = value[tag]
        yield f"{path}.{tag} = {name}"
        yield from _used({"$ref": node["discriminator"]["mapping"][name]}, _join(path, name), value, tag=tag)
        return
    shapes = _alternatives(node)
    if len(shapes) > 1 or shapes[0] is not node:
        for shape in shapes:
            if _fits(shape, value):
                yield from _used(shape, path, value)
        return
    if str(value) in _closed_set(node) or value in node.get("enum", ()):
        yield f"{path} = {value}"
    if "prefixItems" in node and isinstance(value, list | tuple):
        yield f"{path} = [low, high]"
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _used(node.get("items", {}), path, item)
    elif isinstance(value, Mapping):
        for key, own in value.items():
            if key in node.get("properties", {}):
                if key != tag:
                    yield _join(path, key)
                    yield from _used(node["properties"][key], _join(path, key), own)
            elif isinstance(node.get("additionalProperties"), Mapping):
                yield from _used(node["additionalProperties"], path, own)


def _closed_set(node: Node) -> list[str]:
    if node.get("type") == "boolean":
        return ["True", "False"]
    return [str(value) for value in ([node["const"]] if "const" in node else node.get("enum", ()))]


def _fits(shape: Node, value: Any) -> bool:
    if isinstance(value, Mapping):
        return shape.get("type") == "object" or "discriminator" in shape
    if isinstance(value, list | tuple):
        return shape.get("type") == "array"
    if isinstance(value, str):
        return shape.get("type") == "string" and ("const" not in shape or shape["const"] == value)
    return shape.get("type") in ("integer", "number", "boolean") or "anyOf" in shape

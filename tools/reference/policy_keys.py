# SPDX-License-Identifier: Apache-2.0
"""The page of policy keys, from the JSON Schema that `kepsilon schema` prints and the texts under the fields."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kepsilon.policy import averages, hierarchies, policy, roles
from kepsilon.policy.policy import json_schema
from reference.field_texts import cell, described
from reference.plain_keys import PLAIN

Schema = dict[str, Any]

PARTS = {
    "The policy itself": policy.Policy,
    "`[averages]`": averages.Averages,
    '`role = "identifier"`': roles.Identifier,
    '`role = "k-quasi"`': roles.KQuasi,
    '`role = "epsilon-quasi"`': roles.EpsilonQuasi,
    "`range = { coarse = … }`": roles.CoarseSpecification,
    '`role = "sensitive"` or `"insensitive"`': roles.Kept,
    "`l_diversity = { … }`": roles.LDiversity,
    '`hierarchy = { type = "mask" }`': hierarchies.MaskHierarchy,
    '`hierarchy = { type = "intervals" }`': hierarchies.IntervalsHierarchy,
    '`hierarchy = { type = "groups" }`': hierarchies.GroupsHierarchy,
    '`hierarchy = { type = "suppress" }`': hierarchies.SuppressHierarchy,
    '`hierarchy = { type = "dates" }`': hierarchies.DatesHierarchy,
    '`hierarchy = { type = "file" }`': hierarchies.FileHierarchy,
}  # fmt: skip
"""Where keys stand in a policy file, and the class that reads them."""
SAID_BY_THE_TITLE = {"role", "type"}


def page() -> str:
    schema = json_schema()
    own = {"Policy": schema, **schema["$defs"]}
    forgotten = own.keys() - {cls.__name__ for cls in PARTS.values()}
    if forgotten:
        raise LookupError(f"tools/reference/policy_keys.py: say in PARTS where {', '.join(sorted(forgotten))} stands")
    lines = [
        "# Keys of the policy",
        "",
        "Every key of a policy file, from its JSON Schema (`kepsilon schema`). "
        "[The policy](policy.md) explains them with examples.",
    ]
    for title, cls in PARTS.items():
        lines += ["", f"## {title}", "", *_part(own[cls.__name__], cls)]
    return "\n".join(lines) + "\n"


def _part(schema: Schema, cls: type) -> Iterator[str]:
    properties = {key: found for key, found in schema["properties"].items() if key not in SAID_BY_THE_TITLE}
    if not properties:
        yield "No other keys."
        return
    yield "| key | value | default | meaning |"
    yield "|---|---|---|---|"
    required = schema.get("required", [])
    for key, found in properties.items():
        default = "required" if key in required else _default(found)
        yield f"| `{key}` | {cell(values(found))} | {default} | {cell(described(cls, key, PLAIN))} |"


def _default(schema: Schema) -> str:
    if schema.get("default") is None:
        return "–"
    return f"`{json.dumps(schema['default'], ensure_ascii=False)}`"


def values(schema: Schema) -> str:
    """What a value may be, in words."""
    if "$ref" in schema:
        return "table"
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(own, ensure_ascii=False)}`" for own in schema["enum"])
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        words = dict.fromkeys(values(own) for own in choices if own.get("type") != "null")
        numbers = "whole number" in words and "number" in words
        text = " or ".join(own for own in words if not (numbers and own == "whole number"))
        return text + _limits(schema)
    kinds = {
        "integer": "whole number",
        "number": "number",
        "string": "text",
        "boolean": "true or false",
        "object": "table",
    }
    if schema.get("type") == "array":
        items = schema.get("prefixItems", [])
        return "list" if not items else "[low, high]" if items[0] == items[1] else "[number, whole number]"
    return kinds.get(str(schema.get("type")), "value") + _limits(schema)


def _limits(schema: Schema) -> str:
    """The limits of a number; those that only keep it within a double are not worth saying."""
    signs = {
        "minimum": "≥",
        "ge": "≥",
        "exclusiveMinimum": ">",
        "gt": ">",
        "maximum": "≤",
        "le": "≤",
        "exclusiveMaximum": "<",
        "lt": "<",
    }
    found = [f"{sign} {schema[key]:g}" for key, sign in signs.items() if key in schema and abs(schema[key]) < 2**53]
    return f" ({', '.join(found)})" if found else ""

# SPDX-License-Identifier: Apache-2.0
"""Reads a published label back and says whether it covers a value."""

from __future__ import annotations

import json
from collections.abc import Sequence


def interval_covers(label: str | None, value: str | None) -> bool:
    """Whether a number (or null) lies in a published interval."""
    if label == "*":
        return True
    if label is None:
        return value is None
    if value is None:
        return label.startswith("null or ")
    rest = label.removeprefix("null or ")
    number = float(value)
    if rest == "not null":
        return True
    if rest.startswith("<= "):
        return number <= float(rest[3:])
    if rest.startswith("> "):
        return number > float(rest[2:])
    if rest[0] in "[(":
        low, high = (float(part) for part in rest[1:-1].split(", "))
        return (low <= number if rest[0] == "[" else low < number) and number <= high
    return number == float(rest)


def interval_numbers(label: str | None) -> list[float]:
    """The numbers a published interval shows."""
    if label in (None, "*", "not null"):
        return []
    rest = label.removeprefix("null or ")
    return [float(part.lstrip("[(<=> ").rstrip("])")) for part in rest.split(", ")]


def set_members(label: str) -> list[str | None]:
    """The values of a published set such as {A, "C, D", null}."""
    assert (label[0], label[-1]) == ("{", "}")
    rest, members = label[1:-1], []
    while True:
        if rest.startswith('"'):
            member, end = json.JSONDecoder().raw_decode(rest)
        else:
            end = rest.find(", ") if ", " in rest else len(rest)
            member = rest[:end]
            member = None if member == "null" else member
        members.append(member)
        rest = rest[end:]
        if not rest:
            return members
        assert rest.startswith(", ")
        rest = rest[2:]


def ancestor_covers(label: str | None, value: str | None, labels_of_value: Sequence[str | None]) -> bool:
    """Whether a label stands anywhere above the value in its hierarchy."""
    return label in labels_of_value

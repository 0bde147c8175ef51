# SPDX-License-Identifier: Apache-2.0
"""Reads a published label back and says whether it covers a value."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction


def interval_covers(label: str | None, value: str | None) -> bool:
    """Whether a number (or null) lies in a published interval, which is open at its upper bound."""
    if label == "*":
        return True
    if label is None:
        return value is None
    if value is None:
        return label.startswith("null or ")
    low, high = interval_bounds(label)
    return low <= Fraction(value) < high


def interval_bounds(label: str) -> tuple[Fraction, Fraction]:
    """Both bounds of a published interval such as "[20, 30)" or "null or [20, 30)"."""
    rest = label.removeprefix("null or ")
    assert (rest[0], rest[-1]) == ("[", ")")
    low, high = rest[1:-1].split(", ")
    return Fraction(low), Fraction(high)


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

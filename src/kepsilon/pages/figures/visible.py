# SPDX-License-Identifier: Apache-2.0
"""Makes names safe to show in a sentence: invisible characters are escaped, and no name reverses the words around it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import TypeVar, cast
from unicodedata import bidirectional

from kepsilon.json_values import FrozenMapping

_FROM_THE_RIGHT = {"R", "AL", "AN"}
_ISOLATED = ("\N{FIRST STRONG ISOLATE}", "\N{POP DIRECTIONAL ISOLATE}")


def visible(words: str) -> str:
    """The text with line breaks, control and direction characters as escapes.

    Backslashes are doubled, so that no two texts look alike. Text that is written from right to left is isolated from its
    sentence, as <bdi> does in HTML; this works in SVG too.
    """
    return _isolated(_written_out(words.replace("\\", r"\\")))


def visible_lines(statement: str) -> list[str]:
    """The lines of a release's statement, one promise each. Names in them are escaped already, so backslashes stay."""
    return [_isolated(_written_out(line)) for line in statement.split("\n")]


Value = TypeVar("Value")


def all_visible(found: Value) -> Value:
    """A copy of a value in which every text is made visible, at any depth."""
    return cast("Value", _visible(found))


def _visible(found: object) -> object:
    if isinstance(found, str):
        return visible(found)
    if dataclasses.is_dataclass(found) and not isinstance(found, type):
        parts = {part.name: _visible(getattr(found, part.name)) for part in dataclasses.fields(found)}
        return dataclasses.replace(found, **parts)
    if isinstance(found, Mapping):
        return FrozenMapping({visible(str(key)): _visible(value) for key, value in found.items()})
    return tuple(_visible(one) for one in found) if isinstance(found, list | tuple) else found


def _written_out(words: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in words)


def _isolated(words: str) -> str:
    runs = "".join("R" if (kind := bidirectional(c)) in _FROM_THE_RIGHT else "L" if kind == "L" else "-" for c in words)
    for run in reversed([*re.finditer("R(?:[R-]*R)?", runs)]):
        words = words[: run.start()] + words[run.start() : run.end()].join(_ISOLATED) + words[run.end() :]
    return words

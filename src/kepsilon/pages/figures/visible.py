# SPDX-License-Identifier: Apache-2.0
"""Names as they may stand in a sentence: what cannot be seen is written out, and none turns the words around it."""

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
    """Line breaks, control and direction characters as escapes; a backslash is doubled, so that no two names look alike.

    What is in a script that runs from the right is kept apart from its sentence, as <bdi> would, but in drawings too.
    """
    return _isolated(_written_out(words.replace("\\", r"\\")))


def visible_lines(statement: str) -> list[str]:
    """One promise each. Names are written out in them already, so that a backslash stays as it is."""
    return [_isolated(_written_out(line)) for line in statement.split("\n")]


Value = TypeVar("Value")


def all_visible(found: Value) -> Value:
    """A value of the same kind, in which every name and every text is visible, at any depth."""
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

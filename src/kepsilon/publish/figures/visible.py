# SPDX-License-Identifier: Apache-2.0
"""Names as they may stand in a sentence: what cannot be seen is written out, and none turns the words around it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from unicodedata import bidirectional

from kepsilon.publish.figures.figure import Json

_FROM_THE_RIGHT = {"R", "AL", "AN"}
_ISOLATED = ("\N{FIRST STRONG ISOLATE}", "\N{POP DIRECTIONAL ISOLATE}")
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\\": r"\\"}


def visible(words: str) -> str:
    """Line breaks, control and direction characters as escapes; a backslash is doubled, so that no two names look alike.

    What is in a script that runs from the right is kept apart from its sentence, as <bdi> would, but in drawings too.
    """
    shown = _written_out(words)
    runs = "".join("R" if (kind := bidirectional(c)) in _FROM_THE_RIGHT else "L" if kind == "L" else "-" for c in shown)
    for run in reversed([*re.finditer("R(?:[R-]*R)?", runs)]):
        shown = shown[: run.start()] + shown[run.start() : run.end()].join(_ISOLATED) + shown[run.end() :]
    return shown


def _written_out(words: str) -> str:
    return "".join(_SHORT.get(c) or (c if c.isprintable() else _escape(c)) for c in words)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def all_visible(found: Any) -> Any:
    """Every key and every string, at any depth."""
    if isinstance(found, str):
        return visible(found)
    if isinstance(found, Mapping):
        return {visible(str(key)): all_visible(value) for key, value in found.items()}
    return [all_visible(one) for one in found] if isinstance(found, list | tuple) else found


def visible_promises(record: Json) -> list[str]:
    """The statement's lines. A name is made visible before they are told apart, or it could forge a promise."""
    statement = str(record["guarantee"].get("statement") or "")
    names = sorted((record.get("policy") or {}).get("attributes") or {}, key=len, reverse=True)
    hostile = "|".join(re.escape(name) for name in names if not name.isprintable())
    parts = re.split(f"({hostile})", statement) if hostile else [statement]
    shown = (visible(part) if i % 2 else "\n".join(map(visible, part.split("\n"))) for i, part in enumerate(parts))
    return "".join(shown).split("\n")

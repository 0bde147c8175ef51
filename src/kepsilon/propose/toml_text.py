# SPDX-License-Identifier: Apache-2.0
"""Comments, keys and values of a proposed policy as TOML text."""

from __future__ import annotations

import re
import textwrap
from decimal import Decimal

WIDTH = 116


def comment(text: str) -> str:
    """The text as lines of a comment."""
    return "".join(f"# {line}\n" for line in textwrap.wrap(text, WIDTH - 2, break_on_hyphens=False))


def toml_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_string(name)


def toml_string(text: str) -> str:
    """The text as a TOML string; invisible characters are escaped, so that no name can end a comment or hide in the file."""
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    shown = (escapes.get(c, c if c.isprintable() else f"\\U{ord(c):08X}") for c in text)
    return f'"{"".join(shown)}"'


def toml_value(value: object) -> str:
    if isinstance(value, str):
        return toml_string(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return f"{Decimal(repr(value)):f}"

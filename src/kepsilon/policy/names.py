# SPDX-License-Identifier: Apache-2.0
"""Names of columns as sentences show them."""

from __future__ import annotations

from collections.abc import Iterable


def listed_names(names: Iterable[str]) -> str:
    """Names as a list."""
    return ", ".join(map(shown_name, names))


def shown_name(name: str) -> str:
    """A column's name with control characters as escapes: after a line break, the rest would look like another promise."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)

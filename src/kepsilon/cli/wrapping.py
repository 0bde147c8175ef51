# SPDX-License-Identifier: Apache-2.0
"""Text that fits the screen: wrapped between words, never inside a word, a name, or a figure and its unit."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from pathlib import Path

NARROWEST, WIDEST = 40, 100
_STAY_TOGETHER = re.compile(r"(?<=\d) (?=[%×])|(?<=[kεn]) (?=[=<>≤≥] )|(?<=[=<>≤≥]) (?=\d)|(?<=±) (?=\d)")
"""Blanks inside a figure, such as that of “5 %” and those of “k = 10”."""
_NO_BREAK = "\N{NO-BREAK SPACE}"


def width() -> int:
    """How many columns text may take: those of the terminal, but no line is too long to read, nor too short for words."""
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size().columns))


def visible(text: str) -> str:
    """The text with control characters as escapes: the name of a column could otherwise forge or reverse a message."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def shown(path: Path) -> str:
    """A path for the screen, with control characters as escapes."""
    return visible(str(path))


def wrapped(text: str, *, first: str = "", indent: str = "", room: int | None = None) -> list[str]:
    """The lines of a paragraph; `first` stands before the first line, `indent` before the others.

    A line break in the text is shown as an escape: it comes from a name, and could forge a line. A word longer than a line
    stands alone on one that is too long: a path or a name is only worth copying as a whole.
    """
    whole = _STAY_TOGETHER.sub(_NO_BREAK, " ".join(visible(text).split()))
    lines = textwrap.wrap(
        whole,
        width=width() if room is None else max(1, room),
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_NO_BREAK, " ") for line in lines] or [first]


def wrapped_message(text: str) -> str:
    """A message of several lines, each of them wrapped; what an indented line goes on with is indented further."""
    lines: list[str] = []
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip(" "))]
        lines += wrapped(line, first=indent, indent=indent + "  ")
    return "\n".join(lines)


def as_shown(message: str) -> str:
    """A message for stderr: wrapped on a terminal, as it is elsewhere, where somebody may search it."""
    return wrapped_message(message) if sys.stderr.isatty() else message


def note(about: object) -> str:
    """A note about something, ready to be printed: wrapped to the width of the screen, its further lines indented."""
    first, *more = str(about).splitlines()
    lines = wrapped(f"note: {first}", indent="  ")
    for line in more:
        lines += wrapped(line, first="  ", indent="  ")
    return "\n".join(lines)

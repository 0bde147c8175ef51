# SPDX-License-Identifier: Apache-2.0
"""What commands print on stdout: paragraphs, lists, and small tables that fit the screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from kepsilon.cli.colours import coloured
from kepsilon.cli.progress import progress as progress  # noqa: PLC0414 (others import it from here)
from kepsilon.cli.wrapping import note as note  # noqa: PLC0414 (others import it from here)
from kepsilon.cli.wrapping import shown, visible, width, wrapped
from kepsilon.rounding import percent as percent  # noqa: PLC0414 (others import it from here)

GAP = "  "
BELOW = "    "
"""What stands before words that are set below their line."""
LEAST_FOR_WORDS = 16
"""Columns that a column of words gets at least; where there are fewer, its words go below the line."""


def show_wrapped(text: str) -> None:
    """Prints a paragraph, wrapped to the width of the screen."""
    click.echo("\n".join(wrapped(text)))


def show_heading(text: str) -> None:
    """Prints a line of its own that says what follows, with a blank line before it."""
    click.echo("\n" + coloured(text, bold=True))


def show_point(text: str) -> None:
    """Prints one point of a list, wrapped to the width of the screen."""
    click.echo("\n".join(wrapped(text, first="- ", indent="  ")))


def show_lines(lines: Iterable[tuple[str, str]]) -> None:
    """Prints labels and values in two columns; a label with little room beside it stands above its value."""
    rows = [(visible(label), value) for label, value in lines]
    indent = min(max((len(label) for label, _ in rows), default=0) + len(GAP), width() // 3)
    for label, value in rows:
        more = wrapped(value, room=width() - indent)
        if len(label) + len(GAP) <= indent:
            click.echo(coloured(label.ljust(indent), bold=True) + more.pop(0))
        else:
            click.echo(coloured(label, bold=True))
        for line in more:
            click.echo(" " * indent + line)


def show_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints a table with numbers aligned to the right; columns that are empty in every row are not shown.

    If it is wider than the screen, its last column is wrapped, or set below where names leave no room for it. Words that have
    a colour get it where they are a whole field.
    """
    lines = [[visible(field) for field in (*row, *[""] * (len(names) - len(row)))] for row in (names, *rows)]
    used = [i for i in range(len(names)) if any(line[i] for line in lines[1:])]
    if not used:
        return
    widths = {i: max(len(line[i]) for line in lines) for i in used}
    numeric = {i: all(line[i][:1].isdigit() or not line[i] for line in lines[1:]) for i in used}
    *fixed, last = used
    before = sum(widths[i] + len(GAP) for i in fixed)
    room = width() - before
    wraps = not numeric[last] and LEAST_FOR_WORDS <= room < widths[last]
    below = not numeric[last] and bool(fixed) and room < min(LEAST_FOR_WORDS, widths[last])
    for n, line in enumerate(lines):
        fields = [line[i].rjust(widths[i]) if numeric[i] else line[i].ljust(widths[i]) for i in fixed]
        if below:
            ends = ["", *wrapped(line[last], indent=BELOW, first=BELOW)]
        elif wraps:
            ends = wrapped(line[last], room=room)
            ends[1:] = [" " * before + more for more in ends[1:]]
        else:
            ends = [line[last].rjust(widths[last] * numeric[last])]
        if n == 0:
            ends = ends[:1] if not below else [line[last]]
            click.echo(coloured(GAP.join([*fields, *ends]).rstrip(), bold=True))
            continue
        click.echo(GAP.join([*(coloured(own) for own in fields), *(coloured(own) for own in ends[:1] if own)]))
        for more in ends[1:]:
            click.echo(more)


def show_paths(files: Iterable[tuple[str, Path, str]]) -> None:
    """Prints where files are: a name, a path and what it is for, which goes below where there is no room beside.

    A path is never wrapped, so that it can be copied.
    """
    rows = list(files)
    indent = max((len(name) for name, _, _ in rows), default=0) + len(GAP)
    for name, path, purpose in rows:
        line = name.ljust(indent) + shown(path)
        words = f"({purpose})" if purpose else ""
        if not words or len(line) + len(GAP) + len(words) <= width():
            click.echo(f"{line}{GAP}{words}".rstrip())
        else:
            click.echo(f"{line}\n{' ' * indent}{words}")

# SPDX-License-Identifier: Apache-2.0
"""Colours of words by what they mean; the words say it too, so nothing is told by colour alone."""

from __future__ import annotations

import os

import click

COLOURS = {
    "identifier": "red",
    "k-quasi": "blue",
    "epsilon-quasi": "magenta",
    "sensitive": "yellow",
    "kept": "green",
    "coarser": "yellow",
    "useless": "red",
    "within": "green",
    "above": "red",
    "no limit": "yellow",
    "survives": "green",
    "does not": "red",
    "broken": "red",
    "warning": "yellow",
    "note": "cyan",
    "passed": "green",
}
"""Roles, verdicts, and findings of the audit and the demo; other words stay as they are."""


def coloured(text: str, *, as_in: str | None = None, bold: bool = False) -> str:
    """The text in the colour of its meaning, which is that of the word `as_in`, or its own; blanks around it do not count.

    With `NO_COLOR` set to anything there is no colour, and nothing is bold. Where output is no terminal, `click.echo` takes
    all of it away.
    """
    colour = COLOURS.get((as_in or text).strip())
    if os.environ.get("NO_COLOR") or (colour is None and not bold):
        return text
    return click.style(text, fg=colour, bold=bold or None)

# SPDX-License-Identifier: Apache-2.0
"""Tables that fit the screen: columns that are least needed are left out, and long names are broken between words."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from itertools import zip_longest
from textwrap import wrap

import click

from kepsilon.cli.wrapping import visible

GAP = "  "
WIDEST = 100
_NARROWEST = 9
"""A column of names is made no narrower than this."""


def show_fitted(names: Sequence[str], rows: Sequence[Sequence[str]], *, least_needed: Sequence[str] = ()) -> None:
    """Prints a table that is no wider than the screen; columns that are empty in every row are not shown.

    Numbers stand to the right. Columns are left out in the order of `least_needed` until the rest fits. If it still does not,
    the widest column of names is broken over several lines.
    """
    room = max(40, min(WIDEST, shutil.get_terminal_size().columns))
    table = [[visible(field) for field in (*row, *[""] * (len(names) - len(row)))] for row in (names, *rows)]
    used = [i for i in range(len(names)) if any(line[i] for line in table[1:])]
    widths = {i: max(len(line[i]) for line in table) for i in used}
    left_out = iter(least_needed)
    while _width(used, widths) > room and (name := next(left_out, None)) is not None:
        used = [i for i in used if names[i] != name]
    numeric = {i: all(line[i][:1].isdigit() or not line[i] for line in table[1:]) for i in used}
    while _width(used, widths) > room:
        widest = max((i for i in used if not numeric[i]), key=lambda i: widths[i], default=None)
        if widest is None or widths[widest] <= _NARROWEST:
            break
        widths[widest] = max(widths[widest] - (_width(used, widths) - room), _NARROWEST)
    for n, line in enumerate(table):
        fields = [wrap(line[i], widths[i], break_on_hyphens=False) or [""] for i in used]
        for parts in zip_longest(*fields, fillvalue=""):
            text = GAP.join(
                part.rjust(widths[i]) if numeric[i] else part.ljust(widths[i])
                for i, part in zip(used, parts, strict=True)
            ).rstrip()
            click.echo(click.style(text, bold=True) if n == 0 else text)


def _width(used: Sequence[int], widths: dict[int, int]) -> int:
    return sum(widths[i] for i in used) + len(GAP) * (len(used) - 1)

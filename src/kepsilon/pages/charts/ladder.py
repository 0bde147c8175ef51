# SPDX-License-Identifier: Apache-2.0
"""Ladders that show how far attributes were generalised: dots for levels, or a bar where there are no levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kepsilon.pages.charts.drawing import (
    WIDTH,
    Drawing,
    circle,
    drawing,
    path,
    rectangle,
    shortened,
    text,
    text_width,
    xy,
)
from kepsilon.pages.charts.palette import BLUE

_LINE = 50
_MOST_RUNGS = 24


@dataclass(frozen=True, slots=True)
class Ladder:
    """One attribute. `level`, 0 to `n_levels` − 1, is the filled dot; if it is None, `share`, 0 to 1, is drawn as a bar."""

    name: str
    n_levels: int
    level: int | None
    share: float | None
    words: str


def level_ladders(ladders: Sequence[Ladder], *, title: str, width: float = WIDTH) -> Drawing:
    """Ladders of several attributes below each other, with the exact value on the left and the coarsest on the right."""
    left, right = 8.0, width - 8.0
    parts = [text(0, 12, "◂ exact"), text(width, 12, "coarsest ▸", "e")]
    for i, ladder in enumerate(ladders):
        y = 36 + _LINE * i
        room = width - text_width(ladder.words) - 16
        parts.append(text(0, y, shortened(ladder.name, room), "strong"))
        parts.append(text(width, y, ladder.words, "e"))
        if ladder.level is not None and 1 <= ladder.n_levels <= _MOST_RUNGS:
            parts += _rungs(ladder, ladder.level, y + 18, left, right)
        elif ladder.share is not None:
            parts.append(rectangle(0, y + 13, width, 10, "track", round_by=5))
            if ladder.share > 0:
                parts.append(rectangle(0, y + 13, max(ladder.share * width, 4), 10, f"f{BLUE}", round_by=5))
    return drawing(parts, width=width, height=32 + _LINE * len(ladders) - 8, title=title)


def _rungs(ladder: Ladder, level: int, y: float, left: float, right: float) -> list[str]:
    apart = (right - left) / max(ladder.n_levels - 1, 1)
    chosen = left + apart * level
    parts = [path(f"M{xy(left)} {xy(y)}H{xy(right)}", "grid")]
    if level:
        parts.append(path(f"M{xy(left)} {xy(y)}H{xy(chosen)}", f"line s{BLUE}"))
    for rung in range(ladder.n_levels):
        at = left + apart * rung
        parts.append(circle(at, y, 7 if rung == level else 4.5, f"f{BLUE}" if rung == level else "hollow"))
    return parts

# SPDX-License-Identifier: Apache-2.0
"""Scatter charts: a dot for every cell by its cost and its risk, and a line along those that no other beats in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kepsilon.pages.charts.axes import Wording, fitted, frame, limit_words, plain, room_after, room_for
from kepsilon.pages.charts.drawing import (
    WIDTH,
    Drawing,
    circle,
    drawing,
    legend,
    path,
    rectangle,
    text_width,
    xy,
)
from kepsilon.pages.charts.lines import Limit
from kepsilon.pages.charts.names_beside import Mark, names_beside

SHAPES = ("circle", "square", "triangle", "diamond")


@dataclass(frozen=True, slots=True)
class Dot:
    """A dot of a scatter chart; `is_front` puts it on the line of those that no other beats."""

    x: float
    y: float
    colour: int
    shape: str
    is_front: bool = False
    is_pale: bool = False
    is_chosen: bool = False
    is_open: bool = False
    """Drawn as an outline, so that two kinds of dots can be told apart without colour."""
    is_current: bool = False
    """Drawn inside a square: what there is now."""
    words: str = ""
    """Written beside the dot if there is room; always beside the chosen and the current one."""


def scatter_chart(
    dots: Sequence[Dot],
    *,
    title: str,
    x_label: str,
    y_label: str,
    colours: Sequence[tuple[str, int]],
    shapes: Sequence[tuple[str, str]],
    x_words: Wording = plain,
    y_words: Wording = plain,
    x_log: bool = False,
    y_log: bool = False,
    limit: Limit | None = None,
    chosen_words: str = "chosen",
    filled_words: str = "",
    open_words: str = "",
    current_words: str = "",
    width: float = WIDTH,
    height: float = 300,
) -> Drawing:
    """A chart of dots; `colours` and `shapes` say in the legend what each colour and each shape stands for.

    `filled_words` and `open_words` say what filled and open dots are, where there are open ones.
    """
    bottom, top = height - 42, 24.0
    drawable = [dot for dot in dots if not (x_log and dot.x <= 0) and not (y_log and dot.y <= 0)]
    ys = [dot.y for dot in drawable] + ([limit.y] if limit else [])
    y = fitted(ys, start=bottom, end=top, is_log=y_log, from_zero=True)
    left = max(room_for(y_words, y.ticks()), 24)
    x = fitted([dot.x for dot in drawable], start=left, end=width, is_log=x_log, from_zero=True)
    x = replace(x, end=width - room_after(x_words, x.ticks(6)))
    top_taken = text_width(limit.words) + 40 if limit else 0
    parts = frame(
        x, y, x_label=x_label, y_label=y_label, x_words=x_words, y_words=y_words, top_taken=top_taken - (width - x.end)
    )
    if limit:
        at = y.place(limit.y)
        parts.append(path(f"M{xy(left)} {xy(at)}H{xy(x.end)}", "limit"))
        parts += limit_words(limit.words, width)
    front = sorted((dot.x, dot.y) for dot in drawable if dot.is_front)
    if len(front) > 1:
        joined = "L".join(f"{xy(x.place(a))} {xy(y.place(b))}" for a, b in front)
        parts.append(path(f"M{joined}", "axis"))
    for dot in sorted(drawable, key=lambda dot: (dot.is_front, dot.is_chosen)):
        size = 4.6 if dot.is_front else 3.4
        parts.append(
            shape(
                dot.shape,
                x.place(dot.x),
                y.place(dot.y),
                size,
                f"{'open s' if dot.is_open else 'f'}{dot.colour}{' pale' if dot.is_pale else ''}",
            )
        )
    for dot in drawable:
        if dot.is_chosen:
            parts.append(circle(x.place(dot.x), y.place(dot.y), 8.5, "ring"))
        if dot.is_current:
            parts.append(rectangle(x.place(dot.x) - 8, y.place(dot.y) - 8, 16, 16, "ring"))
    marks = [
        Mark(
            x.place(dot.x),
            y.place(dot.y),
            dot.words,
            dot.is_chosen or dot.is_current,
            kind="ink" if dot.is_front else "halo",
        )
        for dot in sorted(drawable, key=lambda dot: (not dot.is_front, dot.is_pale))
    ]
    across = [y.place(limit.y)] if limit else []
    parts += names_beside(marks, left=left + 4, top=top, right=width, bottom=bottom, across=across)
    samples = [(circle(9, 0, 4.6, f"f{colour}"), name) for name, colour in colours]
    samples += [(shape(kind, 9, 0, 4.6, "ink" if open_words else "hollow"), name) for name, kind in shapes]
    samples += [(circle(9, 0, 4.6, "ink"), filled_words)] if filled_words else []
    samples += [(circle(9, 0, 4.6, "open outline"), open_words)] if open_words else []
    samples += [(path("M0 0H18", "axis"), "nothing has less of both")] if len(front) > 1 else []
    samples += [(circle(9, 0, 6.5, "ring"), chosen_words)] if any(dot.is_chosen for dot in drawable) else []
    samples += [(rectangle(3, -6, 12, 12, "ring"), current_words)] if any(dot.is_current for dot in drawable) else []
    drawn, last = legend(samples, left=0, top=height + 14, right=width)
    return drawing(parts + drawn, width=width, height=last + 8, title=title)


def shape(kind: str, x: float, y: float, size: float, css_class: str) -> str:
    if kind == "square":
        return rectangle(x - size * 0.88, y - size * 0.88, size * 1.76, size * 1.76, css_class)
    if kind == "triangle":
        return path(f"M{xy(x)} {xy(y - size * 1.2)}l{xy(size * 1.15)} {xy(size * 2)}h{xy(-size * 2.3)}z", css_class)
    if kind == "diamond":
        side = xy(size * 1.25)
        return path(f"M{xy(x)} {xy(y - size * 1.25)}l{side} {side}l-{side} {side}l-{side} -{side}z", css_class)
    return circle(x, y, size, css_class)

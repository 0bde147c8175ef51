# SPDX-License-Identifier: Apache-2.0
"""Horizontal bars made of segments: one bar per line, or a single bar that stands for the whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kepsilon.pages.charts.axes import Axis, Wording, percent, plain
from kepsilon.pages.charts.drawing import (
    WIDTH,
    Drawing,
    drawing,
    legend,
    path,
    rectangle,
    shortened,
    text,
    text_width,
    xy,
)
from kepsilon.pages.charts.lines import Limit
from kepsilon.table.round_numbers import nice_step

_LINE = 26
_WIDEST_NAME = 0.38
"""Share of the width that names beside bars take at most."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a bar."""

    name: str
    amount: float
    colour: int


@dataclass(frozen=True, slots=True)
class Bar:
    """One line of a bar chart: a name on the left, segments after one another, and words behind the last."""

    name: str
    segments: Sequence[Segment]
    words: str


def bar_chart(
    bars: Sequence[Bar],
    *,
    title: str,
    label: str,
    axis_words: Wording = plain,
    limit: Limit | None = None,
    holds: float = 0,
    one_name: bool = False,
    width: float = WIDTH,
) -> Drawing:
    """Bars on one axis from 0, with a legend if segments have several names. `limit` is drawn across the bars.

    The axis reaches at least to `holds`, so that charts side by side can have the same axis. With `one_name` there is no
    legend: colours only repeat what the names of the bars say.
    """
    totals = [sum(segment.amount for segment in bar.segments) for bar in bars]
    left = min(max((text_width(bar.name) for bar in bars), default=0), width * _WIDEST_NAME) + 10
    room = max((text_width(bar.words) for bar in bars), default=0) + 8
    longest = max([*totals, limit.y if limit else 0, holds]) or 1.0
    step = nice_step(longest / 4)
    high = math.ceil(longest / step - 1e-9) * step  # the last tick lies beyond every bar
    x = Axis(low=0, high=high, start=left, end=max(width - room, left + 60))
    top = 22.0
    bottom = top + _LINE * len(bars)
    parts = []
    free = -math.inf
    for tick in x.ticks(4):
        at, words = x.place(tick), axis_words(tick)
        parts.append(path(f"M{xy(at)} {xy(top)}V{xy(bottom)}", "grid"))
        if at - text_width(words) / 2 > free:
            parts.append(text(at, bottom + 15, words, "m"))
            free = at + text_width(words) / 2 + 4
    for i, bar in enumerate(bars):
        y = top + _LINE * i + 5
        parts.append(text(left - 7, y + 12, shortened(bar.name, width * _WIDEST_NAME), "ink e"))
        at = 0.0
        for segment in bar.segments:
            start, end = x.place(at), x.place(at + segment.amount)
            parts.append(rectangle(start, y, end - start, 16, f"f{segment.colour}"))
            at += segment.amount
    if limit:
        at = x.place(limit.y)
        anchor = "e" if at > width / 2 else ""
        parts.append(path(f"M{xy(at)} {xy(top - 4)}V{xy(bottom)}", "limit"))
        parts.append(text(at + (-4 if anchor else 4), top - 6, limit.words, f"ink {anchor}".strip()))
    for i, (bar, total) in enumerate(zip(bars, totals, strict=True)):
        start = x.place(total) + 6
        if limit and start - 3 < x.place(limit.y) < start + text_width(bar.words) + 3:
            start = x.place(limit.y) + 6  # behind the line of the limit, which would cross the words
        parts.append(text(start, top + _LINE * i + 17, bar.words, "halo"))
    middle = (x.start + x.end) / 2
    parts.append(text(middle, bottom + 32, shortened(label, 2 * min(middle, width - middle)), "ink m"))
    height = bottom + 40
    kinds = {segment.name: segment.colour for bar in bars for segment in bar.segments}
    if len(kinds) > 1 and not one_name:
        samples = [(rectangle(0, -5, 18, 9, f"f{colour}"), name) for name, colour in kinds.items()]
        drawn, last = legend(samples, left=0, top=height + 14, right=width)
        parts, height = parts + drawn, last + 8
    return drawing(parts, width=width, height=height, title=title)


def share_bar(
    segments: Sequence[Segment],
    *,
    title: str,
    total: float | None = None,
    words: Wording = percent,
    width: float = WIDTH,
) -> Drawing:
    """One bar whose full width stands for `total`, with each segment's share in the legend below.

    If `total` is more than the segments add up to, the bar does not fill the width.
    """
    total = total or sum(segment.amount for segment in segments) or 1.0
    drawn, at = [], 0.0
    for segment in segments:
        wide = segment.amount / total * width
        drawn.append(rectangle(at, 4, wide if at + wide >= width else wide - 0.6, 30, f"f{segment.colour}"))
        at += wide
    lines = []
    for i, segment in enumerate(segments):
        y = 56 + 18 * i
        lines.append(rectangle(0, y - 9, 12, 10, f"f{segment.colour}", round_by=2))
        lines.append(text(20, y, shortened(segment.name, width - 80), "ink"))
        lines.append(text(width, y, words(segment.amount / total), "ink e"))
    return drawing(drawn + lines, width=width, height=56 + 18 * len(segments) - 8, title=title)

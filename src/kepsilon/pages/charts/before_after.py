# SPDX-License-Identifier: Apache-2.0
"""A column before and as published as two boxes above each other, and small panels with its slopes as two lines each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kepsilon.pages.charts.axes import Axis, fitted, plain
from kepsilon.pages.charts.drawing import (
    WIDTH,
    Drawing,
    circle,
    drawing,
    legend,
    path,
    rectangle,
    shortened,
    text,
    text_width,
    xy,
)
from kepsilon.pages.charts.palette import BLUE

_ROW = 40.0
_PANEL, _GAP = 110.0, 15.0
"""Width of a panel, and the space between two."""
_DRAWN = 70.0
"""Height of a panel without its words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A distribution: five quantiles in rising order, and the mean; None for what is not known."""

    name: str
    quantiles: Sequence[float | None]
    mean: float | None

    @property
    def numbers(self) -> list[float]:
        return [own for own in (*self.quantiles, self.mean) if own is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlopePanel:
    """How another column goes with this one, before and after; slopes in units of both spreads before, −1 to 1 mostly."""

    name: str
    before: float
    after: float
    words: str
    """The slopes in their own units."""
    verdict: str


def before_after(boxes: Sequence[Box], panels: Sequence[SlopePanel], *, title: str, x_label: str) -> Drawing:
    """The boxes above each other on one axis, and below them the panels, three in a line."""
    left = max(text_width(box.name) for box in boxes) + 14
    x = fitted([number for box in boxes for number in box.numbers], start=left, end=WIDTH - 24)
    bottom = 8 + _ROW * len(boxes)
    parts = _axis(x, bottom, x_label)
    for i, box in enumerate(boxes):
        parts += _box(box, x, 8 + _ROW * (i + 0.5), is_filled=i > 0)
    samples = [
        (path("M0 0H18", "whisker axis"), "5 to 95 % of records"),
        (rectangle(0, -5, 18, 10, "outline"), "the middle half"),
        (path("M9 -6V6", "outline"), "median"),
        (circle(9, 0, 3.2, f"f{BLUE}"), "mean"),
    ]
    drawn, end = legend(samples, left=0, top=bottom + 56, right=WIDTH)
    parts += drawn
    if panels:
        more, end = _panels(panels, top=end + 24)
        parts += more
    return drawing(parts, width=WIDTH, height=end + 8, title=title)


def _axis(x: Axis, bottom: float, label: str) -> list[str]:
    parts = [path(f"M{xy(x.start)} {xy(bottom)}H{xy(x.end)}", "axis")]
    free = -math.inf
    for tick in x.ticks(5):
        at, words = x.place(tick), plain(tick)
        half = text_width(words) / 2
        parts.append(path(f"M{xy(at)} 4V{xy(bottom)}", "grid"))
        if at - half > free and at + half <= WIDTH:
            parts.append(text(at, bottom + 16, words, "m"))
            free = at + half + 6
    parts.append(text((x.start + x.end) / 2, bottom + 33, shortened(label, x.end - x.start), "ink m"))
    return parts


def _box(box: Box, x: Axis, y: float, *, is_filled: bool) -> list[str]:
    parts = [text(0, y + 4, box.name, "ink")]
    lowest, low, median, high, highest = box.quantiles
    colour = f"s{BLUE}" if is_filled else "axis"
    if lowest is not None and highest is not None:
        ends = "".join(f"M{xy(x.place(end))} {xy(y - 5)}v10" for end in (lowest, highest))
        parts.append(path(f"M{xy(x.place(lowest))} {xy(y)}H{xy(x.place(highest))}{ends}", f"whisker {colour}"))
    if low is not None and high is not None:
        start, wide = x.place(low), x.place(high) - x.place(low)
        parts.append(rectangle(start, y - 10, wide, 20, "paper"))
        if is_filled:
            parts.append(rectangle(start, y - 10, wide, 20, f"f{BLUE} pale"))
        parts.append(path(f"M{xy(start)} {xy(y - 10)}h{xy(wide)}v20h{xy(-wide)}z", "outline"))
    if median is not None:
        parts.append(path(f"M{xy(x.place(median))} {xy(y - 10)}v20", "outline"))
    if box.mean is not None:
        parts.append(circle(x.place(box.mean), y, 3.6, f"f{BLUE}"))
    return parts


def _panels(panels: Sequence[SlopePanel], *, top: float) -> tuple[list[str], float]:
    """Markup of the panels, and the vertical coordinate of their last line."""
    samples = [
        (path("M0 0H18", "outline"), "slope before"),
        (path("M0 0H18", f"line s{BLUE}", dash="5 3"), "as published"),
    ]
    parts, y = legend(samples, left=0, top=top, right=WIDTH)
    end = y
    for i, panel in enumerate(panels):
        left, first = (_PANEL + _GAP) * (i % 3), y + 22 + (_DRAWN + 66) * (i // 3)
        parts += _panel(panel, left, first)
        end = first + _DRAWN + 38
    return parts, end


def _panel(panel: SlopePanel, left: float, top: float) -> list[str]:
    middle, centre = top + 8 + _DRAWN / 2, left + _PANEL / 2
    parts = [
        text(left, top, shortened(panel.name, 0.88 * _PANEL), "strong"),
        path(f"M{xy(left)} {xy(top + 8)}h{xy(_PANEL)}v{xy(_DRAWN)}h{xy(-_PANEL)}z", "grid"),
        text(left, top + _DRAWN + 22, shortened(panel.words, _PANEL), "ink"),
        text(left, top + _DRAWN + 37, shortened(panel.verdict, _PANEL)),
    ]
    for slope, kind, dash in ((panel.before, "outline", ""), (panel.after, f"line s{BLUE}", "5 3")):
        # Half the panel is one spread to each side, so that a slope of 1 goes from corner to corner.
        reach = _PANEL / 2 / max(1.0, abs(slope))
        rise = slope * _DRAWN * reach / _PANEL
        parts.append(
            path(f"M{xy(centre - reach)} {xy(middle + rise)}L{xy(centre + reach)} {xy(middle - rise)}", kind, dash=dash)
        )
    return parts

# SPDX-License-Identifier: Apache-2.0
"""Histograms of two distributions over the same bins, one as an outline and one filled."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from kepsilon.pages.charts.axes import Axis, fitted, frame, plain, room_for
from kepsilon.pages.charts.drawing import WIDTH, Drawing, drawing, legend, path, rectangle, text, text_width, xy
from kepsilon.pages.charts.palette import BLUE
from kepsilon.pages.charts.small import densities

_GAP = 4
"""Space between the bins and the open bins at both ends."""


def histogram_pair(
    edges: Sequence[float],
    before: Sequence[int | None],
    after: Sequence[int | None],
    *,
    title: str,
    x_label: str,
    y_label: str = "records",
    names: tuple[str, str] = ("before", "published"),
    width: float = WIDTH,
    height: float = 220,
) -> Drawing:
    """Two histograms in one chart. There are two edges or more, and one bin more than edges; bins of None are not drawn.

    Bars stand for densities, records per width of the narrowest bin: the area of a bar tells its records, so that a bin
    which is wider than others is no peak. The open bins at the ends stand apart, as wide as the narrowest bin, above ‹
    and ›.
    """
    widths = [b - a for a, b in pairwise(edges)]
    if max(widths) > min(widths) * 1.001:
        y_label = f"{y_label} per {plain(float(f'{min(widths):.6g}'))}"
    heights = densities(before, edges), densities(after, edges)
    counts = [count for own in heights for count in own if count is not None]
    bottom, top = height - 42, 24.0
    y = fitted(counts, start=bottom, end=top, from_zero=True)
    left, right = max(room_for(plain, y.ticks()), 24), width - 6
    narrowest = min(b - a for a, b in pairwise(edges))
    one = (right - left - 2 * _GAP) / ((edges[-1] - edges[0]) / narrowest + 2)
    x = Axis(low=edges[0], high=edges[-1], start=left + one + _GAP, end=right - one - _GAP)
    spans = [(left, left + one), *((x.place(a), x.place(b)) for a, b in pairwise(edges)), (right - one, right)]
    arrows = (left + one / 2, right - one / 2)
    ticks = [tick for tick in x.ticks(6) if all(_apart(x.place(tick), plain(tick), arrow) for arrow in arrows)]
    parts = frame(x, y, x_label=x_label, y_label=y_label, x_ticks=ticks, reach=(left, right))
    for (a, b), count in zip(spans, heights[1], strict=True):
        if count is not None:
            parts.append(rectangle(a + 0.4, y.place(count), b - a - 0.8, bottom - y.place(count), f"f{BLUE} pale"))
            parts.append(path(f"M{xy(a + 0.4)} {xy(y.place(count))}H{xy(b - 0.4)}", f"line s{BLUE}"))
    parts.append(path(_outline(spans, heights[0], y), "outline"))
    parts += [text(at, bottom + 16, sign, "m") for at, sign in zip(arrows, "‹›", strict=True)]
    samples = [
        (path("M0 4V-4H9V1H18V4", "outline"), names[0]),
        (rectangle(0, -5, 18, 9, f"f{BLUE} pale") + path("M0 -5H18", f"line s{BLUE}"), names[1]),
    ]
    drawn, end = legend(samples, left=left, top=height + 12, right=width)
    return drawing(parts + drawn, width=width, height=end + 8, title=title)


def _apart(at: float, words: str, arrow: float) -> bool:
    return abs(at - arrow) > text_width(words) / 2 + 6


def _outline(spans: Sequence[tuple[float, float]], counts: Sequence[float | None], y: Axis) -> str:
    """Path around the bins; it joins bins that touch, and goes down to the axis where a bin is missing."""
    steps, floor, open_at = [], xy(y.start), None
    for (a, b), count in zip(spans, counts, strict=True):
        if open_at is not None and (count is None or a - open_at > 1):
            steps.append(f"V{floor}")
            open_at = None
        if count is not None:
            steps.append(f"{'' if open_at is not None else f'M{xy(a)} {floor}'}V{xy(y.place(count))}H{xy(b)}")
            open_at = b
    return "".join(steps) + (f"V{floor}" if open_at is not None else "")

# SPDX-License-Identifier: Apache-2.0
"""Line charts: several series with their names at their ends or in a legend, and a mark at the chosen point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kepsilon.pages.charts.axes import Axis, Wording, fitted, frame, limit_words, plain, room_after, room_for
from kepsilon.pages.charts.drawing import WIDTH, Drawing, circle, drawing, legend, path, text, text_width, xy
from kepsilon.pages.charts.palette import Style

_APART = 13
"""Smallest distance between names at the ends of lines."""
_LONGEST_AT_END = 10
"""Longest name, in letters, that is written at the end of its line."""
_DOT = 5
"""Whiskers no longer than a dot is wide are not drawn."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The mean of some runs, and how far they reach on either side of it."""

    x: float
    mean: float
    reach: float = 0.0


@dataclass(frozen=True, slots=True)
class Series:
    """A line of a chart, interrupted where y is None. The name may be empty if the chart has no other line."""

    name: str
    points: Sequence[tuple[float, float | None]]
    style: Style
    has_dots: bool = False
    has_line: bool = True
    runs: Sequence[Spread] = ()
    """Measured values beside the expected ones of the line; drawn as dots, with whiskers where these are long enough."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The chosen point, and the words beside it."""

    x: float
    y: float
    words: str


@dataclass(frozen=True, slots=True)
class Limit:
    """A line across the chart that values should not exceed; `others` are further lines with the same meaning."""

    y: float
    words: str
    others: Sequence[float] = ()


def line_chart(
    series: Sequence[Series],
    *,
    title: str,
    x_label: str,
    y_label: str,
    x_words: Wording = plain,
    y_words: Wording = plain,
    x_log: bool = False,
    y_log: bool = False,
    x_ticks: Sequence[float] | None = None,
    x_reach: tuple[float, float] | None = None,
    y_holds: Sequence[float] = (),
    mark: Mark | None = None,
    limit: Limit | None = None,
    width: float = WIDTH,
    height: float = 232,
) -> Drawing:
    """A chart of lines, with axes fitted to all series. Points at 0 are not drawn on logarithmic axes.

    `x_reach` sets the horizontal axis, and the vertical one holds `y_holds` too, so that charts side by side can have the
    same axes.
    """
    xs = [x for one in series for x, _ in one.points] + ([mark.x] if mark else [])
    ys = [y for one in series for _, y in one.points if y is not None] + ([mark.y] if mark else [])
    ys += [run.mean for one in series for run in one.runs]
    ys += [limit.y, *limit.others] if limit else []
    ys += y_holds
    bottom, top = height - 42, 24.0
    fits = len(series) * _APART <= bottom - top
    is_named = len(series) > 1 or any(one.name for one in series)
    at_end = is_named and fits and all(len(one.name) <= _LONGEST_AT_END for one in series)
    y = fitted(ys, start=bottom, end=top, is_log=y_log, from_zero=True)
    left = max(room_for(y_words, y.ticks()), 24)
    x = fitted(xs, start=left, end=width, is_log=x_log)
    ends = x_reach or ((min(xs), max(xs)) if x_log and len(set(xs)) > 1 else None)
    if ends:
        x = Axis(low=ends[0], high=ends[1], start=left, end=width, is_log=x.is_log)
    names_need = max(text_width(one.name) for one in series) + 12 if at_end else 0
    x = replace(x, end=width - max(names_need, room_after(x_words, x_ticks or x.ticks(6))))
    top_taken = text_width(limit.words) + 40 if limit else 0
    parts = frame(
        x,
        y,
        x_label=x_label,
        y_label=y_label,
        x_words=x_words,
        y_words=y_words,
        x_ticks=x_ticks,
        top_taken=top_taken - (width - x.end),
    )
    if limit:
        across = [f"M{xy(x.start)} {xy(y.place(at))}H{xy(x.end)}" for at in (limit.y, *limit.others)]
        parts.append(path("".join(across), "limit"))
        parts += limit_words(limit.words, width)
    for one in series:
        parts += _line(one, x, y)
    if at_end:
        parts += _names_at_ends(series, x, y)
    if mark:
        parts += _mark(mark, x, y, rises=_rises(series))
    if is_named and not at_end:
        samples = [(_sample(one), one.name) for one in series]
        drawn, last = legend(samples, left=left, top=height + 14, right=width)
        parts += drawn
        height = last + 8
    return drawing(parts, width=width, height=height, title=title)


def _line(one: Series, x: Axis, y: Axis) -> list[str]:
    steps, dots, pen_down = [], [], False
    for at, value in one.points:
        if value is None or (y.is_log and value <= 0) or (x.is_log and at <= 0):
            pen_down = False
            continue
        place = f"{xy(x.place(at))} {xy(y.place(value))}"
        steps.append(("L" if pen_down else "M") + place)
        dots.append((x.place(at), y.place(value)))
        pen_down = True
    parts = [path("".join(steps), f"line s{one.style.colour}", dash=one.style.dash)] if steps and one.has_line else []
    if one.has_dots and dots:  # one path of lines without length but with round ends: the page stays small
        parts.append(path("".join(f"M{xy(a)} {xy(b)}h0" for a, b in dots), f"dots s{one.style.colour}"))
    return parts + _runs(one, x, y)


def _runs(one: Series, x: Axis, y: Axis) -> list[str]:
    dots, whiskers = [], []
    for run in one.runs:
        if y.is_log and run.mean <= 0:
            continue
        at = x.place(run.x)
        dots.append(f"M{xy(at)} {xy(y.place(run.mean))}h0")
        ends = [run.mean - run.reach, run.mean + run.reach]
        low, high = (y.place(max(end, y.low)) for end in ends)
        if low - high > _DOT:
            whiskers.append(f"M{xy(at)} {xy(low)}V{xy(high)}")
            whiskers += [f"M{xy(at - 2.5)} {xy(y.place(end))}h5" for end in ends if y.low < end <= y.high]
            # A whisker that leaves the chart ends in an arrow; on a linear axis from 0 it ends at 0.
            if ends[0] < y.low and (y.is_log or y.low > 0):
                whiskers.append(f"M{xy(at - 3)} {xy(low - 5)}l3 5l3 -5")
            if ends[1] > y.high:
                whiskers.append(f"M{xy(at - 3)} {xy(high + 5)}l3 -5l3 5")
    colour = f"s{one.style.colour}"
    parts = [path("".join(whiskers), f"whisker {colour}")] if whiskers else []
    return parts + ([path("".join(dots), f"dots {colour}")] if dots else [])


def _sample(one: Series) -> str:
    line = path("M0 0H18", f"line s{one.style.colour}", dash=one.style.dash) if one.has_line else ""
    return line + (path("M3 0h0M9 0h0M15 0h0", f"dots s{one.style.colour}") if not one.has_line else "")


def _names_at_ends(series: Sequence[Series], x: Axis, y: Axis) -> list[str]:
    """Names of the series beside their last points, moved apart where lines end close together."""
    ends = []
    for one in series:
        last = next((value for _, value in reversed(one.points) if value is not None), None)
        if last is not None and (last > 0 or not y.is_log):
            ends.append((y.place(last), one))
    ends.sort(key=lambda end: end[0])
    places: list[float] = []
    for wanted, _ in ends:
        places.append(max(wanted, places[-1] + _APART) if places else max(wanted, y.end))
    for i in reversed(range(len(places))):  # names that were pushed below the chart move up again, and others with them
        lowest = y.start if i == len(places) - 1 else places[i + 1] - _APART
        places[i] = min(places[i], lowest)
    return [
        text(x.end + 7, at + 4, one.name, f"strong t{one.style.colour}")
        for at, (_, one) in zip(places, ends, strict=True)
    ]


def _rises(series: Sequence[Series]) -> bool:
    known = [value for _, value in series[0].points if value is not None] if series else []
    return len(known) < 2 or known[-1] >= known[0]


def _mark(mark: Mark, x: Axis, y: Axis, *, rises: bool) -> list[str]:
    """A ring around the chosen point, and its words above it on the side where the line is below them."""
    at_x, at_y = x.place(mark.x), y.place(mark.y)
    wide = text_width(mark.words)
    to_left = at_x - wide - 8 >= x.start and (rises or at_x + wide + 8 > x.end)
    words = text(
        at_x + (-8 if to_left else 8), max(at_y - 8, y.end + 4), mark.words, f"strong{' e' if to_left else ''} halo"
    )
    return [circle(at_x, at_y, 5.5, "ring"), words]

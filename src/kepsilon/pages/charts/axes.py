# SPDX-License-Identifier: Apache-2.0
"""Axes of charts: where a number lies in the drawing, which round numbers get a tick, and the lines for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kepsilon.pages.charts.drawing import path, shortened, text, text_width, xy
from kepsilon.table.round_numbers import nice_step

Wording = Callable[[float], str]
_ROOM_FOR_A_TICK = 14.0


def plain(number: float) -> str:
    return f"{number:,.10g}"


def percent(share: float) -> str:
    return f"{100 * share:,.10g} %"


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """An axis from `low`, drawn at `start`, to `high`, drawn at `end`; linear or logarithmic."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def place(self, number: float) -> float:
        """The coordinate of a number; numbers beyond an end of the axis lie on that end."""
        number = min(max(number, self.low), self.high)
        if self.is_log:
            share = math.log(number / self.low) / math.log(self.high / self.low)
        else:
            share = (number - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, about: int = 5) -> list[float]:
        """Round numbers to write at the axis, roughly `about` of them."""
        if self.is_log:
            found = _log_ticks(self.low, self.high, about)
            last = self.place(found[-1]) if found else self.start
            # Without a number at its top, nobody could tell how far the axis reaches.
            return found if abs(self.end - last) < _ROOM_FOR_A_TICK else [*found, self.high]
        step = nice_step((self.high - self.low) / about)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [float(f"{i * step:.12g}") for i in range(first, last + 1)]


def _log_ticks(low: float, high: float, about: int) -> list[float]:
    """Ticks at 1, 2 and 5 in every decade; if those are too many, at 1 and 3, or at powers of ten."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for mantissas in ((1, 2, 5), (1, 3), (1,)):
        found = [t for e in decades for m in mantissas if low * 0.999 <= (t := float(f"{m}e{e}")) <= high * 1.001]
        if len(found) <= about + 2:
            return found
    return found[:: math.ceil(len(found) / about)]


def fitted(
    numbers: Sequence[float], *, start: float, end: float, is_log: bool = False, from_zero: bool = False
) -> Axis:
    """An axis that holds all numbers and ends on round ones; a logarithmic axis ignores numbers that are not above 0."""
    if is_log and (positive := [number for number in numbers if number > 0]):
        low, high = _round_down(min(positive)), _round_up(max(positive))
        return Axis(low=low, high=high if high > low else low * 10, start=start, end=end, is_log=True)
    low, high = min(numbers, default=0.0), max(numbers, default=1.0)
    low = min(low, 0.0) if from_zero else low
    if high <= low:
        high = low + (abs(low) or 1)
    step = nice_step((high - low) / 5)
    return Axis(
        low=math.floor(low / step + 1e-9) * step, high=math.ceil(high / step - 1e-9) * step, start=start, end=end
    )


def _round_up(number: float) -> float:
    return nice_step(number)


def _round_down(number: float) -> float:
    return 1 / nice_step(1 / number)


def frame(
    x: Axis,
    y: Axis,
    *,
    x_label: str,
    y_label: str,
    x_words: Wording = plain,
    y_words: Wording = plain,
    x_ticks: Sequence[float] | None = None,
    reach: tuple[float, float] | None = None,
    top_taken: float = 0,
) -> list[str]:
    """Markup of both axes: lines across for the vertical one, ticks for the horizontal one, and both labels.

    `reach` is where the lines begin and end if they are longer than the axis; `top_taken` is the width at the top of the
    chart that the vertical axis's label must leave free.
    """
    parts = []
    left, right = reach or (x.start, x.end)
    for tick in y.ticks():
        at = y.place(tick)
        parts.append(path(f"M{xy(left)} {xy(at)}H{xy(right)}", "grid"))
        parts.append(text(left - 6, at + 4, y_words(tick), "e"))
    parts.append(text(0, 12, shortened(y_label, right - top_taken), "ink"))
    parts.append(path(f"M{xy(left)} {xy(y.start)}H{xy(right)}", "axis"))
    free = -math.inf
    for tick in x.ticks(6) if x_ticks is None else x_ticks:
        at, words = x.place(tick), x_words(tick)
        half = text_width(words) / 2
        parts.append(path(f"M{xy(at)} {xy(y.start)}v4", "axis"))
        if at - half > free:
            parts.append(text(at, y.start + 16, words, "m"))
            free = at + half + 4
    parts.append(text((left + right) / 2, y.start + 33, shortened(x_label, right - left), "ink m"))
    return parts


def room_after(words: Wording, ticks: Sequence[float]) -> float:
    """Space to leave to the right of the axis, so that the words of its last tick, which are centred, fit."""
    return max(text_width(words(ticks[-1])) / 2 if ticks else 0.0, 16) + 2


def limit_words(words: str, width: float) -> list[str]:
    """Markup of the limit's legend: a dashed sample and its words above the chart on the right, where no line passes."""
    start = width - text_width(words)
    return [path(f"M{xy(start - 24)} 8H{xy(start - 4)}", "limit"), text(width, 12, words, "ink e")]


def room_for(words: Wording, ticks: Sequence[float]) -> float:
    """Space to leave to the left of the chart, so that the words of every tick fit."""
    return max((text_width(words(tick)) for tick in ticks), default=0.0) + 8

# SPDX-License-Identifier: Apache-2.0
"""SVG markup of charts; every drawing has a title for screen readers, and every text is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from textwrap import wrap

from kepsilon.pages.charts.palette import STYLE_OF_FILES

WIDTH = 360
"""Width of a chart on a telephone; elsewhere it is scaled up, so that no text is ever smaller."""
LETTER = 6.7
"""Estimated average width of a letter; the browser decides the true one."""
_MARGIN = 20.0
"""Space around and between the charts of a sheet."""


class Drawing(str):
    """Finished SVG markup, which templates do not escape again."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


def drawing(parts: list[str], *, width: float, height: float, title: str) -> Drawing:
    """The drawing that consists of some SVG elements."""
    name = escape(title)
    return Drawing(
        f'<svg class="chart" viewBox="0 0 {xy(width)} {xy(height)}" role="img" aria-label="{name}">'
        f"<title>{name}</title>{''.join(parts)}</svg>"
    )


def standalone(chart: Drawing) -> str:
    """The chart as the text of an SVG file."""
    head, tail = chart.split(">", maxsplit=1)
    return (
        f'{head} xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif">'
        f"<style>{STYLE_OF_FILES}</style>{tail}\n"
    )


def sheet(charts: Sequence[tuple[str, Drawing]], *, title: str, columns: int, note: str = "") -> Drawing:
    """Several charts under their names, `columns` in a line; the title and the note stand above them.

    The sheet has a background of its own, because a file may be shown on a page of any colour.
    """
    wide_as = max(
        sum(_opened(chart)[1] + _MARGIN for _, chart in charts[i : i + columns]) for i in range(0, len(charts), columns)
    )
    above = [
        *((line, "strong") for line in _in_lines(title, wide_as - _MARGIN)),
        *((line, "") for line in _in_lines(note, wide_as - _MARGIN)),
    ]
    parts = [text(_MARGIN, _MARGIN + 12 + 17 * i, line, kind) for i, (line, kind) in enumerate(above)]
    top, widest = _MARGIN + 17 * len(above) + 14, 0.0
    for i in range(0, len(charts), columns):
        line = [(name, *_opened(chart)) for name, chart in charts[i : i + columns]]
        left = _MARGIN
        for name, inner, wide, _ in line:
            parts.append(text(left, top + 12, shortened(name, wide), "strong"))
            parts.append(f'<g transform="translate({xy(left)} {xy(top + 24)})">{inner}</g>')
            left += wide + _MARGIN
        widest = max(widest, left)
        top += max(height for *_, height in line) + 24 + _MARGIN
    paper = rectangle(0, 0, widest, top, "paper")
    return drawing([paper, *parts], width=widest, height=top, title=title)


def _in_lines(words: str, width: float) -> list[str]:
    """Lines that fit the width, broken between words."""
    return wrap(words, max(int(width / LETTER), 10))


def _opened(chart: Drawing) -> tuple[str, float, float]:
    """The markup inside a drawing, its width and its height."""
    head, inner = chart.removesuffix("</svg>").split(">", maxsplit=1)
    _, _, width, height = head.split('viewBox="')[1].split('"')[0].split()
    return inner, float(width), float(height)


def xy(coordinate: float) -> str:
    """A coordinate as text with at most one decimal."""
    short = f"{coordinate:.1f}".removesuffix(".0")
    return "0" if short == "-0" else short


def text(x: float, y: float, words: str, kind: str = "") -> str:
    css_class = f' class="{kind}"' if kind else ""
    return f'<text x="{xy(x)}" y="{xy(y)}"{css_class}>{escape(words)}</text>'


def rectangle(x: float, y: float, width: float, height: float, kind: str, *, round_by: float = 0) -> str:
    corners = f' rx="{xy(round_by)}"' if round_by else ""
    return f'<rect x="{xy(x)}" y="{xy(y)}" width="{xy(max(width, 0))}" height="{xy(max(height, 0))}"{corners} class="{kind}"/>'


def path(points: str, kind: str, *, dash: str = "") -> str:
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path d="{points}" class="{kind}"{dashes}/>'


def circle(x: float, y: float, radius: float, kind: str) -> str:
    return f'<circle cx="{xy(x)}" cy="{xy(y)}" r="{xy(radius)}" class="{kind}"/>'


def text_width(words: str) -> float:
    return LETTER * len(words)


def shortened(words: str, width: float) -> str:
    """As much of the words as fits; the table below a chart has all of them."""
    most = max(int(width / LETTER), 2)
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"


def legend(entries: list[tuple[str, str]], *, left: float, top: float, right: float) -> tuple[list[str], float]:
    """Markup of a legend in as many lines as needed, and the vertical coordinate of its last line.

    `entries` are pairs of a sample, 18 wide and drawn around (0, 0), and its words.
    """
    parts, x, y = [], left, top
    for sample, words in entries:
        fitting = shortened(words, right - left - 24)
        wide = 24 + text_width(fitting)
        if x > left and x + wide > right:
            x, y = left, y + 17
        parts.append(f'<g transform="translate({xy(x)} {xy(y - 4)})">{sample}</g>{text(x + 24, y, fitting, "ink")}')
        x += wide + 14
    return parts, y

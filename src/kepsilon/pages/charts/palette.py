# SPDX-License-Identifier: Apache-2.0
"""Colours and dashes of charts, for light and dark screens; the colour-blind can tell the colours apart.

No chart tells things apart by colour alone: lines also have dashes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from kepsilon.grid.cells import PAPER_EPSILONS


@dataclass(frozen=True, slots=True)
class Style:
    """How a line is drawn: the number of its colour in `STYLE`, and a dash that tells lines apart without colour."""

    colour: int
    dash: str = ""


# The hues of Okabe and Ito. Their lightness is changed so that the six colours of the paper's k differ also for those who
# see no red or no green, and so that text in these colours has a contrast of 4.5 to 1.
_LIGHT = ("#0b74b8", "#9c2600", "#007f60", "#962a86", "#966f10", "#2878b8", "#454545", "#7d5fb2")
_DARK = ("#56b4e9", "#f28a4b", "#2cc99b", "#eda3c8", "#f5cc45", "#9ad2f5", "#8f8f8f", "#b9a3e8")

BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, GREY, VIOLET = range(1, 9)

# Colours of ε are of one hue, so that no ε is taken for a k; the larger ε, the paler.
_LIGHT_EPSILONS = ("#1c0f45", "#371f7d", "#5030a1", "#6847b8", "#7b5fc6", "#8c74cf", "#9b85d6")
_DARK_EPSILONS = ("#f3eeff", "#ddd1ff", "#c9b8fc", "#b7a0f3", "#a68be8", "#9679dc", "#896bd0")
# Colours of methods that are compared; none of them is taken for a k.
_LIGHT_WAYS = ("#1d2129", "#a0522d", "#0b6e7d", "#667000")
_DARK_WAYS = ("#e8eaee", "#e0a17e", "#6fd3e0", "#c3cf5a")

_FIRST_EPSILON = VIOLET + 1
INK, BROWN, TEAL, OLIVE = range(_FIRST_EPSILON + len(_LIGHT_EPSILONS), _FIRST_EPSILON + len(_LIGHT_EPSILONS) + 4)

_OF_K = {
    2: Style(VERMILLION),
    5: Style(ORANGE, "7 2"),
    10: Style(GREEN, "2 2"),
    20: Style(BLUE),
    50: Style(PURPLE, "7 2 2 2"),
    100: Style(GREY, "4 3"),
}
_OTHER_DASHES = ("1 3", "9 3", "5 2 1 2", "")

_EPSILON_DASHES = ("", "6 2", "2 2")

N_COLOURS = len(_LIGHT)


def styles_of(ks: Sequence[int]) -> dict[int, Style]:
    """A style for every k of one grid, no two alike; all colours are used before one repeats.

    The paper's six k have the same style in every grid.
    """
    styles = {k: _OF_K[k] for k in ks if k in _OF_K}
    for k in ks:
        if k in styles:
            continue
        colours = [style.colour for style in styles.values()]
        colour = min(range(1, 1 + N_COLOURS), key=lambda one: (colours.count(one), (one - k) % N_COLOURS))
        taken = {style.dash for style in styles.values() if style.colour == colour}
        styles[k] = Style(colour, next(dash for dash in _dashes() if dash not in taken))
    return {k: styles[k] for k in ks}


def style_of_k(k: int, ks: Sequence[int] = ()) -> Style:
    """The style of k in a chart of these ks."""
    return styles_of([*ks, k])[k]


def styles_of_epsilon(epsilons: Sequence[float]) -> dict[float, Style]:
    """A style for every ε of one grid, paler as ε grows; the paper's seven ε have the same style in every grid."""
    ordered = sorted(epsilons)
    shades = [PAPER_EPSILONS.index(one) for one in ordered if one in PAPER_EPSILONS]
    if len(shades) < len(ordered):
        last = max(len(ordered) - 1, 1)
        shades = [round(i * (len(PAPER_EPSILONS) - 1) / last) for i in range(len(ordered))]
    return {
        epsilon: Style(_FIRST_EPSILON + shade, _EPSILON_DASHES[shade % len(_EPSILON_DASHES)])
        for epsilon, shade in zip(ordered, shades, strict=True)
    }


def _dashes() -> Iterator[str]:
    """Dashes without end, no two alike, for k that are not the paper's."""
    yield from _OTHER_DASHES
    yield from (f"{long} 2 1 2" for long in count(6))


def _variables(colours: tuple[str, ...], *, ink: str, muted: str, line: str, ground: str) -> dict[str, str]:
    """CSS variables by name: colours of lines, colours of text at lines, and colours that every chart has."""
    numbered = {f"c{i}": colour for i, colour in enumerate(colours, start=1)}
    named = {f"t{i}": _readable(colour, ink) for i, colour in enumerate(colours, start=1)}
    return {**numbered, **named, "ink": ink, "muted": muted, "line": line, "ground": ground}


def _readable(colour: str, ink: str) -> str:
    """The colour of text at a line; the palest colours of ε are mixed with ink, for a contrast of 4.5 to 1."""
    if colour not in (*_LIGHT_EPSILONS[-3:], *_DARK_EPSILONS[-3:]):
        return colour
    mixed = [round(0.68 * int(colour[i : i + 2], 16) + 0.32 * int(ink[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


_LIGHT_VARIABLES = _variables(
    (*_LIGHT, *_LIGHT_EPSILONS, *_LIGHT_WAYS), ink="#1d2129", muted="#5b6370", line="#dfe2e7", ground="#ffffff"
)
_DARK_VARIABLES = _variables(
    (*_DARK, *_DARK_EPSILONS, *_DARK_WAYS), ink="#e8eaee", muted="#a4acb9", line="#39404c", ground="#15181e"
)

# Only screens get dark colours: printed paper is white.
_IN_THE_DARK = "@media screen and (prefers-color-scheme: dark)"
_RULES = (
    "svg.chart{display:block;width:100%;height:auto;font-size:11.5px;font-variant-numeric:tabular-nums}\n"
    "svg.chart .e{text-anchor:end}svg.chart .m{text-anchor:middle}\n"
    "svg.chart .line{fill:none;stroke-width:2;stroke-linejoin:round}\n"
    "svg.chart .dots{fill:none;stroke-width:4.8;stroke-linecap:round}\n"
    "svg.chart .whisker{fill:none;stroke-width:1.4}\n"
    "svg.chart .pale{opacity:.35}\n"
)
_COLOURED_RULES = (
    "svg.chart text{fill:var(--muted)}svg.chart .ink{fill:var(--ink)}svg.chart .strong{fill:var(--ink);font-weight:600}\n"
    "svg.chart .grid{stroke:var(--line);stroke-width:1;fill:none}svg.chart .axis{stroke:var(--muted);fill:none}\n"
    "svg.chart .paper{fill:var(--ground)}\n"
    "svg.chart .track{fill:var(--line)}svg.chart .hollow{fill:var(--ground);stroke:var(--muted);stroke-width:1.3}\n"
    "svg.chart .open{fill:none;stroke-width:1.9}\n"
    "svg.chart .outline{fill:none;stroke:var(--ink);stroke-width:1.5}\n"
    "svg.chart .limit{stroke:var(--muted);stroke-width:1;stroke-dasharray:10 3;fill:none}\n"
    "svg.chart .ring{fill:none;stroke:var(--ink);stroke-width:2}svg.chart .halo{stroke:var(--ground);stroke-width:4;"
    "stroke-linejoin:round;paint-order:stroke}\n"
    + "".join(
        f"svg.chart .s{i}{{stroke:var(--c{i})}}svg.chart .f{i}{{fill:var(--c{i})}}svg.chart .t{i}{{fill:var(--t{i})}}"
        for i in range(1, 1 + OLIVE)
    )
)


def _declared(variables: Mapping[str, str]) -> str:
    return ":root{" + ";".join(f"--{name}:{colour}" for name, colour in variables.items()) + "}"


def _spelt_out(variables: Mapping[str, str]) -> str:
    return re.sub(r"var\(--(\w+)\)", lambda found: variables[found.group(1)], _COLOURED_RULES)


STYLE = f"{_declared(_LIGHT_VARIABLES)}\n{_IN_THE_DARK}{{{_declared(_DARK_VARIABLES)}}}\n{_RULES}{_COLOURED_RULES}"
"""CSS of the charts in a page; no character of it would be escaped in HTML."""

STYLE_OF_FILES = f"{_RULES}{_spelt_out(_LIGHT_VARIABLES)}\n{_IN_THE_DARK}{{{_spelt_out(_DARK_VARIABLES)}}}"
"""CSS of a chart in an SVG file. Its colours are spelt out, because tools that know no variables would draw all black."""

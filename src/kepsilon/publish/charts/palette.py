# SPDX-License-Identifier: Apache-2.0
"""Colours that the colour-blind can tell apart, in light and in dark, and never the only thing that tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count


@dataclass(frozen=True, slots=True)
class Look:
    """A colour by its number in the style, and a dash that tells lines apart without it."""

    colour: int
    dash: str = ""


# Okabe and Ito's colours, a little darker on white and lighter on black, so that thin lines keep a contrast of 3 to 1.
_LIGHT = ("#0072b2", "#d55e00", "#00835f", "#b0578a", "#b87900", "#2f8fcb", "#6b6b6b", "#7d5fb2")
_DARK = ("#56b4e9", "#f28a4b", "#2cc99b", "#e39bc4", "#f0b93a", "#9ad2f5", "#a9a9a9", "#b9a3e8")

BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, GREY, VIOLET = range(1, 9)

_OF_K = {
    2: Look(VERMILLION),
    5: Look(ORANGE, "7 2"),
    10: Look(GREEN, "2 2"),
    20: Look(BLUE),
    50: Look(PURPLE, "7 2 2 2"),
    100: Look(GREY, "4 3"),
}
_OTHER_DASHES = ("1 3", "9 3", "5 2 1 2", "")

N_COLOURS = len(_LIGHT)


def looks_of(ks: Sequence[int]) -> dict[int, Look]:
    """A look for every k of one grid, no two alike, and as many colours as there are; the paper's six always look the same."""
    looks = {k: _OF_K[k] for k in ks if k in _OF_K}
    for k in ks:
        if k in looks:
            continue
        colours = [look.colour for look in looks.values()]
        colour = min(range(1, 1 + N_COLOURS), key=lambda one: (colours.count(one), (one - k) % N_COLOURS))
        taken = {look.dash for look in looks.values() if look.colour == colour}
        looks[k] = Look(colour, next(dash for dash in _dashes() if dash not in taken))
    return {k: looks[k] for k in ks}


def look_of_k(k: int, ks: Sequence[int] = ()) -> Look:
    """The look of k in a chart of these ks."""
    return looks_of([*ks, k])[k]


def _dashes() -> Iterator[str]:
    yield from _OTHER_DASHES
    yield from (f"{long} 2 1 2" for long in count(6))


def _variables(colours: tuple[str, ...], *, ink: str, muted: str, line: str, ground: str) -> str:
    numbered = "".join(f"--c{i}:{colour};" for i, colour in enumerate(colours, start=1))
    return f"{numbered}--ink:{ink};--muted:{muted};--line:{line};--ground:{ground}"


_LIGHT_VARIABLES = _variables(_LIGHT, ink="#1d2129", muted="#5b6370", line="#dfe2e7", ground="#ffffff")
_DARK_VARIABLES = _variables(_DARK, ink="#e8eaee", muted="#a4acb9", line="#39404c", ground="#15181e")

STYLE = (
    f":root{{{_LIGHT_VARIABLES}}}\n"
    # Paper is white, whatever the screen was.
    f"@media screen and (prefers-color-scheme: dark){{:root{{{_DARK_VARIABLES}}}}}\n"
    "svg.chart{display:block;width:100%;height:auto;font-size:11.5px;font-variant-numeric:tabular-nums}\n"
    "svg.chart text{fill:var(--muted)}svg.chart .ink{fill:var(--ink)}svg.chart .strong{fill:var(--ink);font-weight:600}\n"
    "svg.chart .e{text-anchor:end}svg.chart .m{text-anchor:middle}\n"
    "svg.chart .grid{stroke:var(--line);stroke-width:1;fill:none}svg.chart .axis{stroke:var(--muted);fill:none}\n"
    "svg.chart .track{fill:var(--line)}svg.chart .hollow{fill:var(--ground);stroke:var(--muted);stroke-width:1.3}\n"
    "svg.chart .line{fill:none;stroke-width:2;stroke-linejoin:round}svg.chart .outline{fill:none;stroke:var(--ink);"
    "stroke-width:1.5}\n"
    "svg.chart .dots{fill:none;stroke-width:4.8;stroke-linecap:round}\n"
    "svg.chart .limit{stroke:var(--ink);stroke-dasharray:3 3;fill:none}\n"
    "svg.chart .ring{fill:none;stroke:var(--ink);stroke-width:2}svg.chart .halo{stroke:var(--ground);stroke-width:4;"
    "stroke-linejoin:round;paint-order:stroke}\n"
    "svg.chart .pale{opacity:.35}\n"
    + "".join(
        f"svg.chart .s{i}{{stroke:var(--c{i})}}svg.chart .f{i}{{fill:var(--c{i})}}" for i in range(1, 1 + len(_LIGHT))
    )
)
"""What the charts' classes mean, in a page or in a file of their own. It has no letter that HTML would escape."""

# SPDX-License-Identifier: Apache-2.0
"""Draws docs/pictures/picture.svg, the README's picture: `python docs/pictures/picture.py`. All persons are made up."""

from __future__ import annotations

from html import escape
from pathlib import Path

BEFORE = [
    ("name", "zip", "born", "sex", "height", "diagnosis"),
    ("Ann Hill", "32003", "1958", "F", "161.2", "asthma"),
    ("Ben Ray", "32008", "1959", "M", "180.4", "fracture"),
    ("Cleo Dunn", "32003", "1959", "F", "168.9", "diabetes"),
    ("Dov Stein", "32009", "1958", "M", "171.7", "asthma"),
]
AFTER = [
    ("zip", "born", "sex", "height", "diagnosis"),
    ("3200*", "[1958, 1960)", "M", "176.1", "asthma"),
    ("3200*", "[1958, 1960)", "F", "163.8", "diabetes"),
    ("3200*", "[1958, 1960)", "M", "178.3", "fracture"),
    ("3200*", "[1958, 1960)", "F", "160.5", "asthma"),
]
KINDS = {"name": "identifier", "zip": "k", "born": "k", "sex": "k", "height": "epsilon"}
STYLE = """<style>
.page { fill: #fbfaf7 } .table { fill: #ffffff; stroke: #d9d4c7 } .line { stroke: #333333; stroke-width: 2 }
.kept { fill: #333333 } .identifier { fill: #b3261e } .k { fill: #1f5fa8 } .epsilon { fill: #8a5a00 }
@media (prefers-color-scheme: dark) {
.page { fill: #15191e } .table { fill: #1c2229; stroke: #46505b } .line { stroke: #e8ecf0 }
.kept { fill: #e8ecf0 } .identifier { fill: #ff9a90 } .k { fill: #8fc1f5 } .epsilon { fill: #e8b968 } }
</style>"""
"""Colours of the kinds of columns, on light and on dark pages."""
WIDTHS = {"name": 84, "zip": 58, "born": 104, "sex": 40, "height": 62, "diagnosis": 80}
BEFORE_WIDTHS = {**WIDTHS, "born": 52}
ROW = 24


def table(rows: list[tuple[str, ...]], widths: dict[str, int], x: int, y: int) -> str:
    parts = []
    for r, row in enumerate(rows):
        left = x
        for name, cell in zip(rows[0], row, strict=True):
            kind = KINDS.get(name, "kept")
            weight = "bold" if r == 0 else "normal"
            struck = ' text-decoration="line-through"' if name == "name" and r else ""
            parts.append(
                f'<text x="{left}" y="{y + r * ROW}" class="{kind}" font-weight="{weight}"{struck}>{escape(cell)}</text>'
            )
            left += widths[name]
    return "\n".join(parts)


def picture() -> str:
    width, height = 940, 216
    legend = [
        ("identifier", "identifiers: dropped"),
        ("k", "k-quasis: generalised until every combination occurs k times"),
        ("epsilon", "ε-quasis: noise within the class"),
        ("kept", "the rest: kept, in shuffled order"),
    ]
    spots, left = [], 24
    for kind, words in legend:
        spots.append(f'<circle cx="{left}" cy="196" r="4" class="{kind}"/>')
        spots.append(f'<text x="{left + 9}" y="200" class="kept" font-size="11">{escape(words)}</text>')
        left += 26 + round(5.5 * len(words))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"
  font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="A table of four made-up patients before and after: \
names dropped, zip and birth year generalised, noise on height, order shuffled.">
<title>A table of four made-up patients before and after</title>
{STYLE}
<rect width="{width}" height="{height}" rx="10" class="page"/>
<rect x="14" y="14" width="404" height="150" rx="8" class="table"/>
<rect x="522" y="14" width="404" height="150" rx="8" class="table"/>
{table(BEFORE, BEFORE_WIDTHS, 28, 42)}
{table(AFTER, WIDTHS, 536, 42)}
<path d="M436 84 H494" class="line"/><path d="M494 78 L506 84 L494 90 Z" class="kept"/>
<text x="470" y="70" text-anchor="middle" class="kept" font-size="12">k = 2, ε = 2</text>
{chr(10).join(spots)}
</svg>
"""


if __name__ == "__main__":
    Path(__file__).with_name("picture.svg").write_text(picture(), encoding="utf-8")

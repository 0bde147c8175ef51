# SPDX-License-Identifier: Apache-2.0
"""Small pictures for a line of a table: a distribution before and as published, or many values that became few labels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from kepsilon.pages.charts.drawing import Drawing, drawing, path, rectangle, xy
from kepsilon.pages.charts.palette import BLUE

_WIDTH, _HEIGHT = 150.0, 34.0
_MOST_VALUES = 40
"""Stretches that the upper line of a small picture is cut into at most."""


def densities(counts: Sequence[int | None], edges: Sequence[float]) -> list[float | None]:
    """Records per width of the narrowest bin, so that a wide bin does not look like a peak; None for hidden bins.

    There is one count more than edges. The open bins at both ends count as one width each.
    """
    widths = [b - a for a, b in pairwise(edges)]
    narrowest = min(widths, default=1.0)
    scales = [1.0, *(narrowest / width for width in widths), 1.0][: len(counts)]
    return [None if count is None else count * scale for count, scale in zip(counts, scales, strict=True)]


def small_distributions(
    edges: Sequence[float], before: Sequence[int | None], after: Sequence[int | None], *, title: str
) -> Drawing:
    """Two distributions over the same bins by density, each as shares of its own records: before as an outline, as published
    filled. Both are on one scale, so that what is drawn higher is more frequent.
    """
    narrowest = min((b - a for a, b in pairwise(edges)), default=1.0)
    low, high = (edges[0], edges[-1]) if edges else (0.0, 1.0)
    bounds = [low - narrowest, *edges, high + narrowest]
    reach = bounds[-1] - bounds[0]
    places = [(one - bounds[0]) / reach * _WIDTH for one in bounds]
    drawn = [(_shares(own, edges), kind) for own, kind in ((after, f"f{BLUE} pale"), (before, "outline"))]
    most = max((one for heights, _ in drawn for one in heights if one is not None), default=0.0) or 1.0
    parts = [
        path(_around(places, [None if one is None else one / most for one in heights]), kind) for heights, kind in drawn
    ]
    parts.append(path(f"M0 {xy(_HEIGHT - 1)}H{xy(_WIDTH)}", "axis"))
    return drawing(parts, width=_WIDTH, height=_HEIGHT, title=title)


def _shares(counts: Sequence[int | None], edges: Sequence[float]) -> list[float | None]:
    """Densities, for all bins that are not hidden together 1."""
    total = sum(count for count in counts if count is not None) or 1
    return [None if one is None else one / total for one in densities(counts, edges)]


def _around(places: Sequence[float], heights: Sequence[float | None]) -> str:
    """Path around the bins; hidden ones are left out."""
    floor = _HEIGHT - 1
    steps, is_open = [], False
    for a, b, height in zip(places, places[1:], heights, strict=False):
        if height is None:
            steps += [f"V{xy(floor)}"] if is_open else []
            is_open = False
            continue
        start = "" if is_open else f"M{xy(a)} {xy(floor)}"
        steps.append(f"{start}V{xy(floor - height * (_HEIGHT - 4))}H{xy(b)}")
        is_open = True
    return "".join(steps) + (f"V{xy(floor)}" if is_open else "") or f"M0 {xy(floor)}"


def small_labels(n_before: int | None, shares: Sequence[float], *, title: str) -> Drawing:
    """Two lines: the values there were, all drawn alike, above the labels there are, as wide as records carry each.

    `shares` of the most frequent labels add up to at most 1; the rest is one pale stretch. Without `n_before` there is
    no upper line: labels of classes overlap, so that counting values beside them would mislead.
    """
    parts, top = [], 9.0
    if n_before is not None:
        parts += _stretches([1 / min(n_before, _MOST_VALUES)] * min(n_before, _MOST_VALUES), 1.0, "track")
        top = 18.0
    parts += _stretches(shares, top, f"f{BLUE}")
    rest = 1 - sum(shares)
    if rest > 0.005:
        at = _WIDTH * sum(shares)
        parts.append(rectangle(at, top, max(_WIDTH - at, 1), 14, f"f{BLUE} pale"))
    return drawing(parts, width=_WIDTH, height=_HEIGHT, title=title)


def _stretches(shares: Sequence[float], top: float, kind: str) -> list[str]:
    """Rectangles after one another, each with a small gap behind it."""
    parts, at = [], 0.0
    for share in shares:
        wide = share * _WIDTH
        parts.append(rectangle(at, top, max(wide - (1.2 if wide > 3 else 0.5), 0.6), 14, kind))
        at += wide
    return parts

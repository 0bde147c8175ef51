# SPDX-License-Identifier: Apache-2.0
"""Names written beside marks of a chart, where there is room: no name covers another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import hypot

from kepsilon.pages.charts.drawing import shortened, text, text_width

_AWAY = 13.0
"""Distance of a name from the middle of its mark; the ring around a chosen mark stays free."""
_UP, _DOWN = 11.0, 4.0
"""How far letters reach above and below the line that they stand on."""
_MARK = 4.0
_NEAR = 16.0
"""Marks closer than this to an important one have no name."""
_STRONG = 1.09
"""How much wider letters of an important name are."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The place of a mark, and its name; an `important` one is written even where it covers marks."""

    x: float
    y: float
    name: str
    important: bool = False
    kind: str = "ink"
    """How a name that is not important is drawn."""


@dataclass(frozen=True, slots=True)
class _Box:
    left: float
    top: float
    right: float
    bottom: float

    def covers(self, other: _Box, *, by: float = 2.0) -> bool:
        return (
            self.left < other.right + by
            and other.left < self.right + by
            and self.top < other.bottom + by
            and other.top < self.bottom + by
        )

    def distance(self, mark: Mark) -> float:
        """How far the middle of a mark is from the nearest point of the box."""
        across = max(self.left - mark.x, mark.x - self.right, 0.0)
        return hypot(across, max(self.top - mark.y, mark.y - self.bottom, 0.0))


def names_beside(
    marks: Sequence[Mark], *, left: float, top: float, right: float, bottom: float, across: Sequence[float] = ()
) -> Iterator[str]:
    """Markup of the names that find room in the frame, the important ones first, then in the order of the marks.

    A name that would cover another one is not written, and one that is not important may cover no mark either, stands nearer
    to its own mark than to any other, and is not written if its mark is so near to an important one that nobody could tell
    whose name it is. Names keep off the lines `across` the chart where they can.
    """
    weighty = [mark for mark in marks if mark.important]
    told_apart = [
        mark
        for mark in marks
        if mark.important or all(hypot(mark.x - own.x, mark.y - own.y) > _NEAR for own in weighty)
    ]
    around = [_Box(mark.x - _MARK, mark.y - _MARK, mark.x + _MARK, mark.y + _MARK) for mark in marks]
    taken: list[_Box] = []
    for mark in sorted((mark for mark in told_apart if mark.name), key=lambda mark: not mark.important):
        name = shortened(mark.name, right - left)
        width = text_width(name) * (_STRONG if mark.important else 1)
        free = [
            box
            for box in _places(mark, width, left=left, right=right)
            if box.top >= top
            and box.bottom <= bottom
            and not any(box.covers(other) for other in taken)
            and (mark.important or _is_nearest(mark, box, marks))
        ]
        covered = {box: sum(box.covers(other, by=0) for other in around) for box in free}
        crossed = {box: sum(box.top < y < box.bottom for y in across) for box in free}
        best = min(free, key=lambda box: covered[box] + crossed[box], default=None)
        if best is None or (covered[best] + crossed[best] and not mark.important):
            continue
        taken.append(best)
        yield text(best.left, best.bottom - _DOWN, name, "strong" if mark.important else mark.kind)


def _is_nearest(mark: Mark, box: _Box, marks: Sequence[Mark]) -> bool:
    """Whether a name is nearer to its mark than to every other, so that nobody takes it for that of another one."""
    own = box.distance(mark)
    return all(box.distance(other) > own for other in marks if (other.x, other.y) != (mark.x, mark.y))


def _places(mark: Mark, width: float, *, left: float, right: float) -> Iterator[_Box]:
    """Where a name may stand: beside its mark, above or below it, farther off an important one; within the frame."""
    middle = min(max(mark.x - width / 2, left), right - width)
    after, before = mark.x + _AWAY, mark.x - _AWAY - width
    beside = [(own, mark.y + 4) for own in (after, before) if left <= own <= right - width]
    for n in range(1, 5 if mark.important else 2):
        away = n * 18.0
        beside += [(own, mark.y + 4 + up) for up in (-away, away) for own in (middle, after, before)]
    for at, line in beside:
        if left <= at <= right - width:
            yield _Box(at, line - _UP, at + width, line + _DOWN)

# SPDX-License-Identifier: Apache-2.0
"""Names written beside marks of a chart, where there is room: no name covers another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kepsilon.pages.charts.drawing import shortened, text, text_width

_AWAY = 13.0
"""Distance of a name from the middle of its mark; the ring around a chosen mark stays free."""
_UP, _DOWN = 11.0, 4.0
"""How far letters reach above and below the line that they stand on."""
_MARK = 4.0


@dataclass(frozen=True, slots=True)
class Mark:
    """The place of a mark, and its name; an `important` one is written even where it covers marks."""

    x: float
    y: float
    name: str
    important: bool = False


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


def names_beside(marks: Sequence[Mark], *, left: float, top: float, right: float, bottom: float) -> Iterator[str]:
    """Markup of the names that find room in the frame, the important ones first.

    A name that would cover another one is not written, and one that is not important may cover no mark either.
    """
    around = [_Box(mark.x - _MARK, mark.y - _MARK, mark.x + _MARK, mark.y + _MARK) for mark in marks]
    taken: list[_Box] = []
    for mark in sorted((mark for mark in marks if mark.name), key=lambda mark: not mark.important):
        name = shortened(mark.name, right - left)
        free = [
            box
            for box in _places(mark, text_width(name), left=left, right=right)
            if box.top >= top and box.bottom <= bottom and not any(box.covers(other) for other in taken)
        ]
        covered = {box: sum(box.covers(other, by=0) for other in around) for box in free}
        best = min(free, key=lambda box: covered[box], default=None)
        if best is None or (covered[best] and not mark.important):
            continue
        taken.append(best)
        yield text(best.left, best.bottom - _DOWN, name, "strong" if mark.important else "ink")


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

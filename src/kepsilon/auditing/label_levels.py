# SPDX-License-Identifier: Apache-2.0
"""Works out the lowest level that labels can be of, as the manifest states it: from hierarchy and labels alone.

This follows the documented reading of labels, not the hierarchies' own `levels_of`, so that a mistake in that is noticed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

from kepsilon.policy.hierarchies import (
    DatesHierarchy,
    FileHierarchy,
    GroupsHierarchy,
    Hierarchy,
    IntervalsHierarchy,
    MaskHierarchy,
)
from kepsilon.table.codes import Label

NUMBER = r"-?[0-9]{1,400}(?:\.[0-9]{1,400})?"
DATE_PATTERNS = {
    "day": r"([0-9]{1,4})-([0-9]{2})-([0-9]{2})",
    "week": r"([0-9]{1,4})-W([0-9]{2})",
    "month": r"([0-9]{1,4})-([0-9]{2})",
    "quarter": r"([0-9]{4})-Q([1-4])",
    "year": r"([0-9]{4})",
    "decade": r"([0-9]{3})0s",
}


def lowest_level(hierarchy: Hierarchy | None, labels: Collection[Label]) -> int | None:
    """The lowest level that all labels of a column can be of; None if there is no such level. An empty label is null."""
    shown = {label or None for label in labels}
    if hierarchy is None:
        return 0
    if isinstance(hierarchy, MaskHierarchy):
        return _of_mask(hierarchy, shown)
    if isinstance(hierarchy, GroupsHierarchy):
        return _of_lists(list(_groups(hierarchy)), shown)
    if isinstance(hierarchy, FileHierarchy):
        return _of_lists(list(_file(hierarchy)), shown)
    if isinstance(hierarchy, IntervalsHierarchy):
        possible = [_of_interval(hierarchy, label) for label in shown - {None} if label is not None]
        n_levels = len(hierarchy.widths)
    elif isinstance(hierarchy, DatesHierarchy):
        possible = [_of_date(hierarchy, label) for label in shown - {None} if label is not None]
        n_levels = len(hierarchy.units)
    else:
        possible, n_levels = [{0} for label in shown], 0
    if shown == {hierarchy.label or None}:
        return n_levels + 1
    return min(set(range(n_levels + 1)).intersection(*possible), default=None)


def _of_mask(hierarchy: MaskHierarchy, shown: set[Label]) -> int | None:
    """The masked characters that all labels have in common; 0 if labels are not as long as masked ones are."""
    if hierarchy.label is not None and shown == {hierarchy.label or None}:
        return hierarchy.length or 1
    texts = sorted(text if hierarchy.side == "right" else text[::-1] for text in shown if text is not None)
    if any(hierarchy.length is not None and len(text) > hierarchy.length for text in texts):
        return None
    length = hierarchy.length or max(map(len, texts), default=0)
    if not texts or any(len(text) != length for text in texts):
        return 0
    masked = 0
    while masked < length and all(text[length - 1 - masked] == hierarchy.char for text in texts):
        masked += 1
    return min(masked, length - 1) if hierarchy.label is not None else masked


def _of_lists(by_level: list[set[Label]], shown: set[Label]) -> int | None:
    """The first of some levels whose labels include all those shown."""
    return next((level for level, known in enumerate(by_level) if shown <= known), None)


def _groups(hierarchy: GroupsHierarchy) -> Iterator[set[Label]]:
    """The labels of each level; null is null below the top."""
    yield {None, *(str(member) for members in hierarchy.levels[0].values() for member in members)} - {""}
    for groups in hierarchy.levels:
        yield {None, *groups} - {""}
    yield {hierarchy.label or None}


def _file(hierarchy: FileHierarchy) -> Iterator[set[Label]]:
    """The labels of each level; null has those of the empty value, or is null where that is not listed."""
    rows = [(value, *labels) for value, labels in hierarchy.listed.items()]
    n_levels = len(rows[0])
    for level in range(n_levels):
        labels: set[Label] = {row[level] or None for row in rows}
        is_one_top = level == n_levels - 1 and len(labels) == 1
        if level == 0 or ("" not in hierarchy.listed and not is_one_top):
            labels.add(None)
        yield labels


def _of_interval(hierarchy: IntervalsHierarchy, label: str) -> set[int]:
    """Levels below the top that can have the label: 0 for a number, else those whose width and origin it fits."""
    found = re.fullmatch(rf"\[({NUMBER}), ({NUMBER})\)", label)
    if found is None:
        return {0} if _is_number(label) else set()
    if any(re.search(r"\.[0-9]*0$|^-?0[0-9]|^-0$", end) for end in found.groups()):
        return set()  # every number has one way to be written
    low, high = (Fraction(end) for end in found.groups())
    offset = low - Fraction(str(hierarchy.origin))
    widths = [Fraction(str(width)) for width in hierarchy.widths]
    return {level for level, width in enumerate(widths, 1) if high - low == width and offset % width == 0}


def _is_number(label: str) -> bool:
    """Whether a label is a finite number of ordinary size."""
    try:
        value = Decimal(label.strip())
    except ArithmeticError:
        return False
    return value.is_finite() and (not value or Decimal("1e-400") < abs(value) < 2**53)


def _of_date(hierarchy: DatesHierarchy, label: str) -> set[int]:
    """Levels below the top that can have the label: 0 for a date of the data, else those whose unit it names."""
    levels = {0} if not hierarchy.place([label]).not_covered else set()
    return levels | {level for level, unit in enumerate(hierarchy.units, 1) if _names(unit, label)}


def _names(unit: str, label: str) -> bool:
    """Whether a label names a day, week, month, quarter, year or decade that there is."""
    found = re.fullmatch(DATE_PATTERNS[unit], label)
    if found is None:
        return False
    year, *rest = (int(digits) for digits in found.groups())
    if unit == "decade":
        return True
    if year < 1 or (unit in ("day", "week", "month") and found[1] not in (f"{year:04}", str(year))):
        return False
    if unit == "day":
        try:
            date(year, *rest)
        except ValueError:
            return False
        return True
    if unit == "week":
        # The last week of a year is the one that its 28th of December is in.
        return 1 <= rest[0] <= (date(year, 12, 31) - timedelta(days=3)).isocalendar().week
    return unit != "month" or 1 <= rest[0] <= 12

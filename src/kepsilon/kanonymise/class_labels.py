# SPDX-License-Identifier: Apache-2.0
"""The labels that Mondrian publishes: an interval, a common ancestor, or a set for each part of the table.

A part of the table holds the combinations that Mondrian's cuts left together; parts become classes. A `tight` label
covers the values of the part's records and no more. A `cut` label covers the whole region that the cuts left to the
part. At least k records lie on either side of each bound that a cut label shows, so it tells no single record's extreme;
regions at the edge of the data are open-ended.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.classes import AttributeLabels, distinct_labels
from kepsilon.table.codes import Domain, Label
from kepsilon.table.keys import number

LabelStyle = Literal["tight", "cut"]

EVERYTHING = "*"
"""The label of a part that may hold any value, null included."""
NOT_NULL = "not null"
"""The label of a part that may hold any number."""
NULL = "null"
"""How null is written inside a label; a part whose values are all null has null as its label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableParts:
    """The parts of a table, seen in one attribute: which part every combination is in, and what its label must cover.

    The place of a value is its rank on the number line where `place_of_code` gives one, else its code.
    """

    part_of: IntArray
    """Part of every combination, shape (n_combinations,)."""
    codes: IntArray
    """Code of every combination, shape (n_combinations,)."""
    first: IntArray
    """First place that the label of each part must cover, shape (n_parts,)."""
    last: IntArray
    """Last place that the label of each part must cover, shape (n_parts,)."""


def label_parts(domain: Domain, parts: TableParts, *, style: LabelStyle) -> AttributeLabels:
    """Label and precision loss of every part of the table."""
    if domain.positions is not None:
        line = number_line(domain, domain.positions)
        return _tight_intervals(domain, line, parts) if style == "tight" else _cut_intervals(line, parts)
    if domain.generalises:
        return _common_ancestors(domain, parts, style=style)
    return _sets(domain, parts, style=style)


def place_of_code(domain: Domain) -> IntArray | None:
    """Rank of every code on the number line, null first; None where the place of a value is its code.

    Codes of siblings in a hierarchy are neighbours, and a hierarchy may group numbers that are not. An interval from the
    smallest to the largest code would then leave out some of its own records.
    """
    if domain.positions is None:
        return None
    positions = np.where(np.isnan(domain.positions), -np.inf, domain.positions)
    if (np.diff(positions) >= 0).all():
        return None
    places = np.empty(domain.n_values, dtype=np.int64)
    places[np.argsort(positions, kind="stable")] = np.arange(domain.n_values)
    return places


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberLine:
    """Labels and positions of the values of a numeric attribute, in the order of the number line."""

    labels: tuple[Label, ...]
    """The values themselves, by place."""
    positions: FloatArray
    """The number that each value stands for, by place; null, if there is one, has that of the smallest number."""
    n_nulls: int
    """1 if place 0 is null, else 0; this is also the place of the smallest number."""
    data_range: float
    """Largest minus smallest number."""

    def shares(self, first: IntArray, last: IntArray) -> FloatArray:
        """Distance between two places as a share of the data's range; 0 where that range is 0.

        Positions are subtracted before they are divided, so that equal widths of whole numbers give equal shares.
        """
        return (self.positions[last] - self.positions[first]) / (self.data_range or 1.0)


def number_line(domain: Domain, given: FloatArray) -> NumberLine:
    """The number line of an attribute; `given` holds the domain's positions by code."""
    places = place_of_code(domain)
    order = np.arange(domain.n_values) if places is None else np.argsort(places)
    positions = given[order]
    n_nulls = int(domain.has_null)
    numbers = positions[n_nulls:]
    if not np.isfinite(numbers).all():
        raise ValueError("a value that is published as a number has no finite position")
    lowest, highest = (float(numbers[0]), float(numbers[-1])) if len(numbers) else (0.0, 0.0)
    positions[:n_nulls] = lowest
    return NumberLine(
        labels=tuple(domain.levels[0][code] for code in order.tolist()),
        positions=positions,
        n_nulls=n_nulls,
        data_range=highest - lowest,
    )


def _tight_intervals(domain: Domain, line: NumberLine, parts: TableParts) -> AttributeLabels:
    """Labels from the smallest to the largest number of a part's records, such as "[20, 29]" or "null or [20, 29]"."""
    has_null = parts.first < line.n_nulls
    is_null = parts.last < line.n_nulls
    first_number = parts.first.copy()
    if has_null.any():
        places = place_of_code(domain)
        place = parts.codes if places is None else places[parts.codes]
        is_number = place >= line.n_nulls
        first_number[has_null] = domain.n_values
        np.minimum.at(first_number, parts.part_of[is_number], place[is_number])
        first_number[is_null] = 0

    def label(null: int, first: int, last: int) -> Label:
        low, high = line.labels[first], line.labels[last]
        if low is None:
            return None
        text = low if first == last else f"[{low}, {high}]"
        return f"{NULL} or {text}" if null else text

    loss = line.shares(parts.first, parts.last)
    return _from_distinct(label, (has_null.astype(np.int64), first_number, parts.last), loss=loss)


def _cut_intervals(line: NumberLine, parts: TableParts) -> AttributeLabels:
    """Labels of the region that the cuts left to a part, such as "(19, 29]", "<= 29" or "> 29"."""
    edge = len(line.labels) - 1

    def label(first: int, last: int) -> Label:
        if first == 0 and last == edge:
            return EVERYTHING
        if last < line.n_nulls:
            return None
        # The lower bound of a region is the last value of the region below; null is no bound.
        is_open_below, is_open_above = first <= line.n_nulls, last == edge
        if is_open_below and is_open_above:
            return NOT_NULL
        if is_open_below:
            text = f"<= {line.labels[last]}"
        elif is_open_above:
            text = f"> {line.labels[first - 1]}"
        else:
            text = f"({line.labels[first - 1]}, {line.labels[last]}]"
        return f"{NULL} or {text}" if first < line.n_nulls else text

    loss = line.shares(np.maximum(parts.first - 1, 0), parts.last)
    tells_nothing = (parts.first <= line.n_nulls) & (parts.last == edge)
    loss[tells_nothing] = 1.0  # even where the data holds a single value: the label does not say which
    return _from_distinct(label, (parts.first, parts.last), loss=loss)


def _common_ancestors(domain: Domain, parts: TableParts, *, style: LabelStyle) -> AttributeLabels:
    """Labels at the lowest level where the first and the last code agree; all codes between them agree there too."""
    level_of = np.full(len(parts.first), -1)
    code_of = np.zeros(len(parts.first), dtype=np.int64)
    for level in range(domain.n_levels):
        codes = domain.at_level(level)
        agree = (level_of < 0) & (codes[parts.first] == codes[parts.last])
        level_of[agree] = level
        code_of[agree] = codes[parts.first[agree]]
    loss = level_of / max(1, domain.n_levels - 1)
    has_none = level_of < 0
    if not has_none.any():
        return _from_distinct(lambda level, code: domain.levels[level][code], (level_of, code_of), loss=loss)

    # The hierarchy has no single top label: a part that only such a label would cover is labelled with its values.
    sets = _sets(domain, parts, style=style)
    level_of[has_none] = domain.n_levels
    code_of[has_none] = sets.of_class[has_none]
    loss[has_none] = sets.loss[has_none]

    def label(level: int, code: int) -> Label:
        return sets.labels[code] if level == domain.n_levels else domain.levels[level][code]

    return _from_distinct(label, (level_of, code_of), loss=loss)


def _sets(domain: Domain, parts: TableParts, *, style: LabelStyle) -> AttributeLabels:
    """Labels that list the values of a part's records (tight), or all values of its region (cut)."""
    if style == "cut":
        n_values = parts.last - parts.first + 1

        def label(first: int, last: int) -> Label:
            return _set_label(domain.levels[0][first : last + 1])

        return _from_distinct(label, (parts.first, parts.last), loss=(n_values - 1) / max(1, domain.n_values - 1))

    occurring = np.unique(parts.part_of.astype(np.int64) * domain.n_values + parts.codes)
    part, code = np.divmod(occurring, max(1, domain.n_values))
    n_values = np.bincount(part, minlength=len(parts.first))
    ends = np.cumsum(n_values).tolist()
    numbers: dict[bytes, int] = {}
    of_part = np.empty(len(ends), dtype=np.int64)
    labels: list[Label] = []
    for position, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        key = code[start:end].tobytes()
        if key not in numbers:
            numbers[key] = len(numbers)
            labels.append(_set_label([domain.levels[0][i] for i in code[start:end].tolist()]))
        of_part[position] = numbers[key]
    return _without_repeats(labels, of_part, loss=(n_values - 1) / max(1, domain.n_values - 1))


def _set_label(values: tuple[Label, ...] | list[Label]) -> Label:
    """A set of values as a label, such as "{a, b}"; a single value is its own label."""
    if len(values) == 1:
        return values[0]
    return "{" + ", ".join(_quoted(value) for value in values) + "}"


def _quoted(value: Label) -> str:
    """A value as it stands in a set, in quotes where it could be taken for something else."""
    if value is None:
        return NULL
    is_plain = value == value.strip() and value not in ("", NULL) and not any(c in value for c in ',{}"')
    return value if is_plain else json.dumps(value, ensure_ascii=False)


def _from_distinct(label: Callable[..., Label], columns: tuple[IntArray, ...], *, loss: FloatArray) -> AttributeLabels:
    """Labels of the parts, where `label` is a function of some codes; it is called once for each combination of them."""
    sizes = [int(column.max(initial=-1)) + 1 for column in columns]
    of_part, n_distinct = number(columns, sizes=sizes, length=len(loss))
    an_example = np.empty(n_distinct, dtype=np.int64)
    an_example[of_part] = np.arange(len(loss))
    distinct = zip(*(column[an_example].tolist() for column in columns), strict=True)
    return _without_repeats([label(*codes) for codes in distinct], of_part, loss=loss)


def _without_repeats(labels: list[Label], of_part: IntArray, *, loss: FloatArray) -> AttributeLabels:
    """Labels of the parts, those with equal text numbered alike: different codes may have one text."""
    distinct, position = distinct_labels(labels)
    return AttributeLabels(labels=distinct, of_class=position[of_part], loss=loss)

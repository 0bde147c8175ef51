# SPDX-License-Identifier: Apache-2.0
"""Labels of numbers: intervals whose bounds are multiples of a public step.

With `siblings` the interval reaches from the first to the last cell in which a record of the part lies, such as
`[20, 30)`. A bound is thus never finer than the step; with a step coarser than the data's resolution it is nobody's
value. With `ancestor` it is the smallest dyadic interval that contains these cells: 2^j cells, beginning at a multiple of
2^j. Numbers on both sides of 0 have none, and the label is then `*`. Parts that also hold null begin with "null or".
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np

from kepsilon.kanonymise.label_losses import Covered
from kepsilon.kanonymise.table_parts import EVERYTHING, NULL, LabelStyle, TableParts, from_distinct
from kepsilon.table.arrays import IntArray
from kepsilon.table.classes import AttributeLabels
from kepsilon.table.codes import Label
from kepsilon.table.number_line import NumberLine


def interval_labels(line: NumberLine, parts: TableParts, *, style: LabelStyle) -> AttributeLabels:
    """Label and loss of every part.

    The loss is the largest minus the smallest number that occurs in the data and that the label covers, over the range of
    what occurs; null counts as the smallest number.
    """
    n_nulls = int(line.has_null)
    first, last = parts.extremes(line.places)
    has_null = first < n_nulls
    first_number = first
    if n_nulls:
        # The first number of a part; a part without any keeps place 0, which is null's.
        first_number, _ = parts.extremes(np.where(line.places < n_nulls, line.n_places, line.places))
        first_number[last < n_nulls] = 0
    shown = {"siblings": _hull, "ancestor": dyadic}[style]

    def label(with_null: int, first: int, last: int) -> Label:
        if last < n_nulls:
            return None
        region = shown(line.cells[first - n_nulls], line.cells[last - n_nulls])
        if region is None:
            return EVERYTHING
        text = line.interval(*region)
        return f"{NULL} or {text}" if with_null else text

    smallest, largest = line.extremes()
    data_range = line.data_range
    records = parts.records(len(line.places))
    up_to = np.append(0, np.cumsum(np.bincount(line.places, weights=records, minlength=line.n_places))).astype(np.int64)

    def covered(with_null: int, first: int, last: int) -> tuple[float, int]:
        """ncp and records of what occurs in the data and the label of a part covers."""
        if last < n_nulls:
            return 0.0, int(up_to[n_nulls])
        region = shown(line.cells[first - n_nulls], line.cells[last - n_nulls])
        if region is None:
            return 1.0 if data_range else 0.0, int(up_to[-1])
        lowest = bisect_left(line.cells, region[0]) + n_nulls
        highest = bisect_right(line.cells, region[1]) + n_nulls
        width = float(largest[highest - 1] - smallest[0 if with_null else lowest])
        n_records = int(up_to[highest] - up_to[lowest]) + (int(up_to[n_nulls]) if with_null else 0)
        return width / (data_range or 1.0), n_records

    def covers(*ends: IntArray) -> Covered:
        found = [covered(*codes) for codes in zip(*(column.tolist() for column in ends), strict=True)]
        return Covered(
            np.array([ncp for ncp, _ in found], dtype=np.float64), np.array([n for _, n in found], dtype=np.int64)
        )

    return from_distinct(label, (has_null.astype(np.int64), first_number, last), covers=covers)


def _hull(first: int, last: int) -> tuple[int, int]:
    """The two cells themselves."""
    return first, last


def dyadic(first: int, last: int) -> tuple[int, int] | None:
    """First and last cell of the smallest region of 2^j cells, from a multiple of 2^j, that holds both cells.

    None where no such region does, because 0 lies between them.
    """
    if (first < 0) != (last < 0):
        return None
    bits = (first ^ last).bit_length()
    return first >> bits << bits, ((last >> bits) + 1 << bits) - 1

# SPDX-License-Identifier: Apache-2.0
"""A sample as the textbook version of Mondrian sees it: whole numbers that order the values, and where they lie."""

from __future__ import annotations

import math
from fractions import Fraction


def places(sample):
    """Every record as whole numbers that order its values: codes, or ranks of cells on the number line with null first."""
    columns = []
    for i, (attribute, domain) in enumerate(zip(sample.attributes, sample.table.domains, strict=True)):
        if attribute.numbers is None or attribute.step is None:
            order = list(domain.levels[0])
            columns.append([order.index(record[i]) for record in sample.records])
        else:
            line = cells(sample, i)
            columns.append([line.index(cell(attribute, record[i])) for record in sample.records])
    return list(zip(*columns, strict=True)) if columns else [()] * sample.n_records


def cell(attribute, value):
    """The number of the cell that a value lies in; None for null."""
    return None if value is None else math.floor(Fraction(attribute.numbers[value]) / attribute.step)


def cells(sample, i):
    """The cells of one attribute that occur, null first."""
    found = {cell(sample.attributes[i], record[i]) for record in sample.records}
    return sorted(found, key=lambda number: (number is not None, number))


def positions(sample):
    """Where the places of each attribute lie; null at the minimum."""
    result = []
    for i, (attribute, domain) in enumerate(zip(sample.attributes, sample.table.domains, strict=True)):
        if attribute.numbers is None or attribute.step is None:
            result.append(list(range(domain.n_values)))
        else:
            line = cells(sample, i)
            lowest = min((number for number in line if number is not None), default=0)
            result.append([lowest if number is None else number for number in line])
    return result


def members(sample, part_of):
    """Records of each part, as sets of positions."""
    parts = {}
    for i, part in enumerate(part_of[sample.combination_of].tolist()):
        parts.setdefault(part, set()).add(i)
    return frozenset(frozenset(part) for part in parts.values())

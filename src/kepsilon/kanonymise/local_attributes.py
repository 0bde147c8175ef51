# SPDX-License-Identifier: Apache-2.0
"""The attributes of a table as local recoding sees them: codes, the levels above them, and what their labels lose.

Every attribute has levels: those of its hierarchy, for numbers on a public step intervals of 2^j steps, and for values
without either the values themselves. Above the highest of them stands one node that holds everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.kanonymise.label_losses import with_null_lowest
from kepsilon.kanonymise.run_losses import CategoryLosses, IntervalLosses, NumberLosses, RunLosses
from kepsilon.kanonymise.table_parts import LabelStyle
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.codes import Domain
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.number_line import NumberLine


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalAttribute:
    """One attribute of a table; its codes are places on the number line where it has a step."""

    codes: IntArray
    """Code of every combination, shape (n_combinations,)."""
    n_codes: int
    levels: IntArray
    """Node of every code at each level, shape (n_levels, n_codes); rows are non-decreasing, and the last one is all 0."""
    ncp: RunLosses
    """What its published labels lose, weighted by its importance."""
    entropy: RunLosses
    """How many bits its labels lose, as a share of those that it has, weighted by its importance."""
    by_level: FloatArray
    """Mean loss of a record, weighted by the importance, if all codes are published at a level, shape (n_levels,)."""

    @property
    def top(self) -> int:
        """The level at which all codes are one node."""
        return len(self.levels) - 1


def local_attributes(
    table: FrequencyTable, *, k: int, style: LabelStyle, importance: Sequence[float], fixed: Sequence[int] = ()
) -> tuple[LocalAttribute, ...]:
    """The attributes of a table but the `fixed` ones, by position; `importance` holds a weight for each attribute."""
    found = []
    for position, (domain, codes) in enumerate(zip(table.domains, table.codes, strict=True)):
        if position in fixed:
            continue
        weight = importance[position]
        levels = levels_of(domain)
        places = codes if domain.line is None else domain.line.places[codes]
        n_codes = levels.shape[1]
        records = np.bincount(places, weights=table.counts, minlength=n_codes).astype(np.float64)
        ncp: RunLosses
        if domain.line is not None:
            ncp = NumberLosses.of_line(domain.line, levels, style=style, weight=weight)
            entropy: RunLosses = NumberLosses.of_records(records, weight=weight)
        else:
            is_rare = None
            if not domain.generalises:
                held = records if table.persons is None else table.persons.in_classes(codes, n_classes=n_codes)
                is_rare = held < k
            if domain.numbers is not None:
                numbers = with_null_lowest(domain.numbers)
                ncp = IntervalLosses.of_numbers(numbers, levels, style=style, weight=weight)
            else:
                ncp = CategoryLosses.of_values(levels, is_rare=is_rare, style=style, weight=weight)
            entropy = CategoryLosses.of_records(records, levels, is_rare=is_rare, style=style, weight=weight)
        found.append(
            LocalAttribute(
                codes=places.astype(np.int32),
                n_codes=n_codes,
                levels=levels,
                ncp=ncp,
                entropy=entropy,
                by_level=np.array(
                    [np.dot(ncp.of_nodes(level), records) / table.n_records for level in range(len(levels))]
                ),
            )
        )
    return tuple(found)


def levels_of(domain: Domain) -> IntArray:
    """Node of every code, or of every place where there is a step, at each level; the last level has one node."""
    line = domain.line
    rows = [domain.at_level(level) for level in range(domain.n_levels)] if line is None else dyadic_levels(line)
    if not len(rows[-1]) or rows[-1][-1]:
        rows.append(np.zeros(len(rows[0]), dtype=np.int64))
    return np.stack(rows).astype(np.int32)


def dyadic_levels(line: NumberLine) -> list[IntArray]:
    """By level j, the number of the interval of 2^j steps that each place lies in; null is an interval of its own.

    Numbers below 0 and others never share an interval, so that the last level may have up to three.
    """
    rows: list[IntArray] = []
    cells = list(line.cells)
    while True:
        ranks = {cell: rank for rank, cell in enumerate(dict.fromkeys(cells), start=int(line.has_null))}
        rows.append(np.array([0] * line.has_null + [ranks[cell] for cell in cells], dtype=np.int64))
        if len(ranks) <= len({cell < 0 for cell in line.cells}):
            return rows
        cells = [cell >> 1 for cell in cells]

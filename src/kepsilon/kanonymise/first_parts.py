# SPDX-License-Identifier: Apache-2.0
"""How a table is divided before a local algorithm makes the first cut, and which parts of it have to be left out.

Attributes that must not be generalised divide it by their values, and `max_level` divides it by the nodes of that level:
labels then never reach a higher one. A part that fails a requirement cannot be released, because it must not be merged
with another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.kanonymise.local_attributes import dyadic_levels
from kepsilon.kanonymise.requirements.k_records import KRecords
from kepsilon.kanonymise.requirements.protocol import Requirement
from kepsilon.table.arrays import IntArray
from kepsilon.table.classes import SUPPRESSED
from kepsilon.table.codes import Domain
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.keys import number


class FirstPartsFailError(ValueError):
    """Parts of the table that exist before the first cut fail requirements, and are too many to be left out.

    If nothing divides the table, the only such part is the whole table.
    """

    def __init__(self, *, requirement: Requirement, n_records: int, n_parts: int, n_left_out: int) -> None:
        """`n_records` and `n_parts` fail the requirement; `n_left_out` records fail this or another one."""
        self.requirement = requirement
        self.n_records = n_records
        self.n_parts = n_parts
        self.n_left_out = n_left_out
        super().__init__(f"{n_records} records are in parts that fail “{requirement.name}” before any cut")


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstParts:
    """The parts of a table before the first cut."""

    part_of: IntArray
    """Part of every combination, or SUPPRESSED, shape (n_combinations,)."""
    n_parts: int
    left_out: IntArray
    """Records of each part that is left out, shape (n_left_out,)."""


def first_parts(
    table: FrequencyTable,
    *,
    k: int,
    further: Sequence[Requirement] = (),
    fixed: Sequence[int] = (),
    max_levels: Sequence[int | None] | None = None,
    max_suppressed: int = 0,
) -> FirstParts:
    """The parts before the first cut; those that fail a requirement are left out.

    `fixed` lists attributes that must not be generalised, `max_levels` the highest level of each attribute, and `further`
    the requirements beyond k records. Raises FirstPartsFailError if more than `max_suppressed` records, or all, would be
    left out, and ValueError if a requirement does not hold for unions, because parts may be merged.
    """
    if k < 1:
        raise ValueError("k is at least 1")
    if not all(requirement.holds_for_unions for requirement in further):
        raise ValueError("a requirement that does not hold for unions breaks when parts with equal labels are merged")
    columns, sizes = [], []
    for position, (domain, codes) in enumerate(zip(table.domains, table.codes, strict=True)):
        level = None if max_levels is None else max_levels[position]
        if position in fixed:
            nodes = np.arange(domain.n_values) if domain.line is None else domain.line.places
        elif level is not None:
            nodes = _nodes(domain, level)
        else:
            continue
        columns.append(nodes[codes])
        sizes.append(int(nodes.max(initial=0)) + 1)
    part_of, n_parts = number(columns, sizes=sizes, length=table.n_combinations)
    n_records = np.bincount(part_of, weights=table.counts, minlength=n_parts).astype(np.int64)
    unmet = [
        (requirement, ~requirement.met_by(table, part_of, n_classes=n_parts))
        for requirement in (KRecords(k=k), *further)
    ]
    fails = np.logical_or.reduce([fails for _, fails in unmet])
    n_left_out = int(n_records[fails].sum())
    if n_left_out > max_suppressed or fails.all():
        for requirement, fails in unmet:
            if fails.any():
                raise FirstPartsFailError(
                    requirement=requirement,
                    n_records=int(n_records[fails].sum()),
                    n_parts=int(fails.sum()),
                    n_left_out=n_left_out,
                )
    new = np.where(fails, SUPPRESSED, np.cumsum(~fails) - 1)
    return FirstParts(part_of=new[part_of], n_parts=n_parts - int(fails.sum()), left_out=n_records[fails])


def _nodes(domain: Domain, level: int) -> IntArray:
    """Node of every value at a level, shape (n_values,): of the hierarchy where there is one, else of the number line."""
    if domain.line is None or domain.generalises:
        return domain.at_level(level)
    levels = dyadic_levels(domain.line)
    return levels[min(level, len(levels) - 1)][domain.line.places]

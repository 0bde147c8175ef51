# SPDX-License-Identifier: Apache-2.0
"""Finds columns that say the same as another one, such as kilograms and pounds, and leaves one of the two out.

Whatever is hidden of a column shows in its twin, if that is published in another way; and two twins take twice the room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kepsilon.engines.arrow.profile import Kind
from kepsilon.propose.column_names import is_well_known
from kepsilon.propose.hierarchies import is_nominal, is_numeric
from kepsilon.propose.proposal import Proposal
from kepsilon.propose.toml_text import toml_string
from kepsilon.table.arrays import FloatArray
from kepsilon.table.whole_records import MISSING, WholeColumn

MOST_RECORDS = 2_000
"""Records that columns are compared on; fewer than this many of a sample would do."""
LEAST_RECORDS = 30
LEAST_NUMBERS = 10
"""Numbers are compared where a column has at least so many different ones."""
SAME_ORDER = 0.999
"""Rank correlation, of either sign, from which two columns of numbers say the same; heights in inches of one decimal have .9995."""
LEAST_KINDS = 3
RECORDS_PER_KIND = 20
"""Kinds are compared where there are so many records for each: a few records may agree by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    """One column, ready to be compared with others."""

    proposal: Proposal
    ranks: FloatArray | None
    """Ranks of its numbers, NaN where there is none; None for a column that is not of many numbers."""
    column: WholeColumn

    @property
    def is_of_dates(self) -> bool:
        return self.proposal.column.kind is Kind.DATE


def without_twins(proposals: Sequence[Proposal], columns: Mapping[str, WholeColumn]) -> list[Proposal]:
    """The proposals, with one of each two columns left out that say the same.

    Quasis stay before columns that would be kept, because kept ones would show what is hidden of the quasi. Numbers stay before
    dates, such as an age before a date of birth, because labels of numbers are finer where classes are small. Of the others, what
    nearly everybody knows stays, and otherwise the first of the table.
    """
    compared = [
        _ready(own, columns[own.column.name]) for own in proposals if (own.is_quasi or own.is_kept) and _varies(own)
    ]
    compared.sort(key=lambda own: (own.proposal.is_kept, own.is_of_dates, not is_well_known(own.proposal.column.name)))
    staying: list[_Compared] = []
    changed: dict[str, Proposal] = {}
    for own in compared:
        twin = next((other for other in staying if _say_the_same(own, other)), None)
        if twin is None:
            staying.append(own)
        else:
            changed[own.proposal.column.name] = _left_out(own.proposal, twin.proposal)
    return [changed.get(own.column.name, own) for own in proposals]


def _varies(proposal: Proposal) -> bool:
    return proposal.role is not None and proposal.column.n_distinct >= LEAST_KINDS


def _ready(proposal: Proposal, column: WholeColumn) -> _Compared:
    """The column with the ranks of its numbers, if it has many; its codes for missing values are none."""
    own = proposal.column
    is_ordered = own.kind is Kind.DATE or (is_numeric(own) and not is_nominal(own))
    if column.numbers is None or not is_ordered or own.n_distinct < LEAST_NUMBERS:
        return _Compared(proposal=proposal, ranks=None, column=column)
    numbers = np.append(column.numbers, np.nan)[column.codes]  # the last entry is that of the code MISSING
    numbers[np.isin(numbers, [float(code) for code in own.number_codes])] = np.nan
    rows = np.unique(np.linspace(0, len(numbers) - 1, MOST_RECORDS).astype(np.int64))
    return _Compared(proposal=proposal, ranks=numbers[rows], column=column)


def _say_the_same(one: _Compared, other: _Compared) -> bool:
    if one.ranks is not None and other.ranks is not None and not (one.is_of_dates and other.is_of_dates):
        return _rise_together(one.ranks, other.ranks)
    n_kinds = one.column.n_distinct
    if n_kinds != other.column.n_distinct or len(one.column.codes) < RECORDS_PER_KIND * n_kinds:
        return False
    codes = one.column.codes.astype(np.int64) * (n_kinds + 1) + other.column.codes
    both = (one.column.codes != MISSING) & (other.column.codes != MISSING)
    return len(np.unique(codes[both])) == n_kinds


def _rise_together(one: FloatArray, other: FloatArray) -> bool:
    """Whether two columns put records in the same order, or in the opposite one."""
    both = ~(np.isnan(one) | np.isnan(other))
    if np.count_nonzero(both) < LEAST_RECORDS:
        return False
    first, second = _mean_ranks(one[both]), _mean_ranks(other[both])
    spread = float(first.std() * second.std())
    return spread > 0 and abs(float(np.mean((first - first.mean()) * (second - second.mean())))) >= SAME_ORDER * spread


def _mean_ranks(numbers: FloatArray) -> FloatArray:
    """The rank of each number; equal numbers share the middle of theirs."""
    _, codes, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    middle: FloatArray = np.cumsum(counts) - (counts - 1) / 2
    return middle[codes]


def _left_out(proposal: Proposal, twin: Proposal) -> Proposal:
    """A column that says the same as its twin."""
    name = toml_string(twin.column.name)
    why = (
        f"It follows from {name}: each of the two can be worked out from the other, or nearly so, so one of them is enough"
        f"{', and this one would show what is hidden of that one' if twin.is_quasi else ''}. To publish this one, "
        f"leave {name} out instead."
    )
    return replace(proposal, left_out_because=why, follows_from=twin.column.name)

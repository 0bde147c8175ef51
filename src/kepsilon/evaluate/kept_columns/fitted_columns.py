# SPDX-License-Identifier: Apache-2.0
"""All about a kept column that does not depend on classes: bins, predictions from the quasis, and what it looks like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.kept_columns.bits import OrderedCodes, codes_to_group, exact_codes
from kepsilon.evaluate.kept_columns.by_type import is_exact_date, is_free_text, is_serial, is_sorted
from kepsilon.evaluate.kept_columns.coding import (
    N_BINS,
    bins_by_size,
    bins_by_value,
    is_measured,
    may_be_codes,
    n_occurring,
    unique_share,
)
from kepsilon.evaluate.kept_columns.guesses import Guess, formula_guesses
from kepsilon.evaluate.kept_columns.identifiers_inside import Identifiers
from kepsilon.evaluate.kept_columns.joining import joined_share, own_share
from kepsilon.evaluate.kept_columns.pairs import Measured, measured_of, measured_without_codes
from kepsilon.evaluate.kept_columns.ratios import divisor_of, ratio_guesses
from kepsilon.evaluate.kept_columns.two_folds import TwoFolds
from kepsilon.table.arrays import IntArray
from kepsilon.table.whole_records import WholeColumn

RECORDS_PER_VALUE = 4
"""Where a value occurs less often than this on average, its records tell nothing of each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedColumn:
    """One kept column, ready for any partition."""

    name: str
    model_bins: IntArray
    """Bins that a formula predicts, shape (n_records,): by size for numbers, by value for categories."""
    table_bins: IntArray
    """Bins that are counted in tables: by value for all that may be codes."""
    guesses: tuple[Guess, ...]
    measured: Measured | None
    """The column's numbers, without codes such as 999; None for categories."""
    for_bits: tuple[OrderedCodes, ...]
    """Ways to look at the column for bits: by value where it may be codes, by size where it has many numbers."""
    for_ranks: tuple[OrderedCodes, ...]
    """Ways to look at the column for ranks: those for bits, and each value by itself where values repeat."""
    unique: float
    joined: float
    is_date: bool
    is_free_text: bool
    is_serial: bool
    is_sorted: bool
    identifiers_inside: float


def fit_columns(
    kept: Mapping[str, WholeColumn],
    quasis: Mapping[str, WholeColumn],
    *,
    folds: TwoFolds,
    identifiers: Identifiers,
    rows: IntArray | None,
    persons: IntArray | None = None,
) -> Iterator[FittedColumn]:
    """The kept columns, fitted, in their order; `persons` says whom each record is about, from 0, where that is known."""
    first = None if persons is None else np.unique(persons, return_index=True)[1]
    measured = {name: own for name, column in kept.items() if (own := measured_of(column)) is not None}
    others = {name: own for name in measured if (own := measured_without_codes(kept[name])) is not None}
    formulas = [formula_guesses(own, folds) for own in (measured, others)]
    divisors = [divisor for name, quasi in quasis.items() if (divisor := divisor_of(name, quasi)) is not None]
    for name, column in kept.items():
        by_value = bins_by_value(column) if may_be_codes(column) else None
        by_size = bins_by_size(column) if column.numbers is not None else None
        for_bits = tuple(_for_bits(column, by_value))
        bins = [own for own in (by_size, by_value) if own is not None]
        yield FittedColumn(
            name=name,
            model_bins=bins[0],
            table_bins=bins[-1],
            guesses=(*(guess for own in formulas for guess in own.get(name, ())), *ratio_guesses(column, divisors)),
            measured=others.get(name, measured.get(name)),
            for_bits=for_bits,
            for_ranks=(*for_bits, *_by_themselves(column)),
            unique=unique_share(column) if persons is None else own_share(column, persons),
            joined=joined_share(column, persons),
            is_date=is_exact_date(column),
            is_free_text=is_free_text(column),
            is_serial=is_serial(column, rows) or _is_serial_by_person(column, rows, first),
            is_sorted=is_sorted(column, rows),
            identifiers_inside=identifiers.share_inside(column),
        )


def _is_serial_by_person(column: WholeColumn, rows: IntArray | None, first: IntArray | None) -> bool:
    """Whether the column is a serial number of persons, by the first record of each."""
    return rows is not None and first is not None and is_serial(column.of(first), rows[first])


def _for_bits(column: WholeColumn, by_value: IntArray | None) -> Iterator[OrderedCodes]:
    if by_value is not None:
        yield exact_codes(by_value)
    if by_value is None or is_measured(column):
        yield codes_to_group(column.codes)


def _by_themselves(column: WholeColumn) -> Iterator[OrderedCodes]:
    """The codes as they are, where these have more values than bins, and so many records that a value tells something."""
    if N_BINS < n_occurring(column) <= len(column.codes) // RECORDS_PER_VALUE:
        yield exact_codes(column.codes)

# SPDX-License-Identifier: Apache-2.0
"""The attacker who counts how often each value of one quasi goes with each bin of a kept column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kepsilon.evaluate.kept_columns.class_order import ClassOrder
from kepsilon.evaluate.kept_columns.coding import bins_by_size, n_occurring
from kepsilon.evaluate.kept_columns.links import likeliest_links, likeliest_persons
from kepsilon.evaluate.kept_columns.right_persons import RightPersons
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.whole_records import MISSING, WholeColumn

MOST_NUMBERS = 1_000
"""A quasi with more distinct numbers than this is counted in so many ranges of its values."""

_PRIOR_RECORDS = 2.0
"""The frequencies of all records count as much as so many records with the value; a value that was never seen gets them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuasiValues:
    """The values of one quasi as rows of a table that is counted in one half of the records and read in the other."""

    n_values: int
    lone: int
    """The value that stands for all values that occur once, of which the other half can tell nothing; n_values if none."""
    rows: IntArray
    """Row from which the attacker reads for each record: its value, in the half of the table for its fold, (n_records,)."""
    other_rows: IntArray
    """Row in which each record is counted: its value, in the half of the table for the other fold."""

    def varies_within(self, classes: ClassOrder) -> bool:
        """Whether two records of a class differ in the value."""
        own = self.rows[classes.records] % self.n_values
        return bool(np.any(own != own[classes.starts][classes.ids]))


def quasi_values(quasi: WholeColumn, fold: IntArray) -> QuasiValues:
    """The quasi's exact values, missing ones among them; ranges of values where there are too many numbers."""
    if quasi.numbers is not None and n_occurring(quasi) > MOST_NUMBERS:
        values = bins_by_size(quasi, n_bins=MOST_NUMBERS)
        n_values = lone = int(values.max(initial=-1)) + 1
    else:
        n_codes = quasi.n_distinct + 1
        codes = np.where(quasi.codes == MISSING, n_codes - 1, quasi.codes)
        counts = np.bincount(codes, minlength=n_codes)
        several = np.flatnonzero(counts > 1)
        lone = len(several)
        value_of_code = np.full(n_codes, lone)
        value_of_code[several] = np.arange(lone)
        values = value_of_code[codes]
        n_values = lone + 1
    return QuasiValues(
        n_values=n_values, lone=lone, rows=values + n_values * fold, other_rows=values + n_values * (1 - fold)
    )


def table_of(quasi: QuasiValues, bins: IntArray) -> NDArray[np.float32]:
    """P(bin | value of the quasi) as counted in the other fold, shape (2 · n_values, n_bins), fold 0 first."""
    n_bins = int(bins.max()) + 1
    prior = np.bincount(bins) / len(bins)
    counts = np.bincount(quasi.other_rows * n_bins + bins, minlength=2 * quasi.n_values * n_bins).astype(np.float64)
    table = counts.reshape(-1, n_bins)
    if quasi.lone < quasi.n_values:
        table[[quasi.lone, quasi.n_values + quasi.lone]] = 0.0
    table += _PRIOR_RECORDS * prior
    table /= table.sum(axis=1, keepdims=True)
    return table.astype(np.float32)


def tells_anything(quasi: QuasiValues, bins: IntArray) -> bool:
    """Whether the table predicts the bins of the other half better than their frequencies do.

    Where it does not, no attacker would use it, and there is nothing to link by.
    """
    own = table_of(quasi, bins)[quasi.rows, bins]
    prior = np.bincount(bins) / len(bins)
    return bool(np.log(own).sum() > np.log(prior)[bins].sum())


def table_links(quasi: QuasiValues, columns: list[IntArray], classes: ClassOrder) -> tuple[FloatArray, FloatArray]:
    """Records that the tables of one quasi link, and the largest chance of one record, both of shape (n_columns,).

    `columns` holds the bins of each kept column.
    """
    read = _read(quasi, columns, classes, owners=classes)
    return likeliest_links(
        read.scores,
        read.bins,
        row_of_record=read.row_of_record,
        records_of_row=read.records_of_row,
        row_starts=np.searchsorted(read.owner_of_row, np.arange(classes.n_classes)),
        classes=classes,
        tolerance=0.0,
    )


def table_persons(
    quasi: QuasiValues, columns: list[IntArray], classes: ClassOrder, by_person: ClassOrder
) -> list[RightPersons]:
    """What the tables of one quasi find of persons, for each column."""
    read = _read(quasi, columns, classes, owners=by_person)
    class_of_row = classes.ids[by_person.starts][read.owner_of_row]
    return likeliest_persons(
        read.scores,
        read.bins,
        person_of_row=read.owner_of_row,
        records_of_row=read.records_of_row,
        row_starts=np.searchsorted(class_of_row, np.arange(classes.n_classes)),
        classes=classes,
        by_person=by_person,
        tolerance=0.0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """What is read from the tables, one row for all records of an owner that have the same value of the quasi."""

    scores: NDArray[np.float32]
    bins: IntArray
    row_of_record: IntArray
    owner_of_row: IntArray
    records_of_row: IntArray


def _read(quasi: QuasiValues, columns: list[IntArray], classes: ClassOrder, *, owners: ClassOrder) -> _Read:
    """What is read for all records in the order of `classes`; `owners` are these, or the persons in them."""
    rows = quasi.rows[classes.records]
    pairs, row_of_record, counts = np.unique(
        owners.ids * (2 * quasi.n_values) + rows, return_inverse=True, return_counts=True
    )
    owner_of_row, table_rows = np.divmod(pairs, 2 * quasi.n_values)
    tables = [table_of(quasi, bins) for bins in columns]
    offsets = np.cumsum([0, *(table.shape[1] for table in tables)])
    return _Read(
        scores=np.concatenate([table[table_rows] for table in tables], axis=1),
        bins=np.column_stack([bins[classes.records] + at for bins, at in zip(columns, offsets, strict=False)]),
        row_of_record=row_of_record.ravel(),
        owner_of_row=owner_of_row,
        records_of_row=counts,
    )

# SPDX-License-Identifier: Apache-2.0
"""How many records an attacker links by comparing what a kept column shows with what he expects of each original.

Candidates are all originals of the record's class. Where t of them fit equally well, one is drawn by lot: each counts 1/t.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kepsilon.evaluate.kept_columns.class_order import ClassOrder
from kepsilon.evaluate.kept_columns.right_persons import RightPersons, right_persons
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

GRID = 100_000_000
"""Numbers are compared as multiples of this part of their spread, so that originals that are known alike tie exactly,
whatever rounding did to what was worked out for them. All of them, and their distances, fit into 32 bits."""
NOBODY = 16 * GRID
"""What is known of a candidate of whom nothing is known: farther from everything than any number."""


def on_grid(values: FloatArray, *, low: float, high: float) -> IntArray:
    """Numbers as multiples of (high − low) / GRID, counted from `low`; those far outside are moved to three spreads."""
    spread = high - low
    with np.errstate(over="ignore"):  # a spread next to nothing: what is outside is far outside
        places = (values - low) / spread
    return np.rint(np.clip(places, -3.0, 3.0) * GRID).astype(np.int32)


def nearest_links(
    shown: IntArray, known: IntArray, *, is_shown: BoolArray, ranking: IntArray, classes: ClassOrder
) -> FloatArray:
    """The chance of each record that shows something to be linked to its own original, whose `known` number has to be nearest.

    `shown`, `known` and `is_shown` have shape (n_records,). Records that show nothing are no targets, but their originals
    are candidates like all others. `ranking` holds the positions of all records in rising order of `known`.

    A record is linked unless some other number is nearer than its own original's. Among the numbers of its class in their
    order, that can only be the next one on the side of what is shown.
    """
    if not classes.n_records:
        return np.zeros(0)
    at = classes.sorted_as(ranking)
    own, ids = known[at], classes.ids
    begins = np.ones(len(at), dtype=np.bool_)
    begins[1:] = (own[1:] != own[:-1]) | (ids[1:] != ids[:-1])
    run = np.cumsum(begins) - 1
    first = np.flatnonzero(begins)
    run_sizes = np.diff(np.append(first, len(at)))
    seen = shown[at]
    distance = np.abs(seen - own)
    other = run + np.sign(seen - own)
    inside = np.clip(other, 0, len(first) - 1)
    there = first[inside]
    is_candidate = (inside == other) & (other != run) & (ids[there] == ids)
    other_distance = np.where(is_candidate, np.abs(seen - own[there]), np.iinfo(np.int32).max)
    n_nearest = run_sizes[run] + np.where(other_distance == distance, run_sizes[inside], 0)
    linked: FloatArray = np.where(other_distance < distance, 0.0, 1.0 / n_nearest)
    return linked[is_shown[at]]


def likeliest_links(
    scores: FloatArray | NDArray[np.float32],
    bins: IntArray,
    *,
    row_of_record: IntArray,
    records_of_row: IntArray,
    row_starts: IntArray,
    classes: ClassOrder,
    tolerance: float,
) -> tuple[FloatArray, FloatArray]:
    """Records linked to the original of their class that is the likeliest to have the bin that they show, per column.

    With them comes the largest chance of one record to be linked, per column.

    `scores` says how likely an original is to have each bin of each column, shape (n_rows, n_bins of all columns). A row
    stands for the `records_of_row` records of one class that have it; rows come class by class from `row_starts` on.
    `row_of_record` is the row of every record in the order of `classes`. `bins` is the column of `scores` that belongs to
    what a record shows, shape (n_in_classes, n_columns). Scores that differ by no more than `tolerance` tie.
    """
    is_best, rows_of_class = _best_rows(scores, row_starts, tolerance)
    n_best = _count_best(is_best, np.repeat(np.arange(len(row_starts)), rows_of_class), records_of_row)
    chances = (is_best[row_of_record, own] / n_best[classes.ids, own] for own in np.ascontiguousarray(bins.T))
    links, largest = zip(*((own.sum(), own.max(initial=0.0)) for own in chances), strict=True)
    return np.array(links), np.array(largest)


def likeliest_persons(
    scores: FloatArray | NDArray[np.float32],
    bins: IntArray,
    *,
    person_of_row: IntArray,
    records_of_row: IntArray,
    row_starts: IntArray,
    classes: ClassOrder,
    by_person: ClassOrder,
    tolerance: float,
) -> list[RightPersons]:
    """What is found of persons by taking the original of the class that is the likeliest to have the bin, per column.

    As `likeliest_links`, but every row stands for records of one person, `person_of_row` as a class of `by_person`.
    """
    is_best, rows_of_class = _best_rows(scores, row_starts, tolerance)
    n_best = _count_best(is_best, np.repeat(np.arange(len(row_starts)), rows_of_class), records_of_row)
    n_right = _count_best(is_best, person_of_row, records_of_row)
    everybody = np.arange(classes.n_records)
    return [
        right_persons(n_right[by_person.ids, own] / n_best[classes.ids, own], everybody, classes, by_person)
        for own in np.ascontiguousarray(bins.T)
    ]


def _best_rows(
    scores: FloatArray | NDArray[np.float32], row_starts: IntArray, tolerance: float
) -> tuple[BoolArray, IntArray]:
    """Whether each row is among the likeliest of its class for each bin, shape of `scores`; and the rows of each class."""
    best = np.maximum.reduceat(scores, row_starts, axis=0) - tolerance
    rows_of_class = np.diff(np.append(row_starts, len(scores)))
    return scores >= np.repeat(best, rows_of_class, axis=0), rows_of_class


def _count_best(is_best: BoolArray, owner: IntArray, records_of_row: IntArray) -> FloatArray:
    """Records of the likeliest rows of each owner for each bin, shape (n_owners, n_bins)."""
    # Few are best. To count these takes a fraction of the time of adding up whole columns.
    n_bins = is_best.shape[1]
    row, own_bin = np.divmod(np.flatnonzero(is_best), n_bins)
    n_cells = (int(owner.max(initial=-1)) + 1) * n_bins
    counts = np.bincount(owner[row] * n_bins + own_bin, weights=records_of_row[row], minlength=n_cells)
    return np.asarray(counts.reshape(-1, n_bins), dtype=np.float64)

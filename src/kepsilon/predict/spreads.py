# SPDX-License-Identifier: Apache-2.0
"""The spread of every ε-quasi: the mean distance of its true values from their median, over all records in classes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from kepsilon.engines.protocol import Batch, LargeClass, Preview
from kepsilon.evaluate.error.value_cells import ValueCells, sum_of_cells
from kepsilon.table.arrays import FloatArray


def cells_of(batch: Batch, middles: FloatArray | None = None) -> tuple[ValueCells, ...]:
    """The true values of some records in cells, by ε-quasi; of their distances from `middles`, where these are given.

    `middles` has shape (n_epsilon_quasis,).
    """
    if middles is None:
        return tuple(_of_true_values(batch, j) for j in range(batch.values.shape[1]))
    return tuple(ValueCells.of(batch.values[:, j] - middle) for j, middle in enumerate(middles))


def _of_true_values(batch: Batch, j: int) -> ValueCells:
    """The values of the j-th ε-quasi in cells; from their codes, where there are some, which are far fewer numbers."""
    values = np.ascontiguousarray(batch.values[:, j])
    if batch.coded is None or np.isnan(values).any():  # a missing value has the code of 0
        return ValueCells.of(values)
    coded = batch.coded[j]
    counts = np.bincount(coded.codes, minlength=len(coded.distinct))
    occurring = np.flatnonzero(counts)
    return ValueCells.of(coded.distinct[occurring], counts[occurring])


def spreads_of(classes: Preview, cells: Sequence[ValueCells]) -> tuple[float | None, ...]:
    """The spread of every ε-quasi, from its values in cells; None where no record holds a value.

    Values far from 0 and close together, such as seconds since 1970, share cells. They are gone through once more, and
    their distances from the middle that was found are put into cells.
    """
    if all(own.are_fine_enough for own in cells):
        return tuple(own.mean_deviation for own in cells)
    middles = np.array([own.median or 0.0 for own in cells])
    around = [ValueCells() for _ in cells]
    for found in classes.each(partial(_around, middles=middles)):
        around = [one + more for one, more in zip(around, found, strict=True)]
    return tuple(own.mean_deviation for own in around)


def _around(batch: Batch | LargeClass, *, middles: FloatArray) -> tuple[ValueCells, ...]:
    """The distances of the values of one batch from `middles`, in cells."""
    if isinstance(batch, Batch):
        return cells_of(batch, middles)
    parts = [cells_of(part, middles) for part in batch.parts()]
    return tuple(sum_of_cells(own) for own in zip(*parts, strict=True))

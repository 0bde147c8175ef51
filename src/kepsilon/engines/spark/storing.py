# SPDX-License-Identifier: Apache-2.0
"""The task in which workers store records, in one bucket for each batch of classes. As in `tasks`, nothing here needs Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from kepsilon.engines.arrow.coding import as_doubles
from kepsilon.engines.arrow.numpy_arrays import to_positions
from kepsilon.engines.counts.sensitive import SensitiveCodes
from kepsilon.engines.on_disk.buckets import Bucket, Records, scatter
from kepsilon.engines.on_disk.details import Details
from kepsilon.engines.spark.tasks import attempt, own_folder
from kepsilon.sources.columns import CODED_TEXT, in_one_piece
from kepsilon.sources.files import changed
from kepsilon.sources.rebuilding import rebuilt
from kepsilon.table.arrays import IntArray

UNCOUNTED = -2
"""The class id of a record whose combination was not there when combinations were counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordColumns:
    """Which columns a Spark frame of records has: class id, ε-quasis, person, position in the input, kept columns.

    The person and the position are there only if `has_persons` and `has_rows`.
    """

    epsilon_quasis: tuple[str, ...]
    may_miss: tuple[bool, ...]
    """Whether any record missed each ε-quasi when combinations were counted."""
    has_rows: bool
    kept: pa.Schema
    """Names of the kept columns, and the types that they are moved in, with marks of those that they are shown in."""
    coded: tuple[str, ...] = ()
    """Kept columns that are stored as dictionaries."""
    source: str
    """The name of the table, for error messages."""
    has_persons: bool = False
    sensitive: tuple[SensitiveCodes, ...] = ()
    """Codes of those kept columns of which codes are asked for."""
    stores_kept: bool = True
    """Whether kept columns are stored, or only read for their codes."""

    def records(self, table: pa.Table) -> Records:
        """Records that Spark returned; refused where one was not there when combinations were counted."""
        class_ids = to_positions(in_one_piece(table.column(0)), null=UNCOUNTED).astype(np.int32)
        values = np.empty((len(table), len(self.epsilon_quasis)))
        for j, name in enumerate(self.epsilon_quasis):
            values[:, j] = as_doubles(table.column(1 + j), name, self.source)
        is_new = (class_ids == UNCOUNTED).any()
        for j, may_miss in enumerate(self.may_miss):
            is_new |= not may_miss and np.isnan(values[:, j]).any()
        if is_new:
            raise changed(self.source)
        first_kept = 1 + len(self.epsilon_quasis) + self.has_persons + self.has_rows
        rows = to_positions(in_one_piece(table.column(first_kept - 1)), null=-1) if self.has_rows else None
        columns, fields = [], []
        for i, field in enumerate(self.kept):
            column = as_input(table.column(first_kept + i), field.type)
            is_coded = field.name in self.coded
            column = column.dictionary_encode() if is_coded else column
            columns.append(column)
            fields.append(pa.field(field.name, column.type, metadata=CODED_TEXT if is_coded else field.metadata))
        kept = pa.Table.from_arrays(columns, schema=pa.schema(fields)) if fields else pa.table({})
        details = self._details(table, kept)
        return Records(
            class_ids=class_ids,
            values=values,
            rows=rows,
            kept=kept if self.stores_kept else pa.table({}),
            details=details,
        )

    def _details(self, table: pa.Table, kept: pa.Table) -> Details | None:
        """The details of records that Spark returned; refused where they were not there when these were counted."""
        persons = None
        if self.has_persons:
            numbers = in_one_piece(table.column(1 + len(self.epsilon_quasis)))
            if numbers.null_count:
                raise changed(self.source)
            persons = to_positions(numbers, null=0)
        codes: list[IntArray] = []
        for own in self.sensitive:
            found = own.look_up(kept.column(own.name), np.ones(len(kept), dtype=np.bool_))
            if found is None:
                raise changed(self.source)
            codes.append(found)
        return Details.of(persons, codes)


@dataclass(frozen=True, slots=True, kw_only=True)
class BringTogether:
    """Task: stores records of whole batches of classes, which come in any order, in one bucket for each batch."""

    parent: Path
    starts: IntArray
    """The first class of every batch, shape (n_batches,)."""
    columns: RecordColumns

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield attempt(0, lambda: self._store(batches))

    def _store(self, batches: Iterator[pa.RecordBatch]) -> dict[int, tuple[Bucket, IntArray]]:
        """By the number of a batch, its bucket and how many records each of its classes has."""
        folder = own_folder(self.parent)
        buckets: dict[int, Bucket] = {}
        counts: dict[int, IntArray] = {}
        for batch in batches:
            records = self.columns.records(pa.Table.from_batches([batch]))
            numbers = np.searchsorted(self.starts, records.class_ids, side="right") - 1
            met, places = np.unique(numbers, return_inverse=True)
            for number in met.tolist():
                if number not in buckets:
                    buckets[number] = Bucket(folder, number, n_values=len(self.columns.epsilon_quasis))
                    counts[number] = np.zeros(0, dtype=np.int64)
                own = records.class_ids[numbers == number] - self.starts[number]
                more = np.bincount(own, minlength=len(counts[number]))
                more[: len(counts[number])] += counts[number]
                counts[number] = more
            # NumPy sorts 16 bits by counting; more batches than 16 bits can number stay in wider numbers.
            narrow = places.astype(np.uint16) if len(met) < 1 << 16 else places
            scatter(records, narrow, [buckets[number] for number in met.tolist()])
        return {number: (bucket, counts[number]) for number, bucket in buckets.items()}


def as_input(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """A column that Spark returned, in the type that it has in the input."""
    if column.type == kind:
        return column
    if pa.types.is_dictionary(kind):
        # Positions in 32 bits: fewer might not be enough for the dictionaries of several files together.
        values = column.cast(kind.value_type).dictionary_encode()
        return values.cast(pa.dictionary(pa.int32(), kind.value_type, ordered=kind.ordered))
    try:
        return column.cast(kind)
    except pa.ArrowNotImplementedError:  # maps and structures, of which Arrow casts few
        return pa.chunked_array([rebuilt(chunk, kind) for chunk in column.chunks], type=kind)

# SPDX-License-Identifier: Apache-2.0
"""Buckets of records on disk: numbers as they are in memory, kept columns as Arrow streams, appended to files.

The spilling and the Spark engine put records that belong together into one bucket, and read one bucket at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from kepsilon.engines.arrow.moving import used_entries
from kepsilon.engines.on_disk.details import Details
from kepsilon.errors import EngineError, Problem
from kepsilon.files.private_folders import chosen_place, closed, owner_only, worded
from kepsilon.table.arrays import FloatArray, IntArray

LARGE_DICTIONARY = 8
"""A dictionary is stored whole if there are at least this many records for each of its entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Some records in memory, as they are stored in buckets."""

    class_ids: IntArray
    """The class of each record, or the place of its combination in the frequency table, shape (n_records,)."""
    values: FloatArray
    """ε-quasis, shape (n_records, n_epsilon_quasis)."""
    rows: IntArray | None
    """Positions in the input, shape (n_records,); None where nobody will ask for the linkage."""
    kept: pa.Table
    """Kept columns, with a row for each record; without rows where no column is kept."""
    details: Details | None = None
    """Whom the records are about, and codes of their sensitive values; None where neither is asked for."""

    def take(self, order: IntArray) -> Records:
        """The records at some positions, in their order."""
        return Records(
            class_ids=self.class_ids[order],
            values=self.values[order],
            rows=None if self.rows is None else self.rows[order],
            kept=self.kept.take(pa.array(order)) if self.kept.num_columns else self.kept,
            details=None if self.details is None else self.details.take(order),
        )

    def part(self, first: int, last: int) -> Records:
        """The records at the positions from `first` up to, not including, `last`."""
        return Records(
            class_ids=self.class_ids[first:last],
            values=self.values[first:last],
            rows=None if self.rows is None else self.rows[first:last],
            kept=self.kept.slice(first, last - first) if self.kept.num_columns else self.kept,
            details=None if self.details is None else self.details.take(slice(first, last)),
        )


class Bucket:
    """Records on disk that belong together, in files that only grow. No file stays open, so there may be many buckets.

    A bucket has a file each for class ids (.c), ε-quasis (.e), details (.d), positions in the input (.r), kept columns (.k),
    and the last order of the released records (.o); the last four only where they are stored.
    """

    def __init__(self, folder: Path, number: int, *, n_values: int) -> None:
        """`number` names the files of this bucket in the private folder `folder`."""
        self._path = folder / str(number)
        self.n_values = n_values
        """How many ε-quasis a record has."""
        self._n_details, self._has_persons = 0, False
        self._n_ordered = 0
        self._has_rows = False
        self.has_kept = False
        """Whether kept columns are stored."""
        self.n_records = 0

    def append(self, records: Records) -> None:
        """Stores more records; details, rows and kept columns have to come with all records of a bucket or with none."""
        self._append(".c", records.class_ids.astype(np.int32, copy=False))
        self._append(".e", records.values)
        if records.details is not None:
            self._append(".d", records.details.numbers)
            self._n_details, self._has_persons = records.details.numbers.shape[1], records.details.has_persons
        if records.rows is not None:
            self._append(".r", records.rows)
            self._has_rows = True
        if records.kept.num_columns:
            self._append(".k", _as_stream(records.kept))
            self.has_kept = True
        self.n_records += len(records.class_ids)

    def class_ids(self, first: int = 0, last: int | None = None) -> IntArray:
        """Class ids of the records from `first` up to, not including, `last`; of all by default."""
        ids: IntArray = self._read(".c", np.dtype(np.int32), first, self._end(last))
        return ids

    def values(self, first: int = 0, last: int | None = None) -> FloatArray:
        """ε-quasis of the records from `first` up to, not including, `last`, shape (n_records, n_values)."""
        end = self._end(last)
        values: FloatArray = self._read(".e", np.dtype(np.float64), first * self.n_values, end * self.n_values)
        return values.reshape(end - first, self.n_values)

    def details(self, first: int = 0, last: int | None = None) -> Details | None:
        """Details of the records from `first` up to, not including, `last`; None where not stored."""
        self._refuse_closed()
        if not self._n_details:
            return None
        end = self._end(last)
        numbers = self._read(".d", np.dtype(np.int64), first * self._n_details, end * self._n_details)
        return Details(numbers=numbers.reshape(end - first, self._n_details), has_persons=self._has_persons)

    def rows(self, first: int = 0, last: int | None = None) -> IntArray | None:
        """Positions in the input of the records from `first` up to, not including, `last`; None where not stored."""
        self._refuse_closed()
        if not self._has_rows:
            return None
        rows: IntArray = self._read(".r", np.dtype(np.int64), first, self._end(last))
        return rows

    def kept(self) -> Iterator[pa.Table]:
        """The kept columns, as many records at a time as were appended at a time."""
        self._refuse_closed()
        if not self.has_kept:
            return
        n_read = 0
        with worded(self._folder), self._opened_kept() as file:
            while file.tell() < file.size():
                try:
                    with pa.ipc.open_stream(file) as stream:
                        table = stream.read_all()
                except (pa.ArrowInvalid, pa.ArrowSerializationError):
                    raise self.damaged() from None
                except OSError as error:
                    if error.errno is None:  # Arrow's words for a file that ends too early
                        raise self.damaged() from None
                    raise
                n_read += table.num_rows
                yield table
        if n_read != self.n_records:
            raise self.damaged()

    def _opened_kept(self) -> pa.OSFile:
        try:
            return pa.OSFile(str(self._path.with_suffix(".k")), "rb")
        except FileNotFoundError:
            raise self.damaged() from None

    def remove_kept(self) -> None:
        """Removes kept columns and positions in the input; class ids and ε-quasis stay."""
        self.remove((".r", ".k"))

    def store_order(self, order: IntArray) -> int:
        """Stores the positions in this bucket of the released records, in their last order; returns how many they are."""
        self._append(".o", order.astype(np.int32))
        self._n_ordered = len(order)
        return len(order)

    def order(self) -> IntArray:
        """The positions in this bucket of the released records, in their last order, as `store_order` stored them."""
        order: IntArray = self._read(".o", np.dtype(np.int32), 0, self._n_ordered)
        return order

    def remove(self, suffixes: Sequence[str] = (".c", ".e", ".d", ".r", ".k", ".o")) -> None:
        """Removes all files of the bucket, or those with some suffixes."""
        for suffix in suffixes:
            self._path.with_suffix(suffix).unlink(missing_ok=True)

    def _end(self, last: int | None) -> int:
        return self.n_records if last is None else min(last, self.n_records)

    @property
    def _folder(self) -> Path:
        """The folder that the private folder is in, for messages: the user knows of no private folder."""
        return self._path.parent.parent

    def _append(self, suffix: str, content: IntArray | FloatArray | pa.Buffer) -> None:
        with worded(self._folder), open(self._path.with_suffix(suffix), "ab", opener=owner_only) as file:
            file.write(memoryview(content) if isinstance(content, pa.Buffer) else np.ascontiguousarray(content).data)

    def _read(self, suffix: str, kind: np.dtype[np.generic], first: int, last: int) -> np.ndarray:
        self._refuse_closed()
        with worded(self._folder):
            try:
                with self._path.with_suffix(suffix).open("rb") as file:
                    found = np.fromfile(file, dtype=kind, count=last - first, offset=first * kind.itemsize)
            except FileNotFoundError:
                raise self.damaged() from None
        if len(found) != last - first:
            raise self.damaged()
        return found

    def _refuse_closed(self) -> None:
        if not self._path.parent.exists():
            raise closed()

    def damaged(self) -> EngineError:
        """The error for files that do not hold what was written to them."""
        return EngineError(
            Problem(
                where=str(chosen_place(self._folder)),
                what="records that were spilt there did not come back whole; nothing was released.",
                fix="Look after the disk, or spill to another one, and start again.",
            )
        )


def scatter(records: Records, places: IntArray, buckets: list[Bucket]) -> None:
    """Appends each record to `buckets[place]`, in the order of the records.

    `places` has shape (n_records,); records with the place `len(buckets)` are not stored.
    """
    order = np.argsort(places, kind="stable")
    ends = np.cumsum(np.bincount(places, minlength=len(buckets)))[: len(buckets)]
    ordered = records.take(order[: int(ends[-1])])
    first = 0
    for bucket, last in zip(buckets, ends.tolist(), strict=True):
        if last > first:
            bucket.append(ordered.part(first, last))
        first = last


def _as_stream(table: pa.Table) -> pa.Buffer:
    """The table as an Arrow stream, whose dictionaries hold the entries that occur.

    All entries, written again for every part of every bucket, could take more room than the records.
    """
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(i, field, used_entries(table.column(i), least=len(table) // LARGE_DICTIONARY))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def stream_overhead(schema: pa.Schema) -> int:
    """Bytes that kept columns take each time they are appended, besides their values."""
    return int(_as_stream(pa.table([pa.nulls(1, own.type) for own in schema], schema=schema)).size)

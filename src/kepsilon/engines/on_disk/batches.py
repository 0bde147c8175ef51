# SPDX-License-Identifier: Apache-2.0
"""Batches of whole classes in buckets on disk, and the buckets that their noisy records go to.

For the spilling and the Spark engine, in the steps that draw noise and publish. A batch is read from its bucket, and its
noisy records are scattered over other buckets, from which the release is written.

The last order of the records is drawn in two steps: a bucket is drawn for each record by itself, and then the records of
a bucket are shuffled. All orders are equally likely, as if drawn in one step, and one bucket at a time is in memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from kepsilon.engines.arrow.merging import merged_table
from kepsilon.engines.arrow.moving import LabelColumn, taker
from kepsilon.engines.arrow.whole_columns import in_any_order, taken_rows, whole_columns
from kepsilon.engines.on_disk.buckets import Bucket, Records, scatter
from kepsilon.engines.protocol import Batch, KeptAt, Random, Store
from kepsilon.engines.room import Room
from kepsilon.policy.roles import ColumnRoles
from kepsilon.sources.columns import taken_field
from kepsilon.sources.dictionaries import each_with_one_dictionary
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.class_order import in_class_order
from kepsilon.table.classes import SUPPRESSED
from kepsilon.table.whole_records import WholeColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBatch:
    """Some whole classes, and the bucket with all their records."""

    classes: slice
    bucket: Bucket

    def read(self, room: Room) -> Batch | StoredLargeClass:
        """The batch in memory, or a class to be read in parts where there is no room for it."""
        if not self.is_whole(room):
            return StoredLargeClass(class_id=self.classes.start, bucket=self.bucket, room=room)
        details = self.bucket.details()
        order = self.order()
        return Batch(
            classes=self.classes,
            class_ids=(self.bucket.class_ids() - np.int32(self.classes.start))[order],
            values=self.bucket.values()[order],
            persons=None if details is None or details.persons is None else details.persons[order],
            sensitive=None if details is None or details.sensitive is None else details.sensitive[order],
            kept_at=partial(_kept_in_order, self.bucket, order),
        )

    def is_whole(self, room: Room) -> bool:
        """Whether memory has room for all its records."""
        return self.bucket.n_records <= room.records_per_batch

    def order(self) -> IntArray:
        """Where the records of the batch in memory, which stand by class, are in the bucket."""
        ids = self.bucket.class_ids() - np.int32(self.classes.start)
        return in_class_order(ids, (), n_classes=self.classes.stop - self.classes.start).records


def _kept_in_order(bucket: Bucket, order: IntArray, records: IntArray, names: Sequence[str]) -> dict[str, WholeColumn]:
    """Some kept columns of the records at some positions of a batch; `order` says where its records are in the bucket."""
    return in_any_order(order[records], lambda rising: _kept_at(bucket, rising, names))


def _kept_at(bucket: Bucket, records: IntArray, names: Sequence[str]) -> dict[str, WholeColumn]:
    """Some kept columns of the records at some positions of a bucket, which rise; it is read once, and not whole at a time."""
    found = []
    first = 0
    for part in bucket.kept():
        last = first + part.num_rows
        begin, end = np.searchsorted(records, [first, last])
        if begin < end:
            found.append(taken_rows(part.select(list(names)), records[begin:end] - first))
        first = last
    return whole_columns(pa.concat_tables(found)) if found else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLargeClass:
    """A `LargeClass` in a bucket of its own."""

    class_id: int
    bucket: Bucket
    room: Room

    @property
    def most_values(self) -> int:
        return self.room.most_values

    @property
    def kept_at(self) -> KeptAt:
        return partial(_kept_at, self.bucket)

    def parts(self) -> Iterator[Batch]:
        step = self.room.records_per_part
        for first in range(0, self.bucket.n_records, step):
            values = self.bucket.values(first, first + step)
            details = self.bucket.details(first, first + step)
            yield Batch(
                classes=slice(self.class_id, self.class_id + 1),
                class_ids=np.zeros(len(values), dtype=np.int32),
                values=values,
                persons=None if details is None else details.persons,
                sensitive=None if details is None else details.sensitive,
            )


def _as_in_bucket(
    order: IntArray, class_ids: IntArray, published: FloatArray, stays: BoolArray
) -> tuple[IntArray, FloatArray, BoolArray]:
    """Arrays of the records of a batch, put from the order of their classes into that of the bucket."""
    placed = np.empty_like(class_ids), np.empty_like(published), np.empty_like(stays)
    for own, by_class in zip(placed, (class_ids, published, stays), strict=True):
        own[order] = by_class
    return placed


class NoisyBuckets:
    """Buckets of noisy records; the bucket of each record is drawn at random."""

    def __init__(self, folder: Path, *, first_number: int, n_buckets: int, n_values: int, room: Room) -> None:
        """`n_buckets` is a power of two; they are named by the numbers from `first_number` on. `n_values` ε-quasis each."""
        self.buckets = [Bucket(folder, first_number + i, n_values=n_values) for i in range(n_buckets)]
        self._room = room

    def store_for(self, stored: StoredBatch, random: Random) -> Store:
        """The function that stores the noisy records of one batch, with their kept columns and positions in the input.

        Records have to be handed to it as `stored.read` gave them: all at once by class, or part by part as in the bucket.
        """
        reader = _KeptColumns(stored.bucket)
        is_whole = stored.is_whole(self._room)

        def store(part: Batch, published: FloatArray, stays: BoolArray) -> None:
            class_ids = part.class_ids
            if is_whole:
                class_ids, published, stays = _as_in_bucket(stored.order(), class_ids, published, stays)
            for first in range(0, len(stays), self._room.records_per_part):
                rows = slice(first, min(first + self._room.records_per_part, len(stays)))
                original_rows, kept = reader.next(rows.stop - rows.start)
                records = Records(
                    class_ids=class_ids[rows] + np.int32(part.classes.start),
                    values=published[rows],
                    rows=original_rows,
                    kept=kept,
                )
                staying = np.flatnonzero(stays[rows])
                scatter(records.take(staying), self._drawn_places(len(staying), random), self.buckets)

        return store

    def _drawn_places(self, n: int, random: Random) -> IntArray:
        """A bucket for each of n records, all equally likely, shape (n,)."""
        kind = np.dtype("<u2" if len(self.buckets) <= 1 << 16 else "<u4")
        drawn: IntArray = np.frombuffer(random.bytes(kind.itemsize * n), dtype=kind)
        return drawn & kind.type(len(self.buckets) - 1)


class _KeptColumns:
    """Reads positions in the input and kept columns from a bucket, in its order, some records at a time."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._n_passed = 0
        self._parts = bucket.kept()
        self._left: list[pa.Table] = []
        """Kept columns that were read from the bucket and not yet asked for."""

    def next(self, n: int) -> tuple[IntArray | None, pa.Table]:
        """Positions in the input, where they are stored, and kept columns of the next `n` records."""
        first, self._n_passed = self._n_passed, self._n_passed + n
        return self._bucket.rows(first, self._n_passed), self._columns(n)

    def _columns(self, n: int) -> pa.Table:
        if not self._bucket.has_kept:
            return pa.table({})
        n_there = sum(part.num_rows for part in self._left)
        while n_there < n:
            part = next(self._parts, None)
            if part is None:
                raise self._bucket.damaged()
            self._left.append(part)
            n_there += part.num_rows
        # Arrow moves records of several parts only once their dictionaries are one.
        together = each_with_one_dictionary(pa.concat_tables(self._left))
        self._left = [together.slice(n)] if n_there > n else []
        return together.slice(0, n).combine_chunks()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyRecords:
    """All noisy records that drew one number: in one bucket or, from several tasks, in one bucket of each.

    `new_ids` is, in every method, the id of each earlier class among the released ones, or SUPPRESSED.
    """

    buckets: Sequence[Bucket]

    @property
    def n_records(self) -> int:
        return sum(bucket.n_records for bucket in self.buckets)

    def class_ids(self) -> IntArray:
        return np.concatenate([np.zeros(0, dtype=np.int32), *(own.class_ids() for own in self._filled())])

    def published(self, new_ids: IntArray) -> FloatArray:
        """The published values of the records that are released, shape (n_released, n_epsilon_quasis)."""
        values: FloatArray = self._values()[new_ids[self.class_ids()] != SUPPRESSED]
        return values

    def released(self, new_ids: IntArray) -> IntArray:
        """The positions, among these records, of those that are released."""
        return np.flatnonzero(new_ids[self.class_ids()] != SUPPRESSED)

    def rows(self) -> IntArray | None:
        """Positions in the input; None where they were not stored."""
        rows = [own.rows() for own in self._filled()]
        known = [own for own in rows if own is not None]
        if rows and not known:
            return None
        if len(known) != len(rows):  # positions are stored for all records or for none
            raise self.buckets[0].damaged()
        return np.concatenate([np.zeros(0, dtype=np.int64), *known])

    def table(
        self,
        order: IntArray,
        roles: ColumnRoles,
        labels: Mapping[str, LabelColumn],
        new_ids: IntArray,
        *,
        integers: Collection[str],
    ) -> pa.Table:
        """Labels, noisy values and kept columns of the records at the positions `order`, in that order.

        Algorithm 1, lines 8 to 10. Every column is copied, so that nothing of other records comes along.
        """
        parts = [part for own in self._filled() for part in own.kept()]
        columns = pa.concat_tables(parts) if parts else pa.table({})
        if parts and columns.num_rows != self.n_records:
            raise self.buckets[0].damaged()

        def kept(name: str) -> tuple[pa.Field, pa.Array | pa.ChunkedArray]:
            column = taker(columns.column(name), codes_text=False)(order)
            return taken_field(columns.schema.field(name), column.type), column

        class_ids = new_ids[self.class_ids()[order]]
        return merged_table(roles, labels, class_ids, self._values()[order], kept, integers=integers)

    def _values(self) -> FloatArray:
        filled = self._filled()
        return filled[0].values() if len(filled) == 1 else np.concatenate([own.values() for own in filled])

    def _filled(self) -> list[Bucket]:
        return [bucket for bucket in self.buckets if bucket.n_records]

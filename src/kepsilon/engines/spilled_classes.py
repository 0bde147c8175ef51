# SPDX-License-Identifier: Apache-2.0
"""Records on disk by class, given noise a batch at a time, and then in an order nobody can guess.

The last order is drawn in two steps, which is as good as one: every record goes to a bucket drawn for it alone, and the
records of a bucket are shuffled. All orders are equally likely, and no more than a bucket is in memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kepsilon.engines.files import CODED_TEXT, decoded, write_folder, writing
from kepsilon.engines.limits import Limits
from kepsilon.engines.local import linkage_table
from kepsilon.engines.merging import merged_table
from kepsilon.engines.moving import taken_as_is
from kepsilon.engines.parquet_files import ParquetFiles
from kepsilon.engines.protocol import Batch, RandomBytes, Shuffle
from kepsilon.engines.spill_files import Bucket, Records, scatter
from kepsilon.errors import EngineError, Problem
from kepsilon.policy.roles import ColumnRoles
from kepsilon.private_folders import SpillFolder
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.classes import SUPPRESSED, Recoding


class SpilledClasses:
    """Buckets of whole classes, one for each batch; and once they have noise, buckets of records in any order."""

    def __init__(
        self,
        batches: list[slice],
        buckets: list[Bucket],
        folder: SpillFolder,
        *,
        files: ParquetFiles,
        roles: ColumnRoles,
        limits: Limits,
        n_classes: int,
    ) -> None:
        self.n_classes = n_classes
        self._batches, self._buckets, self._folder = batches, buckets, folder
        self._files, self._roles, self._limits = files, roles, limits
        n_records = sum(bucket.n_records for bucket in buckets)
        self._noisy = [
            Bucket(folder.path, len(buckets) + i, n_values=len(roles.epsilon_quasis))
            for i in range(limits.n_noisy_buckets(n_records))
        ]
        self._reader = _KeptColumns(buckets)

    def batches(self) -> Iterator[Batch | SpilledLargeClass]:
        for own, bucket in zip(self._batches, self._buckets, strict=True):
            if bucket.n_records > self._limits.records_per_batch:
                yield SpilledLargeClass(class_id=own.start, bucket=bucket, limits=self._limits)
            else:
                yield Batch(classes=own, class_ids=bucket.class_ids() - np.int32(own.start), values=bucket.values())

    def keep(self, batch: Batch, published: FloatArray, stays: BoolArray, *, random_bytes: RandomBytes) -> None:
        for first in range(0, len(stays), self._limits.records_per_part):
            part = slice(first, min(first + self._limits.records_per_part, len(stays)))
            staying = np.flatnonzero(stays[part])
            rows, kept = self._reader.next(part.stop - part.start)
            records = Records(
                class_ids=batch.class_ids[part] + np.int32(batch.classes.start),
                values=published[part],
                rows=rows,
                kept=kept,
            )
            scatter(records.take(staying), self._drawn_places(len(staying), random_bytes), self._noisy)

    def _drawn_places(self, n: int, random_bytes: RandomBytes) -> IntArray:
        kind = np.dtype("<u2" if len(self._noisy) <= 1 << 16 else "<u4")
        drawn: IntArray = np.frombuffer(random_bytes(kind.itemsize * n), dtype=kind)
        return drawn & kind.type(len(self._noisy) - 1)

    def kept(self, new_ids: IntArray) -> Iterator[FloatArray]:
        for bucket in self._noisy:
            if bucket.n_records:
                yield bucket.values()[new_ids[bucket.class_ids()] != SUPPRESSED]

    def merge(
        self, recoding: Recoding, new_ids: IntArray, *, whole: Collection[str], shuffle: Shuffle
    ) -> SpilledMerged:
        for bucket in self._buckets:
            bucket.remove()
        orders = []
        for bucket in self._noisy:
            released = (
                np.flatnonzero(new_ids[bucket.class_ids()] != SUPPRESSED) if bucket.n_records else np.zeros(0, int)
            )
            orders.append(bucket.keep_order(released[shuffle(len(released))]))
        integers = {n for n in self._roles.epsilon_quasis if pa.types.is_integer(self._files.schema.field(n).type)}
        return SpilledMerged(
            [bucket for bucket, n in zip(self._noisy, orders, strict=True) if n],
            self._folder,
            n_records=sum(orders),
            files=self._files,
            roles=self._roles,
            recoding=recoding,
            new_ids=new_ids,
            integers=integers.intersection(whole),
        )

    def close(self) -> None:
        self._folder.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpilledLargeClass:
    """A class that fills a bucket of its own, and more than a batch."""

    class_id: int
    bucket: Bucket
    limits: Limits

    @property
    def most_values(self) -> int:
        return self.limits.most_values

    def parts(self) -> Iterator[Batch]:
        step = self.limits.records_per_part
        for first in range(0, self.bucket.n_records, step):
            values = self.bucket.values(first, first + step)
            yield Batch(
                classes=slice(self.class_id, self.class_id + 1),
                class_ids=np.zeros(len(values), dtype=np.int32),
                values=values,
            )


class _KeptColumns:
    """The columns that are not looked at, once more in the order of the batches, as many records as are asked for."""

    def __init__(self, buckets: list[Bucket]) -> None:
        self._buckets = iter(buckets)
        self._bucket: Bucket | None = None
        self._n_passed = 0
        self._parts: Iterator[pa.Table] = iter(())
        self._left: list[pa.Table] = []

    def next(self, n: int) -> tuple[IntArray | None, pa.Table]:
        """Positions in the input, where they are known, and columns of the next records, all in one bucket."""
        if self._bucket is None or self._n_passed == self._bucket.n_records:
            if self._bucket is not None:
                self._bucket.remove_kept()
            self._bucket = next(self._buckets)
            self._n_passed = 0
            self._parts = self._bucket.kept()
        first, self._n_passed = self._n_passed, self._n_passed + n
        return self._bucket.rows(first, self._n_passed), self._columns(n)

    def _columns(self, n: int) -> pa.Table:
        n_there = sum(part.num_rows for part in self._left)
        while n_there < n:
            part = next(self._parts, None)
            if part is None:
                return pa.table({})  # there are no such columns
            self._left.append(part)
            n_there += part.num_rows
        # Arrow moves records of several parts only once their dictionaries are one.
        together = pa.concat_tables(self._left).unify_dictionaries()
        self._left = [together.slice(n)] if n_there > n else []
        return together.slice(0, n).combine_chunks()


class SpilledMerged:
    """The released records on disk, in buckets with an order drawn for each, not yet written."""

    def __init__(
        self,
        buckets: list[Bucket],
        folder: SpillFolder,
        *,
        n_records: int,
        files: ParquetFiles,
        roles: ColumnRoles,
        recoding: Recoding,
        new_ids: IntArray,
        integers: Collection[str],
    ) -> None:
        self.n_records = n_records
        self.inputs: tuple[Path, ...] = files.inputs
        self._buckets, self._folder, self._roles = buckets, folder, roles
        self._recoding, self._new_ids, self._integers = recoding, new_ids, integers

    def frame(self) -> Any:
        """All of it in memory, as Arrow."""
        return decoded(pa.concat_tables([self._table(bucket) for bucket in self._buckets])).unify_dictionaries()

    def write(self, target: Path, *, final_name: Path) -> None:
        tables = (self._table(bucket) for bucket in self._buckets)
        if target.is_dir():
            write_folder(tables, target)
            return
        with writing(final_name, target, in_parts=True) as write:
            for table in tables:
                write(table)

    def linkage(self) -> pa.Table:
        """All of it in memory."""
        return pa.concat_tables(self._linkage())

    def write_linkage(self, target: Path, *, final_name: Path) -> None:
        with writing(final_name, target, in_parts=True) as write:
            for table in self._linkage():
                write(table)

    def close(self) -> None:
        self._folder.close()

    def _linkage(self) -> Iterator[pa.Table]:
        first = 0
        for bucket in self._buckets:
            rows, order = bucket.rows(), bucket.order()
            if rows is None:
                raise EngineError(Problem(where="linkage", what="was not asked for before the records were read."))
            yield linkage_table(rows[order], self._new_ids[bucket.class_ids()[order]], first=first)
            first += len(order)

    def _table(self, bucket: Bucket) -> pa.Table:
        """Algorithm 1, lines 8 to 10, for one bucket; columns are taken anew, so that nothing else comes along."""
        order = bucket.order()
        columns = pa.concat_tables(parts) if (parts := list(bucket.kept())) else pa.table({})

        def kept(name: str) -> tuple[pa.Field, pa.Array | pa.ChunkedArray]:
            column = taken_as_is(columns.column(name), order)
            is_coded = columns.schema.field(name).metadata == CODED_TEXT
            return pa.field(name, column.type, metadata=CODED_TEXT if is_coded else None), column

        return merged_table(
            self._roles,
            self._recoding,
            self._new_ids[bucket.class_ids()[order]],
            bucket.values()[order],
            kept,
            integers=self._integers,
        )

# SPDX-License-Identifier: Apache-2.0
"""The columns to publish, counted on a cluster, and stored by class or by combination on a disk its workers share.

To be stored, records are joined to their combinations. The *answer* for a combination is its class, where records are
stored to be released, or its place in the frequency table, where they are stored for previews.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from kepsilon.engines.arrow.coding import WrongNumbers, encode, read_doubles
from kepsilon.engines.arrow.formulas import may_hold_text
from kepsilon.engines.arrow.numpy_arrays import to_doubles, to_positions
from kepsilon.engines.counts.combinations import CountedColumns, CountedCombinations
from kepsilon.engines.on_disk.batches import StoredBatch
from kepsilon.engines.on_disk.buckets import Bucket
from kepsilon.engines.on_disk.combinations import StoredCombinations, combinations_of_buckets
from kepsilon.engines.on_disk.whole_records import whole_records
from kepsilon.engines.spark.classes import BATCHES_PER_TASK, SparkClasses, SparkPreview
from kepsilon.engines.spark.jobs import Workers
from kepsilon.engines.spark.joining import CombinationKeys, in_batches
from kepsilon.engines.spark.sampling import LIMIT, sampled
from kepsilon.engines.spark.session import as_hadoop, parallelism, settled
from kepsilon.engines.spark.tables import ROW, SparkTable
from kepsilon.engines.spark.tasks import (
    BringTogether,
    ReadNumbers,
    RecordColumns,
    StoreCounts,
    as_input,
    count_formulas,
    read_counts,
)
from kepsilon.errors import DataError, EngineError, Problem
from kepsilon.files.private_folders import SpillFolder
from kepsilon.policy.roles import ColumnRoles
from kepsilon.sources.columns import in_one_piece, moved_schema, moved_type
from kepsilon.sources.files import changed
from kepsilon.sources.kept_types import type_changes
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.classes import Recoding
from kepsilon.table.keys import number
from kepsilon.table.record_hashes import hash_limits
from kepsilon.table.type_changes import TypeChange
from kepsilon.table.whole_records import WholeRecords

_PART_BYTES = 1 << 28
"""Bytes of records that one task stores by class, at the most."""


class Cluster(Protocol):
    """What columns need to know of the Spark engine: its session, where records are stored, and its limit on memory."""

    @property
    def session(self) -> Any: ...

    @property
    def memory(self) -> int:
        """The limit, in bytes."""

    @property
    def staging(self) -> Path:
        """Where a private folder is made for records on disk; this machine and all workers see it by the same name."""

    @property
    def linkage(self) -> bool:
        """Whether the linkage may be asked for later."""


class SparkColumns(CountedColumns):
    """The columns to publish, known by the counts of their combinations; records stay where they are."""

    def __init__(self, table: SparkTable, roles: ColumnRoles, engine: Cluster) -> None:
        super().__init__(table.name, table.schema, roles)
        self._table, self._engine = table, engine
        self._with_rows = engine.linkage and table.has_rows
        self.type_changes: tuple[TypeChange, ...] = type_changes(table.schema.field(name) for name in roles.kept)
        for name in roles.k_quasis:
            if pa.types.is_nested(table.schema.field(name).type):
                encode(pa.chunked_array([], type=table.schema.field(name).type), name, table.name)  # refuses
        self._parsed = tuple(name for name in roles.epsilon_quasis if self._is_parsed(name))
        self._stored: tuple[SpillFolder, Workers, StoredCombinations] | None = None
        self._room, self._advise = table.room(roles, engine.memory, engine.staging, linkage=engine.linkage)
        values = self._count_all()
        self._may_miss = tuple(bool(self._is_missing[name].any()) for name in roles.epsilon_quasis)
        """Whether any record misses each ε-quasi."""
        self._keys = CombinationKeys(values=values, n_k_quasis=len(roles.k_quasis), may_miss=self._may_miss)
        self.n_records = int(self._counts.sum())
        table.refuse_changed(self.n_records)

    def _is_parsed(self, name: str) -> bool:
        """Whether workers have to read an ε-quasi: it is text, or some numbers mean missing.

        A type that holds no numbers is noted for `largest` to refuse.
        """
        kind = self._table.schema.field(name).type
        try:
            read_doubles(pa.chunked_array([], type=kind), name, self._table.name)
        except DataError as error:
            self._refused[name] = error
        return name not in self._refused and (_is_text(kind) or self._roles.reading(name).concerns_numbers)

    def _columns(self, names: Sequence[str], *, rows: bool) -> Any:
        """A Spark frame of the named columns as c0, c1 …, with ε-quasis as doubles.

        Beside them are the counts of `ReadNumbers` for ε-quasis that workers read, and the position in the input if `rows`.
        """
        frame = self._table.columns(names, rows=rows)
        parsed = [name for name in names if name in self._parsed]
        if parsed:
            places = tuple(names.index(name) for name in parsed)
            readings = tuple(self._roles.reading(name) for name in parsed)
            work = ReadNumbers(places=places, names=tuple(parsed), readings=readings, source=self._table.name)
            frame = frame.mapInArrow(work, _with_numbers(frame.schema, places))
        for i, name in enumerate(names):
            if name in self._roles.epsilon_quasis and name not in self._refused:
                frame = frame.withColumn(f"c{i}", frame[f"c{i}"].cast("double"))
        return frame

    def _count_all(self) -> pa.Table:
        """Counts all records on the cluster; values of k-quasis and flags of missing ε-quasis of every combination."""
        from pyspark.sql import functions as f

        k_quasis, epsilon_quasis = self._roles.k_quasis, self._usable()
        names = (*k_quasis, *epsilon_quasis)
        folder = SpillFolder(self._engine.staging)
        try:
            workers = Workers(self._engine.session, folder.path)
            workers.refuse_unshared_folder(parallelism(self._engine.session))
            with settled(self._engine.session, self._table.settings):
                frame = self._columns(names, rows=False)
                keys = [frame[f"c{i}"] for i in range(len(k_quasis))]
                figures = [f.count(f.lit(1)).alias("n")]
                for j, name in enumerate(epsilon_quasis):
                    value = frame[f"c{len(k_quasis) + j}"]
                    keys.append(value.isNull().alias(f"m{j}"))
                    is_finite = ~f.isnan(value) & (f.abs(value) < float("inf"))
                    figures.append(f.max(f.when(is_finite, f.abs(value))).alias(f"largest{j}"))
                    figures.append(f.sum(f.when(is_finite | value.isNull(), 0).otherwise(1)).alias(f"not_finite{j}"))
                    if name in self._parsed:
                        at = len(names) + 2 * self._parsed.index(name)
                        figures.append(f.sum(f"wrong{at}").alias(f"texts{j}"))
                        figures.append(f.sum(f"wrong{at + 1}").alias(f"not_finite_texts{j}"))
                counted = frame.groupBy(*keys).agg(*figures)
                found = workers.collect(counted, StoreCounts(parent=folder.path))
            return self._read_counted([path for path in found if path.stat().st_size], epsilon_quasis)
        finally:
            folder.close()

    def _usable(self) -> tuple[str, ...]:
        """The ε-quasis whose type can hold numbers."""
        return tuple(name for name in self._roles.epsilon_quasis if name not in self._refused)

    def _read_counted(self, files: Sequence[Path], epsilon_quasis: Sequence[str]) -> pa.Table:
        """Reads the counts that tasks stored; refused where there are more combinations than this machine has room for."""
        tables = (read_counts(file) for file in files)
        parts, n_combinations = [], 0
        for part in tables:
            n_combinations += len(part)
            seen = {name: len(part.column(f"c{i}").unique()) for i, name in enumerate(self._roles.k_quasis)}
            self._room.refuse_combinations(n_combinations, seen, self._table.name, self._advise)
            parts.append(part)
        if not parts:
            raise DataError(Problem(where=self._table.name, what="has columns, but no records."))
        table = pa.concat_tables(parts)
        self._counts: IntArray = to_positions(in_one_piece(table.column("n")), null=0)
        k_quasis = self._roles.k_quasis
        values, codes = {}, {}
        for i, name in enumerate(k_quasis):
            column = as_input(table.column(f"c{i}"), moved_type(self._table.schema.field(name).type))
            values[name], codes[name] = encode(column, name, self._table.name)
        self._room.refuse_values({name: len(own) for name, own in values.items()}, self._table.name, self._advise)
        is_missing = {}
        for j, name in enumerate(epsilon_quasis):
            largest = to_doubles(table.column(f"largest{j}"))
            self._largest[name] = float(np.fmax.reduce(largest, initial=0.0))
            wrong = WrongNumbers(n_not_finite=_total(table, f"not_finite{j}"))
            if name in self._parsed:
                wrong = WrongNumbers(
                    n_texts=_total(table, f"texts{j}"), n_not_finite=_total(table, f"not_finite_texts{j}")
                )
            self._wrong[name] = wrong
            flags = in_one_piece(table.column(f"m{j}")).cast(pa.int8())
            is_missing[name] = to_positions(flags, null=0) == 1
        for name in self._refused:
            is_missing[name] = np.zeros(len(table), dtype=np.bool_)
        self._is_missing = {name: is_missing[name] for name in self._roles.epsilon_quasis}
        columns = [*codes.values(), *(flags.astype(np.int32) for flags in self._is_missing.values())]
        sizes = [*(len(own) for own in values.values()), *(2 for _ in self._is_missing)]
        if number(columns, sizes=sizes, length=len(table))[1] != len(table):
            # The join would double their records, and no class would seem to have changed.
            raise EngineError(
                Problem(where="spark", what="some combinations were counted twice; nothing was released.")
            )
        self._combinations = CountedCombinations(values, codes, self._is_missing, self._counts)
        return table.select([*(f"c{i}" for i in range(len(k_quasis))), *(f"m{j}" for j in range(len(epsilon_quasis)))])

    def preview(self, recoding: Recoding) -> SparkPreview:
        """As `Columns.preview`; the first call has the cluster store the ε-quasis of all records by combination."""
        self._room.refuse_large_class(int(recoding.sizes.max()), self._table.name)
        if self._stored is None:
            counts = self._combinations.counts_in_table()
            slices = combinations_of_buckets(counts, self._room)
            folder, workers, buckets = self._scatter(
                self._combinations.row_in_table(), counts, slices, to_release=False
            )
            self._stored = folder, workers, StoredCombinations(combinations=slices, buckets=buckets)
        _, workers, stored = self._stored
        n_tasks = parallelism(self._engine.session)
        return SparkPreview(stored, recoding, self._room, workers, n_tasks=n_tasks)

    def close(self) -> None:
        if self._stored is not None:
            self._stored[0].close()
            self._stored = None

    def n_formulas(self, name: str) -> int:
        """As `Columns.n_formulas`, counted on the cluster."""
        from pyspark.sql import functions as f

        if not may_hold_text(self._table.schema.field(name).type):
            return 0
        with settled(self._engine.session, self._table.settings):
            counts = self._table.columns([name], rows=False).mapInArrow(count_formulas, "n bigint")
            found = counts.agg(f.sum("n").alias("n")).toArrow()
        return found.column(0).to_pylist()[0] or 0

    def whole_records(self, shares: FloatArray, *, identifiers: Sequence[str]) -> WholeRecords:
        """As `Columns.whole_records`; the cluster finds the records, and sends them to this machine."""
        beside = (*self._roles.kept, *identifiers)
        folder = SpillFolder(self._engine.staging)
        try:
            found = self._taken(shares, identifiers, folder.path / "0.parquet")
        finally:
            folder.close()
        self._table.refuse_changed(self.n_records)
        records = self._record_columns(beside, rows=self._table.has_rows).records(found)
        counts = np.bincount(records.class_ids, minlength=len(shares))
        is_whole = shares >= 1
        if not np.array_equal(counts[is_whole], self._combinations.counts_in_table()[is_whole]):
            raise changed(self._table.name)
        return whole_records([records], kept=self._roles.kept, identifiers=identifiers)

    def _taken(self, shares: FloatArray, identifiers: Sequence[str], lookup: Path) -> pa.Table:
        """The records to take with all their columns, the row of the frequency table as class id; columns as in `RecordColumns`.

        `lookup` is the file to write the combinations to that Spark joins to the records.
        """
        from pyspark.sql import functions as f

        row_of = self._combinations.row_in_table()
        is_asked_for = np.append(shares, 0.0)[row_of] > 0  # SUPPRESSED, which is −1, finds the last entry
        limits = np.append(hash_limits(shares), 0)[row_of]
        numbers: dict[str, IntArray] = {"class_id": row_of.astype(np.int32), LIMIT: limits}
        self._keys.write(lookup, numbers, only=np.flatnonzero(is_asked_for))
        first = len(self._roles.k_quasis)
        first_beside = first + len(self._roles.epsilon_quasis)
        names = (*self._roles.k_quasis, *self._roles.epsilon_quasis, *self._roles.kept, *identifiers)
        with_rows = self._table.has_rows
        with settled(self._engine.session, self._table.settings):
            frame = self._columns(names, rows=with_rows)
            asked_for = self._engine.session.read.parquet(as_hadoop(lookup))
            taken = frame.join(f.broadcast(asked_for), self._keys.are_same(frame, asked_for))
            if ((shares > 0) & (shares < 1)).any():
                taken = sampled(taken, n_columns=len(names), rows=with_rows, has_identifiers=bool(identifiers))
            columns = [f"c{i}" for i in range(len(names))]
            rows = [ROW] if with_rows else []
            return taken.select("class_id", *columns[first:first_beside], *rows, *columns[first_beside:]).toArrow()

    def classes(self, recoding: Recoding) -> SparkClasses:
        """As `Columns.classes`; has the cluster store all records, those of a batch of classes in one bucket."""
        self._room.refuse_large_class(int(recoding.sizes.max()), self._table.name)
        n_tasks = parallelism(self._engine.session)
        batches = self._room.batches(recoding.sizes, n_batches=BATCHES_PER_TASK * n_tasks)
        folder, workers, buckets = self._scatter(
            self._combinations.class_of(recoding), recoding.sizes, batches, to_release=True
        )
        integers = {n for n in self._roles.epsilon_quasis if pa.types.is_integer(self._table.schema.field(n).type)}
        return SparkClasses(
            [StoredBatch(classes=own, bucket=bucket) for own, bucket in zip(batches, buckets, strict=True)],
            folder,
            workers,
            sizes=recoding.sizes,
            roles=self._roles,
            room=self._room,
            integers=frozenset(integers),
            n_tasks=n_tasks,
            table=self._table,
        )

    def _scatter(
        self, answers: IntArray, sizes: IntArray, slices: list[slice], *, to_release: bool
    ) -> tuple[SpillFolder, Workers, list[Bucket]]:
        """A new folder, the workers that share it, and its buckets, one for each slice of answers, with all records.

        `answers` gives the class of every combination, or its place in the frequency table, or SUPPRESSED where its records
        are not stored; `sizes` is the number of records of each answer. With `to_release` all columns are stored, else only
        ε-quasis.
        """
        folder = SpillFolder(self._engine.staging)
        workers = Workers(self._engine.session, folder.path)
        try:
            buckets = self._bring_together(answers, sizes, slices, workers, to_release=to_release)
        except BaseException:
            folder.close()
            raise
        return folder, workers, buckets

    def _bring_together(
        self, answers: IntArray, sizes: IntArray, slices: list[slice], workers: Workers, *, to_release: bool
    ) -> list[Bucket]:
        """Has the cluster store all records, and returns a bucket for each slice of answers; refused if the table has changed."""
        starts = np.array([own.start for own in slices], dtype=np.int64)
        kept, with_rows = (self._roles.kept, self._with_rows) if to_release else ((), False)
        names = (*self._roles.k_quasis, *self._roles.epsilon_quasis, *kept)
        columns = self._record_columns(kept, coded=tuple(self._table.coded(kept)), rows=with_rows)
        work = BringTogether(parent=workers.folder, starts=starts, columns=columns)
        class_of = answers.astype(np.int32)
        batch = (np.searchsorted(starts, class_of, side="right") - 1).astype(np.int32)
        lookup = workers.folder / "0.parquet"
        self._keys.write(lookup, {"class_id": class_of, "batch": batch})
        per_batch = str(min(self._room.records_per_part, 1 << 17))
        settings = {**self._table.settings, "spark.sql.execution.arrow.maxRecordsPerBatch": per_batch}
        n_tasks = parallelism(self._engine.session)
        with settled(self._engine.session, settings):
            frame = self._columns(names, rows=with_rows)
            # As many tasks as cores or more, and none so large that it takes long to repeat if a worker is lost.
            n_parts = max(n_tasks, -(-self.n_records * self._room.record_width // _PART_BYTES))
            classes = self._engine.session.read.parquet(as_hadoop(lookup))
            by_class = self._keys.by_class(frame, classes, n_kept=len(kept), rows=with_rows)
            found = workers.collect(in_batches(by_class, min(n_parts, len(slices))), work)
        self._table.refuse_changed(self.n_records)
        brought = {i: own for part in found for i, own in part.items()}
        for i, own in enumerate(slices):
            counts = brought[i][1] if i in brought else np.zeros(0)
            if not np.array_equal(counts, sizes[own]):
                raise changed(self._table.name)
        return [brought[i][0] for i in range(len(slices))]

    def _record_columns(self, beside: Sequence[str], *, coded: tuple[str, ...] = (), rows: bool) -> RecordColumns:
        """The columns of a frame of records, with those named by `beside` as kept ones."""
        return RecordColumns(
            epsilon_quasis=self._roles.epsilon_quasis,
            may_miss=self._may_miss,
            has_rows=rows,
            kept=moved_schema(pa.schema([self._table.schema.field(name) for name in beside])),
            coded=coded,
            source=self._table.name,
        )


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _with_numbers(schema: Any, places: Sequence[int]) -> Any:
    """The schema of what `ReadNumbers` returns for frames of a given schema."""
    from pyspark.sql import types

    fields = list(schema.fields)
    for place in places:
        fields[place] = types.StructField(fields[place].name, types.DoubleType())
    more = [types.StructField(f"wrong{len(fields) + i}", types.LongType()) for i in range(2 * len(places))]
    return types.StructType([*fields, *more])


def _total(table: pa.Table, column: str) -> int:
    return int(to_positions(in_one_piece(table.column(column)), null=0).sum())

# SPDX-License-Identifier: Apache-2.0
"""The columns to publish, counted on a cluster, and stored by class or by combination on a disk its workers share.

To be stored, records are joined to their combinations. The *answer* for a combination is its class, where records are
stored to be released, or its place in the frequency table, where they are stored for previews.

It has so many lines because every job that reads the table begins here, where it is known what earlier jobs counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from kepsilon.engines.arrow.coding import WrongNumbers, encode
from kepsilon.engines.arrow.formulas import may_hold_text
from kepsilon.engines.arrow.numpy_arrays import to_doubles, to_positions
from kepsilon.engines.counts.combinations import CountedColumns, CountedCombinations
from kepsilon.engines.counts.sensitive import SensitiveCodes
from kepsilon.engines.on_disk.batches import StoredBatch
from kepsilon.engines.on_disk.buckets import Bucket
from kepsilon.engines.on_disk.combinations import StoredCombinations, combinations_of_buckets
from kepsilon.engines.on_disk.whole_records import whole_records
from kepsilon.engines.protocol import LeftOut
from kepsilon.engines.spark.classes import BATCHES_PER_TASK, SparkClasses, SparkPreview
from kepsilon.engines.spark.jobs import Workers
from kepsilon.engines.spark.joining import CombinationKeys, in_batches
from kepsilon.engines.spark.person_tasks import CountPersons, Limits
from kepsilon.engines.spark.persons import CapOnSpark, count_on_cluster
from kepsilon.engines.spark.reading import TableReading
from kepsilon.engines.spark.sampling import LIMIT, sampled
from kepsilon.engines.spark.sensitive import ValuesByRow, count_values
from kepsilon.engines.spark.session import as_hadoop, parallelism, settled
from kepsilon.engines.spark.storing import BringTogether, RecordColumns, as_input
from kepsilon.engines.spark.tables import ROW, SparkTable
from kepsilon.engines.spark.tasks import StoreCounts, count_formulas, own_folder, read_counts
from kepsilon.errors import DataError, EngineError, Problem
from kepsilon.files.private_folders import SpillFolder
from kepsilon.policy.roles import ColumnRoles
from kepsilon.sources.columns import in_one_piece, moved_schema, moved_type
from kepsilon.sources.files import changed
from kepsilon.sources.kept_types import type_changes
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.classes import SUPPRESSED, Recoding
from kepsilon.table.codes import Domain
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.keys import number
from kepsilon.table.persons import PersonCounts, regrouped
from kepsilon.table.record_hashes import hash_limits
from kepsilon.table.sensitive import SensitiveCounts
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
        self.are_in_memory = False
        self.type_changes: tuple[TypeChange, ...] = type_changes(table.schema.field(name) for name in roles.kept)
        for name in (*roles.k_quasis, *roles.diverse, *([] if roles.person is None else [roles.person])):
            if pa.types.is_nested(table.schema.field(name).type):
                encode(pa.chunked_array([], type=table.schema.field(name).type), name, table.name)  # refuses
        self._persons: PersonCounts | None = None
        """Between `leave_out` and `count`, the persons of counted combinations."""
        self._cap: CapOnSpark | None = None
        """Leaves out what persons have too many of; None where nobody has."""
        self._sensitive: tuple[SensitiveCodes, ...] = ()
        """Codes of the values of each of `roles.diverse`; set by `count`."""
        self._reading = TableReading(table, roles)
        self._refused = self._reading.refused
        self._stored: tuple[SpillFolder, Workers, StoredCombinations] | None = None
        self._room, self._advise = table.room(roles, engine.memory, engine.staging, linkage=engine.linkage)
        values = self._count_all()
        self._may_miss = tuple(bool(self._is_missing[name].any()) for name in self._roles.flagged)
        """Whether any record misses each flagged column."""
        self._keys = CombinationKeys(values=values, n_k_quasis=len(roles.k_quasis), may_miss=self._may_miss)
        self.n_records = int(self._counts.sum())
        table.refuse_changed(self.n_records)

    def _count_all(self) -> pa.Table:
        """Counts all records on the cluster; values of k-quasis and flags of missing ε-quasis of every combination."""
        from pyspark.sql import functions as f

        k_quasis, epsilon_quasis = self._roles.k_quasis, self._reading.usable
        persons = self._roles.flagged[len(self._roles.epsilon_quasis) :]
        names = (*k_quasis, *epsilon_quasis, *persons)
        folder = SpillFolder(self._engine.staging)
        try:
            workers = Workers(self._engine.session, folder.path)
            workers.refuse_unshared_folder(parallelism(self._engine.session))
            with settled(self._engine.session, self._table.settings):
                frame = self._reading.columns(names, rows=False)
                keys = [frame[f"c{i}"] for i in range(len(k_quasis))]
                figures = [f.count(f.lit(1)).alias("n")]
                for j, name in enumerate(epsilon_quasis):
                    value = frame[f"c{len(k_quasis) + j}"]
                    keys.append(value.isNull().alias(f"m{j}"))
                    is_finite = ~f.isnan(value) & (f.abs(value) < float("inf"))
                    figures.append(f.max(f.when(is_finite, f.abs(value))).alias(f"largest{j}"))
                    figures.append(f.sum(f.when(is_finite | value.isNull(), 0).otherwise(1)).alias(f"not_finite{j}"))
                    if name in self._reading.parsed:
                        at = len(names) + 2 * self._reading.parsed.index(name)
                        figures.append(f.sum(f"wrong{at}").alias(f"texts{j}"))
                        figures.append(f.sum(f"wrong{at + 1}").alias(f"not_finite_texts{j}"))
                n_quasis = len(k_quasis) + len(epsilon_quasis)
                keys += [
                    frame[f"c{n_quasis + i}"].isNull().alias(f"m{len(epsilon_quasis) + i}") for i in range(len(persons))
                ]
                counted = frame.groupBy(*keys).agg(*figures)
                found = workers.collect(counted, StoreCounts(parent=folder.path))
            return self._read_counted([path for path in found if path.stat().st_size], epsilon_quasis)
        finally:
            folder.close()

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
            if name in self._reading.parsed:
                wrong = WrongNumbers(
                    n_texts=_total(table, f"texts{j}"), n_not_finite=_total(table, f"not_finite_texts{j}")
                )
            self._wrong[name] = wrong
        flagged = [name for name in self._roles.flagged if name not in self._refused]
        for j, name in enumerate(flagged):
            flags = in_one_piece(table.column(f"m{j}")).cast(pa.int8())
            is_missing[name] = to_positions(flags, null=0) == 1
        for name in self._refused:
            is_missing[name] = np.zeros(len(table), dtype=np.bool_)
        self._is_missing = {name: is_missing[name] for name in self._roles.flagged}
        columns = [*codes.values(), *(flags.astype(np.int32) for flags in self._is_missing.values())]
        sizes = [*(len(own) for own in values.values()), *(2 for _ in self._is_missing)]
        if number(columns, sizes=sizes, length=len(table))[1] != len(table):
            # The join would double their records, and no class would seem to have changed.
            raise EngineError(
                Problem(where="spark", what="some combinations were counted twice; nothing was released.")
            )
        self._combinations = CountedCombinations(values, codes, self._is_missing, self._counts)
        return table.select([*(f"c{i}" for i in range(len(k_quasis))), *(f"m{j}" for j in range(len(flagged)))])

    def leave_out(self, is_listed: Mapping[str, BoolArray], *, drop_missing: Sequence[str]) -> LeftOut:
        """As `Columns.leave_out`; where records are about persons, the cluster counts these."""
        person = self._roles.person
        if person is None:
            return super().leave_out(is_listed, drop_missing=drop_missing)
        left_out = super().leave_out(is_listed, drop_missing=[*drop_missing, person])
        numbers = self._combinations.staying()
        folder = SpillFolder(self._engine.staging)
        try:
            self._persons, n_lost, limits = self._count_persons(numbers, Workers(self._engine.session, folder.path))
        finally:
            folder.close()
        self._table.refuse_changed(self.n_records)
        self._cap = CapOnSpark(limits) if len(limits.persons) else None
        return replace(left_out, by_cap=self._combinations.lose(n_lost))

    def _count_persons(self, numbers: IntArray, workers: Workers) -> tuple[PersonCounts, IntArray, Limits]:
        """As `count_on_cluster`; `numbers` are those of the combinations, SUPPRESSED where one is left out."""
        most = self._roles.max_records_per_person
        lookup = workers.folder / "0.parquet"
        self._keys.write(lookup, {"combination": numbers}, only=np.flatnonzero(numbers != SUPPRESSED))
        with settled(self._engine.session, self._table.settings):
            frame = self._reading.columns(
                (*self._roles.k_quasis, *self._roles.flagged), rows=False, hashes=most is not None
            )
            combinations = self._engine.session.read.parquet(as_hadoop(lookup))
            return count_on_cluster(
                frame,
                combinations,
                self._keys.are_same(frame, combinations),
                workers,
                place=self._person_place,
                n_records=self.n_records,
                n_tasks=parallelism(self._engine.session),
                task=CountPersons(
                    parent=workers.folder,
                    n_combinations=len(numbers),
                    most=most,
                    room=self._room,
                    source=self._table.name,
                ),
            )

    @property
    def _person_place(self) -> int:
        """The position of the person among k-quasis and flagged columns."""
        return len(self._roles.k_quasis) + len(self._roles.epsilon_quasis)

    def _within_cap(self, frame: Any, limits: Path) -> Any:
        """The records of a frame without those beyond the cap; `limits` is the file to write to which they are joined."""
        if self._cap is None:
            return frame
        self._cap.write(limits)
        read = self._engine.session.read.parquet(as_hadoop(limits))
        return self._cap.within(frame, read, place=self._person_place)

    def count(
        self, domains: Mapping[str, tuple[Domain, IntArray]], *, missing_in_class: Sequence[str]
    ) -> FrequencyTable:
        """As `Columns.count`; where something is asked of sensitive columns, the cluster counts their values."""
        table = super().count(domains, missing_in_class=missing_in_class)
        if self._persons is not None:
            persons = regrouped(self._persons, self._combinations.row_in_table(), n_rows=table.n_combinations)
            if persons.n_records != int(table.counts.sum()):
                raise changed(self._table.name)
            table = replace(table, persons=persons)
            self._persons = None
        return replace(table, sensitive=self._count_sensitive(table)) if self._roles.diverse else table

    def _count_sensitive(self, table: FrequencyTable) -> dict[str, SensitiveCounts]:
        """Sensitive values by combination, for each column. Sets the codes of the values."""
        folder = SpillFolder(self._engine.staging)
        try:
            found = [self._sensitive_values(name, folder.path) for name in self._roles.diverse]
        finally:
            folder.close()
        self._table.refuse_changed(self.n_records)
        counted = [own.coded(self._table.schema.field(own.name).type, table.counts, self._room) for own in found]
        self._sensitive = tuple(codes for codes, _ in counted)
        return {codes.name: counts for codes, counts in counted}

    def _sensitive_values(self, name: str, parent: Path) -> ValuesByRow:
        """Row of the frequency table, value of a sensitive column, and how many records have both, counted on the cluster."""
        from pyspark.sql import functions as f

        folder = own_folder(parent)
        rows = self._combinations.row_in_table()
        lookup = folder / "0.parquet"
        self._keys.write(lookup, {"class_id": rows}, only=np.flatnonzero(rows != SUPPRESSED))
        names = (*self._roles.k_quasis, *self._roles.flagged, name)
        with settled(self._engine.session, self._table.settings):
            frame = self._reading.columns(names, rows=False, hashes=self._cap is not None)
            frame = self._within_cap(frame, folder / "1.parquet")
            known = self._engine.session.read.parquet(as_hadoop(lookup))
            joined = frame.join(f.broadcast(known), self._keys.are_same(frame, known))
            values = joined.select(known["class_id"], frame[f"c{len(names) - 1}"].alias("value"))
            workers = Workers(self._engine.session, folder)
            return count_values(values, workers, name=name, source=self._table.name, room=self._room)

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
            found = self._taken(shares, identifiers, folder.path)
        finally:
            folder.close()
        self._table.refuse_changed(self.n_records)
        records = self._record_columns(beside, rows=self._table.has_rows).records(found)
        counts = np.bincount(records.class_ids, minlength=len(shares))
        is_whole = shares >= 1
        if not np.array_equal(counts[is_whole], self._combinations.counts_in_table()[is_whole]):
            raise changed(self._table.name)
        return whole_records([records], kept=self._roles.kept, identifiers=identifiers)

    def _taken(self, shares: FloatArray, identifiers: Sequence[str], folder: Path) -> pa.Table:
        """The records to take with all their columns, the row of the frequency table as class id; columns as in `RecordColumns`.

        `folder` is where files are written to that Spark joins to the records.
        """
        from pyspark.sql import functions as f

        lookup, limits_file = folder / "0.parquet", folder / "1.parquet"
        row_of = self._combinations.row_in_table()
        is_asked_for = np.append(shares, 0.0)[row_of] > 0  # SUPPRESSED, which is −1, finds the last entry
        limits = np.append(hash_limits(shares), 0)[row_of]
        numbers: dict[str, IntArray] = {"class_id": row_of.astype(np.int32), LIMIT: limits}
        self._keys.write(lookup, numbers, only=np.flatnonzero(is_asked_for))
        first = len(self._roles.k_quasis)
        first_beside = first + len(self._roles.flagged)
        names = (*self._roles.k_quasis, *self._roles.flagged, *self._roles.kept, *identifiers)
        with_rows = self._table.has_rows
        with settled(self._engine.session, self._table.settings):
            frame = self._reading.columns(names, rows=with_rows, hashes=self._cap is not None)
            if self._cap is not None:
                self._cap.write(limits_file)
                capped = self._engine.session.read.parquet(as_hadoop(limits_file))
                frame = self._cap.marked(frame, capped, place=self._person_place)
            asked_for = self._engine.session.read.parquet(as_hadoop(lookup))
            taken = frame.join(f.broadcast(asked_for), self._keys.are_same(frame, asked_for))
            if ((shares > 0) & (shares < 1)).any():
                taken = sampled(taken, n_columns=len(names), rows=with_rows, has_identifiers=bool(identifiers))
            columns = [f"c{i}" for i in range(len(names))]
            rows = [ROW] if with_rows else []
            marks = () if self._cap is None else self._cap.marks
            found = taken.select(
                "class_id", *columns[first:first_beside], *rows, *columns[first_beside:], *marks
            ).toArrow()
        return found if self._cap is None else self._cap.without_surplus(found)

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
        kept, with_rows = (self._roles.kept, self._with_rows) if to_release else (self._roles.diverse, False)
        names = (*self._roles.k_quasis, *self._roles.flagged, *kept)
        columns = self._record_columns(kept, coded=tuple(self._table.coded(kept)), rows=with_rows)
        columns = replace(columns, sensitive=self._sensitive, stores_kept=to_release)
        work = BringTogether(parent=workers.folder, starts=starts, columns=columns)
        class_of = answers.astype(np.int32)
        batch = (np.searchsorted(starts, class_of, side="right") - 1).astype(np.int32)
        lookup = workers.folder / "0.parquet"
        self._keys.write(lookup, {"class_id": class_of, "batch": batch})
        per_batch = str(min(self._room.records_per_part, 1 << 17))
        settings = {**self._table.settings, "spark.sql.execution.arrow.maxRecordsPerBatch": per_batch}
        n_tasks = parallelism(self._engine.session)
        with settled(self._engine.session, settings):
            frame = self._reading.columns(names, rows=with_rows, hashes=self._cap is not None)
            frame = self._within_cap(frame, workers.folder / "1.parquet")
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
            may_miss=self._may_miss[: len(self._roles.epsilon_quasis)],
            has_rows=rows,
            kept=moved_schema(pa.schema([self._table.schema.field(name) for name in beside])),
            coded=coded,
            source=self._table.name,
            has_persons=self._roles.person is not None,
        )


def _total(table: pa.Table, column: str) -> int:
    return int(to_positions(in_one_piece(table.column(column)), null=0).sum())

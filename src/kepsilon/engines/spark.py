# SPDX-License-Identifier: Apache-2.0
"""Tables larger than a machine: counted and brought together by Spark, and given noise by its workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from kepsilon.engines.coding import WrongNumbers, encode, read_doubles
from kepsilon.engines.combinations import CountedColumns, CountedCombinations
from kepsilon.engines.local import LocalSource
from kepsilon.engines.needs import Needs
from kepsilon.engines.numpy_arrays import from_numpy, in_one_piece, to_doubles, to_positions
from kepsilon.engines.spark_classes import SparkClasses
from kepsilon.engines.spark_jobs import Workers
from kepsilon.engines.spark_session import as_hadoop, parallelism, settled
from kepsilon.engines.spark_sources import ROW, FilesOnSpark, FrameOnSpark, OnSpark
from kepsilon.engines.spark_tasks import (
    UNKNOWN,
    BringTogether,
    ReadNumbers,
    StoreCounts,
    as_input,
    changed_meanwhile,
    read_counts,
)
from kepsilon.engines.stored_batches import StoredBatch
from kepsilon.errors import DataError, EngineError, Problem
from kepsilon.policy.roles import Attribute, ColumnRoles
from kepsilon.private_folders import SpillFolder
from kepsilon.sources.frames import FrameSource
from kepsilon.sources.kinds import find_kind
from kepsilon.sources.parquet_files import PARQUET
from kepsilon.sources.spark_frames import SPARK_FRAMES
from kepsilon.table.arrays import IntArray
from kepsilon.table.classes import SUPPRESSED, Recoding
from kepsilon.table.keys import number

_PART_BYTES = 1 << 28
"""Of records that one task brings together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkEngine:
    """Spark, whichever cluster the session is on."""

    session: Any
    memory: int
    """In bytes: for the frequency table here, and for what a task on a worker looks at."""
    staging: Path
    """A folder that this machine and all workers see by the same name; a private folder is made in it."""
    linkage: bool = True
    """Whether it may be asked later which record was which."""
    name: str = "spark"

    def open_source(self, source: object) -> SparkSource:
        kind = find_kind(source)
        if kind is SPARK_FRAMES:
            return SparkSource(FrameOnSpark(source), self)
        if isinstance(source, str | Path):
            if kind is not PARQUET:
                raise EngineError(
                    Problem(
                        where=str(source),
                        what="with Spark only Parquet can be read, in a file, a folder or by a pattern.",
                        fix="Write the table as Parquet first, or give a Spark DataFrame.",
                    )
                )
            return SparkSource(FilesOnSpark(PARQUET.open(Path(source)), self.session), self)
        raise EngineError(
            Problem(
                where="input",
                what=f"a {type(source).__name__} is not a table that Spark can read.",
                fix="Give a path to Parquet, or a Spark DataFrame.",
            )
        )


class SparkSource:
    def __init__(self, table: OnSpark, engine: SparkEngine) -> None:
        self._table, self._engine = table, engine
        self.name = table.name
        self.column_names: tuple[str, ...] = tuple(table.schema.names)

    def read(self, roles: ColumnRoles) -> SparkColumns:
        """Counts on the cluster; identifiers are not even taken from the files."""
        return SparkColumns(self._table, roles, self._engine)

    def needs(self, roles: ColumnRoles) -> Needs:
        """What that will take; refused at once where it cannot be had."""
        return self._table.needs(roles, self._engine.memory, self._engine.staging, linkage=self._engine.linkage)

    def n_distinct(self, column: str) -> tuple[int, int]:
        """This one column has to fit into memory."""
        return self._here(column).n_distinct(column)

    def offending(self, column: str, attribute: Attribute) -> list[tuple[str, int]]:
        """The same."""
        return self._here(column).offending(column, attribute)

    def _here(self, column: str) -> LocalSource:
        with settled(self._engine.session, self._table.settings):
            table = self._table.columns([column], rows=False).toArrow()
        field = self._table.schema.field(column)
        return LocalSource(FrameSource(pa.table({column: as_input(table.column(0), field.type)})))


class SparkColumns(CountedColumns):
    """What a group-by on the cluster tells: combinations of k-quasis with counts. Records stay where they are."""

    def __init__(self, table: OnSpark, roles: ColumnRoles, engine: SparkEngine) -> None:
        super().__init__(table.name)
        self._table, self._roles, self._engine = table, roles, engine
        self._with_rows = engine.linkage and table.has_rows
        for name in roles.k_quasis:
            if pa.types.is_nested(table.schema.field(name).type):
                encode(pa.chunked_array([], type=table.schema.field(name).type), name, table.name)  # refuses
        self._texts = tuple(name for name in roles.epsilon_quasis if self._is_text(name))
        self._limits, self._advise = table.limits(roles, engine.memory, engine.staging, linkage=engine.linkage)
        self._keys = self._count_all()
        """Codes of k-quasis and flags of missing ε-quasis as Spark gave them, a row for every combination."""
        self.n_records = int(self._counts.sum())
        table.refuse_changed(self.n_records)

    def _is_text(self, name: str) -> bool:
        """Whether an ε-quasi has to be read from text; what is no number at all is said when numbers are asked for."""
        kind = self._table.schema.field(name).type
        try:
            read_doubles(pa.chunked_array([], type=kind), name, self._table.name)
        except DataError as error:
            self._refused[name] = error
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))

    def _columns(self, names: Sequence[str], *, rows: bool) -> Any:
        """As c0, c1 …, with ε-quasis as doubles; then what is wrong with those that were text, and the position."""
        frame = self._table.columns(names, rows=rows)
        texts = [name for name in names if name in self._texts]
        if texts:
            places = tuple(names.index(name) for name in texts)
            work = ReadNumbers(places=places, names=tuple(texts), source=self._table.name)
            frame = frame.mapInArrow(work, _with_numbers(frame.schema, places))
        for i, name in enumerate(names):
            if name in self._roles.epsilon_quasis and name not in self._refused:
                frame = frame.withColumn(f"c{i}", frame[f"c{i}"].cast("double"))
        return frame

    def _count_all(self) -> pa.Table:
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
                    if name in self._texts:
                        at = len(names) + 2 * self._texts.index(name)
                        figures.append(f.sum(f"wrong{at}").alias(f"texts{j}"))
                        figures.append(f.sum(f"wrong{at + 1}").alias(f"not_finite_texts{j}"))
                counted = frame.groupBy(*keys).agg(*figures)
                found = workers.collect(counted, StoreCounts(parent=folder.path))
            return self._take([path for path in found if path.stat().st_size], epsilon_quasis)
        finally:
            folder.close()

    def _usable(self) -> tuple[str, ...]:
        return tuple(name for name in self._roles.epsilon_quasis if name not in self._refused)

    def _take(self, files: Sequence[Path], epsilon_quasis: Sequence[str]) -> pa.Table:
        """The counts of all combinations, once they are known to be few enough to be held here."""
        tables = (read_counts(file) for file in files)
        parts, n_combinations = [], 0
        for part in tables:
            n_combinations += len(part)
            seen = {name: len(part.column(f"c{i}").unique()) for i, name in enumerate(self._roles.k_quasis)}
            self._limits.refuse_combinations(n_combinations, seen, self._table.name, self._advise)
            parts.append(part)
        if not parts:
            raise DataError(Problem(where=self._table.name, what="has columns, but no records."))
        table = pa.concat_tables(parts)
        self._counts: IntArray = to_positions(in_one_piece(table.column("n")), null=0)
        k_quasis = self._roles.k_quasis
        values, codes = {}, {}
        for i, name in enumerate(k_quasis):
            column = as_input(table.column(f"c{i}"), self._table.schema.field(name).type)
            values[name], codes[name] = encode(column, name, self._table.name)
        self._limits.refuse_values({name: len(own) for name, own in values.items()}, self._table.name, self._advise)
        is_missing = {}
        for j, name in enumerate(epsilon_quasis):
            largest = to_doubles(table.column(f"largest{j}"))
            self._largest[name] = float(np.fmax.reduce(largest, initial=0.0))
            wrong = WrongNumbers(n_not_finite=_total(table, f"not_finite{j}"))
            if name in self._texts:
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
        kept = [*(f"c{i}" for i in range(len(k_quasis))), *(f"m{j}" for j in range(len(epsilon_quasis)))]
        return table.select(kept)

    def classes(self, recoding: Recoding) -> SparkClasses:
        """Joins the recoding to the records and brings whole classes together, on disk where all workers see them."""
        self._limits.refuse_large_class(int(recoding.sizes.max()), self._table.name)
        n_tasks = parallelism(self._engine.session)
        # A few batches for every task, so that one that is slow does not keep all others waiting.
        batches = self._limits.batches(recoding.sizes, n_batches=4 * n_tasks)
        folder = SpillFolder(self._engine.staging)
        workers = Workers(self._engine.session, folder.path)
        try:
            stored = self._bring_together(recoding, batches, workers, n_tasks=n_tasks)
        except BaseException:
            folder.close()
            raise
        integers = {n for n in self._roles.epsilon_quasis if pa.types.is_integer(self._table.schema.field(n).type)}
        return SparkClasses(
            stored,
            folder,
            workers,
            sizes=recoding.sizes,
            roles=self._roles,
            limits=self._limits,
            integers=frozenset(integers),
            n_tasks=n_tasks,
            table=self._table,
        )

    def _bring_together(
        self, recoding: Recoding, batches: list[slice], workers: Workers, *, n_tasks: int
    ) -> list[StoredBatch]:
        starts = np.array([own.start for own in batches], dtype=np.int64)
        names = (*self._roles.k_quasis, *self._roles.epsilon_quasis, *self._roles.kept)
        work = BringTogether(
            parent=workers.folder,
            starts=starts,
            epsilon_quasis=self._roles.epsilon_quasis,
            may_miss=tuple(bool(self._is_missing[name].any()) for name in self._roles.epsilon_quasis),
            has_rows=self._with_rows,
            kept=pa.schema([self._table.schema.field(name) for name in self._roles.kept]).remove_metadata(),
            coded=tuple(self._table.coded(self._roles.kept)),
            source=self._table.name,
        )
        lookup = self._lookup(recoding, starts, workers.folder / "0.parquet")
        per_batch = str(min(self._limits.records_per_part, 1 << 17))
        settings = {**self._table.settings, "spark.sql.execution.arrow.maxRecordsPerBatch": per_batch}
        with settled(self._engine.session, settings):
            frame = self._columns(names, rows=self._with_rows)
            # Enough for all cores, and none larger than what is soon done again if a worker is lost.
            n_parts = max(n_tasks, -(-self.n_records * self._limits.record_width // _PART_BYTES))
            found = workers.collect(self._by_class(frame, lookup, min(n_parts, len(batches))), work)
        self._table.refuse_changed(self.n_records)
        brought = {i: own for part in found for i, own in part.items()}
        for i, own in enumerate(batches):
            counts = brought[i][1] if i in brought else np.zeros(0)
            if not np.array_equal(counts, recoding.sizes[own]):
                raise changed_meanwhile(self._table.name)
        return [StoredBatch(classes=own, bucket=brought[i][0]) for i, own in enumerate(batches)]

    def _by_class(self, frame: Any, lookup: Path, n_parts: int) -> Any:
        """Class id, ε-quasis, position and kept columns, whole batches in a partition.

        They need no order there: a worker puts them into one bucket for each batch, and the kernels sort what they look at.
        """
        from pyspark.sql import functions as f

        n_k, n_epsilon = len(self._roles.k_quasis), len(self._roles.epsilon_quasis)
        classes = self._engine.session.read.parquet(as_hadoop(lookup))
        is_same = f.lit(True)
        for i in range(n_k):
            # Null is a value like any other, but only where there is one: the plain comparison is faster.
            has_null = self._keys.column(f"c{i}").null_count > 0
            mine, theirs = frame[f"c{i}"], classes[f"k{i}"]
            is_same &= mine.eqNullSafe(theirs) if has_null else mine == theirs
        for j, name in enumerate(self._roles.epsilon_quasis):
            if self._is_missing[name].any():
                is_same &= frame[f"c{n_k + j}"].isNull() == classes[f"m{j}"]
        joined = frame.join(f.broadcast(classes), is_same, "left")
        class_id = f.coalesce(classes["class_id"], f.lit(UNKNOWN))
        kept = [frame[f"c{i}"] for i in range(n_k + n_epsilon, n_k + n_epsilon + len(self._roles.kept))]
        chosen = joined.where(class_id != SUPPRESSED).select(
            class_id.alias("class_id"),
            f.coalesce(classes["batch"], f.lit(0)).alias("batch"),
            *(frame[f"c{n_k + j}"] for j in range(n_epsilon)),
            *([frame[ROW]] if self._with_rows else []),
            *kept,
        )
        return _placed(chosen, n_parts).drop("batch")

    def _lookup(self, recoding: Recoding, starts: IntArray, target: Path) -> Path:
        """The class of every combination, in a file that Spark reads."""
        class_of = self._combinations.class_of(recoding).astype(np.int32)
        batch = (np.searchsorted(starts, class_of, side="right") - 1).astype(np.int32)
        columns = {name.replace("c", "k"): self._keys.column(name) for name in self._keys.column_names}
        table = pa.table({**columns, "class_id": from_numpy(class_of), "batch": from_numpy(batch)})
        parquet.write_table(table, target)
        return target


def _placed(frame: Any, n_parts: int) -> Any:
    """Whole batches together in so many partitions, evenly where Spark lets partitions be named (4.1 and newer)."""
    if hasattr(frame, "repartitionById"):
        return frame.repartitionById(n_parts, frame["batch"] % n_parts)
    return frame.repartition(n_parts, "batch")


def _with_numbers(schema: Any, places: Sequence[int]) -> Any:
    """What `ReadNumbers` makes of a schema."""
    from pyspark.sql import types

    fields = list(schema.fields)
    for place in places:
        fields[place] = types.StructField(fields[place].name, types.DoubleType())
    more = [types.StructField(f"wrong{len(fields) + i}", types.LongType()) for i in range(2 * len(places))]
    return types.StructType([*fields, *more])


def _total(table: pa.Table, column: str) -> int:
    return int(to_positions(in_one_piece(table.column(column)), null=0).sum())

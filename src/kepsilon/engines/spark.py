# SPDX-License-Identifier: Apache-2.0
"""Tables larger than a machine: counted and brought together by Spark, and given noise by its workers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from kepsilon.engines.local import LocalSource
from kepsilon.engines.needs import Needs
from kepsilon.engines.protocol import Repetition
from kepsilon.engines.spark_columns import SparkColumns
from kepsilon.engines.spark_session import settled
from kepsilon.engines.spark_sources import FilesOnSpark, FrameOnSpark, OnSpark
from kepsilon.engines.spark_tasks import as_input
from kepsilon.errors import EngineError, Problem
from kepsilon.policy.roles import Attribute, ColumnRoles
from kepsilon.sources.frames import FrameSource
from kepsilon.sources.kinds import find_kind
from kepsilon.sources.parquet_files import PARQUET
from kepsilon.sources.spark_frames import SPARK_FRAMES


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

    def repetition(self, column: str) -> Repetition:
        """Counted on the cluster; values that Spark cannot compare are taken for different."""
        from pyspark.sql import functions as f

        with settled(self._engine.session, self._table.settings):
            value = (frame := self._table.columns([column], rows=False))["c0"]
            is_nested = pa.types.is_nested(self._table.schema.field(column).type)
            distinct = f.count(value) if is_nested else f.count_distinct(value)
            found = frame.agg(distinct.alias("distinct"), f.count(value).alias("valid")).toArrow()
        n_distinct, n_records = (found.column(i).to_pylist()[0] for i in range(2))
        return Repetition(n_distinct=n_distinct, n_records=n_records)

    def offending(self, column: str, attribute: Attribute) -> list[tuple[str, int]]:
        """This one column has to fit into memory."""
        return self._here(column).offending(column, attribute)

    def _here(self, column: str) -> LocalSource:
        with settled(self._engine.session, self._table.settings):
            table = self._table.columns([column], rows=False).toArrow()
        field = self._table.schema.field(column)
        return LocalSource(FrameSource(pa.table({column: as_input(table.column(0), field.type)})))

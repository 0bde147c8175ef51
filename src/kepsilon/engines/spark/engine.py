# SPDX-License-Identifier: Apache-2.0
"""The engine on Spark: opens Parquet and DataFrames, which Spark counts and stores by class for its workers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kepsilon.engines.spark.source import SparkSource
from kepsilon.engines.spark.tables import FilesOnSpark, FrameOnSpark
from kepsilon.errors import EngineError, Problem
from kepsilon.sources.kinds import find_kind
from kepsilon.sources.parquet_files import PARQUET
from kepsilon.sources.spark_frames import SPARK_FRAMES


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkEngine:
    """The engine that has the workers of a session's cluster hold some classes at a time, and all records on disk."""

    session: Any
    memory: int
    """The limit, in bytes, for the frequency table on this machine and for each task on a worker."""
    staging: Path
    """Where a private folder is made for records on disk; this machine and all workers see it by the same name."""
    linkage: bool = True
    """Whether the linkage may be asked for later."""
    name: str = "spark"

    def open_source(self, source: object) -> SparkSource:
        """A path to Parquet or a DataFrame whose columns are known and whose records are not read yet."""
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

# SPDX-License-Identifier: Apache-2.0
"""Tables larger than a machine: counted and brought together by Spark, and given noise by its workers."""

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

# SPDX-License-Identifier: Apache-2.0
"""Chooses the engine: the one that the caller gave, or the one that the source and the limit on memory ask for."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kepsilon.engines.protocol import Engine
from kepsilon.errors import ArgumentError, guarded

if TYPE_CHECKING:
    from kepsilon.engines.spark.engine import SparkEngine
    from kepsilon.engines.spilling.engine import SpillingEngine


def local_engine() -> Engine:
    """The engine that holds all records in memory."""
    from kepsilon.engines.local.engine import LocalEngine

    return LocalEngine()


def engine_for(
    source: object,
    engine: Engine | None,
    *,
    memory: str | int | None,
    spill_folder: str | Path | None,
    with_linkage: bool = False,
    to_release: bool = False,
) -> Engine:
    """The engine that was given; else Spark for a Spark DataFrame, spilling under a limit on memory, or in memory.

    `with_linkage` says whether the linkage may be asked for later, `to_release` whether records will be released; a
    spilling engine needs less disk without them.
    """
    if isinstance(engine, str):
        raise ArgumentError("an engine is a value and not a name: leave it out, or give kepsilon.spark_engine()")
    if engine is not None and memory is not None:
        raise ArgumentError("an engine has its own limit on memory: give one or the other")
    if engine is not None:
        return engine
    session = getattr(source, "sparkSession", None)
    if session is not None:
        return spark_engine(session, staging=spill_folder, memory="4GB" if memory is None else memory)
    if memory is None:
        return local_engine()
    return spilling_engine(memory, spill_folder, linkage=with_linkage, to_release=to_release)


def spilling_engine(
    memory: str | int, folder: str | Path | None, *, linkage: bool, to_release: bool = True
) -> SpillingEngine:
    """The engine that spills records to disk; refuses a folder that cannot be written to before any work."""
    from kepsilon.engines.machine import refuse_more_memory_than_there_is
    from kepsilon.engines.room import parse_bytes
    from kepsilon.engines.spilling.engine import SpillingEngine
    from kepsilon.files.private_folders import SpillFolder

    n_bytes = parse_bytes(memory)
    refuse_more_memory_than_there_is(n_bytes)
    where = Path(tempfile.gettempdir() if folder is None else folder)
    SpillFolder(where).close()
    return SpillingEngine(memory=n_bytes, folder=where, linkage=linkage, to_release=to_release)


@guarded
def spark_engine(
    session: object | None = None,
    *,
    master: str | None = None,
    staging: str | Path | None = None,
    memory: str | int = "4GB",
    with_linkage: bool = True,
) -> Engine:
    """The Spark engine: on the given session, or on a new one at `master` (`spark://…`, `local[4]`, `sc://…`).

    `staging` is a folder that this machine and all workers see by the same name; records are stored in a private folder
    inside it until the release is closed. `memory` is the limit for the frequency table on this machine, and for each
    task on a worker.
    """
    from kepsilon.engines.spark.session import open_session

    engine = unstarted_spark(memory, staging, linkage=with_linkage)
    return replace(engine, session=open_session(master) if session is None else session)


def unstarted_spark(memory: str | int, staging: str | Path | None, *, linkage: bool) -> SparkEngine:
    """The Spark engine without a session; refuses a folder that cannot be written to before any work."""
    from kepsilon.engines.room import parse_bytes
    from kepsilon.engines.spark.engine import SparkEngine
    from kepsilon.files.private_folders import SpillFolder

    n_bytes = parse_bytes(memory)
    where = Path(tempfile.gettempdir() if staging is None else staging).absolute()
    SpillFolder(where).close()
    return SparkEngine(session=None, memory=n_bytes, staging=where, linkage=linkage)

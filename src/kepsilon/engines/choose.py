# SPDX-License-Identifier: Apache-2.0
"""Which engine holds the records: the one that was given, or the one that source and memory ask for."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kepsilon.engines.protocol import Engine

if TYPE_CHECKING:
    from kepsilon.engines.spark.engine import SparkEngine
    from kepsilon.engines.spilling.engine import SpillingEngine


def local_engine() -> Engine:
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
    """The engine that was given; or where none was, Spark for a Spark DataFrame, and spilling under a limit on memory."""
    if engine is not None and memory is not None:
        raise ValueError("an engine has its own limit on memory: give one or the other")
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
    """The local engine under a limit on memory; a folder that cannot be spilt to is refused before any work."""
    from kepsilon.engines.machine import refuse_more_memory_than_there_is
    from kepsilon.engines.room import parse_bytes
    from kepsilon.engines.spilling.engine import SpillingEngine
    from kepsilon.files.private_folders import SpillFolder

    n_bytes = parse_bytes(memory)
    refuse_more_memory_than_there_is(n_bytes)
    where = Path(tempfile.gettempdir() if folder is None else folder)
    SpillFolder(where).close()
    return SpillingEngine(memory=n_bytes, folder=where, linkage=linkage, to_release=to_release)


def spark_engine(
    session: object | None = None,
    *,
    master: str | None = None,
    staging: str | Path | None = None,
    memory: str | int = "4GB",
    with_linkage: bool = True,
) -> Engine:
    """Spark as the engine: on a session that is there, or on a new one at a master (`spark://…`, `local[4]`, `sc://…`).

    `staging` is a folder that this machine and all workers see by the same name; records are kept in a private folder
    inside it until the release is closed. `memory` is for the frequency table here, and for what each task on a worker
    looks at.
    """
    from kepsilon.engines.spark.session import open_session

    engine = unstarted_spark(memory, staging, linkage=with_linkage)
    return replace(engine, session=open_session(master) if session is None else session)


def unstarted_spark(memory: str | int, staging: str | Path | None, *, linkage: bool) -> SparkEngine:
    """The engine before it has a session; a folder that cannot be written to is refused before any work."""
    from kepsilon.engines.room import parse_bytes
    from kepsilon.engines.spark.engine import SparkEngine
    from kepsilon.files.private_folders import SpillFolder

    n_bytes = parse_bytes(memory)
    where = Path(tempfile.gettempdir() if staging is None else staging).absolute()
    SpillFolder(where).close()
    return SparkEngine(session=None, memory=n_bytes, staging=where, linkage=linkage)

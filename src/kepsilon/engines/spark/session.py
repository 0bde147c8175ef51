# SPDX-License-Identifier: Apache-2.0
"""A Spark session, the settings our jobs need while they run, and Spark's own errors without what they quote."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kepsilon.errors import EngineError, Problem


def require_spark() -> None:
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise EngineError(
            Problem(
                where="spark", what="PySpark is not installed.", fix="Install it with: pip install 'kepsilon[spark]'"
            )
        ) from None


def open_session(master: str | None) -> Any:
    """The session that is there, or a new one on a master; `sc://` asks a Spark Connect server."""
    require_spark()
    with worded_spark(), _without_warnings():
        from pyspark.sql import SparkSession

        if master is None:
            return SparkSession.getActiveSession() or _classic("local[*]")
        if master.startswith("sc://"):
            return SparkSession.builder.remote(master).getOrCreate()
        session = _classic(master)
        running = session.conf.get("spark.master")
    if running != master:
        raise EngineError(
            Problem(
                where="spark",
                what=f"a session on {running} is running here, and a program has one at a time.",
                fix=f"Stop it before asking for {master}, or pass the session that is there.",
            )
        )
    return session


def _classic(master: str) -> Any:
    from pyspark.sql import SparkSession

    # The page of a running job shows plans, and with them names of columns; nobody asked for it.
    builder = SparkSession.builder.master(master).appName("kepsilon").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with _silent_children():
        return builder.getOrCreate()


@contextlib.contextmanager
def _silent_children() -> Iterator[None]:
    """Java keeps the standard error that it is started with, and would mix its log into what the user sees.

    Errors come back to us and are worded here.
    """
    before = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(nowhere)


def parallelism(session: Any) -> int:
    """How many tasks the cluster works on at once."""
    from pyspark.sql import functions

    with worded_spark(), _without_warnings():
        try:
            return int(session.sparkContext.defaultParallelism)
        except Exception:  # noqa: BLE001 (Connect has no context, and says so in different ways)
            numbers = session.range(1 << 10).select(functions.spark_partition_id().alias("number"))
            return max(1, int(numbers.distinct().count()))


@contextlib.contextmanager
def settled(session: Any, settings: Mapping[str, str]) -> Iterator[None]:
    """Settings while a job of ours runs; afterwards the session is as it was. Errors come out in our words."""
    before = {}
    with worded_spark(), _without_warnings():
        try:
            for key, value in settings.items():
                before[key] = session.conf.get(key, None)
                session.conf.set(key, value)
            yield
        finally:
            for key, value in before.items():
                if value is None:
                    session.conf.unset(key)
                else:
                    session.conf.set(key, value)


@contextlib.contextmanager
def _without_warnings() -> Iterator[None]:
    """PySpark warns of versions of pandas that it has not been tried with; nothing of pandas is used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
        warnings.filterwarnings("ignore", message=".*pandas.*", category=FutureWarning)
        yield


@contextlib.contextmanager
def _without_log() -> Iterator[None]:
    """PySpark prints errors of queries, with the values that they quote, before it raises them."""
    from pyspark.logger import PySparkLogger

    logs = [PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")]
    before = [log.disabled for log in logs]
    for log in logs:
        log.disabled = True
    try:
        yield
    finally:
        for log, was_disabled in zip(logs, before, strict=True):
            log.disabled = was_disabled


@contextlib.contextmanager
def worded_spark() -> Iterator[None]:
    """Messages of Spark quote values and plans; only the name of what went wrong is passed on."""
    try:
        with _without_log():
            yield
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j", "grpc")):
            raise
        if _was_interrupted(error):
            raise KeyboardInterrupt from None
        kind = _condition(error)
        lacking = re.search(r"No module named '(\w+)", str(error))
    else:
        return
    # What was thrown in here is Spark's error, and a traceback would show it beside ours.
    if lacking is not None:
        raise EngineError(
            Problem(
                where="spark",
                what=f"the workers' Python lacks {lacking[1]}; nothing was released.",
                fix="Install it on every worker, in the Python that PYSPARK_PYTHON names; what kepsilon itself needs comes "
                "with its wheel.",
            )
        ) from None
    if kind == "JAVA_GATEWAY_EXITED":
        raise EngineError(
            Problem(
                where="spark",
                what="Java did not start, and Spark needs it.",
                fix="Install Java 17 or newer, or set JAVA_HOME to where it is.",
            )
        ) from None
    raise EngineError(
        Problem(
            where="spark",
            what=f"the cluster could not do its part ({kind}); nothing was released.",
            fix="What it says itself is not shown, because it may quote records; it is in the log of the cluster.",
        )
    ) from None


def _was_interrupted(error: BaseException | None) -> bool:
    """PySpark waits for a job to end after it was interrupted, and then tells only that the job failed."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _condition(error: BaseException) -> str:
    ask = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    with contextlib.suppress(Exception):
        return str((ask() if ask is not None else None) or type(error).__name__)
    return type(error).__name__


def as_hadoop(file: Path) -> str:
    """A path as Spark's file systems write it, with nothing in it taken for a pattern."""
    return "file:" + "".join(f"\\{c}" if c in "\\*?[]{}," else c for c in str(file.absolute()))

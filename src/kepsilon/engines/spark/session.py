# SPDX-License-Identifier: Apache-2.0
"""Opens a Spark session, changes its settings while a job runs, and words Spark's errors without the values they quote."""

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
    """Refuses to go on where PySpark is not installed."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise EngineError(
            Problem(
                where="spark", what="PySpark is not installed.", fix="Install it with: pip install 'kepsilon[spark]'"
            )
        ) from None


def open_session(master: str | None) -> Any:
    """A session at `master`, of Spark Connect where that is `sc://…`; without a master the active one, or a local one."""
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

    # Spark's web page of a running job would show plans, and with them names of columns.
    builder = SparkSession.builder.master(master).appName("kepsilon").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with _silent_children():
        return builder.getOrCreate()


@contextlib.contextmanager
def _silent_children() -> Iterator[None]:
    """Gives processes that are started inside the block no standard error, which Java would fill with its log.

    Errors of Spark reach this process in another way, and are worded by `worded_spark`.
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
    """How many tasks the cluster runs at once."""
    from pyspark.sql import functions

    with worded_spark(), _without_warnings():
        try:
            return int(session.sparkContext.defaultParallelism)
        except Exception:  # noqa: BLE001 (Connect has no context, and says so in different ways)
            numbers = session.range(1 << 10).select(functions.spark_partition_id().alias("number"))
            return max(1, int(numbers.distinct().count()))


@contextlib.contextmanager
def settled(session: Any, settings: Mapping[str, str]) -> Iterator[None]:
    """Changes settings of the session while the block runs, and words Spark's errors; the settings are put back after."""
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
    """Silences PySpark's warnings of untested versions of pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
        warnings.filterwarnings("ignore", message=".*pandas.*", category=FutureWarning)
        yield


@contextlib.contextmanager
def _without_log() -> Iterator[None]:
    """Silences PySpark's log, which prints errors of queries, with the values that they quote, before it raises them."""
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
    """Turns Spark's errors into an EngineError that names the kind of error only, for their texts quote values and plans."""
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
    # Raised outside the except block: inside it a traceback would show Spark's error beside ours.
    if lacking is not None:
        raise EngineError(
            Problem(
                where="spark",
                what=f"the workers' Python lacks {_module(lacking[1])}; nothing was released.",
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


def _module(name: str) -> str:
    """The name of a module that a worker lacks, unless it could be anything: code on a worker may raise any text."""
    return (
        name if name in ("kepsilon", "numpy", "pandas", "pyarrow", "pydantic", "pyspark") else "a module that it needs"
    )


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether the user interrupted the job: PySpark then waits for it to end, and reports only that it failed."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _condition(error: BaseException) -> str:
    """Spark's name for the kind of an error, or the name of its class."""
    ask = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    with contextlib.suppress(Exception):
        return str((ask() if ask is not None else None) or type(error).__name__)
    return type(error).__name__


def as_hadoop(file: Path) -> str:
    """A path as Spark's file systems write it, escaped so that no character is taken for a pattern."""
    return "file:" + "".join(f"\\{c}" if c in "\\*?[]{}," else c for c in str(file.absolute()))

# SPDX-License-Identifier: Apache-2.0
"""The options of `check`, `explore` and `anonymise` that say where the work is done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict, TypeVar

import click

import kepsilon
from kepsilon.cli.paths import AnyPath

Command = TypeVar("Command", bound=Callable[..., Any])


def engine_options(beside: str) -> Callable[[Command], Command]:
    """Adds --engine, --master, --memory and --spill-folder; `beside` names the default place of records on disk."""
    options = (
        click.option(
            "--engine",
            type=click.Choice(["local", "spark"]),
            default="local",
            show_default=True,
            help="Where the work is done: on this machine, or by the workers of a Spark cluster.",
        ),
        click.option(
            "--master",
            metavar="URL",
            help="With --engine spark: the cluster (spark://host:7077, yarn, local[4], or sc://host for Spark Connect).",
        ),
        click.option(
            "--memory",
            metavar="SIZE",
            help=f"For Parquet larger than memory: use no more memory than this (such as 2GB) and put records {beside}, in "
            "a private folder that is removed afterwards. With --engine spark: memory of one task (4GB by default).",
        ),
        click.option(
            "--spill-folder",
            type=AnyPath(),
            metavar="FOLDER",
            help=f"With --memory: put records into this folder instead of {beside}. With --engine spark: a folder that all "
            "workers can reach by the same name, if they cannot reach the default one.",
        ),
    )

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def refuse_misfits(engine: str, master: str | None, memory: str | None, spill_folder: Path | None) -> None:
    """Refuses an option that is given without the one that it needs."""
    if master is not None and engine != "spark":
        raise click.UsageError("--master goes with --engine spark.")
    if spill_folder is not None and memory is None and engine != "spark":
        raise click.UsageError("--spill-folder goes with --memory or --engine spark.")


class EngineArguments(TypedDict, total=False):
    """Arguments of `kepsilon.check`, `explore` and `anonymise` that say where the work is done."""

    engine: Any
    memory: str | None
    spill_folder: Path | None


def engine_arguments(
    engine: str,
    master: str | None,
    memory: str | None,
    place: Path | None,
    on_step: Callable[[str], None],
    *,
    with_linkage: bool = False,
) -> EngineArguments:
    """Arguments for `kepsilon.check`, `explore` or `anonymise`; starts a Spark session if `engine` is "spark"."""
    if engine != "spark":
        return {"memory": memory, "spill_folder": place}
    on_step("start Spark")
    return {
        "engine": kepsilon.spark_engine(master=master, staging=place, memory=memory or "4GB", with_linkage=with_linkage)
    }

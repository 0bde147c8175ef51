# SPDX-License-Identifier: Apache-2.0
"""The options that say where the work is done, the same for `check`, `explore` and `anonymise`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict, TypeVar

import click

import kepsilon

Command = TypeVar("Command", bound=Callable[..., Any])


def engine_options(beside: str) -> Callable[[Command], Command]:
    """Adds --engine, --master, --memory and --spill-folder; `beside` says where records are put unless told otherwise."""
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
            help=f"For Parquet larger than memory: hold no more than this (2GB, 500MB) and put the rest {beside}, in a "
            "folder for you only that is gone afterwards. With --engine spark: what one task may hold (4GB unless given).",
        ),
        click.option(
            "--spill-folder",
            type=click.Path(path_type=Path),
            metavar="FOLDER",
            help=f"With --memory: put the rest there instead of {beside}. With --engine spark: a folder that all workers "
            "see by the same name, if they do not see that one.",
        ),
    )

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def refuse_misfits(engine: str, master: str | None, memory: str | None, spill_folder: Path | None) -> None:
    """Options that go together and were not given together."""
    if master is not None and engine != "spark":
        raise click.UsageError("--master goes with --engine spark.")
    if spill_folder is not None and memory is None and engine != "spark":
        raise click.UsageError("--spill-folder goes with --memory or --engine spark.")


class EngineArguments(TypedDict, total=False):
    """What `kepsilon.check`, `explore` and `anonymise` take about where the work is done."""

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
    """What to hand to `kepsilon.check`, `explore` or `anonymise`, a Spark session started if one is asked for."""
    if engine != "spark":
        return {"memory": memory, "spill_folder": place}
    on_step("start Spark")
    return {
        "engine": kepsilon.spark_engine(master=master, staging=place, memory=memory or "4GB", with_linkage=with_linkage)
    }

# SPDX-License-Identifier: Apache-2.0
"""Two checkouts of the project side by side: does a change make releases or explorations slower?

Old and new take turns, each measurement in a process of its own that runs one checkout's `src` and is timed without its
imports. Seconds are medians; processor seconds hardly depend on what else the machine does.
`python benchmarks/versions.py OLD_CHECKOUT [--millions 2] [--repeats 5] [--only NAME ...]`
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

from release import POLICY

HERE = Path(__file__).resolve().parent


def policy(algorithm: str = "ola", **changes: object) -> object:
    import kepsilon

    document = {**tomllib.loads(POLICY.format(algorithm=algorithm)), **changes}
    try:
        return kepsilon.Policy.from_dict(document)
    except kepsilon.PolicyError:  # version 0.1 has no steps, and cuts numbers as they are
        for attribute in document["attributes"].values():
            attribute.pop("step", None)
        return kepsilon.Policy.from_dict(document)


def release(source: Path, folder: Path, *, algorithm: str, memory: str | None = None) -> None:
    import kepsilon

    own = kepsilon.anonymise(
        source, policy(algorithm), memory=memory, spill_folder=folder if memory else None, with_linkage=memory is None
    )
    with own:
        own.write(folder / "out.parquet")


def explore(source: Path, *, confidence: float | None = None) -> None:
    import kepsilon

    grid = kepsilon.explore(source, policy(), confidence=confidence)
    if len(grid.cells) != 84:
        raise ValueError("a grid of 84 cells was asked for")


def check(source: Path) -> None:
    import kepsilon

    kepsilon.check(source, policy(confidence=0.99))


TASKS: dict[str, Callable[[Path, Path], None]] = {
    "release, OLA": lambda source, folder: release(source, folder, algorithm="ola"),
    "release, Mondrian": lambda source, folder: release(source, folder, algorithm="mondrian"),
    "larger than memory, OLA": lambda source, folder: release(source, folder, algorithm="ola", memory="200MB"),
    "larger than memory, Mondrian": lambda source, folder: release(
        source, folder, algorithm="mondrian", memory="200MB"
    ),
    "explore, 84 cells": lambda source, folder: explore(source),  # noqa: ARG005
    "explore, 84 cells with confidence": lambda source, folder: explore(source, confidence=0.99),  # noqa: ARG005
    "check": lambda source, folder: check(source),  # noqa: ARG005
}


def one(task: str, source: Path) -> None:
    """One measurement, in this process."""
    import kepsilon

    _ = kepsilon.anonymise, kepsilon.explore, kepsilon.check  # imports are not timed
    for engine in ("local", "spilling", "local.engine", "spilling.engine"):  # older versions have a module for each
        with contextlib.suppress(ImportError):
            importlib.import_module(f"kepsilon.engines.{engine}")

    before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        TASKS[task](source, Path(folder))
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps({"seconds": seconds, "processor": processor, "peak": after.ru_maxrss * 1024}))


def measure(checkout: Path, task: str, source: Path) -> dict[str, float]:
    command = [sys.executable, __file__, str(checkout), "--one", task, str(source)]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout)


def row(task: str, found: dict[str, list[dict[str, float]]]) -> str:
    old, new = (
        {what: statistics.median(run[what] for run in found[which]) for what in found[which][0]} for which in found
    )
    ratios = {what: new[what] / old[what] for what in old}
    return (
        f"| {task} | {old['seconds']:.2f} | {new['seconds']:.2f} | {ratios['seconds']:.2f} | {ratios['processor']:.2f} | "
        f"{ratios['peak']:.2f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("old", type=Path)
    parser.add_argument("--millions", type=float, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=list(TASKS))
    parser.add_argument("--one", nargs=2)
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.one[0], Path(arguments.one[1]))
        return
    from pyarrow import parquet
    from voters import as_plain_text, voter_list

    print(f"{arguments.millions:g} million voters, {arguments.repeats} turns.\n")
    print("| what | old, s | new, s | ratio | ratio of processor seconds | ratio of peak memory |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "voters.parquet"
        parquet.write_table(as_plain_text(voter_list(int(arguments.millions * 1e6))), source)
        for task in arguments.only or TASKS:
            found: dict[str, list[dict[str, float]]] = {"old": [], "new": []}
            for turn in range(arguments.repeats):
                pair = {"old": arguments.old.resolve(), "new": HERE.parent}
                for which in pair if turn % 2 == 0 else reversed(pair):
                    found[which].append(measure(pair[which], task, source))
            print(row(task, found), flush=True)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""The whole grid, 6 k × 7 ε × 2 algorithms, on every engine: seconds, peak memory, and whether the figures are the same.

In memory, under a limit on memory, and on a real standalone Spark master with two workers of one core each on loopback.
Each is a process of its own, timed without its imports and without starting a session; Spark's peak is the driver's.
`python benchmarks/explore_engines.py [MILLIONS] [--memory 2GB] [--only local limited spark]`
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

from release import POLICY

ENGINES = ("local", "limited", "spark")


def one(engine: str, source: Path, folder: Path, memory: str, master: str) -> None:
    import kepsilon
    import kepsilon.pipeline.explore

    policy = kepsilon.Policy.from_dict(tomllib.loads(POLICY.format(algorithm="ola")))
    if engine == "spark":
        where = {"engine": kepsilon.spark_engine(master=master, staging=folder, memory=memory)}
    else:
        where = {"memory": memory if engine == "limited" else None, "spill_folder": folder}
    start = time.perf_counter()
    grid = kepsilon.explore(source, policy, **where)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    cells = [None if cell.prediction is None else cell.prediction.to_json() for cell in grid.cells]
    print(json.dumps({"seconds": seconds, "peak": peak, "cells": cells}))


def largest_difference(one: object, other: object) -> float:
    """Relative, over all figures; infinite where anything but a figure differs."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return max((largest_difference(one[name], other[name]) for name in one), default=0.0)
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return max((largest_difference(*pair) for pair in zip(one, other, strict=True)), default=0.0)
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) / max(abs(one), abs(other)) if one != other else 0.0
    return 0.0 if one == other else math.inf


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("millions", nargs="?", type=float, default=1)
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--only", nargs="*", choices=ENGINES, default=ENGINES)
    parser.add_argument("--one", nargs=5)
    arguments = parser.parse_args()
    if arguments.one:
        engine, source, folder, memory, master = arguments.one
        one(engine, Path(source), Path(folder), memory, master)
        return
    from spark import cluster
    from voters import write_voters

    print("| engine | 84 cells, s | peak memory, GB | largest relative difference to the first |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        source, folder = Path(name) / "voters", Path(name) / "spill"
        source.mkdir()
        folder.mkdir()
        write_voters(source, int(arguments.millions * 1e6))
        master = stack.enter_context(cluster(folder)) if "spark" in arguments.only else ""
        first = None
        for engine in arguments.only:
            command = [sys.executable, __file__, "--one", engine, str(source), str(folder), arguments.memory, master]
            environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
            found = json.loads(done.stdout)
            first = first or found["cells"]
            difference = largest_difference(first, found["cells"])
            print(f"| {engine} | {found['seconds']:.1f} | {found['peak'] / 1e9:.2f} | {difference:.1e} |", flush=True)


if __name__ == "__main__":
    main()

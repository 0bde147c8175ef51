# SPDX-License-Identifier: Apache-2.0
"""A release larger than memory, a folder of Parquet to Parquet, beside DuckDB's plain shuffle-copy under the same limit.

Each measurement is a process of its own; the two take turns, and the ratio is of medians. DuckDB sorts by a random key and
spills; the release counts, searches, draws noise, measures it and shuffles.
`python benchmarks/scale.py [MILLIONS ...] [--memory 2GB] [--repeats N] [--folder DIR]`; 100 million records need 10 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from release import POLICY


def shuffle_copy(source: Path, folder: Path, *, memory: str) -> dict[str, float]:
    """What no release can do without, by a database that spills."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET memory_limit='{memory}'")
    connection.execute(f"SET temp_directory='{folder / 'spilt'}'")
    connection.execute("SET preserve_insertion_order=false")
    connection.execute(
        f"COPY (SELECT * FROM read_parquet('{source}/*.parquet') ORDER BY random()) TO '{folder / 'out.parquet'}' (FORMAT parquet)"
    )
    return {}


def released(source: Path, folder: Path, *, memory: str, algorithm: str) -> dict[str, float]:
    import tomllib

    import kepsilon

    policy = kepsilon.Policy.from_dict(tomllib.loads(POLICY.format(algorithm=algorithm)))
    with kepsilon.anonymise(source, policy, memory=memory, spill_folder=folder, with_linkage=False) as release:
        start = time.perf_counter()
        release.write(folder / "out.parquet", overwrite=True)
        return {**release.record["seconds"], "write": round(time.perf_counter() - start, 4)}


def one(kind: str, source: Path, folder: Path, memory: str) -> None:
    import kepsilon.engines.spilling.engine
    import kepsilon.pipeline.anonymise  # imports are the same for both, so they are not timed  # noqa: F401

    watched = Watched(folder)
    start = time.perf_counter()
    steps = (
        shuffle_copy(source, folder, memory=memory)
        if kind == "shuffle-copy"
        else released(source, folder, memory=memory, algorithm=kind)
    )
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    measured = {"seconds": seconds, "peak": peak, "disk": watched.largest, "steps": steps}
    print(json.dumps(measured), flush=True)
    os._exit(0)  # DuckDB 2.0 complains about itself when the interpreter ends


class Watched:
    """The most that a folder held, looked at every now and then."""

    def __init__(self, folder: Path) -> None:
        self.largest = 0
        self._folder = folder
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            size = 0
            for path in self._folder.rglob("*"):
                try:
                    size += path.stat().st_size
                except OSError:
                    continue  # gone meanwhile
            self.largest = max(self.largest, size)
            time.sleep(0.5)


def measure(kind: str, source: Path, memory: str, place: Path) -> dict:
    with tempfile.TemporaryDirectory(dir=place) as folder:
        command = [sys.executable, __file__, "--one", kind, str(source), folder, memory]
        outcome = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(outcome.stdout)


def benchmark(n_records: int, *, memory: str, repeats: int, place: Path) -> None:
    from voters import write_voters

    with tempfile.TemporaryDirectory(dir=place) as folder:
        source = Path(folder)
        write_voters(source, n_records)
        runs: dict[str, list[dict]] = {"shuffle-copy": [], "ola": [], "mondrian": []}
        for _ in range(repeats):
            for kind, measured in runs.items():
                measured.append(measure(kind, source, memory, place))
    base = statistics.median(run["seconds"] for run in runs["shuffle-copy"])
    for kind, measured in runs.items():
        seconds = [run["seconds"] for run in measured]
        median = statistics.median(seconds)
        steps = ", ".join(f"{name} {value:.1f}" for name, value in measured[-1]["steps"].items())
        peak, disk = (max(run[what] for run in measured) / 10**9 for what in ("peak", "disk"))
        print(
            f"| {n_records / 1e6:g} million | {kind} | {median:.1f} ({min(seconds):.1f} to {max(seconds):.1f}) | "
            f"{median / base:.2f} | {peak:.2f} | {disk:.2f} | {steps} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("millions", nargs="*", type=float, default=[10])
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--one", nargs=4)
    arguments = parser.parse_args()
    if arguments.one:
        kind, source, folder, memory = arguments.one
        one(kind, Path(source), Path(folder), memory)
        return
    print(f"Memory limit {arguments.memory}.\n")
    print(
        "| records | what | seconds (spread) | ratio to shuffle-copy | peak memory, GB | disk besides input, GB | steps |"
    )
    print("|---|---|---|---|---|---|---|")
    for millions in arguments.millions:
        benchmark(int(millions * 1_000_000), memory=arguments.memory, repeats=arguments.repeats, place=arguments.folder)


if __name__ == "__main__":
    main()

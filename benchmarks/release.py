# SPDX-License-Identifier: Apache-2.0
"""A whole release, Parquet to Parquet, beside a plain read-shuffle-write of the same file: time and peak memory.

Each measurement is a process of its own, so that one's memory is not the other's; the two take turns, and the ratio is
of medians. `python benchmarks/release.py [MILLIONS ...] [--repeats N]`
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

POLICY = """
k = 10
epsilon = 2.0
algorithm = "{algorithm}"
max_suppression = 0.05
[attributes]
zip = {{ role = "k-quasi", hierarchy = {{ type = "mask" }} }}
gender = {{ role = "k-quasi", hierarchy = {{ type = "suppress", label = "Person" }} }}
birth_year = {{ role = "k-quasi", hierarchy = {{ type = "intervals", widths = [2, 4, 8] }}, step = 1 }}
race = {{ role = "k-quasi", hierarchy = {{ type = "suppress" }} }}
height = {{ role = "epsilon-quasi", precision = 0.1, range = "class" }}
party = {{ role = "sensitive" }}
score = {{ role = "sensitive" }}
"""


def plain(source: Path, target: Path) -> dict[str, float]:
    """Read, shuffle, write, with Arrow alone: what no release can do without."""
    import numpy as np
    from pyarrow import parquet

    table = parquet.read_table(source)
    table = table.take(np.random.default_rng().permutation(table.num_rows))
    parquet.write_table(table, target)
    return {}


def released(source: Path, target: Path, *, algorithm: str) -> dict[str, float]:
    import tomllib

    import kepsilon

    policy = kepsilon.Policy.from_dict(tomllib.loads(POLICY.format(algorithm=algorithm)))
    release = kepsilon.anonymise(source, policy)
    start = time.perf_counter()
    release.write(target, overwrite=True)
    return {**release.record["seconds"], "write": round(time.perf_counter() - start, 4)}


def measure(kind: str, source: Path, target: Path) -> dict[str, float]:
    """Seconds and peak memory of one run in a process of its own."""
    command = [sys.executable, __file__, "--one", kind, str(source), str(target)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(outcome.stdout)


def one(kind: str, source: Path, target: Path) -> None:
    import kepsilon.engines.local.engine
    import kepsilon.pipeline.anonymise  # imports are the same for both, so they are not timed  # noqa: F401

    start = time.perf_counter()
    steps = plain(source, target) if kind == "plain" else released(source, target, algorithm=kind)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": seconds, "peak": peak, "steps": steps}))


def table_bytes(source: Path) -> int:
    """The Arrow table as a plain reader holds it."""
    from pyarrow import parquet

    return parquet.read_table(source).nbytes


def benchmark(n_records: int, *, repeats: int, folder: Path) -> None:
    from pyarrow import parquet
    from voters import as_plain_text, voter_list

    source, target = folder / "voters.parquet", folder / "out.parquet"
    parquet.write_table(as_plain_text(voter_list(n_records)), source)
    size = table_bytes(source)
    runs: dict[str, list[dict]] = {"plain": [], "ola": [], "mondrian": []}
    for _ in range(repeats):
        for kind, measured in runs.items():
            measured.append(measure(kind, source, target))
    base = statistics.median(run["seconds"] for run in runs["plain"])
    for kind, measured in runs.items():
        seconds = [run["seconds"] for run in measured]
        median = statistics.median(seconds)
        peak = max(run["peak"] for run in measured)
        steps = ", ".join(f"{name} {value:.2f}" for name, value in measured[-1]["steps"].items())
        print(
            f"| {n_records / 1e6:g} million | {kind} | {median:.2f} ({min(seconds):.2f} to {max(seconds):.2f}) | "
            f"{median / base:.2f} | {peak / size:.2f} | {steps} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("millions", nargs="*", type=float, default=[0.1, 1, 10])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one", nargs=3)
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.one[0], Path(arguments.one[1]), Path(arguments.one[2]))
        return
    print("| records | what | seconds (spread) | ratio to read-shuffle-write | peak memory / Arrow table | steps |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for millions in arguments.millions:
            benchmark(int(millions * 1_000_000), repeats=arguments.repeats, folder=Path(folder))


if __name__ == "__main__":
    main()

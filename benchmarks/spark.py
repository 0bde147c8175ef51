# SPDX-License-Identifier: Apache-2.0
"""A release on Spark beside a plain Spark job that reads, adds a random key, sorts by it and writes; and the local engines.

A real standalone master and two workers of one core each on loopback. Each measurement is a program of its own with fresh
executors, timed from when its session is there; the ways take turns, and ratios are of medians.
`python benchmarks/spark.py [MILLIONS ...] [--repeats N] [--folder DIR]`; needs Java and `pip install 'kepsilon[spark]'`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from release import POLICY

WAYS = ("plain Spark job", "kepsilon on Spark", "kepsilon in memory", "kepsilon with 2GB")


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """A master and two workers; its address."""
    import pyspark

    home = Path(pyspark.__file__).parent
    port, page = free_port(), free_port()
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }

    def start(kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *arguments]
        log = (folder / f"{kind}-{len(running)}.log").open("wb")
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    running: list[subprocess.Popen[bytes]] = []
    try:
        running.append(start("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page)))
        wait_for(port)
        address = f"spark://127.0.0.1:{port}"
        for i in range(2):
            work = ["--work-dir", str(folder / f"work-{i}"), "--webui-port", str(free_port())]
            running.append(start("worker.Worker", address, "--cores", "1", "--memory", "3g", *work))
        time.sleep(5)
        yield address
    finally:
        for process in running:
            process.kill()
            process.wait()


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(100):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.3)
    raise TimeoutError("the master does not answer")


def session_on(address: str):
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.master(address).config("spark.executor.memory", "2g").config("spark.ui.enabled", "false")
    )
    # As many partitions as keep two cores busy; the 200 that are the default are for larger clusters.
    builder = builder.config("spark.sql.shuffle.partitions", "8").config("spark.log.level", "ERROR")
    return builder.config("spark.driver.memory", "2g").config("spark.ui.showConsoleProgress", "false").getOrCreate()


def plain(source: Path, target: Path, address: str) -> tuple[float, dict[str, float]]:
    """What no release can do without, by Spark alone."""
    from pyspark.sql import functions

    session = session_on(address)
    session.range(10).count()  # executors are there
    start = time.perf_counter()
    frame = session.read.parquet(str(source)).withColumn("key", functions.rand())
    frame.orderBy("key").drop("key").write.parquet(str(target))
    return time.perf_counter() - start, {}


def released(source: Path, target: Path, *, engine: object, memory: str | None) -> tuple[float, dict[str, float]]:
    import tomllib

    import kepsilon

    policy = kepsilon.Policy.from_dict(tomllib.loads(POLICY.format(algorithm="ola")))
    options = {} if memory is None else {"memory": memory, "spill_folder": target.parent, "with_linkage": False}
    start = time.perf_counter()
    with kepsilon.anonymise(source, policy, engine=engine, **options) as release:
        begun = time.perf_counter()
        release.write(target)
        written = time.perf_counter() - begun
    return time.perf_counter() - start, {**release.record["seconds"], "write": round(written, 4)}


def one(way: str, source: Path, target: Path, address: str) -> None:
    import kepsilon.pipeline.anonymise  # imports are the same for all, so they are not timed

    if way == "plain Spark job":
        seconds, steps = plain(source, target, address)
    elif way == "kepsilon on Spark":
        session = session_on(address)
        session.range(10).count()
        engine = kepsilon.spark_engine(session, staging=target.parent, with_linkage=False)
        seconds, steps = released(source, target, engine=engine, memory=None)
    else:
        import kepsilon.engines.spilling.engine

        seconds, steps = released(source, target, engine=None, memory="2GB" if way.endswith("2GB") else None)
    print(json.dumps({"seconds": seconds, "steps": steps}), flush=True)


def measure(way: str, source: Path, address: str, place: Path) -> dict:
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    with tempfile.TemporaryDirectory(dir=place) as folder:
        command = [sys.executable, __file__, "--one", way, str(source), str(Path(folder) / "out"), address]
        outcome = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return json.loads(outcome.stdout.splitlines()[-1])


def benchmark(n_records: int, *, repeats: int, place: Path) -> None:
    from voters import write_voters

    with tempfile.TemporaryDirectory(dir=place) as folder:
        source = Path(folder) / "voters"
        source.mkdir()
        write_voters(source, n_records)
        runs: dict[str, list[dict]] = {way: [] for way in WAYS}
        with cluster(Path(folder)) as address:
            for _ in range(repeats):
                for way, measured in runs.items():
                    measured.append(measure(way, source, address, place))
    base = statistics.median(run["seconds"] for run in runs["plain Spark job"])
    for way, measured in runs.items():
        seconds = [run["seconds"] for run in measured]
        median = statistics.median(seconds)
        steps = ", ".join(f"{name} {value:.1f}" for name, value in measured[-1]["steps"].items())
        print(
            f"| {n_records / 1e6:g} million | {way} | {median:.1f} ({min(seconds):.1f} to {max(seconds):.1f}) | "
            f"{median / base:.2f} | {steps} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("millions", nargs="*", type=float, default=[10])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--one", nargs=4)
    arguments = parser.parse_args()
    if arguments.one:
        way, source, target, address = arguments.one
        one(way, Path(source), Path(target), address)
        return
    print("A standalone master and two workers of one core each on this machine; OLA, k = 10, ε = 2.\n")
    print("| records | what | seconds (spread) | ratio to the plain Spark job | steps |")
    print("|---|---|---|---|---|")
    for millions in arguments.millions:
        benchmark(int(millions * 1_000_000), repeats=arguments.repeats, place=arguments.folder)


if __name__ == "__main__":
    main()

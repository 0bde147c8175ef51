# SPDX-License-Identifier: Apache-2.0
"""Runs every benchmark and writes benchmarks/RESULTS.md: machine, versions, commands, tables. `make bench`."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
PARTS = {
    "At the command line": ["command.py"],
    "A whole release beside a plain read-shuffle-write": ["release.py"],
    "Larger than memory": ["scale.py", "1", "10", "100"],
    "On a cluster": ["spark.py", "10"],
    "Counting and searching": ["search.py"],
    "The grid of k × ε × algorithm beside one release": ["explore.py"],
    "Nearest-neighbour links": ["linking.py"],
    "Drawing noise": ["noise.py"],
    "Peers from PyPI": ["peers.py"],
}
PACKAGES = ("numpy", "pyarrow", "duckdb", "pyspark", "pandas", "anonypy")


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    return (
        f"{os.cpu_count()} cores ({_processor()}), {memory:.0f} GiB, {platform.system()}; "
        f"Python {platform.python_version()}, {versions}; {datetime.now(UTC):%Y-%m-%d}."
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def main() -> None:
    pages = [
        "# Benchmarks",
        (
            "Written by `make bench`. Each table compares things measured in one run; ratios travel between machines, "
            "seconds do not."
        ),
        machine(),
    ]
    for title, command in PARTS.items():
        print(f"{title} …", file=sys.stderr, flush=True)
        outcome = subprocess.run([sys.executable, *command], cwd=HERE, check=True, stdout=subprocess.PIPE, text=True)
        pages += [f"## {title}", f"`python benchmarks/{' '.join(command)}`", outcome.stdout.strip()]
        (HERE / "RESULTS.md").write_text("\n\n".join(pages) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

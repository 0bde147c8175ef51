# SPDX-License-Identifier: Apache-2.0
"""Runs every benchmark and writes benchmarks/RESULTS.md: machine, versions, commands, tables. `make bench`.

`python benchmarks/run.py scale.py spark.py` measures only those anew; the others stay as they are.
"""

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
    "A whole release beside the fastest plain copy": ["release.py"],
    "Larger than memory": ["scale.py", "10", "100"],
    "On a cluster": ["spark.py", "10", "--repeats", "2"],
    "Counting and searching": ["search.py"],
    "Local recoding beside Mondrian": ["local_recoding.py", "--repeat", "2"],
    "`check` with and without the look at kept columns": ["kept_columns.py"],
    "Searching by persons beside searching by records": ["persons.py"],
    "`check` and `audit` beside one release": ["audit.py"],
    "The grid of k × ε × algorithm beside one release": ["explore.py"],
    "The grid on every engine": ["explore_engines.py", "1"],
    "Nearest-neighbour links": ["linking.py"],
    "Drawing noise": ["noise.py"],
    "Averages beside noise, and grouping": ["averages.py"],
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
    asked = sys.argv[1:]
    path = HERE / "RESULTS.md"
    sections = _sections(path) if asked and path.exists() else {}
    here = machine()
    for title, command in PARTS.items():
        if asked and command[0] not in asked:
            continue
        print(f"{title} …", file=sys.stderr, flush=True)
        outcome = subprocess.run([sys.executable, *command], cwd=HERE, check=True, stdout=subprocess.PIPE, text=True)
        told = f"`python benchmarks/{' '.join(command)}`, {here}"
        sections[title] = f"{told}\n\n{outcome.stdout.strip()}"
        path.write_text(_page(sections), encoding="utf-8")


def _page(sections: dict[str, str]) -> str:
    head = (
        "# Benchmarks\n\nWritten by `make bench`. Each table compares things measured in one run; ratios travel "
        "between machines better than seconds do."
    )
    known = {title: sections[title] for title in PARTS if title in sections}
    return "\n\n".join([head, *(f"## {title}\n\n{text}" for title, text in known.items())]) + "\n"


def _sections(path: Path) -> dict[str, str]:
    parts = path.read_text(encoding="utf-8").split("\n## ")[1:]
    return {title: text.strip() for title, _, text in (part.partition("\n") for part in parts)}


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""What a person waits for at the command line: `kepsilon --help`, and Adult from CSV to CSV, beside a bare interpreter."""

from __future__ import annotations

import csv
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("KEPSILON_DATA", ROOT.parent / "shared" / "data"))
REPEATS = 7
POLICY = """
k = 10
epsilon = 2
algorithm = "ola"
max_suppression = 0.05
unlisted_columns = "drop"
[attributes]
birth_year = { role = "k-quasi", hierarchy = { type = "intervals", widths = [2, 4, 8] } }
sex = { role = "k-quasi", hierarchy = { type = "suppress", label = "Person" } }
race = { role = "k-quasi", hierarchy = { type = "suppress" } }
marital-status = { role = "k-quasi", hierarchy = { type = "suppress" } }
hours-per-week = { role = "epsilon-quasi", precision = 1, range = "class", accept_useless = "a benchmark" }
income = { role = "sensitive" }
"""


def seconds(command: list[str]) -> list[float]:
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return times


def adult(folder: Path) -> list[str] | None:
    if not (DATA / "adult.data.csv").exists():
        return None
    with (DATA / "adult.data.csv").open(newline="", encoding="utf-8") as file:
        records = [{**r, "birth_year": 1994 - int(r["age"])} for r in csv.DictReader(file) if int(r["age"]) < 80]
    with (folder / "adult.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "kepsilon",
        "anonymise",
        str(folder / "adult.csv"),
        "-p",
        str(folder / "policy.toml"),
    ]
    return [*command, "-o", str(folder / "out.csv"), "--overwrite"]


def main() -> None:
    print("| command | median seconds (spread) | ratio to a bare interpreter |")
    print("|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        commands = {
            "a bare interpreter (`python -c pass`)": [sys.executable, "-c", "pass"],
            "`kepsilon --help`": [sys.executable, "-m", "kepsilon", "--help"],
            "Adult (32,440 records), CSV to CSV, the whole command": adult(Path(folder)),
        }
        base = None
        for name, command in commands.items():
            if command is None:
                print(f"| {name} | not measured: adult.data.csv is not here | |")
                continue
            times = seconds(command)
            base = base or statistics.median(times)
            median = statistics.median(times)
            print(f"| {name} | {median:.2f} ({min(times):.2f} to {max(times):.2f}) | {median / base:.1f} |")


if __name__ == "__main__":
    main()

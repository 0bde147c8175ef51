# SPDX-License-Identifier: Apache-2.0
"""The whole grid, 6 k × 7 ε × 2 algorithms with confident k, beside one release of the same data, in one run.

Adult from CSV, as commands and within one process (a release being read, made and written); a made-up voter list of 10
million from Parquet, each in a process of its own, three times over at a million. `python benchmarks/explore.py [MILLIONS ...]`
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("KEPSILON_DATA", ROOT.parent / "shared" / "data"))
HEAD = 'k = 10\nepsilon = 2\nalgorithm = "ola"\nmax_suppression = 0.05\nconfidence = 0.99\n[attributes]\n'
ADULT = """
year = { role = "k-quasi", hierarchy = { type = "intervals", widths = [2, 4, 8] }, step = 1 }
sex = { role = "k-quasi", hierarchy = { type = "suppress", label = "Person" } }
race = { role = "k-quasi", hierarchy = { type = "suppress" } }
marital = { role = "k-quasi", hierarchy = { type = "groups", levels = [ { "In marriage" = ["Married-civ-spouse",
    "Married-AF-spouse", "Married-spouse-absent"], "Alone" = ["Divorced", "Never-married", "Separated", "Widowed"] } ] } }
height = { role = "epsilon-quasi", precision = 0.1, range = "class", accept_useless = "a benchmark" }
""".replace("\n    ", " ")
VOTERS = """
zip = { role = "k-quasi", hierarchy = { type = "mask" } }
gender = { role = "k-quasi", hierarchy = { type = "suppress", label = "Person" } }
birth_year = { role = "k-quasi", hierarchy = { type = "intervals", widths = [2, 4, 8] }, step = 1 }
race = { role = "k-quasi", hierarchy = { type = "suppress" } }
height = { role = "epsilon-quasi", precision = 0.1, range = "class", accept_useless = "a benchmark" }
party = { role = "sensitive" }
score = { role = "sensitive" }
"""
REPEATS = 7
ALGORITHMS = ("ola", "mondrian")
"""Those of the grid of 84 cells."""


def write_adult(folder: Path) -> None:
    """Heights normal by sex, roughly: what matters here is how many distinct values a class has."""
    rng = np.random.default_rng(1)
    with (DATA / "adult.data.csv").open(newline="", encoding="utf-8") as file:
        people = [person for person in csv.DictReader(file) if int(person["age"]) < 80]
    with (folder / "adult.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["year", "sex", "race", "marital", "height"])
        for p in people:
            height = rng.normal(162.1, 7.1) if p["sex"] == "Female" else rng.normal(175.9, 7.6)
            writer.writerow([1994 - int(p["age"]), p["sex"], p["race"], p["marital-status"], f"{height:.1f}"])
    (folder / "adult.toml").write_text(HEAD + ADULT, encoding="utf-8")


def adult_as_commands(folder: Path) -> tuple[list[float], list[float]]:
    shared = [str(folder / "adult.csv"), "-p", str(folder / "adult.toml"), "--overwrite"]
    command = [sys.executable, "-m", "kepsilon"]
    chosen = ["--algorithm", ",".join(ALGORITHMS)]
    one, grid = [], []
    for _ in range(REPEATS):
        one.append(_seconds([*command, "anonymise", *shared, "-o", str(folder / "out.csv")]))
        grid.append(_seconds([*command, "explore", *shared, *chosen, "-o", str(folder / "grid.json")]))
    return one, grid


def adult_in_process(folder: Path) -> tuple[list[float], list[float]]:
    import kepsilon

    policy = kepsilon.Policy.from_file(folder / "adult.toml")
    one, grid = [], []
    for _ in range(REPEATS + 1):
        start = time.perf_counter()
        kepsilon.anonymise(folder / "adult.csv", policy).write(folder / "out.csv", overwrite=True)
        middle = time.perf_counter()
        kepsilon.explore(folder / "adult.csv", policy, algorithm=ALGORITHMS)
        one.append(middle - start)
        grid.append(time.perf_counter() - middle)
    return one[1:], grid[1:]


def _seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def one_run(kind: str, folder: Path) -> None:
    """A release or a grid of the voters, in this process; prints seconds by step."""
    import kepsilon
    import kepsilon.engines.local.engine
    import kepsilon.pipeline.anonymise  # imports are not timed

    policy = kepsilon.Policy.from_dict(tomllib.loads(HEAD + VOTERS))
    start = time.perf_counter()
    if kind == "anonymise":
        release = kepsilon.anonymise(folder / "voters.parquet", policy)
        release.write(folder / "out.parquet", overwrite=True)
        steps = release.record["seconds"]
    else:
        grid = kepsilon.explore(folder / "voters.parquet", policy, algorithm=ALGORITHMS)
        if len(grid.cells) != 84:
            raise ValueError("a grid of 84 cells was asked for")
        steps = grid.seconds
    print(json.dumps({"total": time.perf_counter() - start, "steps": dict(steps)}))


def voters(n_records: int, folder: Path) -> dict[str, dict]:
    from pyarrow import parquet
    from voters import voter_list

    parquet.write_table(voter_list(n_records), folder / "voters.parquet")
    found = {}
    for kind in ("anonymise", "explore"):
        command = [sys.executable, __file__, "--one", kind, str(folder)]
        found[kind] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return found


def row(what: str, one: list[float], grid: list[float]) -> str:
    a, b = statistics.median(one), statistics.median(grid)
    spread = f"{min(grid):.2f} to {max(grid):.2f}"
    return f"| {what} | {a:.2f} | {b:.2f} ({spread}) | {b / a:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("millions", nargs="*", type=float, default=[1, 10])
    parser.add_argument("--one", nargs=2)
    arguments = parser.parse_args()
    if arguments.one:
        one_run(arguments.one[0], Path(arguments.one[1]))
        return
    print("| data | one release, s | 84 cells, s (spread) | ratio |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if (DATA / "adult.data.csv").exists():
            write_adult(folder)
            print(row("Adult, as commands", *adult_as_commands(folder)), flush=True)
            print(row("Adult, within one process, file to file", *adult_in_process(folder)), flush=True)
        else:
            print("| Adult | not measured: adult.data.csv is not here | | |")
        for millions in arguments.millions:
            runs = [voters(int(millions * 1e6), folder) for _ in range(3 if millions <= 1 else 1)]
            totals = {kind: [run[kind]["total"] for run in runs] for kind in runs[0]}
            print(row(f"{millions:g} million voters", totals["anonymise"], totals["explore"]), flush=True)
        print()
        for kind, run in runs[-1].items():
            print(f"Where the time goes, {kind}: {', '.join(f'{k} {v:.2f}' for k, v in run['steps'].items())} s.\n")


if __name__ == "__main__":
    main()

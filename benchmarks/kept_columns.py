# SPDX-License-Identifier: Apache-2.0
"""`check` with the look at kept columns beside `check` without it, in one run: as a ratio, and in seconds.

Made-up voters with 50 kept columns from Parquet, on the engine in memory and under a limit on memory. Each check is a
process of its own, timed without its imports; the two kinds take turns. Without the look, whole records are not read, and
no attacker is tried who works out a kept column or knows one. The look should take at most 10 seconds more for a million
records. `python benchmarks/kept_columns.py [MILLIONS] [--columns 50] [--repeats 3]`
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa

MOST_SECONDS = 10
"""What the look may take, for a million records with 50 kept columns."""
ENGINES = {"in memory": None, "with 2GB": "2GB"}
KINDS = ("without", "with")
POLICY = """
k = 10
epsilon = 2
algorithm = "ola"
max_suppression = 0.05
unlisted_columns = "error"
[attributes]
name = { role = "identifier" }
zip = { role = "k-quasi", hierarchy = { type = "mask" } }
gender = { role = "k-quasi", hierarchy = { type = "suppress", label = "Person" } }
birth_year = { role = "k-quasi", hierarchy = { type = "intervals", widths = [2, 4, 8] } }
race = { role = "k-quasi", hierarchy = { type = "suppress" } }
height = { role = "epsilon-quasi", precision = 0.1, range = "class", accept_useless = "a benchmark" }
"""


def policy_text(kept: list[str]) -> str:
    return POLICY + "".join(f'{name} = {{ role = "sensitive" }}\n' for name in kept)


def kept_columns(n_columns: int, height: np.ndarray, *, seed: int = 3) -> dict[str, pa.Array]:
    """Columns of all kinds that are kept: of ten, four numbers, two counts, two categories, a code, and a day.

    Numbers go a little with the height, as measured values of people do; not so much that any column would be refused.
    """
    rng = np.random.default_rng(seed)
    n = len(height)
    standard = (height - height.mean()) / height.std()
    codes = np.array([f"{i:06d}" for i in range(100_000)], dtype=object)
    words = np.array([f"group {i}" for i in range(200)], dtype=object)
    found: dict[str, pa.Array] = {}
    for i in range(n_columns):
        place = i % 10
        if place < 4:
            values = pa.array(np.round(0.1 * place * standard + rng.normal(50, 12, n), 2))
        elif place < 6:
            values = pa.array(rng.poisson(3 ** (place - 3), n).astype(np.int32))
        elif place < 8:
            values = pa.array(words[rng.integers(0, 5 if place == 6 else len(words), n)], pa.string())
        elif place == 8:
            values = pa.array(codes[rng.integers(0, len(codes), n)], pa.string())
        else:
            values = pa.array(rng.integers(0, 3_000, n).astype("datetime64[D]"))
        found[f"kept_{i:02d}"] = values
    return found


def write_table(path: Path, n_records: int, n_columns: int) -> list[str]:
    """Writes the voters with an identifier and kept columns; returns the names of the kept ones."""
    from pyarrow import parquet
    from voters import EPSILON_QUASI, SENSITIVE, as_plain_text, voter_list

    voters = as_plain_text(voter_list(n_records)).drop_columns(list(SENSITIVE))
    kept = kept_columns(n_columns, voters[EPSILON_QUASI].to_numpy())
    names = pa.array([f"Person {i}" for i in np.random.default_rng(4).permutation(n_records)])
    table = pa.table({"name": names, **{name: voters[name] for name in voters.column_names}, **kept})
    parquet.write_table(table, path, row_group_size=1 << 18)
    return list(kept)


def one(kind: str, memory: str, source: Path) -> None:
    """One check in this process; prints its seconds, and how many columns it looked at."""
    import kepsilon
    import kepsilon.engines.local.engine
    import kepsilon.pipeline.check  # imports are not timed

    policy = kepsilon.Policy.from_dict(tomllib.loads((source.parent / "policy.toml").read_text(encoding="utf-8")))
    no_look = patch("kepsilon.predict.predict.look_at_whole_records", lambda *_given, **_named: None)
    if kind == "without":
        no_look.start()
    start, worked = time.perf_counter(), time.process_time()
    found = kepsilon.check(source, policy, memory=memory or None, spill_folder=source.parent)
    seconds = {"waited": time.perf_counter() - start, "worked": time.process_time() - worked}
    print(json.dumps({**seconds, "looked_at": len(found.kept_columns)}))


def checks(source: Path, memory: str | None, *, n_columns: int, repeats: int) -> dict[str, list[dict[str, float]]]:
    """Seconds of checks with and without the look, in turns: waited for, and worked by the processor."""
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    for _ in range(repeats):
        for kind in KINDS:
            command = [sys.executable, __file__, "--one", kind, memory or "", str(source)]
            own = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
            if own["looked_at"] != (n_columns if kind == "with" else 0):
                raise ValueError("the columns that were looked at are not those that should have been")
            found[kind].append(own)
    return found


def row(found: dict[str, list[dict[str, float]]]) -> tuple[str, float]:
    """The figures of one engine as the end of a line of a table, and how many seconds the look takes."""
    waited = {kind: [own["waited"] for own in runs] for kind, runs in found.items()}
    shown = " | ".join(f"{statistics.median(own):.2f} ({min(own):.2f} to {max(own):.2f})" for own in waited.values())
    without, with_look = (statistics.median(own) for own in waited.values())
    worked = [statistics.median(own["worked"] for own in runs) for runs in found.values()]
    more = with_look - without
    return f"{shown} | {with_look / without:.2f} | {more:.2f} | {worked[1] - worked[0]:.2f} |", more


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("millions", nargs="?", type=float, default=1)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one", nargs=3)
    arguments = parser.parse_args()
    if arguments.one:
        kind, memory, source = arguments.one
        one(kind, memory, Path(source))
        return
    print(
        "| records | kept columns | engine | check without the look, s (spread) | with it, s (spread) | ratio | more, s | "
        "more of the processor, s |"
    )
    print("|---|---|---|---|---|---|---|---|")
    most = 0.0
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "voters.parquet"
        kept = write_table(source, int(arguments.millions * 1e6), arguments.columns)
        (Path(name) / "policy.toml").write_text(policy_text(kept), encoding="utf-8")
        for engine, memory in ENGINES.items():
            shown, more = row(checks(source, memory, n_columns=len(kept), repeats=arguments.repeats))
            most = max(most, more)
            print(f"| {arguments.millions:g} million | {len(kept)} | {engine} | {shown}", flush=True)
    print()
    print(
        f"The look takes {most:.1f} s more at most; a million records with 50 kept columns may take {MOST_SECONDS} s more. Where "
        "other programs run beside it, the seconds of the processor say what it takes."
    )


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""`check`, and `audit` with and without the linkage, beside one release of the same table, all with confident k.

Each measurement is a process of its own; all take turns, and ratios are of medians.
`python benchmarks/audit.py [MILLIONS ...] [--repeats N] [--algorithms NAME ...]`
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from release import policy_of

ALGORITHMS = ("ola", "mondrian")
KINDS = ("release", "check", "audit", "audit with linkage")


def one(kind: str, algorithm: str, folder: Path) -> None:
    """Prints the seconds of one kind of work; a release leaves what audits look at."""
    import kepsilon
    import kepsilon.auditing.audit
    import kepsilon.pipeline.anonymise
    import kepsilon.pipeline.check  # imports are not timed

    source, released, linkage = folder / "voters.parquet", folder / "out.parquet", folder / "linkage.parquet"
    policy = kepsilon.Policy.from_dict({**policy_of(algorithm), "confidence": 0.99})
    start = time.perf_counter()
    if kind == "release":
        kepsilon.anonymise(source, policy).write(released, linkage=linkage, overwrite=True)
    elif kind == "check":
        kepsilon.check(source, policy)
    else:
        found = kepsilon.audit(source, released, policy, linkage=linkage if kind == KINDS[-1] else None)
        if found.broken:
            raise ValueError("the audit accuses an honest release")
    print(json.dumps(time.perf_counter() - start))


def benchmark(n_records: int, algorithm: str, *, repeats: int, folder: Path) -> None:
    from pyarrow import parquet
    from voters import as_plain_text, voter_list

    parquet.write_table(as_plain_text(voter_list(n_records)), folder / "voters.parquet")
    runs: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(repeats):
        for kind, seconds in runs.items():
            command = [sys.executable, "-W", "ignore", __file__, "--one", kind, algorithm, str(folder)]
            seconds.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout))
    base = statistics.median(runs["release"])
    for kind, seconds in runs.items():
        median = statistics.median(seconds)
        spread = f"{median:.2f} ({min(seconds):.2f} to {max(seconds):.2f})"
        print(f"| {n_records / 1e6:g} million | {algorithm} | {kind} | {spread} | {median / base:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("millions", nargs="*", type=float, default=[1])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=ALGORITHMS)
    parser.add_argument("--one", nargs=3)
    arguments = parser.parse_args()
    if arguments.one:
        kind, algorithm, folder = arguments.one
        one(kind, algorithm, Path(folder))
        return
    print("| records | algorithm | what | seconds (spread) | ratio to the release |")
    print("|---|---|---|---|---|")
    for millions in arguments.millions:
        for algorithm in arguments.algorithms:
            with tempfile.TemporaryDirectory() as folder:
                benchmark(int(millions * 1e6), algorithm, repeats=arguments.repeats, folder=Path(folder))


if __name__ == "__main__":
    main()

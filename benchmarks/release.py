# SPDX-License-Identifier: Apache-2.0
"""A whole release, Parquet to Parquet, beside the fastest plain copy of the same file: time and peak memory.

The copy reads text as dictionaries, takes all records in random order and writes them; the floor counts, draws noise and
shuffles securely besides. Each measurement is a process of its
own, so that one's memory is not the other's; all take turns, and ratios are of medians. Where other programs run too, the
seconds of the processor, of all threads, say more than those that passed; both are shown.
`python benchmarks/release.py [MILLIONS ...] [--repeats N] [--kinds NAME ...] [--report]`
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
from collections.abc import Sequence
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
height = {{ role = "epsilon-quasi", precision = 0.1, range = "class", accept_useless = "a benchmark" }}
party = {{ role = "sensitive" }}
score = {{ role = "sensitive" }}
"""


KINDS = ("ola", "mondrian", "local-recoding", "averages")


def fast_copy(source: Path, target: Path) -> dict[str, float]:
    """Read, shuffle, write, with Arrow alone, text as dictionaries: what no release can do without."""
    import numpy as np
    from pyarrow import parquet

    schema = parquet.read_schema(source)
    texts = [field.name for field in schema if str(field.type) == "string"]
    table = parquet.read_table(source, read_dictionary=texts).combine_chunks()
    table = table.take(np.random.default_rng().permutation(table.num_rows))
    parquet.write_table(table, target)
    return {}


def floor(source: Path, target: Path) -> dict[str, float]:
    """The least that a release has to do, and nothing else: count packed codes, draw noise, shuffle securely, copy.

    Nothing is generalised, measured or checked.
    """
    from fractions import Fraction

    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    from kepsilon.perturb.sampler import record_noise
    from kepsilon.randomness import shuffled_positions, system_bytes

    schema = parquet.read_schema(source)
    texts = [field.name for field in schema if str(field.type) == "string"]
    table = parquet.read_table(source, read_dictionary=texts).combine_chunks()
    key = np.zeros(len(table), dtype=np.int32)
    for name in ("zip", "gender", "race"):
        column = table.column(name).chunk(0)
        key = key * np.int32(len(column.dictionary)) + column.indices.to_numpy()
    years = table.column("birth_year").to_numpy().astype(np.int32)
    key = key * np.int32(years.max() - years.min() + 1) + (years - years.min())
    np.bincount(key)
    noise = record_noise(len(table), 1, epsilon=Fraction(2), source=system_bytes())
    noisy = np.round(table.column("height").to_numpy() + noise[:, 0] * (40.0 / 2**32), 1)
    table = table.set_column(table.column_names.index("height"), "height", pa.array(noisy))
    order = shuffled_positions(len(table), random_bytes=system_bytes().bytes)
    parquet.write_table(table.take(order), target)
    return {}


COPIES = {"fast copy": fast_copy, "floor": floor}


def policy_of(kind: str) -> dict:
    """The policy as a document; averages have OLA's classes."""
    import tomllib

    document = tomllib.loads(POLICY.format(algorithm="ola" if kind == "averages" else kind))
    if kind == "averages":
        document["averages"] = {"group": 20}
        del document["epsilon"], document["attributes"]["height"]["range"]
    return document


def released(source: Path, target: Path, *, kind: str, with_report: bool) -> dict[str, float]:
    import kepsilon

    release = kepsilon.anonymise(source, kepsilon.Policy.from_dict(policy_of(kind)))
    start = time.perf_counter()
    report = target.with_suffix(".html") if with_report else None
    release.write(target, overwrite=True, report=report)
    return {**release.record["seconds"], "write": round(time.perf_counter() - start, 4)}


def measure(kind: str, source: Path, target: Path, *, with_report: bool) -> dict:
    """Seconds and peak memory of one run in a process of its own."""
    report = ["--report"] if with_report else []
    command = [sys.executable, "-W", "ignore", __file__, "--one", kind, str(source), str(target), *report]
    outcome = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(outcome.stdout)


def one(kind: str, source: Path, target: Path, *, with_report: bool) -> None:
    import kepsilon.engines.local.engine
    import kepsilon.pipeline.anonymise  # imports are the same for both, so they are not timed  # noqa: F401

    start, worked = time.perf_counter(), time.process_time()
    copy = COPIES.get(kind)
    steps = copy(source, target) if copy else released(source, target, kind=kind, with_report=with_report)
    seconds, processor = time.perf_counter() - start, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": seconds, "processor": processor, "peak": peak, "steps": steps}))


def table_bytes(source: Path) -> int:
    """The Arrow table as a plain reader holds it."""
    from pyarrow import parquet

    return parquet.read_table(source).nbytes


def benchmark(n_records: int, *, kinds: Sequence[str], repeats: int, with_report: bool, folder: Path) -> None:
    from pyarrow import parquet
    from voters import as_plain_text, voter_list

    source, target = folder / "voters.parquet", folder / "out.parquet"
    parquet.write_table(as_plain_text(voter_list(n_records)), source)
    size = table_bytes(source)
    runs: dict[str, list[dict]] = {kind: [] for kind in (*COPIES, *kinds)}
    for _ in range(repeats):
        for kind, measured in runs.items():
            measured.append(measure(kind, source, target, with_report=with_report))
    base = {what: statistics.median(run[what] for run in runs["fast copy"]) for what in ("seconds", "processor")}
    for kind, measured in runs.items():
        cells = [f"{n_records / 1e6:g} million", kind + (" with report" if with_report and kind in KINDS else "")]
        for what in ("seconds", "processor"):
            found = [run[what] for run in measured]
            median = statistics.median(found)
            cells += [f"{median:.2f} ({min(found):.2f} to {max(found):.2f})", f"{median / base[what]:.2f}"]
        cells.append(f"{max(run['peak'] for run in measured) / size:.2f}")
        cells.append(", ".join(f"{name} {value:.2f}" for name, value in measured[-1]["steps"].items()))
        print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("millions", nargs="*", type=float, default=[0.1, 1, 10])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--one", nargs=3)
    arguments = parser.parse_args()
    if arguments.one:
        kind, source, target = arguments.one
        one(kind, Path(source), Path(target), with_report=arguments.report)
        return
    print(
        "| records | what | seconds (spread) | ratio to the fast copy | processor, s (spread) | ratio | "
        "peak memory / Arrow table | steps |"
    )
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for millions in arguments.millions:
            benchmark(
                int(millions * 1_000_000),
                kinds=arguments.kinds,
                repeats=arguments.repeats,
                with_report=arguments.report,
                folder=Path(folder),
            )


if __name__ == "__main__":
    main()

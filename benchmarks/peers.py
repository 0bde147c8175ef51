# SPDX-License-Identifier: Apache-2.0
"""kepsilon beside other Python packages that make tables k-anonymous: the same data, quasi-identifiers, k and run.

Every run is a process of its own, killed at a time limit. Time goes from a pandas frame in memory to the result in
memory; imports and the building of hierarchies are not timed. What came out is judged here, for all by the same
functions, from the labels each process wrote. A peer that is not installed goes into a temporary folder, with a NumPy
and a pandas of its own where it pins them (anjana), or is left out with the reason.
`python benchmarks/peers.py [--records N] [--limit SECONDS] [--repeats N] [--peers NAME ...]`
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import metadata, util
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
K = 10
MAX_SUPPRESSED = 5  # per cent, where a peer has such a limit
FAST = 5.0  # seconds; shorter runs are repeated
QUASIS = {"Adult": ["birth_year", "sex", "race", "marital-status"], "voters": ["zip", "gender", "birth_year", "race"]}
NOISY = {"Adult": ("hours-per-week", 1), "voters": ("height", 0.1)}  # with precision; peers only carry it along
SENSITIVE = {"Adult": "income", "voters": "party"}
MARRIAGE = {
    "In marriage": ["Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"],
    "Alone": ["Divorced", "Never-married", "Separated", "Widowed"],
}
HIERARCHIES = {  # the paper's, in kepsilon's words
    "zip": {"type": "mask"},
    "birth_year": {"type": "intervals", "widths": [2, 4, 8]},
    "sex": {"type": "suppress", "label": "Person"},
    "gender": {"type": "suppress", "label": "Person"},
    "race": {"type": "suppress"},
    "marital-status": {"type": "groups", "levels": [MARRIAGE]},
}


def levels(name: str, value: str) -> list[str]:
    """Hierarchies for the peers and for judging them: the labels of a value from itself to the top."""
    if name == "zip":
        return [value[: 5 - level] + "*" * level for level in range(6)]
    if name == "birth_year":
        lows = [(int(value) // width * width, width) for width in (2, 4, 8)]
        return [value, *(f"[{low}, {low + width})" for low, width in lows), "*"]
    if name == "marital-status":
        return [value, *(group for group, members in MARRIAGE.items() if value in members), "*"]
    return [value, "Person" if name in ("sex", "gender") else "*"]


def prepare_kepsilon(
    frame: pd.DataFrame, data: str, algorithm: str, *, bare: bool = False, **settings: Any
) -> Callable[[], Any]:
    """Like the others, returns what is timed; `bare` is without hierarchies, numbers as fine as they are, as in anonypy."""
    import kepsilon.engines.local.engine
    import kepsilon.pipeline.anonymise

    frame = frame.astype({"zip": "int64"} if bare and "zip" in frame else {})
    steps = {name: {"step": 1} for name in ("zip", "birth_year")}
    attributes = {
        name: {
            "role": "k-quasi",
            **({} if bare else {"hierarchy": HIERARCHIES[name]}),
            **(steps.get(name, {}) if bare or name == "birth_year" else {}),
        }
        for name in QUASIS[data]
    }
    attributes[NOISY[data][0]] = {
        "role": "epsilon-quasi",
        "precision": NOISY[data][1],
        "range": "class",
        "accept_useless": "a benchmark",
    }
    attributes[SENSITIVE[data]] = {"role": "sensitive"}
    parameters = {"k": K, "epsilon": 2.0, "algorithm": algorithm, "max_suppression": MAX_SUPPRESSED / 100}
    policy = kepsilon.Policy.from_dict({**parameters, **settings, "attributes": attributes})
    return lambda: kepsilon.anonymise(frame, policy).frame


def prepare_anonypy(frame: pd.DataFrame, data: str) -> Callable[[], Any]:
    import anonypy

    kinds = {name: "int64" if name in ("zip", "birth_year") else "category" for name in QUASIS[data]}
    preserver = anonypy.Preserver(frame.astype(kinds), QUASIS[data], SENSITIVE[data])
    return lambda: pd.DataFrame(preserver.anonymize_k_anonymity(K))


def prepare_anjana(frame: pd.DataFrame, data: str) -> Callable[[], Any]:
    from anjana.anonymity import k_anonymity

    frame = frame.astype(dict.fromkeys(QUASIS[data], "str"))
    hierarchies = {name: dict(label_table(frame[name])) for name in QUASIS[data]}
    return lambda: k_anonymity(frame, [], QUASIS[data], K, MAX_SUPPRESSED, hierarchies)


def prepare_crowds(frame: pd.DataFrame, data: str) -> Callable[[], Any]:
    from crowds.kanonymity import ola
    from crowds.kanonymity.generalizations import GenRule
    from crowds.kanonymity.information_loss import dm_star_loss

    frame = frame.astype(dict.fromkeys(QUASIS[data], "str"))
    rules = {}
    for name in QUASIS[data]:
        labels = label_table(frame[name])
        between = [dict(zip(labels[0], labels[level], strict=True)) for level in labels.columns[1:-1]]
        rules[name] = GenRule([label_of.__getitem__ for label_of in between])  # crowds adds the value and the top
    return lambda: ola.anonymize(frame, rules, k=K, info_loss=dm_star_loss, max_sup=MAX_SUPPRESSED)[0]


def label_table(column: pd.Series) -> pd.DataFrame:
    """One row per value, one column per level."""
    return pd.DataFrame([levels(str(column.name), value) for value in sorted(column.unique())])


class Peer(NamedTuple):
    prepare: Callable[[pd.DataFrame, str], Callable[[], Any]]
    note: str
    install: tuple[str, ...] = ()  # arguments of pip, where the peer is not there already


PEERS = {  # the first word of a name is the package
    "kepsilon OLA": Peer(
        prepare=lambda frame, data: prepare_kepsilon(frame, data, "ola"),
        note="times are of the whole release: OLA for the least ncp, exact noise on one more column, shuffling, manifest",
    ),
    "kepsilon OLA, dm*": Peer(
        prepare=lambda frame, data: prepare_kepsilon(frame, data, "ola", loss="dm*"),
        note="the same for the least DM*, as the paper has it",
    ),
    "kepsilon local recoding": Peer(
        prepare=lambda frame, data: prepare_kepsilon(frame, data, "local-recoding", max_suppression=0),
        note="the same with labels of its own for every class; nothing is suppressed",
    ),
    "kepsilon Mondrian": Peer(
        prepare=lambda frame, data: prepare_kepsilon(frame, data, "mondrian"),
        note="the same with median cuts: years become intervals, others sets of siblings or a common label; nothing is suppressed",
    ),
    "kepsilon Mondrian, bare": Peer(
        prepare=lambda frame, data: prepare_kepsilon(frame, data, "mondrian", bare=True),
        note="the same without hierarchies and with ZIP as a number, as anonypy has it",
    ),
    "crowds OLA": Peer(
        install=("--no-deps", "crowds==0.0.1"),
        prepare=prepare_crowds,
        note="k-anonymity only, with the lattice, limit and loss of kepsilon's OLA; recodes and counts all records in "
        "Python at every node. A second call in one process keeps the nodes that the first found (a mutable default), "
        "whatever its k, and may break the limit; here every call has a fresh process",
    ),
    "anjana": Peer(
        install=("anjana==1.2.3",),
        prepare=prepare_anjana,
        note="k-anonymity only, same hierarchies and limit; no search: generalises the column with most distinct values "
        "until the limit holds. Where it suppresses, its output has a further column `index`, the input's row numbers",
    ),
    "anonypy Mondrian": Peer(
        install=("--no-deps", "anonypy==0.2.1"),
        prepare=prepare_anonypy,
        note="k-anonymity only, no hierarchies, no suppression; returns counts by class and sensitive value, not records, "
        "and no other columns. ZIP and year were given as numbers, the rest as categories, which become sets of values",
    ),
}

READING = f"""
k = {K}; OLA and anjana may suppress {MAX_SUPPRESSED} % of the records. Classes are counted in the output, with a group-by.
Precision loss is the paper's: level/(h - 1) of a label in a hierarchy, width over range of an interval; it has none for
sets of values, hence n/a. It is a mean over attributes and released records. ncp is (values a label stands for - 1) /
(values - 1), and for years the range of the values it stands for over the range of all, of values that occur; it is a
mean over attributes and all records, of which a suppressed one counts as 1. DM* is the sum of squared class sizes of
the output, a suppressed record being a class of one.
"""


def one(peer: str, data: str, source: Path, target: Path) -> None:
    """One run: the labels go to `target`, the time beside it."""
    frame = pd.read_csv(source, dtype={"zip": "str"}, keep_default_na=False)
    run = PEERS[peer].prepare(frame, data)
    start = time.perf_counter()
    result = run()
    seconds = time.perf_counter() - start
    released = {name: [as_text(name, label) for label in result[name]] for name in QUASIS[data]}
    pd.DataFrame({**released, "count": result.get("count", 1)}).to_csv(target, index=False)
    versions = [f"{name} {metadata.version(name)}" for name in (peer.partition(" ")[0], "pandas", "numpy")]
    target.with_suffix(".json").write_text(json.dumps({"seconds": seconds, "versions": ", ".join(versions)}))


def as_text(name: str, label: Any) -> str:
    """A label: anonypy has a list of one text with a set in no fixed order, and crowds has null for the top."""
    if isinstance(label, list):
        return ",".join(sorted(label[0].split(",")))
    return levels(name, "0")[-1] if pd.isna(label) else str(label)


def judged(original: pd.DataFrame, released: pd.DataFrame, data: str) -> list[str]:
    """Cells of the table, from nothing but the labels and counts that came out."""
    counts = released["count"].astype(int)
    sizes = counts.groupby([released[name] for name in QUASIS[data]], sort=False).sum()
    n_suppressed = len(original) - int(sizes.sum())
    precision, ncp = zip(*(losses(original[name], released[name], counts) for name in QUASIS[data]), strict=True)
    left = 1 - n_suppressed / len(original)
    return [
        f"{len(sizes):,}",
        f"{100 * n_suppressed / len(original):.2f}",
        str(sizes.min()),
        "yes" if sizes.min() >= K else f"**no**: {(sizes < K).sum()} classes are smaller",
        "n/a" if None in precision else f"{statistics.fmean(precision):.4f}",
        "n/a" if None in ncp else f"{statistics.fmean(ncp) * left + 1 - left:.4f}",
        f"{int((sizes**2).sum()) + n_suppressed:,}",
    ]


def losses(original: pd.Series, released: pd.Series, counts: pd.Series) -> tuple[float | None, ...]:
    """Mean precision loss and mean ncp of one attribute over released records; None where a label has none."""
    table = label_table(original)
    values, top = set(table[0]), len(table.columns) - 1
    covers = {label: (level, set(part[0])) for level in reversed(table.columns) for label, part in table.groupby(level)}

    def of(label: str) -> tuple[float | None, float | None]:
        members = re.split(", ?", label.strip("{}"))
        precision, covered = None, set().union(*(covers[one][1] if one in covers else {one} for one in members))
        if label in covers:
            level, covered = covers[label]
            precision = level / top
        elif interval := re.fullmatch(r"\[(\d+), (\d+)\)|(\d+)-(\d+)", label):
            low, high = (int(end) for end in interval.groups() if end)
            high -= label.endswith(")")  # kepsilon's intervals do not hold their upper bound
            covered = {value for value in values if low <= int(value) <= high}
            precision = (high - low) / (int(max(values)) - int(min(values)))
        if not covered <= values:
            return precision, None
        if original.name == "birth_year":
            years, own = [int(value) for value in values], [int(value) for value in covered]
            return precision, (max(own) - min(own)) / (max(years) - min(years))
        return precision, (len(covered) - 1) / (len(values) - 1)

    records = counts.groupby(released, sort=False).sum()
    both = zip(*(of(label) for label in records.index), strict=True)
    return tuple(None if None in each else statistics.fmean(each, weights=records) for each in both)


def adult() -> dict[str, pd.DataFrame]:
    """The paper's 32,440 records; where there are none, nothing, and says why."""
    path = Path(os.environ.get("KEPSILON_DATA") or ROOT.parent / "shared" / "data") / "adult.data.csv"
    if not path.is_file():
        print(f"Adult is left out: {path.name} is not in {path.parent}; set KEPSILON_DATA to its folder.\n")
        return {}
    frame = pd.read_csv(path, keep_default_na=False).query("age < 80")
    return {"Adult": frame.assign(birth_year=1994 - frame["age"])}


def install(name: str, folder: Path) -> None:
    """Puts a peer that is not installed into a folder of its own; raises where pip fails."""
    package = name.partition(" ")[0]
    if not util.find_spec(package):
        pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, "--target", folder / package, *PEERS[name].install], check=True, capture_output=True)


def row(name: str, data: str, folder: Path, *, limit: float, repeats: int) -> tuple[list[str], str]:
    """The cells of one line, and the versions that ran."""
    source, target = folder / f"{data}.csv", folder / "out.csv"
    command = [sys.executable, __file__, "--one", name, data, str(source), str(target)]
    beside = [str(folder / name.partition(" ")[0]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(beside)}
    seconds: list[float] = []
    while not seconds or (len(seconds) < repeats and seconds[0] < FAST):
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=limit, env=environment)
        except subprocess.SubprocessError as error:
            timed_out = isinstance(error, subprocess.TimeoutExpired)
            return [f"> {limit:g}" if timed_out else f"failed: {last_line(error)}", *["-"] * 7], ""
        told = json.loads(target.with_suffix(".json").read_text())
        seconds.append(told["seconds"])
    tables = [pd.read_csv(path, dtype=str, keep_default_na=False) for path in (source, target)]
    spread = f" ({min(seconds):.2f} to {max(seconds):.2f})" if len(seconds) > 1 else ""
    return [f"{statistics.median(seconds):.2f}{spread}", *judged(*tables, data)], told["versions"]


def last_line(error: subprocess.CalledProcessError) -> str:
    return (error.stderr.decode().strip().splitlines() or [str(error)])[-1].replace("|", "\\|")


def benchmark(options: argparse.Namespace, folder: Path) -> None:
    from voters import voter_list

    sources = {**adult(), "voters": voter_list(options.records).to_pandas()}
    notes, versions = [], {}
    for data, frame in sources.items():
        frame[[*QUASIS[data], NOISY[data][0], SENSITIVE[data]]].to_csv(folder / f"{data}.csv", index=False)
    for name in options.peers:
        try:
            install(name, folder)
            versions[name] = ""
        except subprocess.CalledProcessError as error:
            notes.append(f"- {name}: left out, since it could not be installed: {last_line(error)}")
    heads = "data|what|seconds (spread)|classes|suppressed %|smallest class|k-anonymous|precision loss|ncp|DM*"
    print(f"| {heads.replace('|', ' | ')} |", "|---" * 10 + "|", sep="\n")
    for data, frame in sources.items():
        for name, known in versions.items():
            cells, ran = row(name, data, folder, limit=options.limit, repeats=options.repeats)
            versions[name] = known or ran
            print("| " + " | ".join([f"{data}, {len(frame):,}", name, *cells]) + " |", flush=True)
    notes += [f"- {name} ({ran or 'no run ended'}): {PEERS[name].note}." for name, ran in versions.items()]
    print(READING, *notes, sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=134_791)
    parser.add_argument("--limit", type=float, default=120)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(*options.one[:2], *map(Path, options.one[2:]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            benchmark(options, Path(folder))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""kepsilon beside other Python packages that make tables k-anonymous: the same data, quasi-identifiers, k and run.

Every run is a process of its own, killed at a time limit. Time goes from a pandas frame in memory to the result in
memory; imports and the building of hierarchies are not timed. What came out is judged here, by one set of functions for
all, from the labels each process wrote. A peer that is not installed gets a virtual environment in a temporary folder
(anjana pins versions of NumPy and pandas that cannot live with ours), or is left out with the reason.
`python benchmarks/peers.py [--records N] [--limit SECONDS] [--repeats N] [--peers NAME ...]`
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import importlib.util
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
K = 10
MAX_SUPPRESSED = 5
"""Per cent of the records, where a peer has such a limit."""
FAST = 15.0
"""Runs shorter than this, in seconds, are repeated."""
QUASIS = {
    "Adult": ["birth_year", "sex", "race", "marital-status"],
    "voters": ["zip", "gender", "birth_year", "race"],
}
NOISY = {"Adult": ("hours-per-week", 1), "voters": ("height", 0.1)}
"""The column that kepsilon puts noise on, and its precision; peers carry it along."""
SENSITIVE = {"Adult": "income", "voters": "party"}
MARRIAGE = {
    "In marriage": ["Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"],
    "Alone": ["Divorced", "Never-married", "Separated", "Widowed"],
}
WIDTHS = [2, 4, 8]
HIERARCHIES = {
    "zip": {"type": "mask"},
    "birth_year": {"type": "intervals", "widths": WIDTHS},
    "sex": {"type": "suppress", "label": "Person"},
    "gender": {"type": "suppress", "label": "Person"},
    "race": {"type": "suppress"},
    "marital-status": {"type": "groups", "levels": [MARRIAGE]},
}
"""In kepsilon's words; `levels` says the same for the peers and for the judging."""


def levels(name: str, value: str) -> list[str]:
    """The paper's hierarchies: the labels of a value from itself to the top."""
    if name == "zip":
        return [value[: 5 - level] + "*" * level for level in range(6)]
    if name == "birth_year":
        lows = [(int(value) // width * width, width) for width in WIDTHS]
        return [value, *(f"[{low}, {low + width})" for low, width in lows), "*"]
    if name == "marital-status":
        return [value, *(group for group, members in MARRIAGE.items() if value in members), "*"]
    return [value, "Person" if name in ("sex", "gender") else "*"]


# What each process does: the preparation is not timed, the function it returns is.


def prepare_kepsilon(frame: pd.DataFrame, data: str, *, algorithm: str) -> Callable[[], Any]:
    import kepsilon
    import kepsilon.engines.local
    import kepsilon.pipeline

    noisy, precision = NOISY[data]
    attributes = {name: {"role": "k-quasi", "hierarchy": HIERARCHIES[name]} for name in QUASIS[data]}
    attributes[noisy] = {"role": "epsilon-quasi", "precision": precision, "range": "class"}
    attributes[SENSITIVE[data]] = {"role": "sensitive"}
    limit = MAX_SUPPRESSED / 100
    policy = kepsilon.Policy.from_dict(
        {"k": K, "epsilon": 2.0, "algorithm": algorithm, "max_suppression": limit, "attributes": attributes}
    )
    return lambda: kepsilon.anonymise(frame, policy).frame


def prepare_anonypy(frame: pd.DataFrame, data: str) -> Callable[[], Any]:
    import anonypy

    kinds = {name: "int64" if name in ("zip", "birth_year") else "category" for name in QUASIS[data]}
    preserver = anonypy.Preserver(frame.astype(kinds), QUASIS[data], SENSITIVE[data])
    return lambda: pd.DataFrame(preserver.anonymize_k_anonymity(K))


def prepare_anjana(frame: pd.DataFrame, data: str) -> Callable[[], Any]:
    from anjana.anonymity import k_anonymity

    frame = frame.astype(dict.fromkeys(QUASIS[data], "str"))
    hierarchies = {name: dict(label_table(frame, name)) for name in QUASIS[data]}
    return lambda: k_anonymity(frame, [], QUASIS[data], K, MAX_SUPPRESSED, hierarchies)


def prepare_crowds(frame: pd.DataFrame, data: str) -> Callable[[], Any]:
    from crowds.kanonymity import ola
    from crowds.kanonymity.generalizations import GenRule
    from crowds.kanonymity.information_loss import dm_star_loss

    frame = frame.astype(dict.fromkeys(QUASIS[data], "str"))
    rules, tops = {}, {}
    for name in QUASIS[data]:
        labels = label_table(frame, name)
        between = [dict(zip(labels[0], labels[level], strict=True)) for level in labels.columns[1:-1]]
        rules[name] = GenRule([label_of.__getitem__ for label_of in between])  # crowds adds value and top, as None
        tops[name] = labels.iloc[0, -1]
    return lambda: ola.anonymize(frame, rules, k=K, info_loss=dm_star_loss, max_sup=MAX_SUPPRESSED)[0].fillna(tops)


def label_table(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """One row per value, one column per level."""
    return pd.DataFrame([levels(name, value) for value in sorted(frame[name].unique())])


@dataclass(frozen=True, kw_only=True)
class Peer:
    prepare: Callable[[pd.DataFrame, str], Callable[[], Any]]
    note: str
    package: str = "kepsilon"
    install: tuple[str, ...] = ()
    """Arguments of pip, where the peer is not installed beside kepsilon."""


PEERS = {
    "kepsilon OLA": Peer(
        prepare=lambda frame, data: prepare_kepsilon(frame, data, algorithm="ola"),
        note="the whole release: conversion from and to pandas, search for the least DM*, exact noise on one more "
        "column, shuffling, manifest",
    ),
    "kepsilon Mondrian": Peer(
        prepare=lambda frame, data: prepare_kepsilon(frame, data, algorithm="mondrian"),
        note="the same whole release with median cuts; years become intervals, other values the nearest common label "
        "of the hierarchy; nothing is suppressed",
    ),
    "crowds OLA": Peer(
        package="crowds",
        install=("-c", str(ROOT / "constraints.txt"), "crowds==0.0.1"),
        prepare=prepare_crowds,
        note="the same lattice, limit and loss (DM*) as kepsilon's OLA, k-anonymity only; it recodes and counts all "
        "records in Python at every node. A second call in one process starts from the nodes of the first (a mutable "
        "default), so each run here is a fresh process",
    ),
    "anjana": Peer(
        package="anjana",
        install=("anjana==1.2.3",),
        prepare=prepare_anjana,
        note="the same hierarchies and limit, k-anonymity only; no search: it generalises whichever column has most "
        "distinct values until the limit holds. Runs with its own NumPy and pandas. Where it suppressed, its output "
        "has a further column `index` with the row numbers of the input",
    ),
    "anonypy Mondrian": Peer(
        package="anonypy",
        install=("-c", str(ROOT / "constraints.txt"), "anonypy==0.2.1"),
        prepare=prepare_anonypy,
        note="no hierarchies, no suppression, k-anonymity only; returns counts by class and sensitive value, not "
        "records, and drops other columns. ZIP and year are given as numbers, the rest as categories; categories come "
        "out as sets of values, for which the paper's precision loss is not defined",
    ),
}


def one(peer: str, data: str, source: Path, target: Path) -> None:
    """One run: the labels go to `target`, the time beside it."""
    frame = pd.read_csv(source, dtype={"zip": "str"}, keep_default_na=False)
    run = PEERS[peer].prepare(frame, data)
    start = time.perf_counter()
    result = run()
    seconds = time.perf_counter() - start
    result[[name for name in (*QUASIS[data], "count") if name in result]].to_csv(target, index=False)
    versions = [f"{name} {importlib.metadata.version(name)}" for name in (PEERS[peer].package, "pandas", "numpy")]
    target.with_suffix(".json").write_text(json.dumps({"seconds": seconds, "versions": ", ".join(versions)}))


# The judging.


def judged(original: pd.DataFrame, released: pd.DataFrame, data: str) -> list[str]:
    """Cells of the table, from nothing but the labels of the output; a row without a count is one record."""
    count = released["count"].astype(int) if "count" in released else pd.Series(1, index=released.index)
    sizes = count.groupby([released[name] for name in QUASIS[data]], sort=False).sum()
    n_suppressed = len(original) - int(sizes.sum())
    by_attribute = [losses(original[name], released[name], count) for name in QUASIS[data]]
    precision, coverage = ([pair[i] for pair in by_attribute] for i in (0, 1))
    return [
        f"{len(sizes):,}",
        f"{100 * n_suppressed / len(original):.2f}",
        str(sizes.min()),
        "yes" if sizes.min() >= K else f"**no**: {(sizes < K).sum()} classes are smaller",
        *(("n/a" if None in each else f"{sum(each) / len(each):.4f}") for each in (precision, coverage)),
        f"{int((sizes**2).sum()) + n_suppressed:,}",
    ]


def losses(original: pd.Series, released: pd.Series, count: pd.Series) -> tuple[float | None, float | None]:
    """Mean precision loss and mean coverage of one attribute over released records; None where a label has none."""
    values = set(original)
    covers: dict[str, tuple[int, set[str]]] = {}
    for value in values:
        ladder = levels(str(original.name), value)
        for level, label in enumerate(ladder):
            covers.setdefault(label, (level, set()))[1].add(value)
    top = len(ladder) - 1

    def loss(label: str) -> tuple[float | None, float | None]:
        if label in covers:
            level, covered = covers[label]
            return level / top, (len(covered) - 1) / (len(values) - 1)
        if interval := re.fullmatch(r"\[(\d+), (\d+)\]|(\d+)-(\d+)", label):
            low, high = (int(end) for end in interval.groups() if end)
            numbers = [int(value) for value in values]
            n_covered = sum(low <= number <= high for number in numbers)
            return (high - low) / (max(numbers) - min(numbers)), (n_covered - 1) / (len(values) - 1)
        members = set(label.split(","))
        return None, (len(members) - 1) / (len(values) - 1) if members <= values else None

    of_label = count.groupby(released, sort=False).sum()
    both = list(zip(*map(loss, of_label.index), strict=True))
    precision, coverage = (None if None in each else sum(each * of_label) / of_label.sum() for each in map(list, both))
    return precision, coverage


# The run.


def adult() -> pd.DataFrame | str:
    """The paper's 32,440 records, or why not."""
    path = Path(os.environ.get("KEPSILON_DATA") or ROOT.parent / "shared" / "data") / "adult.data.csv"
    if not path.is_file():
        return f"Adult is left out: {path} does not exist; set KEPSILON_DATA to the folder with {path.name}."
    frame = pd.read_csv(path, keep_default_na=False).query("age < 80")
    return frame.assign(birth_year=1994 - frame["age"])


def interpreter(package: str, install: tuple[str, ...], folder: Path) -> str:
    """A Python that has the package: this one, or one in a new virtual environment. Raises if pip fails."""
    if importlib.util.find_spec(package):
        return sys.executable
    python = folder / package / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / package], check=True, capture_output=True, text=True)
        pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *install]
        subprocess.run(pip, check=True, capture_output=True, text=True)
    return str(python)


def row(peer: str, data: str, folder: Path, *, limit: float, repeats: int, python: str) -> tuple[list[str], str]:
    """The cells of one line, and the versions that ran."""
    source, target = folder / f"{data}.csv", folder / "out.csv"
    command = [python, __file__, "--one", peer, data, str(source), str(target)]
    seconds: list[float] = []
    while not seconds or (len(seconds) < repeats and seconds[0] < FAST):
        try:
            # Sets of text are printed in the order of their hashes.
            environment = {**os.environ, "PYTHONHASHSEED": "0"}
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=limit, env=environment)
        except subprocess.TimeoutExpired:
            return [f"> {limit:g}", *["-"] * 7], ""
        except subprocess.CalledProcessError as error:
            return [f"failed: {last_line(error)}", *["-"] * 7], ""
        told = json.loads(target.with_suffix(".json").read_text())
        seconds.append(told["seconds"])
    original, released = (pd.read_csv(path, dtype=str, keep_default_na=False) for path in (source, target))
    spread = f"{statistics.median(seconds):.2f}" + (f" ({min(seconds):.2f} to {max(seconds):.2f})" * (len(seconds) > 1))
    return [spread, *judged(original, released, data)], told["versions"]


def last_line(error: subprocess.CalledProcessError) -> str:
    return ((error.stderr or "").strip().splitlines() or [str(error)])[-1].replace("|", "\\|")


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
        return
    from voters import voter_list

    sources = {"Adult": adult(), "voters": voter_list(options.records).to_pandas()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pythons, notes = {}, []
        for data, frame in list(sources.items()):
            if isinstance(frame, str):
                print(sources.pop(data), end="\n\n")
            else:
                columns = [*QUASIS[data], NOISY[data][0], SENSITIVE[data]]
                frame[columns].to_csv(folder / f"{data}.csv", index=False)
        for peer in options.peers:
            package = PEERS[peer].package
            try:
                pythons[peer] = interpreter(package, PEERS[peer].install, folder)
            except subprocess.CalledProcessError as error:
                notes.append(f"- {peer}: left out, for it could not be installed: {last_line(error)}")
        print(
            "| data | what | seconds (spread) | classes | suppressed % | smallest class | k-anonymous | precision loss | "
            "coverage | DM* |\n" + "|---" * 10 + "|"
        )
        versions = {}
        for data, frame in sources.items():
            for peer, python in pythons.items():
                cells, ran = row(peer, data, folder, limit=options.limit, repeats=options.repeats, python=python)
                versions[peer] = versions.get(peer) or ran
                print("| " + " | ".join([f"{data}, {len(frame):,}", peer, *cells]) + " |", flush=True)
    notes += [f"- {peer} ({versions[peer] or 'never came to an end'}): {PEERS[peer].note}." for peer in pythons]
    print(f"\nk = {K}; OLA and anjana may suppress {MAX_SUPPRESSED} %. Smallest class and k-anonymous: by a pandas")
    print(
        "group-by of the output. Precision loss: the paper's, level/(h - 1) of a label, width over range of an interval;"
    )
    print(
        "coverage: (values a label stands for - 1) / (values - 1). Both are means over attributes and released records."
    )
    print("DM*: squared class sizes of the output, a suppressed record counting as a class of one.", *notes, sep="\n")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()

# SPDX-License-Identifier: Apache-2.0
"""Averages beside noise at equal linking risk, on Adult; and how long grouping takes as data grows.

Run: python benchmarks/averages.py [--data FOLDER] [--records 100000 1000000] [--repeat 3]

First table: Adult with heights (OLA, dm*, k = 20), for each linking risk the largest ε, and the smallest group, that keeps
it, with the expected relative error and the correlation with the truth inside classes. The attacker knows every true value
of the quasis. Second table: grouping of two columns, 200 classes, groups of 10, the shortest of the repeats, beside sorting
the same records by class and value, which any grouping has to do.
"""

from __future__ import annotations

import argparse
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa

import kepsilon as ke
from kepsilon.perturb.averages.averages import averages_of
from kepsilon.perturb.averages.grouping import group_records
from kepsilon.policy.choices import MECHANISMS
from kepsilon.randomness import system_bytes
from kepsilon.reproduce.data.data_sets import adult

RISKS = (0.01, 0.02, 0.04)
TENTH = Fraction(1, 10)


def table_of_adult(folder: Path) -> pa.Table:
    data = adult(folder, seed=1)
    return pa.table({name: pa.array(np.asarray(column)) for name, column in data.columns.items()})


def policy_of(folder: Path, **more: object) -> ke.Policy:
    document = {**adult(folder, seed=1).policy, "k": 20, "algorithm": "ola", "loss": "dm*", **more}
    attributes = {name: dict(own) for name, own in document["attributes"].items()}
    for own in attributes.values():
        if own["role"] == "epsilon-quasi":
            own.update(more.get("measured", {}))
    document.pop("measured", None)
    return ke.Policy.from_dict({**document, "attributes": attributes})


def compare(folder: Path) -> None:
    """The table of errors at equal risk."""
    table = table_of_adult(folder)
    print("| linking risk | way | setting | error | correlation inside classes | error, of laplace's |")
    print("|---|---|---|---|---|---|")
    mechanisms = [("laplace", {"range": "class"})]
    if "bounded-laplace" in MECHANISMS.names():
        mechanisms.append(("bounded-laplace", {"range": {"coarse": 5}, "mechanism": "bounded-laplace"}))
    for risk in RISKS:
        found = []
        for name, measured in mechanisms:
            policy = policy_of(folder, epsilon=1, measured=measured)
            low, high = 0.001, 100.0
            while high / low > 1.01:
                middle = float(f"{(low * high) ** 0.5:.3g}")
                prediction = ke.check(table, policy.with_changes(epsilon=middle))
                low, high = (middle, high) if prediction.linking_risk.fair.total <= risk else (low, middle)
            found.append((name, f"ε = {low:g}", policy.with_changes(epsilon=low)))
        policy = policy_of(folder, averages={"group": 20}, measured={})
        low, high = 19, 20_000
        while high - low > 1:
            middle = (low + high) // 2
            prediction = ke.check(table, policy.with_changes(averages={"group": middle}))
            low, high = (middle, high) if prediction.linking_risk.fair.total > risk else (low, middle)
        found.append(("averages", f"g = {high}", policy.with_changes(averages={"group": high})))
        first = None
        for name, setting, own in found:
            prediction = ke.check(table, own)
            error = prediction.error["height"].expected_relative
            first = first or error
            print(
                f"| {risk:.0%} | {name} | {setting} | {error:.2%} | {inside(table, own):.2f} | {error / first:.2f} |",
                flush=True,
            )


def inside(table: pa.Table, policy: ke.Policy) -> float:
    """Correlation of published with true heights inside classes, in one release."""
    release = ke.anonymise(table, policy, unsafe_seed=1)
    linkage = release.linkage.to_pydict()
    true = np.asarray(table["height"])[linkage["original_row"]]
    published = np.asarray(release.frame["height"])[linkage["released_row"]]
    ids = np.unique(linkage["class_id"], return_inverse=True)[1]
    sizes = np.bincount(ids)
    centred = [own - (np.bincount(ids, weights=own) / sizes)[ids] for own in (true, published)]
    return float(np.corrcoef(*centred)[0, 1])


def grouping(n_records: list[int], repeat: int) -> None:
    """The table of times."""
    print("| records | grouping | sorting by class and value | ratio | records a second |")
    print("|---|---|---|---|---|")
    for n in n_records:
        rng = np.random.default_rng(1)
        values = np.column_stack([np.round(rng.normal(170, 10, n), 1), np.round(rng.normal(75, 12, n), 1)])
        class_ids = rng.integers(0, 200, n)
        ours, theirs = [], []
        for _ in range(repeat):
            start = time.perf_counter()
            groups = group_records(
                values, class_ids, n_classes=200, group=10, precisions=[TENTH] * 2, source=system_bytes()
            )
            averages_of(groups, [TENTH] * 2)
            ours.append(time.perf_counter() - start)
            start = time.perf_counter()
            np.lexsort((values[:, 1], values[:, 0], class_ids))
            theirs.append(time.perf_counter() - start)
        print(
            f"| {n:,} | {min(ours):.2f} s ({max(ours):.2f}) | {min(theirs):.2f} s | {min(ours) / min(theirs):.1f} "
            f"| {n / min(ours):,.0f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--records", type=int, nargs="*", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--repeat", type=int, default=3)
    asked = parser.parse_args()
    if (asked.data / "adult.data.csv").exists():
        compare(asked.data)
    else:
        print("Adult is not there, so errors are not compared.")
    print()
    grouping(asked.records, asked.repeat)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Releases to audit, and ways to tamper with them; every text that comes from a record is a canary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import kepsilon as ke
from material.people import policy

Columns = dict[str, list[Any]]

POLICY: dict[str, Any] = {
    "k": 5,
    "epsilon": 2,
    "algorithm": "ola",
    "max_suppression": 0.1,
    "attributes": {
        "name": {"role": "identifier"},
        "zip": {"role": "k-quasi", "hierarchy": {"type": "mask"}},
        "year": {"role": "k-quasi", "hierarchy": {"type": "intervals", "widths": [5, 10]}},
        "height": {"role": "epsilon-quasi", "precision": 0.1, "range": "class"},
        "illness": {"role": "sensitive"},
    },
}
OTHER_QUASI = {"role": "epsilon-quasi", "precision": 0.5, "range": {"coarse": 5}}
NUMERIC_QUASIS = {"zip": {"role": "k-quasi", "step": 1}, "year": {"role": "k-quasi", "step": 1}}
"""On a step Mondrian publishes intervals, which never overlap, so that classes can be told without a linkage."""


def patients(n: int = 2000, *, seed: int = 7, with_missing: bool = False) -> Columns:
    rng = np.random.default_rng(seed)
    height = rng.normal(170, 10, n).round(1)
    table: Columns = {
        "name": [f"CANARY-{i:05}" for i in range(n)],
        "zip": [f"1{a}{b}" for a, b in zip(rng.integers(0, 3, n), rng.integers(0, 4, n), strict=True)],
        "year": [str(year) for year in rng.integers(1950, 1965, n)],
        "height": height.tolist(),
        "illness": [f"CANARY-illness-{i}" for i in rng.integers(0, 60, n)],
    }
    if with_missing:
        table["height"] = [None if i % 9 == 0 else value for i, value in enumerate(table["height"])]
    return table


def patients_policy(**changes: Any) -> ke.Policy:
    """Policy of the patients with some keys changed; see `material.people.policy`."""
    return policy(POLICY, **changes)


@dataclass(frozen=True)
class Case:
    """An original, its release and its linkage as plain columns, so that tampering is plain too."""

    original: Columns
    released: Columns
    linkage: Columns
    policy: ke.Policy

    def audit(self, *, with_linkage: bool = True) -> ke.Audit:
        return ke.audit(
            arrow(self.original),
            arrow(self.released),
            self.policy,
            linkage=arrow(self.linkage) if with_linkage else None,
        )

    def change(self, **columns: list[Any]) -> Case:
        return replace(self, released={**self.released, **columns})

    def own(self, column: str) -> list[Any]:
        """Values of the originals of the released records, in the order of the release."""
        return [self.original[column][row] for row in self.linkage["original_row"]]

    def rows(self, order: list[int]) -> Case:
        """Released records in another order, or fewer of them."""
        linkage = {name: [values[i] for i in order] for name, values in self.linkage.items()}
        linkage["released_row"] = list(range(len(order)))
        return replace(
            self, released={name: [values[i] for i in order] for name, values in self.released.items()}, linkage=linkage
        )


def arrow(columns: Columns) -> Any:
    import pyarrow as pa

    return pa.table({name: pa.array(values) for name, values in columns.items()})


def released(original: Columns, under: ke.Policy, *, seed: int | None = 1) -> Case:
    release = ke.anonymise(arrow(original), under, unsafe_seed=seed)
    return Case(original, release.frame.to_pydict(), release.linkage.to_pydict(), under)


def classes_of(case: Case) -> list[list[int]]:
    """Released records by class."""
    by_class: dict[int, list[int]] = {}
    for row, class_id in enumerate(case.linkage["class_id"]):
        by_class.setdefault(class_id, []).append(row)
    return list(by_class.values())


def rounded(value: float, step: float = 0.1) -> float:
    return round(value / step) / round(1 / step) if step < 1 else round(value / step) * step


def scaled_noise(case: Case, factor: float, column: str = "height") -> Case:
    own = case.own(column)
    moved = [v + factor * (x - v) for v, x in zip(own, case.released[column], strict=True)]
    return case.change(**{column: [rounded(value) for value in moved]})


def shared_noise(case: Case) -> Case:
    """Every class moves as a whole."""
    heights = list(case.released["height"])
    own = case.own("height")
    for records in classes_of(case):
        noise = heights[records[0]] - own[records[0]]
        for row in records:
            heights[row] = rounded(own[row] + noise)
    return case.change(height=heights)


def cut_class(case: Case) -> Case:
    """One class of the release cut to k − 1 records."""
    records = classes_of(case)[0]
    gone = set(records[case.policy.k - 1 :])
    return case.rows([row for row in range(len(case.released["height"])) if row not in gone])


def unshuffled(case: Case) -> Case:
    return case.rows(sorted(range(len(case.released["height"])), key=lambda row: case.linkage["original_row"][row]))


def by_class(case: Case) -> Case:
    return case.rows([row for records in classes_of(case) for row in records])


def identifier_left_in(case: Case) -> Case:
    return case.change(name=case.own("name"))


def identifier_renamed(case: Case) -> Case:
    return case.change(note=case.own("name"))


def identifier_in_one_field(case: Case) -> Case:
    return case.change(illness=[case.own("name")[0], *case.released["illness"][1:]])


def foreign_label(case: Case) -> Case:
    """Two records of different classes exchange their labels: no count changes, but neither is contained."""
    first, second = classes_of(case)[0][0], classes_of(case)[1][0]
    columns = {name: list(case.released[name]) for name in ("zip", "year")}
    for values in columns.values():
        values[first], values[second] = values[second], values[first]
    return case.change(**columns)


def moved_label(case: Case) -> Case:
    """One record carries the labels of another class."""
    first, second = classes_of(case)[0][0], classes_of(case)[1][0]
    columns = {name: list(case.released[name]) for name in ("zip", "year")}
    for values in columns.values():
        values[first] = values[second]
    return case.change(**columns)


def mixed_levels(case: Case) -> Case:
    """One label at another level than the rest."""
    labels = list(case.released["zip"])
    labels[0] = "1**" if labels[0] != "1**" else "10*"
    return case.change(zip=labels)


def linkage_swapped(case: Case) -> Case:
    first, second = classes_of(case)[0][0], classes_of(case)[1][0]
    rows = list(case.linkage["original_row"])
    rows[first], rows[second] = rows[second], rows[first]
    return replace(case, linkage={**case.linkage, "original_row": rows})


def off_precision(case: Case) -> Case:
    return case.change(height=[case.released["height"][0] + 1e-9, *case.released["height"][1:]])


def dropped_column(case: Case) -> Case:
    return replace(case, released={k: v for k, v in case.released.items() if k != "illness"})


def altered_kept(case: Case) -> Case:
    return case.change(illness=["CANARY-other", *case.released["illness"][1:]])


def duplicate_record(case: Case) -> Case:
    return replace(case, released={name: [*values, values[0]] for name, values in case.released.items()})


TAMPERINGS: dict[str, tuple[Callable[[Case], Case], str]] = {
    "class cut to k-1": (cut_class, "k"),
    "identifier left in": (identifier_left_in, "identifiers"),
    "identifier renamed": (identifier_renamed, "identifiers"),
    "identifier in one field": (identifier_in_one_field, "identifiers"),
    "noise at half scale": (lambda case: scaled_noise(case, 0.5), "noise"),
    "noise shared in a class": (shared_noise, "noise"),
    "order not shuffled": (unshuffled, "order"),
    "grouped by class": (by_class, "order"),
    "one label moved": (moved_label, "counts"),
    "label of another level": (mixed_levels, "labels"),
    "off precision": (off_precision, "precision"),
    "column dropped": (dropped_column, "columns"),
    "column added": (identifier_renamed, "columns"),
    "kept value altered": (altered_kept, "kept columns"),
    "record added twice": (duplicate_record, "counts"),
}
"""What is done, and the check that has to call it broken, with a linkage and without."""

ONLY_WITH_LINKAGE: dict[str, tuple[Callable[[Case], Case], str]] = {
    "labels exchanged": (foreign_label, "labels"),
    "linkage swapped": (linkage_swapped, "labels"),
}

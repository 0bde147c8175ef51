# SPDX-License-Identifier: Apache-2.0
"""Releases to audit as plain columns, so that `tamperings` can change them; every text that comes from a record is a canary."""

from __future__ import annotations

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

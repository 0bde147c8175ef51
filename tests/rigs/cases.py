# SPDX-License-Identifier: Apache-2.0
"""Draws cases: from one number come a table, a policy for it, and what it is released from, with and to."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from rigs import columns as drawn
from rigs.columns import Column
from rigs.policies import Scene, draw_policy
from rigs.tables import CSV_KINDS, FILE_KINDS, FRAME_KINDS, Dialect, draw_dialect, parquet_can_hold

OUTPUTS = (".csv", ".csv", ".tsv", ".parquet", ".parquet", ".arrow", ".feather", "")
"""Suffixes of outputs; without one it is a folder of Parquet files."""


@dataclass(kw_only=True)
class Case:
    """A table, a policy and their surroundings. It is drawn again from its seed, so nothing of it needs to be stored."""

    seed: int
    n_records: int
    columns: list[Column]
    document: dict[str, Any]
    """The policy."""
    hierarchy_files: dict[str, str]
    kind: str
    """The kind of the input: one of FILE_KINDS or FRAME_KINDS."""
    dialect: Dialect
    output: str
    """Suffix of the output."""
    engine: str
    """in memory, memory (--memory on the command line) or spilling (with room for a few hundred records)."""
    with_linkage: bool
    with_report: bool
    as_json: bool
    unsafe_seed: int | None
    also: list[str] = field(default_factory=list)
    """Further commands to run."""

    @property
    def is_frame(self) -> bool:
        return self.kind in FRAME_KINDS

    def of_role(self, *roles: str) -> list[Column]:
        return [column for column in self.columns if column.role in roles]

    def rng(self, purpose: str) -> random.Random:
        """Random numbers for one purpose, so that another one that is added does not change these."""
        return random.Random(f"{self.seed} {purpose}")


def draw_case(seed: int, *, only_releasable: bool = False) -> Case:
    """The case of a seed. `only_releasable` leaves out what is often refused: tiny tables and types nobody can write."""
    rng = random.Random(seed)
    kind = rng.choice([*FILE_KINDS, *FILE_KINDS, "csv", "csv", "parquet", "parquet", *FRAME_KINDS])
    typed = kind not in CSV_KINDS
    n = _n_records(rng, only_releasable=only_releasable)
    makers = [drawn.K_QUASIS[rng.randrange(len(drawn.K_QUASIS))] for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4]))]
    makers += [drawn.epsilon_numbers] * rng.choice([0, 1, 1, 1, 2, 3])
    makers = makers or [drawn.categories]
    makers += [drawn.kept] * rng.choice([0, 1, 1, 2, 3]) + [drawn.identifiers] * rng.choice([0, 1, 1, 2])
    makers += [drawn.persons] * (rng.random() < 0.3)
    found = [make(rng, n, typed=typed) for make in makers]
    if rng.random() < 0.15:
        without_role = drawn.identifiers(rng, n, typed=typed)
        without_role.role = ""
        found.append(without_role)
    output = rng.choice(OUTPUTS)
    for column in found:
        _suit(column, rng, kind=kind, output=output, n=n, only_releasable=only_releasable)
    rng.shuffle(found)
    for column, name in zip(found, drawn.names(rng, len(found), in_lines=True), strict=True):
        column.name = name
    scene = Scene(rng=rng, n_records=n, columns=found)
    document = draw_policy(scene)
    return Case(
        seed=seed,
        n_records=n,
        columns=found,
        document=document,
        hierarchy_files=scene.files,
        kind=kind,
        dialect=draw_dialect(rng, kind),
        output=output,
        engine=_engine(rng, kind),
        with_linkage=rng.random() < 0.85,
        with_report=rng.random() < 0.2,
        as_json=rng.random() < 0.2,
        unsafe_seed=rng.choice([None, None, None, 1]),
        also=[name for name, share in ALSO.items() if rng.random() < share],
    )


ALSO = {
    "init": 0.15,
    "check": 0.4,
    "explore": 0.15,
    "audit": 0.3,
    "audit without linkage": 0.2,
    "manifest": 0.2,
    "show values": 0.15,
    "splits": 0.1,
}
"""Further commands, and how often each is run. One that a version does not have is left out."""


def _n_records(rng: random.Random, *, only_releasable: bool) -> int:
    if not only_releasable and rng.random() < 0.06:
        return rng.choice([0, 0, 1, 2, 5])
    low, high = rng.choice(
        [
            (10, 60),
            (10, 60),
            (30, 200),
            (30, 200),
            (30, 200),
            (30, 200),
            (100, 600),
            (100, 600),
            (100, 600),
            (500, 3000),
        ]
    )
    return rng.randint(low, high)


def _suit(column: Column, rng: random.Random, *, kind: str, output: str, n: int, only_releasable: bool) -> None:
    """Gives a column a type that its input can hold, and mostly one that its output can hold too."""
    is_nested = column.holds == "anything"
    held = kind not in ("parquet", "folder", "pattern") or parquet_can_hold(column.array)
    written = output not in (".csv", ".tsv") or rng.random() < 0.05
    plain = "int64", "bool", "date32", "float64", "large_string", "dictionary", "list", "struct"
    if is_nested and (not held or not written or only_releasable):
        make = rng.choice(plain[:6] if output in (".csv", ".tsv") else plain)
        column.array = drawn.KEPT_TYPES[make](rng, n)


def _engine(rng: random.Random, kind: str) -> str:
    if kind in ("parquet", "folder", "pattern"):
        return rng.choice(["in memory", "in memory", "memory", "spilling"])
    return "in memory"

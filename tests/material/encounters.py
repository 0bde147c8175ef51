# SPDX-License-Identifier: Apache-2.0
"""Encounters of persons with several records each, and a slow way to what an engine has to find in them."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from kepsilon.table.record_hashes import xxhash64
from material.engine_cases import SEED, Case, document

Naming = Literal["text", "number", "float"]

DIVERSE = {
    "illness": {"role": "sensitive", "l_diversity": {"distinct": 2}},
    "score": {"role": "sensitive", "t_closeness": 1},
}
SEXES = {
    "role": "k-quasi",
    "hierarchy": {"type": "groups", "levels": [{"Person": ["F", "M"]}]},
    "unlisted": "suppress",
}


def encounters(
    n: int = 1_500,
    *,
    naming: Naming = "text",
    cap: int | None = 3,
    memory: int = 400_000,
    seed: int = SEED,
    **attributes: dict[str, Any],
) -> Case:
    """A table whose person column has nulls and blanks, with records that are unlisted or missing, or both.

    Heights are all different, so that a test can tell which record a value came from.
    """
    draw = random.Random(seed)
    persons = [int(draw.paretovariate(0.35)) % 400 for _ in range(n)]
    columns: dict[str, Any] = {
        "name": _named(persons, naming, draw),
        "zip": [f"{draw.randrange(12):05d}" for _ in range(n)],
        "sex": [draw.choice("FFFFFMMMMMX") for _ in range(n)],
        "height": [None if draw.random() < 0.06 else round(100 + i / 10, 1) for i in range(n)],
        "illness": [draw.choice(["flu", " flu", "angina", "gout", "", " ", None]) for _ in range(n)],
        "score": pa.array([draw.choice([1, 2, 10, 300, None]) for _ in range(n)], pa.int32()),
    }
    columns["illness"][7], columns["sex"][7] = "only here", "X"
    height = {"role": "epsilon-quasi", "precision": 0.1, "range": "class", "missing": "suppress"}
    policy = document(**{"height": height, "sex": SEXES, **DIVERSE, **attributes}) | {"person": "name"}
    if any(own["role"] == "epsilon-quasi" for own in policy["attributes"].values()):
        policy["epsilon_per"] = "record"
    if cap is not None:
        policy["max_records_per_person"] = cap
    return Case(pa.table(columns), policy, memory=memory)


def _named(persons: list[int], naming: Naming, draw: random.Random) -> Any:
    """The column that names the persons; every fiftieth record or so does not say whom it is about."""
    known = [draw.random() > 0.02 for _ in persons]
    if naming == "text":
        ways = ["CANARY-{}", " CANARY-{}", "CANARY-{}\t", "\u00a0CANARY-{} "]
        texts = [draw.choice(ways).format(own) for own in persons]
        return [
            text if is_known else draw.choice([None, "", "  "]) for text, is_known in zip(texts, known, strict=True)
        ]
    kind = pa.int64() if naming == "number" else pa.float64()
    scale = 10**9 if naming == "number" else 0.25
    return pa.array([own * scale if is_known else None for own, is_known in zip(persons, known, strict=True)], kind)


@dataclass(frozen=True)
class Expected:
    """What an engine has to find."""

    rows: list[int]
    """Positions of the records that stay."""
    person: dict[int, str]
    """Whom each of them is about."""
    missing: int
    unlisted: int
    by_cap: int
    combination: dict[int, tuple[Any, ...]]
    """Values of the k-quasis, by record that stays."""
    codes: dict[str, dict[int, int]]
    """By sensitive column, the code of each record that stays."""
    n_values: dict[str, int]


def expected(case: Case) -> Expected:
    """Record by record, in plain Python."""
    columns = {name: case.table.column(name).to_pylist() for name in case.table.column_names}
    n_unlisted = n_missing = 0
    may_miss = case.policy["attributes"]["height"].get("missing", "class") == "class"
    of_person: dict[str, list[int]] = {}
    for i in range(len(case.table)):
        name = None if columns["name"][i] is None else str(columns["name"][i]).strip()
        if columns["sex"][i] == "X":
            n_unlisted += 1
        elif (columns["height"][i] is None and not may_miss) or not name:
            n_missing += 1
        else:
            of_person.setdefault(name, []).append(i)
    most = case.policy.get("max_records_per_person")
    person: dict[int, str] = {}
    for name, rows in of_person.items():
        hashes = {row: int(xxhash64(np.array([row])).view(np.int64)[0]) for row in rows}
        person |= dict.fromkeys(sorted(rows, key=hashes.__getitem__)[:most], name)
    rows = sorted(person)
    codes, n_values = {}, {}
    for name in DIVERSE:
        shown = {row: columns[name][row] for row in rows}
        present = {
            row: value if isinstance(value, int) else value.strip()
            for row, value in shown.items()
            if value is not None and str(value).strip()
        }
        listed = sorted(set(present.values()))
        codes[name] = {row: listed.index(present[row]) if row in present else -1 for row in rows}
        n_values[name] = len(listed)
    parts = [columns["zip"], columns["sex"]]
    if case.policy["attributes"]["height"].get("missing") == "class":
        parts.append(["missing" if value is None else "present" for value in columns["height"]])
    return Expected(
        rows=rows,
        person=person,
        missing=n_missing,
        unlisted=n_unlisted,
        by_cap=sum(map(len, of_person.values())) - len(rows),
        combination={row: tuple(column[row] for column in parts) for row in rows},
        codes=codes,
        n_values=n_values,
    )


def singles_and_several(found: Expected) -> tuple[Counter[Any], Counter[Any]]:
    """Persons with one combination, by combination; and how many persons have each set of several combinations."""
    of_person: dict[str, set[Any]] = {}
    for row in found.rows:
        of_person.setdefault(found.person[row], set()).add(found.combination[row])
    single = Counter(next(iter(own)) for own in of_person.values() if len(own) == 1)
    return single, Counter(frozenset(own) for own in of_person.values() if len(own) > 1)

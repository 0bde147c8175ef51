# SPDX-License-Identifier: Apache-2.0
"""Made-up people and a policy that goes with them; every name is a canary."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kepsilon

POLICY = """
k = 3
epsilon = 2
algorithm = "ola"
max_suppression = 0.1
[attributes.name]
role = "identifier"
[attributes.zip]
role = "k-quasi"
hierarchy = { type = "mask" }
[attributes.year]
role = "k-quasi"
hierarchy = { type = "intervals", widths = [5, 10] }
[attributes.sex]
role = "k-quasi"
hierarchy = { type = "suppress" }
[attributes.height]
role = "epsilon-quasi"
precision = 0.1
range = "class"
[attributes.illness]
role = "sensitive"
accept_leak = "made-up records"
"""

OPENLY = {"role": "sensitive", "accept_leak": "made-up records"}
"""A kept column that may give people away, because they do not exist: serial numbers tell tests which record is which."""

WITHOUT_NOTES = POLICY.replace('role = "sensitive"\naccept_leak = "made-up records"', 'role = "identifier"').replace(
    "epsilon = 2\n", "epsilon = 16\n"
)
"""The policy with nothing that a screen would have to note something about: no kept column, and noise worth having."""


OF_USE_OR_NOT = POLICY.replace('range = "class"\n', 'range = "class"\naccept_useless = "made-up records"\n')
"""The policy as programs of their own need it, in which useless attributes are refused: noise drowns so few records."""


def people(n: int = 120) -> list[dict[str, str]]:
    """Made-up records; every name is a canary that must never be seen again."""
    return [
        {
            "name": f"CANARY-{i:04}",
            "zip": f"0{(i * 7) % 5}{(i * 3) % 4}0{i % 3}",
            "year": str(1950 + (i * 11) % 40),
            "sex": "FM"[i % 2],
            "height": f"{150 + (i * 37) % 400 / 10:.1f}",
            "illness": f"illness-{i}",
        }
        for i in range(n)
    ]


def columns_of(records: list[dict[str, str]]) -> dict[str, list[str]]:
    """Values of the records by column."""
    return {name: [record[name] for record in records] for name in records[0]}


def policy(
    document: str | Mapping[str, Any] = POLICY, /, *, attributes: Mapping[str, Any] | None = None, **changes: Any
) -> kepsilon.Policy:
    """Policy of the made-up people, or of `document` (TOML or a dictionary), with some of its keys changed.

    `attributes` are added to those of the document, or replace them; None takes one away.
    """
    own = tomllib.loads(document) if isinstance(document, str) else document
    roles = {**own["attributes"], **(attributes or {})}
    chosen = {name: role for name, role in roles.items() if role is not None}
    return kepsilon.Policy.from_dict({**own, **changes, "attributes": chosen})


def write_csv(path: Path, records: list[dict[str, str]], *, delimiter: str = ",", encoding: str = "utf-8") -> Path:
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.DictWriter(file, list(records[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(records)
    return path

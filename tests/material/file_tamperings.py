# SPDX-License-Identifier: Apache-2.0
"""What is done to the files beside a release to see whether the audit notices: one table of named tamperings.

A release of `leaky_patients` has a kept column that gives people away, which its policy accepts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import kepsilon as ke
from material.audited_releases import Columns, arrow, patients, patients_policy

REASON = "asked for by the ethics board"
INCHES: dict[str, Any] = {"role": "insensitive", "accept_leak": REASON}


def leaky_patients(n: int = 600) -> Columns:
    """The patients with their heights in inches, rounded, so that a few of a class share a value."""
    columns = patients(n)
    noise = np.random.default_rng(3).normal(0, 0.1, n)
    columns["inches"] = (np.array(columns["height"]) / 2.54 + noise).round(0).tolist()
    return columns


def leaky_policy(**changes: Any) -> ke.Policy:
    attributes = {"inches": INCHES, **changes.pop("attributes", {})}
    return patients_policy(attributes=attributes, **changes)


def write_leaky_release(folder: Path) -> Any:
    """Writes a release of `leaky_patients` with its linkage and all that lies beside it; returns the original."""
    original = arrow(leaky_patients())
    ke.anonymise(original, leaky_policy(), unsafe_seed=1).write(folder / "release.csv", linkage=folder / "linkage.csv")
    return original


def row_of(document: dict[str, Any], how: str) -> dict[str, Any]:
    """The first attacker of a curator's record who does something."""
    return next(row for row in document["attackers"] if row["how"].startswith(how))


def headline_of(document: dict[str, Any]) -> dict[str, Any]:
    headline: dict[str, Any] = document["linking_risk"]["headline"]
    return headline


NEAREST, FORMULA, BESIDE, ALL = (
    "takes the nearest original of the class", "works out", "takes the nearest original of the class with the same",
    "takes the nearest original of all columns",
)  # fmt: skip
"""How attackers begin to say what they do."""


def smaller(inner: dict[str, Any], key: str) -> None:
    inner[key] *= 1 - 1e-6


def smallest_raised(inner: dict[str, Any]) -> None:
    """Raises the smallest of some figures, which may be 0."""
    inner[min(inner, key=inner.__getitem__)] += 1e-6


def named_another(document: dict[str, Any]) -> None:
    row = row_of(document, NEAREST)
    headline_of(document)["attacker"] = f"whoever knows {row['knows']}, and {row['how']}"


def headline_of_another(document: dict[str, Any]) -> None:
    """Share and attacker of the headline are those of one who links fewer."""
    named_another(document)
    headline_of(document)["share"] = row_of(document, NEAREST)["expected"]


def excused(document: dict[str, Any]) -> None:
    """Whoever works out a column is said to need more than the quasis, so that the headline is another's."""
    row_of(document, FORMULA)["needs_only_quasis"] = False
    headline_of_another(document)


def other_column(document: dict[str, Any]) -> None:
    """The worst kept column is said to be another one, with the words that go with it."""
    row = row_of(document, BESIDE)
    old = row["column"]
    row["column"] = "illness" if old == "inches" else "inches"
    for key in ("knows", "how"):
        row[key] = row[key].replace(old, row["column"])


def without(document: dict[str, Any], how: str) -> None:
    document["attackers"].remove(row_of(document, how))


@dataclass(frozen=True, kw_only=True)
class FileTampering:
    """One way to tamper with a file, and what the audit has to name."""

    kind: str
    """`manifest` or `curator`."""
    change: Callable[[dict[str, Any]], object]
    named: str
    needs_linkage: bool = False

    def apply(self, folder: Path) -> None:
        path = folder / f"release.csv.{self.kind}.json"
        document = json.loads(path.read_text(encoding="utf-8"))
        self.change(document)
        path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


FILE_TAMPERINGS: dict[str, FileTampering] = {
    "ncp lowered": FileTampering(
        kind="curator", change=lambda d: smaller(d["loss"]["ncp"], "overall"), named="loss.ncp.overall"
    ),
    "ncp of an attribute raised": FileTampering(
        kind="curator", change=lambda d: smallest_raised(d["loss"]["ncp"]), named='"loss.ncp.'
    ),
    "entropy share lowered": FileTampering(
        kind="curator",
        change=lambda d: smaller(d["loss"]["entropy_share"], "overall"),
        named="loss.entropy_share.overall",
    ),
    "entropy share of an attribute raised": FileTampering(
        kind="curator", change=lambda d: smallest_raised(d["loss"]["entropy_share"]), named='"loss.entropy_share.'
    ),
    "headline lowered": FileTampering(
        kind="curator", change=lambda d: smaller(headline_of(d), "share"), named="linking_risk.headline.share"
    ),
    "headline names another attacker": FileTampering(
        kind="curator", change=named_another, named="linking_risk.headline.attacker"
    ),
    "headline of another attacker": FileTampering(
        kind="curator", change=headline_of_another, named="linking_risk.headline.share"
    ),
    "an attacker excused from the headline": FileTampering(
        kind="curator", change=excused, named="needs_only_quasis"
    ),
    "attackers left out": FileTampering(kind="curator", change=lambda d: d.pop("attackers"), named="attackers"),
    "who knows the class lowered": FileTampering(
        kind="curator", change=lambda d: smaller(d["attackers"][0], "expected"), named="attackers.0.expected"
    ),
    "who knows the class realised lowered": FileTampering(
        kind="curator", change=lambda d: smaller(d["attackers"][0], "realised"), named="attackers.0.realised"
    ),
    "who knows the quasis lowered": FileTampering(
        kind="curator", change=lambda d: smaller(row_of(d, NEAREST), "expected"), named="attackers.1.expected"
    ),
    "who knows the quasis realised lowered": FileTampering(
        kind="curator",
        change=lambda d: smaller(row_of(d, NEAREST), "realised"),
        named="attackers.1.realised",
        needs_linkage=True,
    ),
    "who knows the quasis left out": FileTampering(
        kind="curator", change=lambda d: without(d, NEAREST), named="nearest original of the class is not there"
    ),
    "who matches lowered": FileTampering(
        kind="curator", change=lambda d: smaller(row_of(d, "matches"), "largest"), named="attackers.2.largest"
    ),
    "who knows a kept column lowered": FileTampering(
        kind="curator", change=lambda d: smaller(row_of(d, BESIDE), "expected"), named="attackers.4.expected"
    ),
    "who knows a kept column realised lowered": FileTampering(
        kind="curator",
        change=lambda d: smaller(row_of(d, BESIDE), "realised"),
        named="attackers.4.realised",
        needs_linkage=True,
    ),
    "another kept column named": FileTampering(kind="curator", change=other_column, named="attackers.4.expected"),
    "who knows everything realised lowered": FileTampering(
        kind="curator", change=lambda d: smaller(row_of(d, ALL), "realised"), named="attackers.7.realised",
        needs_linkage=True,
    ),
    "reason of an accepted leak changed": FileTampering(
        kind="manifest", change=lambda d: d["accepted_leaks"].update(inches="no reason"), named="accepted_leaks.inches"
    ),
    "accepted leak dropped": FileTampering(
        kind="manifest", change=lambda d: d["accepted_leaks"].pop("inches"), named="accepted_leaks.inches (not there)"
    ),
    "accepted leaks dropped": FileTampering(
        kind="manifest", change=lambda d: d.pop("accepted_leaks"), named="accepted_leaks (not there)"
    ),
    "accepted leak dropped from the policy": FileTampering(
        kind="manifest",
        change=lambda d: d["policy"]["attributes"]["inches"].pop("accept_leak"),
        named="policy.attributes.inches.accept_leak (not there)",
    ),
    "leak accepted that the policy does not know": FileTampering(
        kind="manifest",
        change=lambda d: d["accepted_leaks"].update(illness="fine"),
        named="1 key that no manifest has",
    ),
}  # fmt: skip
"""Every tampering of files with attackers and accepted leaks, by its name."""

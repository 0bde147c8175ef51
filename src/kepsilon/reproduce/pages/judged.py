# SPDX-License-Identifier: Apache-2.0
"""The claims as they were judged, read from what claims.json holds, and counted by data set."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from kepsilon.json_values import Json
from kepsilon.pages.figures.figure import Table
from kepsilon.pages.wording import NO_BREAK, NOTHING, number
from kepsilon.reproduce.claims.claim import EPSILON, LOSS, SHARE, TIMES
from kepsilon.reproduce.pages.wording import STAND_INS, data_set_title, table_of, tidied
from kepsilon.reproduce.scope import DATA_SETS

MARKS = {True: "✓ held", False: "✗ not held", None: "– not judged"}
"""A verdict by sign and word, never by colour alone."""
SIGNS = {held: mark[0] for held, mark in MARKS.items()}
CSS_CLASSES = {True: "held", False: "not-held", None: "not-judged"}
EVERYWHERE = "All data sets"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPart:
    """One of several things that a claim says at once, and whether that held."""

    words: str
    held: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What was tried to find out why: a table where it was tried for several k, and single lines."""

    table: Table | None = None
    lines: Sequence[str] = ()

    def __bool__(self) -> bool:
        return self.table is not None or bool(self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One claim on one data set, or on all together."""

    claim: int
    data_set: str | None
    title: str
    bound: str
    measured: str
    held: bool | None
    why: str
    experiment: Experiment
    parts: Sequence[JudgedPart]
    """The things that the claim says, where it says several at once."""

    def about(self, algorithm: str) -> Judgement:
        """The judgement of one algorithm, where words or parts begin with that one's name; else the whole judgement."""
        if not algorithm:
            return self
        parts = [part for part in self.parts if part.words.startswith(algorithm)]
        said = [words for words in self.measured.split("; ") if words.startswith(algorithm)]
        held = self.held
        if parts and all(part.held is not None for part in parts):
            held = all(part.held for part in parts)
        return replace(self, measured="; ".join(said) or self.measured, parts=parts, held=held)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedClaim:
    """A claim and its judgements, one per data set."""

    id: int
    sentence: str
    section: str
    judgements: Sequence[Judgement]

    @property
    def bound(self) -> str:
        """The bound that holds for every data set; empty if they differ."""
        bounds = {one.bound for one in self.judgements}
        return bounds.pop() if len(bounds) == 1 else ""

    @property
    def failed(self) -> list[Judgement]:
        return [one for one in self.judgements if one.held is False]

    @property
    def where(self) -> str:
        """The claim's place in the paper."""
        return self.section if self.section == "Abstract" else f"Section {self.section}"

    def on(self, data_set: str | None) -> list[Judgement]:
        return [one for one in self.judgements if one.data_set == data_set]

    def held_on(self, data_set: str | None) -> bool | None:
        """Whether it held in every part that was judged; None where it says nothing about that data set."""
        held = [one.held for one in self.on(data_set) if one.held is not None]
        return all(held) if held else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How many claims held on one data set."""

    data_set: str | None
    title: str
    n_held: int
    n_judged: int


def claims_of(content: Json) -> list[JudgedClaim]:
    """The claims of a claims.json in the order of their numbers; data sets in the paper's order."""
    order = [*DATA_SETS, None]
    entries = sorted(content["claims"], key=lambda entry: (entry["id"], order.index(entry["data_set"])))
    return [
        JudgedClaim(
            id=number_of,
            sentence=tidied(found[0]["sentence"]),
            section=str(found[0]["section"]),
            judgements=[_judgement(entry) for entry in found],
        )
        for number_of, alike in groupby(entries, key=lambda entry: entry["id"])
        if (found := [*alike])
    ]


def in_short(claims: Sequence[JudgedClaim]) -> list[tuple[str, list[JudgedClaim]]]:
    """Claims by where they held: everywhere, nowhere, not on a stand-in alone, and all others."""
    groups = [(name, [claim for claim in claims if _group(claim) == name]) for name in _GROUPS]
    return [(name, found) for name, found in groups if found]


_GROUPS = (
    "Held on every data set",
    "Held on none",
    "Failed on stand-ins only",
    "Failed on Adult, and held elsewhere",
    "Failed on Adult and on a stand-in, and held on the other",
)


def _group(claim: JudgedClaim) -> str | None:
    """Which of the groups a claim belongs to; None if it was not judged."""
    held = {one.data_set: answer for one in claim.judgements if (answer := claim.held_on(one.data_set)) is not None}
    on_real = [answer for name, answer in held.items() if name not in STAND_INS]
    elsewhere = [answer for name, answer in held.items() if name in STAND_INS]
    if not held:
        return None
    belongs = (
        all(held.values()),
        bool(on_real) and not any(held.values()),
        all(on_real),  # or it does not speak of others
        all(elsewhere),
        True,
    )
    return _GROUPS[belongs.index(True)]


def scores(claims: Sequence[JudgedClaim]) -> list[Score]:
    """How many claims held on each data set, in the paper's order."""
    found = {one.data_set: one.title for claim in claims for one in claim.judgements}
    result = []
    for name in (*DATA_SETS, None):
        if name in found:
            held = [answer for claim in claims if (answer := claim.held_on(name)) is not None]
            result.append(Score(data_set=name, title=found[name], n_held=sum(held), n_judged=len(held)))
    return result


def _judgement(entry: Json) -> Judgement:
    return Judgement(
        claim=entry["id"],
        data_set=entry["data_set"],
        title=EVERYWHERE if entry["data_set"] is None else data_set_title(entry),
        bound=tidied(entry["bound"]),
        measured=tidied(entry["measured"]),
        held=entry["held"],
        why=tidied(entry.get("why") or ""),
        experiment=_experiment(entry.get("experiment") or []),
        parts=[JudgedPart(words=tidied(part["words"]), held=part["held"]) for part in entry.get("parts") or []],
    )


_AT_K = re.compile(r",? (?:at )?k = (\d+)\b")


def _experiment(findings: Sequence[Json]) -> Experiment:
    """An experiment's findings: those that differ in k alone as a column, each other one as a line."""
    columns: dict[str, dict[int, str]] = {}
    alone: dict[str, str] = {}
    for one in findings:
        words, value = tidied(one["words"]), _value(one)
        found = _AT_K.search(words)
        if found is None:
            alone[words] = value
        else:
            columns.setdefault(_AT_K.sub("", words, count=1), {})[int(found.group(1))] = value
    alone |= {
        f"{words}, k = {k}": value for words, by_k in columns.items() if len(by_k) == 1 for k, value in by_k.items()
    }
    several = {words: by_k for words, by_k in columns.items() if len(by_k) > 1}
    ks = sorted({k for by_k in several.values() for k in by_k})
    shown = {words: [by_k.get(k, NOTHING) for k in ks] for words, by_k in several.items()}
    return Experiment(
        table=table_of({"k": [*map(str, ks)], **shown}) if several else None,
        lines=[f"{words}: {value}" for words, value in alone.items()],
    )


def _value(one: Json) -> str:
    values = one["value"] if isinstance(one["value"], Sequence) else [one["value"]]
    return " to ".join(_with_unit(value, one["unit"]) for value in values)


def _with_unit(value: float | None, unit: str) -> str:
    if value is None:
        return "undefined"
    written = {SHARE: f"{100 * value:.2f}{NO_BREAK}%", EPSILON: number(value), LOSS: f"{value:.3f}"}
    return written.get(unit) or f"{f'{value:.2f}' if unit == TIMES else number(value)}{NO_BREAK}{unit}"

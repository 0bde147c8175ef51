# SPDX-License-Identifier: Apache-2.0
"""The claims as they were judged, read from what claims.json holds, and counted by data set."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kepsilon.json_values import Json
from kepsilon.pages.figures.figure import Table
from kepsilon.pages.wording import NO_BREAK, NOTHING, number
from kepsilon.reproduce.claims.claim import EPSILON, LOSS, SHARE, TIMES
from kepsilon.reproduce.pages.numbers import tidied
from kepsilon.reproduce.pages.panels import STAND_INS, title_of
from kepsilon.reproduce.setting import DATA_SETS

HELD, NOT_HELD, NOT_JUDGED = "✓ held", "✗ not held", "– not judged"
EVERYWHERE = "All data sets"


SIGNS = {True: "✓", False: "✗", None: "–"}
LOOKS = {True: "held", False: "not-held", None: "not-judged"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    words: str
    held: bool | None

    @property
    def mark(self) -> str:
        return mark(self.held)

    @property
    def look(self) -> str:
        return LOOKS[self.held]


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
    sentence: str
    section: str
    bound: str
    measured: str
    held: bool | None
    why: str
    experiment: Experiment
    parts: Sequence[Part] = ()
    """Where a claim says several things at once, each by itself."""

    @property
    def mark(self) -> str:
        """By sign and word, never by colour alone."""
        return mark(self.held)

    @property
    def look(self) -> str:
        return LOOKS[self.held]

    def about(self, algorithm: str) -> Judgement:
        """What it says of one algorithm, where its words or its parts begin with that one's name; else all of it."""
        if not algorithm:
            return self
        parts = [part for part in self.parts if part.words.startswith(algorithm)]
        said = [words for words in self.measured.split("; ") if words.startswith(algorithm)]
        held = self.held
        if parts and all(part.held is not None for part in parts):
            held = all(part.held for part in parts)
        return replace(self, measured="; ".join(said) or self.measured, parts=parts, held=held)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    id: int
    sentence: str
    section: str
    judgements: Sequence[Judgement]

    @property
    def bound(self) -> str:
        """Where it is the same on every data set."""
        bounds = {one.bound for one in self.judgements}
        return bounds.pop() if len(bounds) == 1 else ""

    @property
    def failed(self) -> list[Judgement]:
        return [one for one in self.judgements if one.held is False]

    @property
    def where(self) -> str:
        """In the paper."""
        return self.section if self.section == "Abstract" else f"Section {self.section}"

    def on(self, data_set: str | None) -> list[Judgement]:
        return [one for one in self.judgements if one.data_set == data_set]

    def held_on(self, data_set: str | None) -> bool | None:
        """In every part that was judged; None where it says nothing about that data set."""
        held = [one.held for one in self.on(data_set) if one.held is not None]
        return all(held) if held else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How many claims held on one data set."""

    data_set: str | None
    title: str
    n_held: int
    n_judged: int


def mark(held: bool | None) -> str:
    return {True: HELD, False: NOT_HELD, None: NOT_JUDGED}[held]


def claims_of(content: Json) -> list[Claim]:
    """In the order of their numbers; data sets in the paper's."""
    judged: dict[int, list[Judgement]] = {}
    for entry in content["claims"]:
        judged.setdefault(entry["id"], []).append(_judgement(entry))
    order = {name: i for i, name in enumerate((*DATA_SETS, None))}
    return [
        Claim(
            id=number_of,
            sentence=found[0].sentence,
            section=found[0].section,
            judgements=sorted(found, key=lambda one: order.get(one.data_set, len(order))),
        )
        for number_of, found in sorted(judged.items())
    ]


def in_short(claims: Sequence[Claim]) -> list[tuple[str, list[Claim]]]:
    """Claims by where they held: everywhere, nowhere, not on a stand-in alone, and all others."""
    groups: dict[str, list[Claim]] = {
        "Held on every data set": [],
        "Held on none": [],
        "Failed on stand-ins only": [],
        "Failed on Adult, and held elsewhere": [],
        "Failed on Adult and on a stand-in, and held on the other": [],
    }
    for claim in claims:
        held = {one.data_set: answer for one in claim.judgements if (answer := claim.held_on(one.data_set)) is not None}
        if not held:
            continue
        on_real = [answer for name, answer in held.items() if name not in STAND_INS]
        elsewhere = [answer for name, answer in held.items() if name in STAND_INS]
        if all(held.values()):
            name = "Held on every data set"
        elif on_real and not any(held.values()):
            name = "Held on none"
        elif all(on_real):  # or it does not speak of others
            name = "Failed on stand-ins only"
        elif all(elsewhere):
            name = "Failed on Adult, and held elsewhere"
        else:
            name = "Failed on Adult and on a stand-in, and held on the other"
        groups[name].append(claim)
    return [(name, found) for name, found in groups.items() if found]


def scores(claims: Sequence[Claim]) -> list[Score]:
    found = {one.data_set: one.title for claim in claims for one in claim.judgements}
    ordered = [name for name in (*DATA_SETS, None) if name in found]
    result = []
    for name in ordered:
        held = [answer for claim in claims if (answer := claim.held_on(name)) is not None]
        result.append(Score(data_set=name, title=found[name], n_held=sum(held), n_judged=len(held)))
    return result


def _judgement(entry: Json) -> Judgement:
    data_set = entry["data_set"]
    title = EVERYWHERE
    if data_set is not None:
        title = title_of(data_set, entry.get("title"), is_stand_in=entry.get("is_stand_in"))
    return Judgement(
        claim=entry["id"],
        data_set=data_set,
        title=title,
        sentence=tidied(entry["sentence"]),
        section=str(entry["section"]),
        bound=tidied(entry["bound"]),
        measured=tidied(entry["measured"]),
        held=entry["held"],
        why=tidied(entry.get("why") or ""),
        experiment=_experiment(entry.get("experiment") or []),
        parts=[Part(words=tidied(part["words"]), held=part["held"]) for part in entry.get("parts") or []],
    )


_AT_K = re.compile(r",? (?:at )?k = (\d+)\b")


def _experiment(findings: Sequence[Json]) -> Experiment:
    """Findings that differ in k alone are a column; what was tried once is a line."""
    columns: dict[str, dict[int, str]] = {}
    alone: dict[str, str] = {}
    for one in findings:
        words, value = tidied(one["words"]), _value(one)
        found = _AT_K.search(words)
        if found is None:
            alone[words] = value
        else:
            columns.setdefault(_AT_K.sub("", words, count=1), {})[int(found.group(1))] = value
    for condition, by_k in [*columns.items()]:
        if len(by_k) == 1:
            ((k, value),) = by_k.items()
            alone[f"{condition}, k = {k}"] = value
            del columns[condition]
    ks = sorted({k for by_k in columns.values() for k in by_k})
    table = Table(
        headers=["k", *columns],
        rows=[[str(k), *(by_k.get(k, NOTHING) for by_k in columns.values())] for k in ks],
        n_words=0,
    )
    return Experiment(table=table if columns else None, lines=[f"{words}: {value}" for words, value in alone.items()])


def _value(one: Json) -> str:
    values = one["value"] if isinstance(one["value"], Sequence) else [one["value"]]
    return " to ".join(_with_unit(value, one["unit"]) for value in values)


def _with_unit(value: float | None, unit: str) -> str:
    if value is None:
        return "undefined"
    if unit == SHARE:
        return f"{100 * value:.2f}{NO_BREAK}%"
    if unit == EPSILON:
        return number(value, 3)
    if unit == LOSS:
        return f"{value:.3f}"
    words = f"{value:.2f}" if unit == TIMES else number(value, 3)
    return f"{words}{NO_BREAK}{unit}"

# SPDX-License-Identifier: Apache-2.0
"""The claims as they were judged, read from what claims.json holds, and counted by data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kepsilon.publish.wording import NO_BREAK, number, percent
from kepsilon.reproduce.claims.claim import EPSILON, LOSS, SHARE
from kepsilon.reproduce.pages.panels import title_of
from kepsilon.reproduce.setting import DATA_SETS

Json = Mapping[str, Any]

HELD, NOT_HELD, NOT_JUDGED = "✓ held", "✗ not held", "– not judged"
EVERYWHERE = "All data sets"


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
    experiment: Sequence[str]

    @property
    def mark(self) -> str:
        """By sign and word, never by colour alone."""
        return mark(self.held)

    @property
    def look(self) -> str:
        return {True: "held", False: "not-held", None: "not-judged"}[self.held]


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
        sentence=entry["sentence"],
        section=str(entry["section"]),
        bound=entry["bound"],
        measured=entry["measured"],
        held=entry["held"],
        why=entry.get("why") or "",
        experiment=[_finding(one) for one in entry.get("experiment") or []],
    )


def _finding(one: Json) -> str:
    """A line of an experiment: what was tried, and what came out."""
    values = one["value"] if isinstance(one["value"], Sequence) else [one["value"]]
    return f"{one['words']}: {' and '.join(_with_unit(value, one['unit']) for value in values)}"


def _with_unit(value: float | None, unit: str) -> str:
    if value is None:
        return "undefined"
    if unit == SHARE:
        return percent(value)
    return number(value, 3) if unit in (LOSS, EPSILON) else f"{number(value, 3)}{NO_BREAK}{unit}"

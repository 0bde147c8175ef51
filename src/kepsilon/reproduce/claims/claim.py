# SPDX-License-Identifier: Apache-2.0
"""A claim of the paper, as claims.toml states it, and how what was measured of a data set decides it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kepsilon.json_values import Json
from kepsilon.reproduce.claims.measured import Measured
from kepsilon.reproduce.scope import DATA_SETS

SHARE, TIMES, RECORDS, CLASSES, LOSS, EPSILON = "share", "times", "records", "classes", "loss", "epsilon"

CLAIM_TEXTS: Json = tomllib.loads(Path(__file__).with_name("claims.toml").read_text(encoding="utf-8"))
BOUNDS = SimpleNamespace(**CLAIM_TEXTS["bounds"])
"""The numbers that claims are held against."""
SUPPRESSED_BY_OLA: dict[str, dict[int, float]] = {
    name: dict(zip(CLAIM_TEXTS["suppressed_by_ola"]["k"], CLAIM_TEXTS["suppressed_by_ola"][name], strict=True))
    for name in DATA_SETS
}
"""Paper Table IV, in per cent, by data set and k."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a claim holds on a data set, and the figure that decides."""

    held: bool
    measured: str
    """In words, with the figure and where it is from."""
    figure: float | None
    """The figure that decides, as a number."""
    parts: Mapping[str, bool] = field(default_factory=dict)
    """What a claim of several parts says in each, and whether that held."""

    @classmethod
    def of_parts(cls, parts: Mapping[str, bool], *, measured: str, figure: float | None) -> Verdict:
        """A claim of several parts holds if all of them do."""
        return cls(held=all(parts.values()), measured=measured, figure=figure, parts=parts)


Found = tuple[str, float | Sequence[float] | None] | tuple[str, float | None, str]
"""What an experiment found: words and a share, or words, a number and the number's unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a claim does not hold, and the experiment that shows it."""

    why: str
    experiment: Sequence[Found] = ()


Judge = Callable[[Measured], Verdict]
Explain = Callable[[Measured], Reason]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One sentence of the paper, the bound it is held against, and the functions that judge it."""

    number: int
    section: str
    sentence: str
    bound: str
    """Settled before anything was measured, and the same for every data set."""
    judge: Judge
    explain: Explain
    """Asked only where the claim does not hold."""
    data_sets: Sequence[str] = DATA_SETS
    """The data sets that the claim speaks of."""

    def on(self, measured: Measured) -> Json:
        """The claim's entry in claims.json for one data set."""
        verdict = self.judge(measured)
        reason = Reason(why="") if verdict.held else self.explain(measured)
        return {
            "id": self.number,
            "data_set": measured.name,
            "title": measured.about["title"],
            "is_stand_in": measured.about["is_stand_in"],
            "section": self.section,
            "sentence": self.sentence,
            "bound": self.bound,
            "measured": verdict.measured,
            "figure": verdict.figure,
            "held": verdict.held,
            "parts": [{"words": words, "held": held} for words, held in verdict.parts.items()],
            "why": reason.why or None,
            "experiment": [_found(*one) for one in reason.experiment],
        }


def _found(words: str, value: Any, unit: str = SHARE) -> Json:
    return {"words": words, "value": value, "unit": unit}


def percent(share: float) -> str:
    """A share in per cent with two decimals, as in the paper's table."""
    return f"{100 * share:.2f} %"

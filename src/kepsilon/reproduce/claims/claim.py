# SPDX-License-Identifier: Apache-2.0
"""A claim of the paper: what it says, the bound it is held against, and how a measurement decides it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kepsilon.json_values import Json
from kepsilon.reproduce.claims.measured import Measured
from kepsilon.reproduce.setting import DATA_SETS

SHARE, TIMES, RECORDS, CLASSES, LOSS, EPSILON = "share", "times", "records", "classes", "loss", "epsilon"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a data set says to a claim."""

    held: bool
    measured: str
    """In words, with the figure and where it is from."""
    figure: float | None
    """The figure that decides, as a number."""
    parts: Sequence[tuple[str, bool]] = ()
    """What a claim of several parts says in each, and whether that held; it holds if all do."""

    def __post_init__(self) -> None:
        if self.parts and self.held != all(held for _, held in self.parts):
            raise ValueError("a claim holds if all of its parts do")


Found = tuple[str, float | Sequence[float] | None] | tuple[str, float | None, str]
"""What an experiment found: in words, as a share, or as a number of something else that the third part names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a claim does not hold, and the experiment that shows it."""

    why: str
    experiment: Sequence[Found] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    number: int
    section: str
    sentence: str
    bound: str
    """Settled before anything was measured, and the same for every data set."""
    judge: Callable[[Measured], Verdict]
    explain: Callable[[Measured], Reason]
    """Asked only where the claim does not hold."""
    data_sets: Sequence[str] = field(default=DATA_SETS)
    """Those it speaks of."""

    def on(self, measured: Measured) -> Json:
        verdict = self.judge(measured)
        reason = None if verdict.held else self.explain(measured)
        return {
            "id": self.number,
            "data_set": measured.name,
            "title": measured.title,
            "is_stand_in": measured.is_stand_in,
            "section": self.section,
            "sentence": self.sentence,
            "bound": self.bound,
            "measured": verdict.measured,
            "figure": verdict.figure,
            "held": verdict.held,
            "parts": [{"words": words, "held": held} for words, held in verdict.parts],
            "why": None if reason is None else reason.why,
            "experiment": [] if reason is None else [_found(*one) for one in reason.experiment],
        }


def _found(words: str, value: Any, unit: str = SHARE) -> Json:
    return {"words": words, "value": value, "unit": unit}


def percent(share: float) -> str:
    """Two decimals, as in the paper's table."""
    return f"{100 * share:.2f} %"

# SPDX-License-Identifier: Apache-2.0
"""One cell of the grid: what an algorithm, a k and an ε would cost, and what risk they would leave."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.relative_error import ErrorSums
from kepsilon.json_values import Json
from kepsilon.policy.roles import written


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Known before any noise is drawn; the same as `anonymise` would write as expected."""

    n_classes: int
    levels: dict[str, int] | None
    dm_star: int
    loss: dict[str, float]
    """Precision loss by k-quasi."""
    precision_loss: float
    error: dict[str, Json]
    """By ε-quasi, as in the curator's record."""
    linking_risk: Estimate
    """Share of the records that get noise."""
    linking_risk_paper_ties: float
    suppressed_by_k: float
    """Share of the counted records, like the next."""
    suppressed_by_confidence: Estimate | None
    distortion: float | None
    """Mean over quasis of precision loss and range-relative error; None where one of them is undefined."""

    @property
    def suppression(self) -> Estimate:
        """By k and by confidence together."""
        return Estimate(total=self.suppressed_by_k) + (self.suppressed_by_confidence or Estimate())

    @property
    def largest_error(self) -> float | None:
        """The largest expected relative error of an ε-quasi; None where one is undefined."""
        errors = [figures["expected_relative"] for figures in self.error.values()]
        return None if None in errors else max(errors, default=0.0)

    def held_against(self, limit: str) -> Estimate:
        """What a limit is about; an error that is undefined keeps none."""
        if limit == "max_risk":
            return self.linking_risk
        if limit == "max_error":
            error = self.largest_error
            return Estimate(total=math.inf if error is None else error)
        return self.suppression


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    algorithm: str
    k: int
    epsilon: float
    figures: Figures | None
    refused: str | None = None
    """Why there are no figures."""
    pareto: bool = field(default=False, compare=False)
    """No other cell is at least as good in distortion, risk and suppression, and better in one."""

    @property
    def name(self) -> str:
        return f"{self.algorithm}, k = {self.k}, ε = {written(self.epsilon)}"

    def to_json(self) -> Json:
        found: Json = {"algorithm": self.algorithm, "k": self.k, "epsilon": self.epsilon, "refused": self.refused}
        figures = self.figures
        if figures is None:
            return found
        gone = figures.suppressed_by_confidence
        return {
            **found,
            "classes": figures.n_classes,
            "levels": figures.levels,
            "dm*": figures.dm_star,
            "precision_loss": figures.precision_loss,
            "loss": figures.loss,
            "error": figures.error,
            "linking_risk": figures.linking_risk.total,
            "linking_risk_standard_error": figures.linking_risk.standard_error,
            "linking_risk_paper_ties": figures.linking_risk_paper_ties,
            "suppressed_by_k": figures.suppressed_by_k,
            "suppressed_by_confidence": None if gone is None else gone.total,
            "suppressed_by_confidence_standard_error": 0.0 if gone is None else gone.standard_error,
            "suppression": figures.suppression.total,
            "distortion": figures.distortion,
            "pareto": self.pareto,
        }


def distortion(losses: Sequence[float], errors: Sequence[ErrorSums]) -> float | None:
    """Mean over all quasis of precision loss and range-relative error; without noise nothing is distorted."""
    shares = [0.0 if sums.distance_sum == 0 else sums.range_relative for sums in errors]
    defined = [share for share in shares if share is not None]
    if len(defined) < len(shares):
        return None
    figures = [*losses, *defined]
    return sum(figures) / len(figures) if figures else 0.0

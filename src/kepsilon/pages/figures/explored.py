# SPDX-License-Identifier: Apache-2.0
"""What the explore page shows: a grid, and the choice that was made from it."""

from __future__ import annotations

from dataclasses import dataclass

from kepsilon.grid.choice import Choice
from kepsilon.grid.grid import Grid
from kepsilon.pages.wording import exact
from kepsilon.perturb.mechanisms import mechanism_of
from kepsilon.predict.prediction import Prediction


@dataclass(frozen=True, slots=True, kw_only=True)
class Explored:
    """A grid and a choice; the prediction of a cell knows the cell's algorithm, k and ε."""

    grid: Grid
    choice: Choice

    @property
    def met(self) -> list[Prediction]:
        """Predictions of the cells that are not refused."""
        return [cell.prediction for cell in self.grid.cells if cell.prediction is not None]

    @property
    def chosen(self) -> Prediction | None:
        return None if self.choice.cell is None else self.choice.cell.prediction

    @property
    def epsilon_quasis(self) -> list[str]:
        return list(dict.fromkeys(name for prediction in self.met for name in prediction.error))

    @property
    def has_closed_forms(self) -> bool:
        """Whether the mechanism adds noise whose size is proportional to 1/ε, so that figures need no simulation."""
        return mechanism_of(self.grid.policy).exponential is not None

    @property
    def confidence(self) -> float | None:
        return self.grid.policy.confidence

    def of(self, algorithm: str, k: int) -> list[Prediction]:
        """Predictions of one algorithm and k with noise of each record's own, from the smallest ε to the largest."""
        own = [
            prediction
            for prediction in self.met
            if (prediction.algorithm, prediction.k) == (algorithm, k) and prediction.groups is None
        ]
        return sorted(own, key=lambda prediction: prediction.epsilon or 0.0)

    def tightest(self, *names: str) -> float | None:
        """The smallest of the named limits that are stated; None if none is."""
        stated = self.choice.limits.stated()
        return min((stated[name] for name in names if name in stated), default=None)


def setting_words(prediction: Prediction) -> str:
    parts = [f"k = {exact(prediction.k)}"]
    if prediction.groups is not None:
        parts.append(f"averages of {exact(prediction.groups.asked)}")
    if prediction.epsilon is not None:
        parts.append(f"ε = {exact(prediction.epsilon)}")
    return ", ".join([*parts, prediction.algorithm])

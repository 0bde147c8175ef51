# SPDX-License-Identifier: Apache-2.0
"""What the explore page shows: a grid, and the choice that was made from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kepsilon.grid.choice import Choice
from kepsilon.grid.grid import Grid
from kepsilon.pages.charts import Limit
from kepsilon.pages.wording import exact, percent
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

    def averaged(self, algorithm: str, k: int) -> list[Prediction]:
        """Predictions of one algorithm and k with averages, from the smallest groups to the largest, at one ε."""
        epsilon = self.shown_epsilon_of_averages
        own = [
            (prediction.groups.asked, prediction)
            for prediction in self.met
            if (prediction.algorithm, prediction.k) == (algorithm, k)
            and prediction.groups is not None
            and prediction.epsilon == epsilon
        ]
        return [prediction for _, prediction in sorted(own, key=lambda pair: pair[0])]

    @property
    def chooses_averages(self) -> bool:
        """Whether averages were chosen, or there is nothing else to choose."""
        if self.chosen is not None:
            return self.chosen.groups is not None
        return bool(self.met) and all(prediction.groups is not None for prediction in self.met)

    @property
    def shown_epsilon(self) -> float | None:
        """The chosen ε of noise, or else the largest, where confidence leaves out most."""
        if self.chosen is not None and self.chosen.groups is None:
            return self.chosen.epsilon
        return max((cell.epsilon for cell in self.grid.cells if cell.group is None and cell.epsilon), default=None)

    @property
    def shown_epsilon_of_averages(self) -> float | None:
        """The chosen ε of noise on averages, or else the largest; None where averages have no noise."""
        if self.chosen is not None and self.chosen.groups is not None:
            return self.chosen.epsilon
        return max((cell.epsilon for cell in self.grid.cells if cell.group is not None and cell.epsilon), default=None)

    def limit(self, *names: str) -> Limit | None:
        """The tightest of the named limits, to be drawn in a chart."""
        tightest = self.tightest(*names)
        return None if tightest is None else Limit(tightest, f"limit {percent(tightest)}")

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


def is_wide(numbers: Sequence[float]) -> bool:
    """Whether numbers differ so much that they belong on a logarithmic axis."""
    return min(numbers) > 0 and max(numbers) / min(numbers) > 20

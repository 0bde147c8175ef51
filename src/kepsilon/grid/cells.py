# SPDX-License-Identifier: Apache-2.0
"""One cell of explore's grid: what one algorithm, k and ε, or size of groups, would cost, and what risk is left."""

from __future__ import annotations

from dataclasses import dataclass, field

from kepsilon.evaluate.linking.attackers import Attacker
from kepsilon.grid.splits import Split
from kepsilon.json_values import Json, JsonValue, json_of
from kepsilon.policy.roles import written
from kepsilon.predict.prediction import Prediction

PAPER_KS = (2, 5, 10, 20, 50, 100)
PAPER_EPSILONS = (0.05, 0.5, 1, 2, 4, 8, 16)
"""The k and ε of the paper's evaluation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell(JsonValue):
    """One algorithm, k and ε, or size of averaged groups, with what is predicted for them or why they are refused."""

    algorithm: str
    k: int
    epsilon: float | None
    """None where nothing is drawn with it."""
    prediction: Prediction | None
    group: int | None = None
    """The size of groups whose averages are published; None where records get noise of their own."""
    split: Split | None = None
    """Which numeric quasis are k-quasis and which ε-quasis, where splits are compared; None elsewhere."""
    refused: str | None = None
    """Why there is no prediction."""
    solved_for: tuple[str, ...] = field(default=(), compare=False)
    """Limits that just hold at this ε or size of groups; empty where it was listed."""
    pareto: bool = field(default=False, compare=False)
    """No other cell is at least as good in distortion, risk and suppression, and better in one; never one that is refused
    because it leaves an attribute useless."""

    @property
    def name(self) -> str:
        if self.split is not None:
            return self.split.name
        return f"{self.algorithm}, k = {self.k}, {self.setting}"

    @property
    def setting(self) -> str:
        """What is done to the ε-quasis, in words: ε, or the groups that are averaged, or both."""
        parts = [] if self.group is None else [f"averages of {self.group:,}"]
        if self.epsilon is not None:
            parts.append(f"ε = {written(self.epsilon)}")
        return ", ".join(parts) or "no noise"

    @property
    def short_setting(self) -> str:
        """What is done to the ε-quasis, as short as a column of a table needs it."""
        parts = [] if self.group is None else [f"mean {self.group}"]
        return ", ".join([*parts, *([] if self.epsilon is None else [f"ε {written(self.epsilon)}"])])

    @property
    def strongest(self) -> Attacker | None:
        """The attacker of the headline, who links most of those who need only the quasis; None for a refused cell."""
        if self.prediction is None:
            return None
        risk = self.prediction.linking_risk.headline.risk
        return next((own for own in self.prediction.attackers if own.needs_only_quasis and own.risk == risk), None)

    def to_json(self) -> Json:
        """The setting and the figures that cells are compared by."""
        found: Json = {
            "algorithm": self.algorithm,
            "k": self.k,
            "epsilon": self.epsilon,
            "group": self.group,
            "refused": self.refused,
        }
        if self.split is not None:
            found["split"] = self.split.to_json()
        if self.prediction is None:
            return found
        prediction, left_out = self.prediction, self.prediction.suppressed
        by_confidence = left_out.by_confidence
        return {
            **found,
            "classes": prediction.classes.count,
            "levels": json_of(prediction.levels),
            "dm*": prediction.loss.dm_star,
            "ncp": prediction.loss.ncp.overall,
            "entropy_share": prediction.loss.entropy_share.overall,
            "precision_loss": prediction.loss.precision.overall,
            "loss": json_of(prediction.loss.ncp.by_attribute),
            "error": json_of(prediction.error),
            "headline": prediction.linking_risk.headline.to_json(),
            "linking_risk": prediction.linking_risk.fair.total,
            "linking_risk_standard_error": prediction.linking_risk.fair.standard_error,
            "linking_risk_paper_ties": prediction.linking_risk.paper_ties.total,
            "largest_possible": prediction.linking_risk.largest_possible,
            "largest_possible_by_matching": prediction.linking_risk.largest_possible_by_matching,
            "suppressed_missing": left_out.missing,
            "suppressed_unlisted": left_out.unlisted,
            "suppressed_by_cap": left_out.by_cap,
            "suppressed_by_k": left_out.by_k,
            "suppressed_by_confidence": None if by_confidence is None else by_confidence.total,
            "suppressed_by_confidence_standard_error": 0.0 if by_confidence is None else by_confidence.standard_error,
            "suppression": left_out.together.total,
            "distortion": prediction.distortion,
            "solved_for": [*self.solved_for],
            "pareto": self.pareto,
        }

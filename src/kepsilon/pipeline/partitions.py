# SPDX-License-Identifier: Apache-2.0
"""The classes of one algorithm and k, and the cells of explore's grid that have these classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kepsilon.count import Counted
from kepsilon.errors import AnonymisationError, MemoryLimitError, PolicyError, UnsatisfiableError
from kepsilon.grid.cells import Cell
from kepsilon.kanonymise.algorithms import KAnonymised
from kepsilon.pipeline.settings import Setting
from kepsilon.policy.policy import Policy
from kepsilon.predict.losses import losses_of
from kepsilon.predict.predict import predict
from kepsilon.predict.prediction import Losses
from kepsilon.predict.whole_records import WholeLook, WholeTable
from kepsilon.table.arrays import IntArray


@dataclass(slots=True, kw_only=True, eq=False)
class Partition:
    """The classes of one algorithm and k, or why there are none, and the cells that were looked at with them."""

    algorithm: str
    policy: Policy | PolicyError
    """The curator's policy with this algorithm, or why it cannot have it."""
    k: int
    found: KAnonymised | AnonymisationError
    counted: Counted
    table: WholeTable | None
    """Whole records, fitted once for all partitions; None where no column is kept."""
    cells: dict[tuple[float | None, int | None], Cell] = field(default_factory=dict)
    """By ε and size of groups."""
    _look: WholeLook | None = None
    """What kept columns tell in these classes; it does not depend on ε."""

    _losses: Losses | None = None

    @property
    def losses(self) -> Losses | None:
        """What generalising loses, worked out once; None where there are no classes."""
        if self._losses is None and not isinstance(self.found, AnonymisationError) and isinstance(self.policy, Policy):
            self._losses = losses_of(self.found, self.counted, self.policy)
        return self._losses

    def forget(self) -> None:
        """Gives back the memory of what only further cells of these classes would need."""
        self._look = None

    @property
    def sizes(self) -> IntArray | None:
        """Records of each class; None where there are no classes."""
        return None if isinstance(self.found, AnonymisationError) else self.found.recoding.sizes

    @property
    def classes_per_record(self) -> float:
        """What an attacker links who knows nothing but the class: no cell of these classes links less."""
        return 0.0 if self.sizes is None else len(self.sizes) / int(self.sizes.sum())

    @property
    def least_distortion(self) -> float:
        """The distortion of these classes without any error: no cell of them has less."""
        if self.losses is None:
            return 0.0
        own = self.losses.ncp.by_attribute
        n_quasis = len(own) + len(self.counted.roles.epsilon_quasis)
        return sum(own.values()) / n_quasis if n_quasis else 0.0

    def at(self, setting: Setting) -> list[Cell]:
        """The cells of a setting, each looked at once; all ε that are new come from one pass over the classes."""
        new = tuple(own for own in setting.epsilons if (own, setting.group) not in self.cells)
        if new:
            for cell in self._look_at(Setting(epsilons=new, group=setting.group)):
                self.cells[cell.epsilon, cell.group] = cell
        return [self.cells[own, setting.group] for own in setting.epsilons]

    def noise(self, epsilons: Sequence[float]) -> list[Cell]:
        """The cells with noise at some ε."""
        return self.at(Setting(epsilons=tuple(epsilons), group=None))

    def _look_at(self, setting: Setting) -> list[Cell]:
        if isinstance(self.policy, PolicyError):
            return setting.refused(self.algorithm, self.k, self.policy)
        if isinstance(self.found, AnonymisationError):
            return setting.refused(self.algorithm, self.k, self.found)
        is_noise = setting.group is None
        try:
            own = setting.of(self.policy, self.k)
            asked = [epsilon for epsilon in setting.epsilons if epsilon is not None]
            predicted = predict(
                self.counted.columns.preview(self.found.recoding),
                self.found,
                self.counted,
                own,
                epsilons=asked or None,
                table=self.table,
                look=self._look if is_noise else None,
                loss=self.losses,
                all_attackers=False,
            )
        except (PolicyError, MemoryLimitError) as error:
            return setting.refused(self.algorithm, self.k, error)
        if is_noise:
            self._look = predicted.look
        leaks = predicted.leaks(own)
        if leaks:
            return setting.refused(self.algorithm, self.k, UnsatisfiableError(leaks))
        return [
            Cell(algorithm=own.algorithm, k=self.k, epsilon=epsilon, group=setting.group, prediction=prediction)
            for epsilon, prediction in zip(setting.epsilons, predicted.predictions, strict=True)
        ]

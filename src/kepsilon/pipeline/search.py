# SPDX-License-Identifier: Apache-2.0
"""Searches k, ε and sizes of groups around the curator's limits: few cells at first, then those where limits begin to hold.

For one algorithm and k the classes are fixed. Then risk grows with ε and error falls, so that the best noise has the largest
ε that keeps the limits on risk, and the best averages have the smallest groups that do. Both are solved for. Classes that
could not be better than the best cell so far, even without any error, are not looked at again. Last, more k are tried around
the best one of each algorithm.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from kepsilon.grid.cells import PAPER_EPSILONS, Cell
from kepsilon.grid.choice import Limits, is_ranked, rank
from kepsilon.grid.search_space import LARGEST_EPSILON, epsilon_at_limit, ks_beside, smallest_group
from kepsilon.pipeline.partitions import Partition
from kepsilon.pipeline.settings import Setting, Settings
from kepsilon.policy.averages import FEWEST_TO_AVERAGE
from kepsilon.stopwatch import Stopwatch

_BRACKET = (1.0, 8.0)
"""ε that are looked at first in classes that are only searched."""
_ROUNDS = 3
"""How often k are tried between those that were tried before."""
_CLOSE_CALL = 1.15
"""An algorithm whose best cell is worse than the best of all by more than this factor is not searched further."""
_MOST_GROUPS = 4
"""How often larger groups are tried where those that should keep the limits do not."""
_SMALLER_GROUPS = 3
"""How often smaller groups are tried where the limits are kept with room to spare."""
_CLOSE_GROUPS = 1.1
"""Two sizes of groups whose ratio is below this have no other between them that is worth looking at."""

MorePartitions = Callable[[str, Sequence[int], str], list[Partition]]
"""Makes the classes of an algorithm for some k; the last argument says what for."""


@dataclass(slots=True, kw_only=True)
class Search:
    """Looks for the best cell within limits, and keeps the cells that are worth showing."""

    settings: Settings
    limits: Limits
    clock: Stopwatch
    kept: dict[tuple[str, int, float | None, int | None], Cell] = field(default_factory=dict)
    """Cells that were listed or solved for, by algorithm, k, ε and size of groups."""
    partitions: list[Partition] = field(default_factory=list)
    """The classes that were looked at."""

    @property
    def cells(self) -> list[Cell]:
        """The cells that are kept, by algorithm and k; of one k, noise before averages."""
        algorithms = list(dict.fromkeys(cell.algorithm for cell in self.kept.values()))
        return sorted(
            self.kept.values(),
            key=lambda cell: (algorithms.index(cell.algorithm), cell.k, cell.group or 0, cell.epsilon or 0.0),
        )

    @property
    def n_looked_at(self) -> int:
        """How many cells were looked at, with those that only served to find others."""
        return sum(len(partition.cells) for partition in self.partitions)

    def look_at_listed(self, partitions: Sequence[Partition]) -> None:
        """Keeps the cells of the settings that are listed."""
        self.partitions += partitions
        pairs = [(one, own) for one in partitions for own in self.settings.listed if own.fits(one.k)]
        n_cells, n_done = sum(len(own.epsilons) for _, own in pairs), 0
        for partition, setting in pairs:
            with self.clock.step("expect", part=(n_done, n_cells, "cells")):
                self._keep(partition.at(setting))
            n_done += len(setting.epsilons)

    def solve(self, partitions: Sequence[Partition]) -> None:
        """Keeps the cells where limits just hold, of those classes that could still be better than the best so far."""
        self.partitions += [own for own in partitions if own not in self.partitions]
        promising = sorted(partitions, key=self._bound)
        for i, partition in enumerate(promising):
            with self.clock.step("expect", part=(i, len(promising), "cells near the limits")):
                if partition.sizes is not None and self._could_be_best(partition):
                    self._look_at_unsolved(partition)
                    self._solve_epsilon(partition)
                    self._solve_group(partition)
                partition.forget()

    def look_closer(self, more: MorePartitions) -> None:
        """Tries more k around the best of each algorithm; `more` makes the classes of an algorithm for some k."""
        for i in range(_ROUNDS):
            found: list[Partition] = []
            for algorithm, k in self._centres().items():
                tried = {own.k for own in self.partitions if own.algorithm == algorithm}
                new = ks_beside(k, tried)
                found += more(algorithm, new, f"look closer (round {i + 1:,} of {_ROUNDS:,})") if new else []
            self.solve(found)

    def _look_at_unsolved(self, partition: Partition) -> None:
        """Keeps the cells of the listed settings that nothing is solved for: ε or groups that were asked for, or no noise."""
        for setting in self.settings.listed:
            is_solved = self.settings.solves_epsilon if setting.group is None else self.settings.solves_group
            if not is_solved and setting.fits(partition.k):
                self._keep(partition.at(setting))

    def _keep(self, cells: Sequence[Cell], *, solved_for: Limits | None = None) -> None:
        names = () if solved_for is None else tuple(solved_for.stated())
        for cell in cells:
            key = (cell.algorithm, cell.k, cell.epsilon, cell.group)
            self.kept.setdefault(key, replace(cell, solved_for=names))

    def _best(self, algorithm: str | None = None) -> Cell | None:
        """The best cell within the limits, of all or of one algorithm."""
        own = (cell for cell in self.kept.values() if algorithm in (None, cell.algorithm))
        within = [cell for cell in own if is_ranked(cell) and self.limits.allow(cell)]
        return min(within, key=self._rank, default=None)

    def _rank(self, cell: Cell) -> tuple[float, ...]:
        return rank(cell, self.limits)

    def _bound(self, partition: Partition) -> float:
        """What the best cell of some classes is no better than."""
        return partition.classes_per_record if self.limits.ask_for_least_risk else partition.least_distortion

    def _could_be_best(self, partition: Partition) -> bool:
        best = self._best()
        return best is None or self._bound(partition) < self._rank(best)[0]

    def _centres(self) -> dict[str, int]:
        """By algorithm, the k to look closer at: that of its best cell, or of the cell that is nearest to the limits."""
        found: dict[str, int] = {}
        best = self._best()
        for algorithm in dict.fromkeys(cell.algorithm for cell in self.kept.values()):
            own = self._best(algorithm)
            if best is None:
                ranked = [c for c in self.kept.values() if c.algorithm == algorithm and is_ranked(c)]
                own = min(ranked, key=lambda cell: (self.limits.miss(cell), self._rank(cell)), default=None)
            elif own is not None and self._rank(own)[0] > _CLOSE_CALL * self._rank(best)[0]:
                own = None
            if own is not None:
                found[algorithm] = own.k
        return found

    def _solve_epsilon(self, partition: Partition) -> None:
        if not self.settings.solves_epsilon:
            return
        limits = self.limits
        if limits.limit_risk:
            self._solve_noise(partition, limits.rising, first=PAPER_EPSILONS[0], last=LARGEST_EPSILON)
        if limits.max_error is not None and (not limits.limit_risk or not self._has_noise_within(partition)):
            self._solve_noise(partition, limits.falling, first=LARGEST_EPSILON, last=PAPER_EPSILONS[0])

    def _has_noise_within(self, partition: Partition) -> bool:
        noisy = (cell for cell in partition.cells.values() if cell.group is None)
        return any(is_ranked(cell) and self.limits.allow(cell) for cell in noisy)

    def _solve_noise(self, partition: Partition, limits: Limits, *, first: float, last: float) -> None:
        """Keeps the cell with the ε nearest to `last` that keeps these limits, if any does; `first` keeps them best."""

        def at(epsilons: Sequence[float]) -> list[float]:
            return [_miss(cell, limits) for cell in partition.noise(epsilons)]

        known = {own for own, group in partition.cells if group is None and own in PAPER_EPSILONS}
        ladder = sorted({first, *_BRACKET, *known} - {last}, reverse=first > last)
        rungs = [(own, miss <= 1) for own, miss in zip(ladder, at(ladder), strict=True)]
        if all(holds for _, holds in rungs):
            rungs.append((last, at([last])[0] <= 1))
        held = [own for own, holds in itertools.takewhile(lambda rung: rung[1], rungs)]
        if not held:
            return
        epsilon = held[-1]
        if len(held) < len(rungs):
            epsilon, _ = epsilon_at_limit(at, within=epsilon, beyond=rungs[len(held)][0])
        self._keep(partition.noise([epsilon]), solved_for=limits)

    def _solve_group(self, partition: Partition) -> None:
        """Keeps the cells with the smallest groups that keep the limits on risk, or the largest that keep that on error."""
        if not self.settings.solves_group or partition.sizes is None or partition.k < FEWEST_TO_AVERAGE:
            return
        limits = self.limits
        if not limits.limit_risk:
            self._solve_largest_group(partition)
            return
        group = smallest_group(
            partition.sizes,
            k=partition.k,
            max_risk=limits.max_risk,
            max_individual_risk=limits.max_individual_risk,
        )
        largest = int(partition.sizes.max())
        if group is None:
            return
        for _ in range(_MOST_GROUPS):
            cells = partition.at(self._averages(group))
            miss = min(_miss(cell, limits.rising) for cell in cells)
            if miss <= 1 or group >= largest:
                break
            # Where there are persons, or kept columns to work out, more than one record of each group may be linked.
            group = min(math.ceil(group * min(miss, 4.0)), largest)
        if miss < 1:
            cells = self._with_smaller_groups(partition, cells, group=group, miss=miss)
        self._keep(cells, solved_for=limits.rising)

    def _with_smaller_groups(self, partition: Partition, cells: list[Cell], *, group: int, miss: float) -> list[Cell]:
        """Cells with smaller groups that still keep the limits on risk, if a few trials find any; else the cells given.

        Where averages of several groups agree, fewer records are linked than there are groups.
        """
        beyond = max(partition.k, FEWEST_TO_AVERAGE) - 1
        for _ in range(_SMALLER_GROUPS):
            guess = math.ceil(group * miss)
            guess = guess if beyond < guess < group else (beyond + group) // 2
            if guess <= beyond:
                break
            tried = partition.at(self._averages(guess))
            found = min(_miss(cell, self.limits.rising) for cell in tried)
            if found <= 1:
                cells, group, miss = tried, guess, found
            else:
                beyond = guess
        return cells

    def _solve_largest_group(self, partition: Partition) -> None:
        """Keeps the cell with the largest groups within the limit on error, by doubling and halving."""
        within, beyond = None, None
        group, largest = partition.k, 0 if partition.sizes is None else int(partition.sizes.max())
        while group <= largest and (beyond is None or beyond / group > _CLOSE_GROUPS):
            cells = partition.at(self._averages(group))
            if min(_miss(cell, self.limits.falling) for cell in cells) <= 1:
                within = group
                group = 2 * group if beyond is None else (group + beyond) // 2
            elif within is None:
                return
            else:
                beyond = group
                group = (within + group) // 2
        if within is not None:
            self._keep(partition.at(self._averages(within)), solved_for=self.limits.falling)

    def _averages(self, group: int) -> Setting:
        return Setting(epsilons=self.settings.epsilons_of_averages, group=group)


def _miss(cell: Cell, limits: Limits) -> float:
    """By what factor a cell exceeds the limit that it exceeds most; infinite for a refused one."""
    return math.inf if cell.prediction is None else limits.miss(cell)

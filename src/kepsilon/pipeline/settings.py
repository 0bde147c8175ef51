# SPDX-License-Identifier: Apache-2.0
"""What cells of explore's grid do to the ε-quasis: noise at several ε, or averages of groups of one size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from kepsilon.errors import AnonymisationError, PolicyError, Problem
from kepsilon.grid.cells import PAPER_EPSILONS, Cell
from kepsilon.grid.search_space import FIRST_GROUPS
from kepsilon.policy.averages import FEWEST_TO_AVERAGE
from kepsilon.policy.policy import Policy

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is done to the ε-quasis in some cells: noise at several ε, or averages of groups of one size."""

    epsilons: tuple[float | None, ...]
    """None where nothing is drawn with it."""
    group: int | None

    def changes(self, policy: Policy) -> Mapping[str, Any]:
        """What has to change in the policy, apart from ε."""
        if self.group is not None:
            return policy.averaging(self.group)
        return {} if policy.averages is None else {"averages": None}

    def of(self, policy: Policy, k: int, epsilon: float | None = None) -> Policy:
        """The policy of a cell; at the first ε, if none is given."""
        chosen = self.epsilons[0] if epsilon is None else epsilon
        return policy.with_changes(k=k, **self.changes(policy), **({} if chosen is None else {"epsilon": chosen}))

    def fits(self, k: int) -> bool:
        """Whether there can be such groups at this k: no published value is shared by fewer than k."""
        return self.group is None or FEWEST_TO_AVERAGE <= k <= self.group

    def refuse_impossible(self, policy: Policy, ks: Sequence[int]) -> None:
        """Raises PolicyError where no policy can have these values with one of the ks."""
        fitting = [own_k for own_k in ks if self.fits(own_k)]
        # Where no k fits, the policy itself says what is wrong with the smallest.
        for own_k in fitting or [min(ks)]:
            self.of(policy, own_k)
        for epsilon in self.epsilons:
            self.of(policy, min(fitting or ks), epsilon)

    def is_possible(self, policy: Policy) -> bool:
        """Whether the policy states all that this needs, such as ranges for noise."""
        try:
            self.refuse_impossible(policy, [policy.k if self.group is None else FEWEST_TO_AVERAGE])
        except PolicyError:
            return False
        return True

    def refused(self, algorithm: str, k: int, error: AnonymisationError) -> list[Cell]:
        """The cells of one algorithm and k, all refused for one reason."""
        why = "; ".join(problem.what for problem in error.problems)
        return [
            Cell(algorithm=algorithm, k=k, epsilon=own, group=self.group, prediction=None, refused=why)
            for own in self.epsilons
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is done to the ε-quasis in the cells of a grid, and whether more may be tried than is listed."""

    listed: tuple[Setting, ...]
    epsilons_of_averages: tuple[float | None, ...] = (None,)
    """ε of noise on averages; None where averages have no noise."""
    solves_epsilon: bool
    """Whether ε of noise may be chosen so that limits just hold."""
    solves_group: bool
    """Whether groups may be chosen so that limits just hold."""


def settings_of(
    policy: Policy, epsilons: Sequence[float] | None, groups: Sequence[int] | None, *, has_limits: bool
) -> Settings:
    """Noise at each ε, beside averages of each size of groups; None where nobody listed any.

    Averages are compared with noise unless ε alone is listed, or confident k is asked for, which does not apply to averages.
    A policy with averages is compared with noise where ε is listed, or the policy states all that noise needs.
    """
    stated = () if policy.epsilon is None else (policy.epsilon,)
    own_groups = () if policy.averages is None else (policy.averages.group,)
    chosen_groups = distinct("group", groups, own_groups) if groups is not None or own_groups else ()
    if chosen_groups and not policy.epsilon_quasis:
        raise PolicyError(Problem(where="group", what="there is no epsilon-quasi to average."))
    if not policy.epsilon_quasis:
        nothing = Setting(epsilons=(None,), group=None)  # no figure depends on ε
        return Settings(listed=(nothing,), solves_epsilon=False, solves_group=False)
    chosen = distinct("epsilon", epsilons, (*PAPER_EPSILONS, *stated))
    has_noise = policy.averages is not None and policy.averages.noise
    of_averages = chosen if has_noise else (None,)
    found = [Setting(epsilons=of_averages, group=own) for own in chosen_groups]
    solves_group = groups is None and epsilons is None and policy.confidence is None
    if solves_group:
        more = [Setting(epsilons=of_averages, group=own) for own in FIRST_GROUPS if own not in chosen_groups]
        solves_group = all(own.is_possible(policy) for own in more)
        found += more if solves_group and not has_limits else []
    noise = Setting(epsilons=chosen, group=None)
    has_cells_with_noise = (
        policy.averages is None or epsilons is not None or (not has_noise and noise.is_possible(policy))
    )
    if has_cells_with_noise:
        found.insert(0, noise)
    return Settings(
        listed=tuple(found),
        epsilons_of_averages=of_averages,
        solves_epsilon=has_cells_with_noise and epsilons is None,
        solves_group=solves_group,
    )


def distinct(name: str, given: Sequence[Number] | None, default: Sequence[Number]) -> tuple[Number, ...]:
    """The numbers that were given, or else the default ones, in rising order and each once."""
    chosen = default if given is None else given
    if not len(chosen):
        raise PolicyError(Problem(where=name, what="no value is given to explore."))
    return tuple(sorted(set(chosen)))

# SPDX-License-Identifier: Apache-2.0
"""What every algorithm takes and returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from kepsilon.errors import AnonymisationError
from kepsilon.kanonymise.requirements import beyond_k
from kepsilon.kanonymise.requirements.protocol import Requirement
from kepsilon.policy.choices import AlgorithmFacts
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction
from kepsilon.table.classes import Recoding
from kepsilon.table.frequency import FrequencyTable


@dataclass(frozen=True, slots=True, kw_only=True)
class KAnonymised:
    """Classes of a table for one k."""

    recoding: Recoding
    dm_star: int
    """Sum of squared class sizes over all classes, the suppressed ones included."""
    loss: float | None = None
    """What OLA minimised, by the loss that the policy names; None for other algorithms."""
    bound: float | None = None
    """What every node loses at least, where OLA did not prove that its node is the best; None where it did."""
    nodes_counted: int | None = None
    """Number of nodes whose classes OLA counted, for all k of its search together; None for other algorithms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What an algorithm is asked for: classes for several k at once; everything else is as one policy says."""

    policy: Policy
    """The policy; its k is not used, the k of `requirements` are."""
    requirements: Mapping[int, tuple[Requirement, ...]]
    """By k: everything that a class has to satisfy, including that it has k records."""

    @property
    def ks(self) -> tuple[int, ...]:
        return tuple(self.requirements)

    @property
    def beyond_k(self) -> dict[int, tuple[Requirement, ...]]:
        """By k: the requirements beyond k records; mostly none."""
        return {k: beyond_k(requirements) for k, requirements in self.requirements.items()}

    def fixed(self, table: FrequencyTable) -> range:
        """Positions of the attributes after the k-quasis, which say which ε-quasis are missing.

        No class may mix their values.
        """
        return range(len(self.policy.k_quasis), len(table.domains))

    def importance(self, table: FrequencyTable) -> tuple[Fraction, ...]:
        """The weight of the loss of each attribute, exactly as the policy states it; 0 for attributes that are fixed."""
        stated = [fraction(own.importance) for own in self.policy.k_quasis.values()]
        return (*stated, *(Fraction(0) for _ in self.fixed(table)))

    def max_levels(self, table: FrequencyTable) -> tuple[int | None, ...]:
        """The highest level that each attribute may have; None where the policy does not limit it."""
        return (*(own.max_level for own in self.policy.k_quasis.values()), *(None for _ in self.fixed(table)))


class Algorithm(AlgorithmFacts, Protocol):
    """One way to put the combinations of a frequency table into classes."""

    def find(self, table: FrequencyTable, request: Request) -> dict[int, KAnonymised | AnonymisationError]:
        """By k: classes that meet the requirements, or why there are none.

        The recoding has labels for every attribute of the table. An error that concerns every k, such as hierarchies that
        make too large a lattice, may be raised.
        """

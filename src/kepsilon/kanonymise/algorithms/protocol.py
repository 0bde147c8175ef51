# SPDX-License-Identifier: Apache-2.0
"""What an algorithm is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from kepsilon.errors import AnonymisationError
from kepsilon.kanonymise.requirements import beyond_k
from kepsilon.kanonymise.requirements.protocol import Requirement
from kepsilon.policy.choices import AlgorithmFacts
from kepsilon.policy.policy import Policy
from kepsilon.table.classes import Recoding
from kepsilon.table.frequency import FrequencyTable


@dataclass(frozen=True, slots=True, kw_only=True)
class KAnonymised:
    """Classes of one table, for one k."""

    recoding: Recoding
    dm_star: int
    """Sum of squared class sizes over all classes, also those that were suppressed."""
    nodes_counted: int | None = None
    """Nodes whose classes OLA counted, for all k of its search together; None where there are no nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of an algorithm: classes for several k at once, everything else as one policy says."""

    policy: Policy
    """Its own k means nothing here."""
    requirements: Mapping[int, tuple[Requirement, ...]]
    """By k: what every class has to satisfy, k records among it."""

    @property
    def ks(self) -> tuple[int, ...]:
        return tuple(self.requirements)

    @property
    def beyond_k(self) -> dict[int, tuple[Requirement, ...]]:
        """By k: what every class has to satisfy apart from having k records; mostly nothing."""
        return {k: beyond_k(requirements) for k, requirements in self.requirements.items()}

    def fixed(self, table: FrequencyTable) -> range:
        """Attributes after the k-quasis, which say what ε-quasis are missing: classes must not mix their values."""
        return range(len(self.policy.k_quasis), len(table.domains))


class Algorithm(AlgorithmFacts, Protocol):
    """One way to put the combinations of a frequency table into classes."""

    def find(self, table: FrequencyTable, request: Request) -> dict[int, KAnonymised | AnonymisationError]:
        """By k: classes that meet the requirements, or why there are none.

        The recoding has labels for every attribute of the table. What concerns every k, such as hierarchies that make
        too large a lattice, may be raised instead.
        """

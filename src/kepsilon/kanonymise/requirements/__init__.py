# SPDX-License-Identifier: Apache-2.0
"""The table of requirements that a class must satisfy; each is one module, and is added here with one line."""

from __future__ import annotations

from collections.abc import Iterable

from kepsilon.kanonymise.requirements.k_persons import KPersons
from kepsilon.kanonymise.requirements.k_records import KRecords
from kepsilon.kanonymise.requirements.l_diversity import LDiversity
from kepsilon.kanonymise.requirements.protocol import Requirement, RequirementKind
from kepsilon.kanonymise.requirements.t_closeness import TCloseness
from kepsilon.policy.choices import Choices
from kepsilon.policy.policy import Policy

REQUIREMENTS: Choices[RequirementKind] = Choices("requirement", home=__name__)
REQUIREMENTS.add(KRecords)
REQUIREMENTS.add(KPersons)
REQUIREMENTS.add(LDiversity)
REQUIREMENTS.add(TCloseness)


def requirements_of(policy: Policy, *, k: int) -> tuple[Requirement, ...]:
    """Everything that the policy asks of a class, with this k in place of its own, in the order of the table."""
    return tuple(requirement for kind in REQUIREMENTS for requirement in kind.asked_by(policy, k=k))


def beyond_k(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """The requirements other than k records, which every search checks in a faster way of its own."""
    return tuple(requirement for requirement in requirements if not isinstance(requirement, KRecords))

# SPDX-License-Identifier: Apache-2.0
"""The table of requirements that a class must satisfy; each is one module, and is added here with one line."""

from __future__ import annotations

from collections.abc import Iterable

from kepsilon.kanonymise.requirements.k_records import KRecords
from kepsilon.kanonymise.requirements.protocol import Requirement, RequirementKind
from kepsilon.policy.choices import Choices
from kepsilon.policy.policy import Policy

REQUIREMENTS: Choices[RequirementKind] = Choices("requirement", home=__name__)
REQUIREMENTS.add(KRecords)


def requirements_of(policy: Policy, *, k: int) -> tuple[Requirement, ...]:
    """Everything that the policy asks of a class, with this k in place of its own, in the order of the table."""
    asked = (kind.asked_by(policy, k=k) for kind in REQUIREMENTS)
    return tuple(requirement for requirement in asked if requirement is not None)


def beyond_k(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """The requirements other than k records, which every search checks in a faster way of its own."""
    return tuple(requirement for requirement in requirements if not isinstance(requirement, KRecords))

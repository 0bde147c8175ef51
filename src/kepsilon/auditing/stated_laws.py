# SPDX-License-Identifier: Apache-2.0
"""Lists the mechanisms whose law the audit states for itself; it judges what is drawn for records by no others."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

from kepsilon.auditing import bounded_law, noise_law
from kepsilon.policy.policy import Policy

BOUNDED = "bounded-laplace"
SECOND_STATEMENTS: Mapping[str, ModuleType] = {"laplace": noise_law, BOUNDED: bounded_law}
"""Module that states the law again, by name of the mechanism."""

WITH_ATTACKERS = ("laplace",)
"""Mechanisms for which the audit has attackers and expected figures of its own."""


def is_bounded(policy: Policy) -> bool:
    """Whether what is drawn stays inside its range; all ε-quasis have one mechanism."""
    return any(attribute.mechanism == BOUNDED for attribute in policy.epsilon_quasis.values())


def why_noise_not_judged(policy: Policy) -> str | None:
    """Why checks that depend on the law of what is drawn are not made, in words; None where they are made."""
    names = _mechanisms(policy) - set(SECOND_STATEMENTS)
    if not names:
        return None
    return f"not checked: no second statement of this mechanism's law ({', '.join(sorted(names))})."


def why_not_judged(policy: Policy) -> str | None:
    """Why attacks and figures that depend on the law are not worked out, in words; None where they are."""
    if policy.averages is not None:
        return "averages are published, so that no record has noise of its own; averages are checked instead."
    names = _mechanisms(policy) - set(WITH_ATTACKERS)
    if not names:
        return None
    return why_noise_not_judged(policy) or (
        f"not tried: the audit has no attackers of its own for this mechanism ({', '.join(sorted(names))})."
    )


def _mechanisms(policy: Policy) -> set[str]:
    return {attribute.mechanism for attribute in policy.epsilon_quasis.values()}

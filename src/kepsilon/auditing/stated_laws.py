# SPDX-License-Identifier: Apache-2.0
"""Lists the mechanisms whose law of noise the audit states for itself; it judges the noise of no others."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

from kepsilon.auditing import noise_law
from kepsilon.policy.policy import Policy

SECOND_STATEMENTS: Mapping[str, ModuleType] = {"laplace": noise_law}
"""Module that states the law again, by name of the mechanism."""


def why_not_judged(policy: Policy) -> str | None:
    """Why checks that depend on the law of the noise are not made, in words; None where they are made."""
    names = {attribute.mechanism for attribute in policy.epsilon_quasis.values()} - set(SECOND_STATEMENTS)
    if not names:
        return None
    return f"not checked: no second statement of this mechanism's law ({', '.join(sorted(names))})."

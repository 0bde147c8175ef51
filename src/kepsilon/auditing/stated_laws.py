# SPDX-License-Identifier: Apache-2.0
"""Which mechanisms' laws the audit states a second time, on its own: what it cannot state it does not judge."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

from kepsilon.auditing import noise_law
from kepsilon.policy.policy import Policy

SECOND_STATEMENTS: Mapping[str, ModuleType] = {"laplace": noise_law}
"""By the name of the mechanism."""


def unstated(policy: Policy) -> str | None:
    """In words, why nothing that depends on the law of the noise is checked; None where everything is."""
    names = {attribute.mechanism for attribute in policy.epsilon_quasis.values()} - set(SECOND_STATEMENTS)
    if not names:
        return None
    return f"not checked: no second statement of this mechanism's law ({', '.join(sorted(names))})."

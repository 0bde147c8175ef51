# SPDX-License-Identifier: Apache-2.0
"""The mechanisms that a policy can name, one file each; a new one is added here with one line."""

from __future__ import annotations

from typing import cast

from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.perturb.mechanisms.protocol import Mechanism
from kepsilon.policy.choices import MECHANISMS
from kepsilon.policy.policy import Policy

MECHANISMS.add(LAPLACE)


def mechanism_of(policy: Policy) -> Mechanism:
    """The mechanism of all ε-quasis of a policy; where there is none, any would do."""
    names = [attribute.mechanism for attribute in policy.epsilon_quasis.values()]
    return mechanism_named(names[0]) if names else LAPLACE


def mechanism_named(name: str) -> Mechanism:
    return cast(Mechanism, MECHANISMS[name])

# SPDX-License-Identifier: Apache-2.0
"""The mechanisms that a policy can name, one file each; the table of their names is in `kepsilon.policy.mechanisms`."""

from __future__ import annotations

from typing import cast

from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.perturb.mechanisms.protocol import Mechanism
from kepsilon.policy.choices import MECHANISMS
from kepsilon.policy.mechanisms import BuiltInMechanism
from kepsilon.policy.policy import Policy


def mechanism_of(policy: Policy) -> Mechanism:
    """The mechanism of all ε-quasis of a policy; Laplace for a policy without ε-quasis, which never draws."""
    names = [attribute.mechanism for attribute in policy.epsilon_quasis.values()]
    return mechanism_named(names[0]) if names else LAPLACE


def mechanism_named(name: str) -> Mechanism:
    """The mechanism with the name that policies use for it."""
    found = MECHANISMS[name]
    return cast(Mechanism, found.mechanism if isinstance(found, BuiltInMechanism) else found)

# SPDX-License-Identifier: Apache-2.0
"""What a policy can name as a mechanism, one file each; its line in the table stands in `kepsilon.policy.mechanisms`."""

from __future__ import annotations

from typing import cast

from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.perturb.mechanisms.protocol import Mechanism
from kepsilon.policy.choices import MECHANISMS
from kepsilon.policy.mechanisms import BuiltInMechanism
from kepsilon.policy.policy import Policy


def mechanism_of(policy: Policy) -> Mechanism:
    """The mechanism of all ε-quasis of a policy; where there is none, any would do."""
    names = [attribute.mechanism for attribute in policy.epsilon_quasis.values()]
    return mechanism_named(names[0]) if names else LAPLACE


def mechanism_named(name: str) -> Mechanism:
    found = MECHANISMS[name]
    return cast(Mechanism, found.mechanism if isinstance(found, BuiltInMechanism) else found)

# SPDX-License-Identifier: Apache-2.0
"""One split of the numeric quasis into k-quasis and ε-quasis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kepsilon.json_values import FrozenMapping, Json, JsonValue
from kepsilon.policy.names import shown_name
from kepsilon.policy.policy import Policy

ROLES = {"epsilon-quasi": "ε-quasi", "k-quasi": "k-quasi"}
"""Roles as they are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split(JsonValue):
    """Which numeric quasis are k-quasis and which are ε-quasis; all other attributes are as the curator's policy has them."""

    k_quasis: tuple[str, ...]
    """The numeric k-quasis."""
    epsilon_quasis: tuple[str, ...]
    switched: Mapping[str, Json]
    """Attributes that have another role than in the curator's policy, with proposed settings; empty for the policy's own split."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Other top-level keys of the policy that change, such as k; None takes a key out."""
    others: tuple[str, ...] = ()
    """Quasis that are no numbers, which are k-quasis in every split."""
    name: str = ""
    """What is different from the curator's policy, in words; made from `switched` unless it is given."""
    policy: Policy | None = field(default=None, compare=False, repr=False)
    """The policy with this split; None where no policy can have it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "switched", FrozenMapping(self.switched))
        object.__setattr__(self, "settings", FrozenMapping(self.settings))
        object.__setattr__(self, "name", self.name or _name_of(self.switched))

    @property
    def is_own(self) -> bool:
        """Whether this is the split of the curator's policy."""
        return not self.switched

    @property
    def changes(self) -> Json:
        """What has to change in the curator's policy: top-level keys, and all settings of the attributes that are switched."""
        attributes = {"attributes": {name: dict(own) for name, own in self.switched.items()}} if self.switched else {}
        return {**self.settings, **attributes}

    def to_json(self) -> Json:
        return {
            "k_quasis": [*self.others, *self.k_quasis],
            "epsilon_quasis": [*self.epsilon_quasis],
            "switched": {name: dict(own) for name, own in self.switched.items()},
        }


def _name_of(switched: Mapping[str, Json]) -> str:
    """What changes, in words, such as "age as ε-quasi and height, weight as k-quasis"."""
    parts = []
    for role, shown in ROLES.items():
        names = [shown_name(name) for name, own in switched.items() if own["role"] == role]
        if names:
            parts.append(f"{', '.join(names)} as {shown}{'s' * (len(names) > 1)}")
    return " and ".join(parts) or "your policy's own split"

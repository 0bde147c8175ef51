# SPDX-License-Identifier: Apache-2.0
"""The policy as it is written into the manifest and the record: under the keys of the policy file, with all defaults."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from kepsilon.json_values import Json, JsonMapping, frozen, json_of
from kepsilon.policy.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDocument(JsonMapping):
    """The policy of a release, frozen when the release is made."""

    document: Mapping[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "document", frozen(self.document))

    @classmethod
    def of(cls, policy: Policy) -> PolicyDocument:
        return cls(document=normalised(policy))

    @property
    def algorithm(self) -> str:
        return str(self.document["algorithm"])

    @property
    def max_suppression(self) -> float | None:
        """Share of the counted records that may be left out for k; None where it is not stated."""
        return self.document.get("max_suppression")

    @property
    def attributes(self) -> Mapping[str, Mapping[str, Any]]:
        """Attributes by name, in the order of the policy; each has a `role` and the settings of that role."""
        attributes: Mapping[str, Mapping[str, Any]] = self.document["attributes"]
        return attributes

    def attributes_with_role(self, role: str) -> tuple[str, ...]:
        """Names of the attributes with this role."""
        return tuple(name for name, attribute in self.attributes.items() if attribute["role"] == role)

    def without_in_hierarchies(self, keys: Collection[str]) -> PolicyDocument:
        """A copy whose hierarchies lack the given keys."""
        attributes = {name: dict(attribute) for name, attribute in self.attributes.items()}
        for attribute in attributes.values():
            if "hierarchy" in attribute:
                hierarchy = attribute["hierarchy"].items()
                attribute["hierarchy"] = {key: value for key, value in hierarchy if key not in keys}
        return PolicyDocument(document={**self.document, "attributes": attributes})

    def to_json(self) -> Json:
        found: Json = json_of(self.document)
        return found


def normalised(policy: Policy) -> Json:
    """The policy with all its defaults written out."""
    return policy.model_dump(mode="json", exclude_none=True)

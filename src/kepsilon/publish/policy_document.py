# SPDX-License-Identifier: Apache-2.0
"""The policy as it is written into the manifest and the record: under the keys of the policy file, with all defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kepsilon.json_values import Json, JsonMapping, frozen, json_of
from kepsilon.policy.policy import Policy

CURATORS_KEYS = {"max_total_suppression", "max_individual_risk", "max_risk", "missing_values", "decimal"}
"""Keys of a policy that are not made public: that a release passed a limit on exact values is a bit about them, and how
missing values and decimals are written in the input says nothing about the release."""

CURATORS_ATTRIBUTE_KEYS = {"missing_values"}
"""Keys of an attribute that are not made public: lists of values of the input."""

CURATORS_HIERARCHY_KEYS = {"path", "levels"}
"""Keys of a hierarchy that are not made public: the path of its file, and lists that may be copied from the data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDocument(JsonMapping):
    """The policy of a release, frozen when the release is made."""

    document: Mapping[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "document", frozen(self.document))

    @classmethod
    def of(cls, policy: Policy) -> PolicyDocument:
        return cls(document=normalised(policy))

    @classmethod
    def public(cls, policy: Policy) -> PolicyDocument:
        """The policy as the manifest states it: without what is the curator's own, and without limits on exact values.

        Where no noise is drawn, ε and ranges are left out: they would look like a promise, and nothing follows them.
        """
        not_public, not_of_attributes = CURATORS_KEYS, CURATORS_ATTRIBUTE_KEYS
        if not policy.draws_noise:
            not_public, not_of_attributes = not_public | {"epsilon"}, not_of_attributes | {"range"}
        document = {key: own for key, own in normalised(policy).items() if key not in not_public}
        for attribute in document["attributes"].values():
            for key in not_of_attributes & attribute.keys():
                del attribute[key]
            hierarchy = attribute.get("hierarchy", {})
            for key in CURATORS_HIERARCHY_KEYS & hierarchy.keys():
                del hierarchy[key]
        return cls(document=document)

    @property
    def algorithm(self) -> str:
        return str(self.document["algorithm"])

    @property
    def max_suppression(self) -> float | None:
        """Share of the counted records that may be left out for k; None where it is not stated."""
        return self.document.get("max_suppression")

    @property
    def share_of_epsilon(self) -> str:
        """What one record spends of ε, in words that follow its number; empty where it spends all of it."""
        most = self.document.get("max_records_per_person")
        is_shared = self.document.get("epsilon_per") == "person" and most is not None and most > 1
        return f"/{most} for each record of a person" if is_shared else ""

    @property
    def spreads(self) -> bool:
        """Whether records get a draw of their own around the average of their group."""
        return bool((self.document.get("averages") or {}).get("spread"))

    @property
    def attributes(self) -> Mapping[str, Mapping[str, Any]]:
        """Attributes by name, in the order of the policy; each has a `role` and the settings of that role."""
        attributes: Mapping[str, Mapping[str, Any]] = self.document["attributes"]
        return attributes

    def attributes_with_role(self, role: str) -> tuple[str, ...]:
        """Names of the attributes with this role."""
        return tuple(name for name, attribute in self.attributes.items() if attribute["role"] == role)

    def to_json(self) -> Json:
        found: Json = json_of(self.document)
        return found


def normalised(policy: Policy) -> Json:
    """The policy with all its defaults written out."""
    return policy.model_dump(mode="json", exclude_none=True)

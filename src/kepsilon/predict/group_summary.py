# SPDX-License-Identifier: Apache-2.0
"""The groups whose averages are published, as the curator is shown them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kepsilon.evaluate.group_sums import GroupSums
from kepsilon.json_values import FrozenMapping, JsonValue
from kepsilon.policy.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSummary(JsonValue):
    """The groups whose averages are published."""

    asked: int
    """How many records, or persons, a group was to have at least; a class of fewer is one group."""
    count: int
    smallest: int
    """Records of the smallest group; persons, where it is known whom records are about."""
    largest: int
    short: int
    """Classes of fewer records, or persons, than `asked`: all their records publish one average."""
    agreeing: Mapping[str, int]
    """By ε-quasi: groups whose records all hold one value, which is their average."""
    extreme: Mapping[str, int]
    """By ε-quasi: groups with a value that is farther than 25 % of itself from every other value of the group, and that the
    average gives away, within 25 %, to an attacker who knows the others roughly: each within 25 %, or between which values
    they lie; noise and spread aside."""
    within: Mapping[str, float]
    """By ε-quasi, W: the mean squared distance of records from the average of their group.

    It is for the curator only: in a class of one group, mean and W together give two unknown values away.
    """

    def __post_init__(self) -> None:
        for name in ("agreeing", "extreme", "within"):
            object.__setattr__(self, name, FrozenMapping(getattr(self, name)))

    @classmethod
    def of(cls, groups: GroupSums, policy: Policy) -> GroupSummary:
        """The groups as they are shown to the curator."""
        return cls(
            asked=0 if policy.averages is None else policy.averages.group,
            count=groups.n_groups,
            smallest=groups.smallest,
            largest=groups.largest,
            short=groups.n_short,
            agreeing=dict(zip(policy.epsilon_quasis, groups.n_agreeing, strict=True)),
            extreme=dict(zip(policy.epsilon_quasis, groups.n_extreme, strict=True)),
            within=dict(zip(policy.epsilon_quasis, groups.within.diagonal().tolist(), strict=True)),
        )

    def in_words(self, *, of: str) -> str:
        """How many averages there are, and of how many; `of` is what groups are made of, records or persons."""
        sizes = f"{self.smallest:,} to {self.largest:,}" if self.smallest < self.largest else f"{self.smallest:,}"
        return f"{self.count:,}, with {sizes} {of} each (asked for: {self.asked:,}, or the whole class)"

# SPDX-License-Identifier: Apache-2.0
"""Divides the chance of a false alarm among the statistical tests of an audit, and adds up what they were given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

FALSE_ALARM = 1e-6
"""The chance, at most, that any of the statistical tests of an audit calls a sound release broken."""

SHARES: Mapping[str, float] = MappingProxyType(
    {
        "noise": 0.25,
        "patterns": 0.25,
        "published values": 0.1,
        "exact values": 0.1,
        "links": 0.05,
        "taken out": 0.05,
        "order": 0.19,
        "bytes": 0.01,
    }
)
"""Part of the chance that each family of tests gets, however many tests the family has; the parts sum to 1."""


@dataclass(slots=True, kw_only=True)
class FalseAlarms:
    """The chance of a false alarm that one audit may have in all, and what its tests were given of it.

    The chance that some test is wrong is at most the sum of the chances that each is (the union bound), whether or not
    the tests depend on each other. A family divides its share evenly among its tests, so that the sum stays below
    `total` whatever the number of columns, classes and tests.
    """

    total: float = FALSE_ALARM
    given: dict[str, float] = field(default_factory=dict)
    """What each family was given so far, the sum over its tests."""

    def level(self, family: str, *, n_tests: int) -> float:
        """The chance of a false alarm that each of the `n_tests` tests of a family may have.

        A family asks once for all its tests; a second time would spend its share twice, and is refused.
        """
        if family in self.given:
            raise RuntimeError(f"the tests of {family} were given their chance of a false alarm already")
        level = self.total * SHARES[family] / max(1, n_tests)
        self.given[family] = level * n_tests
        return level

    @property
    def spent(self) -> float:
        """The chance, at most, that any test made so far calls a sound release broken."""
        return sum(self.given.values())

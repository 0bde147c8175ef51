# SPDX-License-Identifier: Apache-2.0
"""What a class must satisfy before it may be released: a predicate on the classes of a frequency table.

A requirement says which classes meet it, whether a search may conclude from one node to others, and how a refusal is
worded. Where what it looks at adds up over combinations, such as records, `class_sums` does the adding; where it does
not, such as distinct persons, the requirement looks at the combinations of each class itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from kepsilon.policy.policy import Policy
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.frequency import FrequencyTable


class Requirement(Protocol):
    """What every released class has to satisfy, for one k; a frozen value."""

    @property
    def name(self) -> str:
        """As in the table of requirements."""

    @property
    def claim(self) -> str:
        """What is asked for, such as "k = 5"; a refusal begins with it."""

    @property
    def unmet(self) -> str:
        """What a refusal calls the classes that fail, such as "classes below 5"."""

    @property
    def remedy(self) -> str:
        """What the curator can do, such as "choose a smaller k"."""

    @property
    def is_monotone_under_suppression(self) -> bool:
        """Whether a class that meets it does so together with any other class, one that fails included.

        A class that fails at a node then consists of classes that fail at every node below, so that fewer records are
        left out the higher the node: OLA may tag nodes above and below one that it counted.
        """

    @property
    def holds_for_unions(self) -> bool:
        """Whether two classes that meet it also do so together; every monotone requirement holds for unions.

        Where no record may be left out, all classes of a passing node meet it, and so do their unions at the nodes
        above: OLA may tag then too. Mondrian asks for it always, because it merges parts that end with equal labels.
        """

    def met_by(self, table: FrequencyTable, class_of: IntArray, *, n_classes: int) -> BoolArray:
        """Whether each class meets it, shape (n_classes,).

        `class_of` is the class of every combination of the table, or SUPPRESSED (−1) for one that is in none of the
        classes asked about, shape (n_combinations,).
        """


class RequirementKind(Protocol):
    """An entry in the table of requirements; usually the class whose values are the requirements."""

    @property
    def name(self) -> str:
        """Its name in the table."""

    def asked_by(self, policy: Policy, *, k: int) -> Requirement | None:
        """The requirement that the policy asks for with this k, whatever its own; None if it does not ask."""


def class_sums(statistic: IntArray, class_of: IntArray, *, n_classes: int) -> IntArray:
    """A statistic of every combination added up over each class, shape (n_classes,); exact below 2**53."""
    # One further on, so that combinations in no class, −1, are counted too; what they add up to is then dropped.
    sums = np.bincount(class_of + 1, weights=statistic, minlength=n_classes + 1)
    return sums[1:].astype(np.int64)


def all_met(
    requirements: Iterable[Requirement], table: FrequencyTable, class_of: IntArray, *, n_classes: int
) -> BoolArray:
    """Whether each class meets every one of the requirements, shape (n_classes,)."""
    met: BoolArray = np.ones(n_classes, dtype=np.bool_)
    for requirement in requirements:
        met &= requirement.met_by(table, class_of, n_classes=n_classes)
    return met

# SPDX-License-Identifier: Apache-2.0
"""What a requirement is: a condition on the classes of a frequency table, which every released class satisfies.

A requirement tells which classes meet it, whether a search may conclude from one node to others, and how a refusal is
worded. Some requirements depend on a number that adds up over combinations, such as records; `class_sums` adds it up.
Others, such as a number of distinct persons, need all combinations of a class.

Confident k leaves out single records after noise was drawn, and a class that met a requirement may fail it then. So every
requirement is asked again about the records that stay: it is bound to the table once, and then needs the records alone,
also in another process.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from kepsilon.policy.policy import Policy
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.class_members import ClassMembers
from kepsilon.table.frequency import FrequencyTable


class Requirement(Protocol):
    """A condition that every released class has to satisfy, for one k; a frozen value."""

    @property
    def name(self) -> str:
        """Its name in the table of requirements."""

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
        """Whether the union of a class that meets it with any other class, even one that fails, meets it too.

        If so, a class that fails at a node consists of classes that fail at every node below, and a higher node leaves
        out no more records: OLA may tag nodes above and below one that it counted.
        """

    @property
    def holds_for_unions(self) -> bool:
        """Whether the union of two classes that both meet it meets it too; true of every monotone requirement.

        If no record may be left out, all classes of a passing node meet it, and so do their unions at the nodes above:
        OLA may tag nodes then too. Local algorithms always need this, because they merge parts with equal labels.
        """

    def met_by(self, table: FrequencyTable, class_of: IntArray, *, n_classes: int) -> BoolArray:
        """Whether each class meets it, shape (n_classes,).

        `class_of` is the class of every combination of the table, shape (n_combinations,), or SUPPRESSED (−1) for a
        combination that is in none of the classes asked about.
        """

    def bound_to(self, table: FrequencyTable) -> Requirement:
        """This requirement with everything that `met_by_records` needs of the table; a small value that can be pickled."""

    def met_by_records(self, members: ClassMembers) -> BoolArray:
        """Whether each class meets it, shape (n_classes,), from its records alone; only after `bound_to`."""


class RequirementKind(Protocol):
    """An entry in the table of requirements; usually the Python class of the requirements themselves."""

    @property
    def name(self) -> str:
        """Its name in the table."""

    def asked_by(self, policy: Policy, *, k: int) -> tuple[Requirement, ...]:
        """The requirements of this kind that the policy asks for, with this k in place of its own.

        None at all if it does not ask for it; several if it asks for it in several columns.
        """


def class_sums(statistic: IntArray, class_of: IntArray, *, n_classes: int) -> IntArray:
    """Sum of a statistic of the combinations over each class, shape (n_classes,); exact below 2**53."""
    # Classes are shifted by one, because SUPPRESSED is −1; the sum of suppressed combinations is then dropped.
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


def all_met_by_records(requirements: Iterable[Requirement], members: ClassMembers) -> BoolArray:
    """Whether each class meets every one of the requirements by its records, shape (n_classes,)."""
    met: BoolArray = np.ones(members.n_classes, dtype=np.bool_)
    for requirement in requirements:
        met &= requirement.met_by_records(members)
    return met


def lacking(what: str) -> RuntimeError:
    """The error for a requirement that is asked about something that nobody counted; it must not pass for want of that."""
    return RuntimeError(f"{what} were not counted, but are asked about; this is a bug, and nothing may be released")

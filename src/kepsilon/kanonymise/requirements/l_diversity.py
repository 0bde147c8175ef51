# SPDX-License-Identifier: Apache-2.0
"""ℓ-diversity: the values of a sensitive column are varied in every class, so that the class does not tell them.

Machanavajjhala et al. 2007, in its three forms. A missing value is no value, and a class without any value fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from kepsilon.kanonymise.requirements.protocol import Requirement
from kepsilon.kanonymise.requirements.sensitive_values import asked_of, of_records, of_table
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction, written
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.class_members import ClassMembers
from kepsilon.table.class_values import ClassValues
from kepsilon.table.frequency import FrequencyTable

NAME = "l-diversity"


class LDiversity:
    """The entry in the table of requirements: one requirement for each sensitive column that `l_diversity` is stated for."""

    name: ClassVar[str] = NAME

    @classmethod
    def asked_by(cls, policy: Policy, *, k: int) -> tuple[Requirement, ...]:  # noqa: ARG003 -- it does not depend on k
        return tuple(_asked(policy))


def _asked(policy: Policy) -> Iterator[Requirement]:
    for column, attribute in asked_of(policy):
        asked = attribute.l_diversity
        if asked is None:
            continue
        if asked.distinct is not None:
            yield DistinctDiversity(column=column, least=asked.distinct)
        if asked.entropy is not None:
            yield EntropyDiversity(column=column, least=asked.entropy)
        if asked.recursive is not None:
            c, least = asked.recursive
            yield RecursiveDiversity(column=column, c=c, least=least)


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctDiversity:
    """A class has at least ℓ distinct values. A union of classes has no fewer values than each."""

    name: ClassVar[str] = NAME
    is_monotone_under_suppression: ClassVar[bool] = True
    holds_for_unions: ClassVar[bool] = True

    column: str
    least: int

    @property
    def claim(self) -> str:
        return f'{self.least} distinct values of "{self.column}" in every class'

    @property
    def unmet(self) -> str:
        return f'classes with fewer than {self.least} values of "{self.column}"'

    @property
    def remedy(self) -> str:
        return f'ask for fewer values in l_diversity of "{self.column}"'

    def bound_to(self, table: FrequencyTable) -> DistinctDiversity:  # noqa: ARG002 -- nothing to compare with
        return self

    def met_by(self, table: FrequencyTable, class_of: IntArray, *, n_classes: int) -> BoolArray:
        return self._met(of_table(self.column, table, class_of, n_classes=n_classes))

    def met_by_records(self, members: ClassMembers) -> BoolArray:
        return self._met(of_records(self.column, members))

    def _met(self, values: ClassValues) -> BoolArray:
        return values.n_distinct >= self.least


@dataclass(frozen=True, slots=True, kw_only=True)
class EntropyDiversity:
    """The values of a class have at least the entropy of ℓ equally frequent values.

    Entropy is concave: that of a union is no smaller than the smaller one of two classes. But a class that fails pulls down
    one that meets it.
    """

    name: ClassVar[str] = NAME
    is_monotone_under_suppression: ClassVar[bool] = False
    holds_for_unions: ClassVar[bool] = True

    column: str
    least: float

    @property
    def claim(self) -> str:
        return f'entropy l-diversity {written(self.least)} of "{self.column}"'

    @property
    def unmet(self) -> str:
        return (
            f'classes whose values of "{self.column}" are mixed less evenly than {written(self.least)} equally frequent '
            "values would be"
        )

    @property
    def remedy(self) -> str:
        return f'ask for a smaller entropy in l_diversity of "{self.column}"'

    def bound_to(self, table: FrequencyTable) -> EntropyDiversity:  # noqa: ARG002 -- nothing to compare with
        return self

    def met_by(self, table: FrequencyTable, class_of: IntArray, *, n_classes: int) -> BoolArray:
        return self._met(of_table(self.column, table, class_of, n_classes=n_classes))

    def met_by_records(self, members: ClassMembers) -> BoolArray:
        return self._met(of_records(self.column, members))

    def _met(self, values: ClassValues) -> BoolArray:
        return values.are_entropy_diverse(self.least)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecursiveDiversity:
    """The most frequent value of a class is rarer than c times all values from the ℓ-th most frequent on together.

    The most frequent value of a union occurs at most as often as those of both classes together, and the values from the
    ℓ-th on at least as often; so it holds for unions. A class that fails may have one value so often that a union fails.
    """

    name: ClassVar[str] = NAME
    is_monotone_under_suppression: ClassVar[bool] = False
    holds_for_unions: ClassVar[bool] = True

    column: str
    c: float
    least: int

    @property
    def claim(self) -> str:
        return f'recursive l-diversity [{written(self.c)}, {self.least}] of "{self.column}"'

    @property
    def unmet(self) -> str:
        return f'classes where one value of "{self.column}" is too frequent beside the others'

    @property
    def remedy(self) -> str:
        return f'ask for a larger first or a smaller second number in l_diversity of "{self.column}"'

    def bound_to(self, table: FrequencyTable) -> RecursiveDiversity:  # noqa: ARG002 -- nothing to compare with
        return self

    def met_by(self, table: FrequencyTable, class_of: IntArray, *, n_classes: int) -> BoolArray:
        return self._met(of_table(self.column, table, class_of, n_classes=n_classes))

    def met_by_records(self, members: ClassMembers) -> BoolArray:
        return self._met(of_records(self.column, members))

    def _met(self, values: ClassValues) -> BoolArray:
        return values.are_recursively_diverse(self._exact_c, self.least)

    @property
    def _exact_c(self) -> Fraction:
        """c as the policy states it."""
        return fraction(self.c)

# SPDX-License-Identifier: Apache-2.0
"""The role an attribute plays, and what each role needs to be told. Algorithm 1, lines 1 to 4."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from kepsilon.policy.hierarchies import Hierarchy
from kepsilon.policy.hierarchies.levels import Specification

Number = int | float
Bounds = tuple[Number, Number]


def fraction(number: float) -> Fraction:
    """The number as it was written: 0.1 is one tenth, not the nearest double."""
    return Fraction(str(number))


class CoarseSpecification(Specification):
    coarse: Annotated[Number, Field(gt=0)]


class Identifier(Specification):
    """Dropped before anything else happens."""

    role: Literal["identifier"]


class KQuasi(Specification):
    """Generalised until every combination occurs k times."""

    role: Literal["k-quasi"]
    hierarchy: Hierarchy | None = None
    """Needed for OLA; Mondrian labels attributes without one as intervals or sets."""
    unlisted: Literal["error", "suppress"] = "error"
    """What to do with records whose value the hierarchy lacks."""


class EpsilonQuasi(Specification):
    """Made ε-indistinguishable within each class by noise."""

    role: Literal["epsilon-quasi"]
    precision: Annotated[Number, Field(gt=0)]
    """Published values are rounded to this."""
    range: Literal["class"] | CoarseSpecification | Bounds
    """What sets the noise, and so what is promised."""
    mechanism: Literal["laplace"] = "laplace"
    missing: Literal["suppress", "class"] = "suppress"
    domain: Bounds | None = None
    """Public bounds that published values are clamped to."""

    @field_validator("range", mode="before")
    @classmethod
    def _one_of_three(cls, value: object) -> object:
        if value == "class" or (isinstance(value, dict) and set(value) == {"coarse"}):
            return value
        if isinstance(value, CoarseSpecification) or (isinstance(value, list | tuple) and len(value) == 2):
            return value
        raise PydanticCustomError("range", 'should be "class", { coarse = step } or bounds [low, high]')

    @model_validator(mode="after")
    def _bounds_fit_together(self) -> Self:
        for name, bounds in (("range", self.range), ("domain", self.domain)):
            if isinstance(bounds, tuple) and not bounds[0] < bounds[1]:
                raise PydanticCustomError("bounds", f"{name} should be [low, high] with low below high")
        precision = fraction(self.precision)
        if isinstance(self.range, CoarseSpecification) and fraction(self.range.coarse) % precision != 0:
            raise PydanticCustomError("coarse", "the coarse step should be a whole multiple of the precision")
        if self.domain is not None:
            low, high = map(fraction, self.domain)
            if low % precision != 0 or high % precision != 0:
                raise PydanticCustomError("domain", "the bounds of domain should be whole multiples of the precision")
        return self


class Kept(Specification):
    """Published as it is."""

    role: Literal["sensitive", "insensitive"]


Attribute = Annotated[Identifier | KQuasi | EpsilonQuasi | Kept, Field(discriminator="role")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRoles:
    """Names of the columns that will be published, by role. Identifiers are not even named."""

    k_quasis: tuple[str, ...]
    epsilon_quasis: tuple[str, ...]
    kept: tuple[str, ...]
    published: tuple[str, ...]
    """All columns of the release, in the order of the input."""

# SPDX-License-Identifier: Apache-2.0
"""Roles of attributes, and the settings that each role has in a policy. Algorithm 1, lines 1 to 4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from kepsilon.policy.choices import MECHANISMS, OneOf
from kepsilon.policy.exact_bounds import EXACT, FINEST_BITS
from kepsilon.policy.hierarchies import Hierarchy, IntervalsHierarchy
from kepsilon.policy.hierarchies.levels import Specification
from kepsilon.policy.reading import PLAIN, MissingValues, Reading


def _refuse_other_than_numbers(value: object) -> object:
    """The value if it is a number; `true` and "0.05" are refused, because what decides a promise is not guessed."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PydanticCustomError("number", "should be a number")
    if isinstance(value, int) and abs(value) >= EXACT:
        raise PydanticCustomError("number", "should be a number below 2^53")
    return value


Number = Annotated[int | float, BeforeValidator(_refuse_other_than_numbers)]
Bounds = tuple[Number, Number]


@lru_cache(maxsize=256)
def fraction(number: float) -> Fraction:
    """The number exactly as it was written: 0.1 is one tenth, not the nearest double."""
    return Fraction(str(number))


def written(number: float) -> str:
    """The number as text, as the curator wrote it: a rounded ε would be another promise."""
    return str(int(number)) if number == int(number) else repr(number)


def _in_one_line(reason: str) -> str:
    """A reason that is printed in public; an empty one, or one with control characters, is refused."""
    if not reason.strip() or not reason.isprintable():
        raise PydanticCustomError("reason", "should be a reason in words, in one line")
    return reason


Reason = Annotated[str, Field(max_length=500), AfterValidator(_in_one_line)]


class CoarseSpecification(Specification):
    coarse: Annotated[Number, Field(gt=0)]


_RANGES_IN_WORDS = {"class": '"class"', "coarse": "{ coarse = step }", "declared": "bounds [low, high]"}


class Identifier(Specification):
    """A column that names a person. It is dropped before anything else happens."""

    role: Literal["identifier"]


class KQuasi(Specification):
    """A quasi-identifier that is generalised until every combination of k-quasis occurs at least k times."""

    role: Literal["k-quasi"]
    hierarchy: Hierarchy | None = None
    """OLA needs a hierarchy; local algorithms label attributes without one with intervals on `step`, or with sets."""
    step: Annotated[Number, Field(gt=1e-30, lt=EXACT)] | None = None
    """The public step that Mondrian and local recoding cut and label numbers on; OLA uses the hierarchy instead."""
    unlisted: Literal["error", "suppress"] = "error"
    """What to do with records whose value is not in the hierarchy, or is no number though there is a step."""
    missing_values: MissingValues | None = None
    """Texts that mean missing, instead of those that the policy has for all quasis."""
    importance: Annotated[Number, Field(gt=0, le=1000)] = 1
    """The weight of its loss beside those of the other k-quasis; Mondrian weighs its width with it."""
    max_level: Annotated[int, Field(ge=0, strict=True)] | None = None
    """The highest level of its hierarchy that it may be generalised to; without one, level j is intervals of 2^j steps."""
    accept_useless: Reason | None = None
    """Why it is published though next to nothing is left of it; the manifest and the report print it as it is written."""

    @model_validator(mode="after")
    def _has_the_level(self) -> Self:
        height = None if self.hierarchy is None else self.hierarchy.height
        if self.max_level is None or (self.step is not None and self.hierarchy is None):
            return self
        if self.hierarchy is None:
            raise PydanticCustomError("max_level", "max_level needs a hierarchy or a step, which has levels")
        if height is not None and self.max_level > height:
            what = "max_level is {stated}, and the highest level of the hierarchy is {height}"
            raise PydanticCustomError("max_level", what, {"stated": self.max_level, "height": height})
        return self

    @property
    def reads_numbers(self) -> bool:
        """Whether its values are read as numbers, because it has a step or intervals."""
        return self.step is not None or isinstance(self.hierarchy, IntervalsHierarchy)


class EpsilonQuasi(Specification):
    """A numeric quasi-identifier whose values noise makes ε-indistinguishable within each class."""

    role: Literal["epsilon-quasi"]
    precision: Annotated[Number, Field(gt=0)]
    """The step that published values are multiples of."""
    range: Literal["class"] | CoarseSpecification | Bounds | None = None
    """The range that the size of the noise follows; it decides what is promised, and is required where there is noise."""
    mechanism: Annotated[str, OneOf(MECHANISMS)] = "laplace"
    """How published values are made from true ones."""
    missing: Literal["suppress", "class"] = "suppress"
    missing_values: MissingValues | None = None
    """Texts that mean missing, instead of those that the policy has for all quasis."""
    domain: Bounds | None = None
    """Public bounds that published values are clamped to."""
    accept_useless: Reason | None = None
    """Why it is published though next to nothing is left of it; the manifest and the report print it as it is written."""

    @field_validator("range", mode="before")
    @classmethod
    def _one_of_three(cls, value: object) -> object:
        if value is None or value == "class" or (isinstance(value, dict) and set(value) == {"coarse"}):
            return value
        if isinstance(value, CoarseSpecification) or (isinstance(value, list | tuple) and len(value) == 2):
            return value
        raise PydanticCustomError("range", 'should be "class", { coarse = step } or bounds [low, high]')

    @property
    def range_kind(self) -> str:
        """The kind of `range`: "class", "coarse" or "declared"."""
        if isinstance(self.range, tuple):
            return "declared"
        return "coarse" if isinstance(self.range, CoarseSpecification) else "class"

    @model_validator(mode="after")
    def _mechanism_takes_the_range(self) -> Self:
        kinds = MECHANISMS[self.mechanism].range_kinds
        if self.range is not None and self.range_kind not in kinds:
            raise PydanticCustomError(
                "mechanism_range",
                "the mechanism {mechanism} needs another range: {possible}",
                {
                    "mechanism": self.mechanism,
                    "possible": " or ".join(words for kind, words in _RANGES_IN_WORDS.items() if kind in kinds),
                },
            )
        return self

    @model_validator(mode="after")
    def _bounds_fit_together(self) -> Self:
        for name, bounds in (("range", self.range), ("domain", self.domain)):
            if isinstance(bounds, tuple) and not bounds[0] < bounds[1]:
                raise PydanticCustomError("bounds", f"{name} should be [low, high] with low below high")
        precision = fraction(self.precision)
        if precision.numerator >= EXACT or precision.denominator >= EXACT:
            raise PydanticCustomError("precision", "the precision has more digits than a double can hold")
        for name, bounds in (("range", self.range), ("domain", self.domain)):
            largest = max(map(abs, map(fraction, bounds))) if isinstance(bounds, tuple) else Fraction(0)
            if largest / precision * precision.numerator >= EXACT // 2:
                raise PydanticCustomError("bounds", f"{name} is too wide to be counted in steps of the precision")
        if isinstance(self.range, CoarseSpecification):
            step = fraction(self.range.coarse)
            if step % precision != 0:
                raise PydanticCustomError("coarse", "the coarse step should be a whole multiple of the precision")
            if step > precision * 2**FINEST_BITS:
                raise PydanticCustomError("coarse", "the precision should not be finer than 1/2^24 of the coarse step")
        if isinstance(self.range, tuple):
            low, high = map(fraction, self.range)
            if high - low > precision * 2**FINEST_BITS:
                raise PydanticCustomError("range", "the precision should not be finer than 1/2^24 of the range")
        if (
            isinstance(self.range, tuple)
            and self.domain is not None
            and not max(self.range[0], self.domain[0]) < min(self.range[1], self.domain[1])
        ):
            raise PydanticCustomError("domain", "range and domain have nothing in common; make them overlap")
        if self.domain is not None:
            low, high = map(fraction, self.domain)
            if low % precision != 0 or high % precision != 0:
                raise PydanticCustomError("domain", "the bounds of domain should be whole multiples of the precision")
        return self


class LDiversity(Specification):
    """What is asked of the values of a sensitive column in every class; exactly one of the three is stated."""

    distinct: Annotated[int, Field(ge=2, lt=EXACT, strict=True)] | None = None
    """At least so many distinct values."""
    entropy: Annotated[Number, Field(gt=1, lt=EXACT)] | None = None
    """At least the entropy that so many values of equal frequency have."""
    recursive: tuple[Annotated[Number, Field(gt=0)], Annotated[int, Field(ge=2, lt=EXACT, strict=True)]] | None = None
    """[c, ℓ]: the most frequent value is rarer than c times all values from the ℓ-th most frequent on together."""

    @model_validator(mode="after")
    def _is_one_of_three(self) -> Self:
        if sum(own is not None for own in (self.distinct, self.entropy, self.recursive)) != 1:
            raise PydanticCustomError(
                "l_diversity",
                "should be one of { distinct = 3 }, { entropy = 2.5 } and { recursive = [2, 3] }",
            )
        return self


class Kept(Specification):
    """A column that is published as it is."""

    role: Literal["sensitive", "insensitive"]
    accept_leak: Reason | None = None
    """Why the column is published though it gives people away; the manifest and the report print it as it is written."""
    l_diversity: LDiversity | None = None
    """For a sensitive column: how many values, or how even a mixture of them, every class has to have."""
    t_closeness: Annotated[Number, Field(gt=0, le=1)] | None = None
    """For a sensitive column: how far the values of a class may be from those of the whole table, at most."""

    @model_validator(mode="after")
    def _asks_only_of_sensitive(self) -> Self:
        asked = [key for key in ("l_diversity", "t_closeness") if getattr(self, key) is not None]
        if asked and self.role != "sensitive":
            raise PydanticCustomError(
                "not_sensitive", 'only a column with role = "sensitive" can have {key}', {"key": " and ".join(asked)}
            )
        return self

    @property
    def asks_for_diversity(self) -> bool:
        """Whether classes have to meet a requirement about the values of this column."""
        return self.l_diversity is not None or self.t_closeness is not None


Attribute = Annotated[Identifier | KQuasi | EpsilonQuasi | Kept, Field(discriminator="role")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRoles:
    """Names of the columns that will be published, by role; identifiers are not among them."""

    k_quasis: tuple[str, ...]
    epsilon_quasis: tuple[str, ...]
    kept: tuple[str, ...]
    published: tuple[str, ...]
    """All columns of the release, in the order of the input."""
    attributes: Mapping[str, KQuasi] = field(default_factory=dict)
    """The k-quasis with their hierarchies, from which messages tell how a column could be coarsened."""
    precisions: Mapping[str, Fraction] = field(default_factory=dict)
    """Precision of each ε-quasi; the data's own values mostly have it too."""
    readings: Mapping[str, Reading] = field(default_factory=dict)
    """How the cells of each quasi are read; what is not listed is read as `PLAIN`."""
    are_figures_simulated: bool = False
    """Whether the expected figures of the ε-quasis have no closed form and are simulated."""
    person: str | None = None
    """The column that says whom a record is about; it is read and counted, and never published."""
    max_records_per_person: int | None = None
    """How many records of one person stay at the most; None for all of them."""
    diverse: tuple[str, ...] = ()
    """The sensitive columns, among those kept, whose values classes have to meet a requirement about."""

    @property
    def read(self) -> tuple[str, ...]:
        """The columns that are read: those to publish, and the one that says whom a record is about."""
        return self.published if self.person is None else (*self.published, self.person)

    @property
    def flagged(self) -> tuple[str, ...]:
        """The columns of which it matters whether a record misses them: ε-quasis, and then whom it is about."""
        return self.epsilon_quasis if self.person is None else (*self.epsilon_quasis, self.person)

    def reading(self, name: str) -> Reading:
        """How the cells of a quasi are read."""
        return self.readings.get(name, PLAIN)

# SPDX-License-Identifier: Apache-2.0
"""The frozen values that say what of the statistics of an ε-quasi survives a release. For the curator only.

`before` is over all records that were counted, those left out for k included: what an analyst would have had. `after` is
over the released records. A figure says itself whether it may be used (`rules`); it is None where it is undefined.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kepsilon.json_values import FrozenMapping, JsonValue, inline, left_out_if_none
from kepsilon.rounding import number

PERCENTS = (5, 25, 50, 75, 95)
"""The quantiles that are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared(JsonValue):
    """A statistic before and after."""

    before: float | None
    after: float | None
    usable: bool | None
    """Whether an analyst may use it; None where it is undefined before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles(JsonValue):
    """Quantiles before and after, by per cent: the smallest value that so many records do not exceed."""

    by_percent: Mapping[str, Compared] = field(metadata=inline())
    measured_on: str | None = field(default=None, metadata=left_out_if_none())
    """How many records were looked at; None where all were."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_percent", FrozenMapping(self.by_percent))

    @property
    def usable(self) -> bool | None:
        """Whether all of them may be used; None where one is undefined."""
        found = [own.usable for own in self.by_percent.values()]
        return None if None in found else all(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation(JsonValue):
    """How another column goes with an ε-quasi, over the records that hold both."""

    correlation: Compared
    slope: Compared
    """Of the other column on the ε-quasi, by least squares."""
    measured_on: str | None = field(default=None, metadata=left_out_if_none())
    """How many records were looked at; None where all were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantError(JsonValue):
    """The error of the best constant per class, the median of its records."""

    absolute: float | None
    """Mean distance, in the units of the attribute."""
    relative: float | None
    """Mean distance relative to the value; None where fewer than k records have one."""
    range_relative: float | None
    """Mean distance relative to the range of the data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorInUnits(JsonValue):
    """Mean distance of published from true values, in the units of the attribute."""

    expected: float | None
    realised: float | None = field(default=None, metadata=left_out_if_none())
    """None before noise is drawn."""
    usable: bool | None
    """Whether single values tell more than their class does: the expected error is below that of the best constant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeseenSurvival(JsonValue):
    """What is known of an ε-quasi before noise is drawn."""

    error: ErrorInUnits
    error_of_best_constant: ConstantError

    @property
    def in_words(self) -> str | None:
        """Both errors in one line; None where they are undefined."""
        return _errors_in_words(self.error, self.error_of_best_constant)


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed(JsonValue):
    """The correlation of published with true values, once the mean of each class is subtracted from both."""

    inside_classes: float | None
    usable: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Survival(JsonValue):
    """What of the statistics of one ε-quasi survives."""

    mean: Compared
    spread: Compared
    """The standard deviation."""
    quantiles: Quantiles
    error: ErrorInUnits
    error_of_best_constant: ConstantError
    correlation: Followed
    relations: Mapping[str, Relation]
    """By other numeric column: ε-quasis, and kept columns of numbers."""
    measured_on: str | None = field(default=None, metadata=left_out_if_none())
    """Which records were looked at before noise, for all but quantiles and kept columns; None where all were."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "relations", FrozenMapping(self.relations))

    @property
    def error_in_words(self) -> str | None:
        """The error and that of the best constant in one line; None where they are undefined."""
        return _errors_in_words(self.error, self.error_of_best_constant)


def _errors_in_words(error: ErrorInUnits, constant: ConstantError) -> str | None:
    """Both errors in one line; None where they are undefined."""
    if error.expected is None or constant.absolute is None:
        return None
    realised = "" if error.realised is None else f" expected, {number(error.realised)} as drawn"
    return f"{number(error.expected)}{realised} (in its own units); {number(constant.absolute)} for the best constant per class"

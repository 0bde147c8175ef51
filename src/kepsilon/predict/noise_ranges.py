# SPDX-License-Identifier: Apache-2.0
"""What sets the noise of every class: the values that get noise, and the range of each class."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kepsilon.errors import PolicyError, Problem
from kepsilon.perturb.mechanisms import mechanism_of
from kepsilon.perturb.mechanisms.protocol import Mechanism
from kepsilon.perturb.ranges import ClassRange, CoarseRange, DeclaredRange, Range, clip_to_range
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import CoarseSpecification, EpsilonQuasi, fraction, written
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.classes import class_ranges
from kepsilon.table.coded_values import CodedValues


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseRanges:
    """The ε-quasis of the records of some classes, in the order they were given, and the range of every class."""

    values: FloatArray
    """Shape (n_released, n_epsilon_quasis); clipped where bounds were declared."""
    class_ids: IntArray
    low: FloatArray
    """Ends of the ranges, shape (n_classes, n_epsilon_quasis)."""
    high: FloatArray
    unclipped: FloatArray | None
    """The values before clipping; None where none was clipped."""
    clipped: dict[str, int]
    """How many values lay outside declared bounds, by ε-quasi."""
    constant_classes: dict[str, int]
    """Classes whose range is 0, so that the exact value is published, by ε-quasi."""

    @property
    def widths(self) -> FloatArray:
        """R, shaped like its ends."""
        return self.high - self.low


def ranges_of(values: FloatArray, class_ids: IntArray, *, n_classes: int, policy: Policy) -> NoiseRanges:
    """The values that get noise, and the ranges, of some whole classes, from the ε-quasis as they are in the data."""
    clipped_values, clipped = clip(values, policy)
    low = np.empty((n_classes, values.shape[1]))
    high = np.empty_like(low)
    for j, attribute in enumerate(policy.epsilon_quasis.values()):
        extremes = class_ranges(clipped_values[:, j], class_ids, n_classes=n_classes)
        low[:, j], high[:, j] = _range(attribute, policy).of_classes(*extremes, precision=fraction(attribute.precision))
    return NoiseRanges(
        values=clipped_values,
        class_ids=class_ids,
        low=low,
        high=high,
        unclipped=values if any(clipped.values()) else None,
        clipped=clipped,
        constant_classes=constant_classes(low, high, policy),
    )


def clip(values: FloatArray, policy: Policy) -> tuple[FloatArray, dict[str, int]]:
    """The values that get noise or are averaged, clipped where bounds are declared, and how many lay outside, by ε-quasi.

    Averages without noise have no range; their values are clipped to the domain, where there is one.
    """
    clipped = {}
    moved = values
    for j, (name, attribute) in enumerate(policy.epsilon_quasis.items()):
        chosen = _range(attribute, policy)
        bounds = (chosen.low, chosen.high) if isinstance(chosen, DeclaredRange) else None
        if not policy.draws_noise and attribute.domain is not None:
            bounds = (fraction(attribute.domain[0]), fraction(attribute.domain[1]))
        if bounds is not None:
            own, clipped[name] = clip_to_range(values[:, j], float(bounds[0]), float(bounds[1]))
            if clipped[name]:
                moved = values.copy() if moved is values else moved
                moved[:, j] = own
    return moved, clipped


def constant_classes(low: FloatArray, high: FloatArray, policy: Policy) -> dict[str, int]:
    """Classes whose range is 0, by ε-quasi."""
    return {name: int(np.count_nonzero(high[:, j] == low[:, j])) for j, name in enumerate(policy.epsilon_quasis)}


def clip_coded(coded: CodedValues, attribute: EpsilonQuasi, policy: Policy) -> CodedValues:
    """The coded values of an ε-quasi, clipped where bounds are declared."""
    chosen = _range(attribute, policy)
    if isinstance(chosen, DeclaredRange):
        return coded.clipped(float(chosen.low), float(chosen.high))
    return coded


def declared_ends(policy: Policy) -> tuple[FloatArray, FloatArray]:
    """The ends of the declared ranges of all ε-quasis, shape (n_epsilon_quasis,) each."""
    ranges = [own.range for own in policy.epsilon_quasis.values()]
    declared = [own for own in ranges if isinstance(own, tuple)]
    if len(declared) < len(ranges):
        raise ValueError("a draw that serves several classes needs declared ranges")
    low, high = (np.array([float(fraction(own[i])) for own in declared]) for i in (0, 1))
    return low, high


def refuse_too_fine(low: FloatArray, high: FloatArray, policy: Policy) -> None:
    """Refuses precisions so fine that the grid of the noise would show; `low` and `high` are those of all classes."""
    problems: list[Problem] = []
    mechanism = mechanism_of(policy)
    for j, (name, attribute) in enumerate(policy.epsilon_quasis.items()):
        problems += _too_fine(mechanism, name, low[:, j], high[:, j], fraction(attribute.precision))
    if problems:
        raise PolicyError(problems)


def are_coarse_enough(low: FloatArray, high: FloatArray, policy: Policy) -> bool:
    """Whether the mechanism can draw for ranges with these ends in steps of the precisions."""
    mechanism = mechanism_of(policy)
    return all(
        mechanism.coarse_enough(low[:, j], high[:, j], fraction(attribute.precision)).all()
        for j, attribute in enumerate(policy.epsilon_quasis.values())
    )


def _range(attribute: EpsilonQuasi, policy: Policy) -> Range:
    """The rule that sets the range of an ε-quasi; that of the records, where no noise follows it."""
    if attribute.range is None or attribute.range == "class" or not policy.draws_noise:
        return ClassRange()
    if isinstance(attribute.range, CoarseSpecification):
        return CoarseRange(step=fraction(attribute.range.coarse))
    return DeclaredRange(low=fraction(attribute.range[0]), high=fraction(attribute.range[1]))


def _too_fine(mechanism: Mechanism, name: str, low: FloatArray, high: FloatArray, precision: Fraction) -> list[Problem]:
    """A problem if the precision is so fine that the grid of the noise would show, and with it a class's extremes."""
    fits = mechanism.coarse_enough(low, high, precision)
    if fits.all():
        return []
    enough = precision
    while not mechanism.coarse_enough(low, high, enough).all():
        enough *= 10
    return [
        Problem(
            where=f"attributes.{name}.precision",
            what=f"{written(float(precision))} is too fine in {int((~fits).sum()):,} of {len(fits):,} classes: below 1/2^24 of "
            "a class's range, published values would show the grid that noise is drawn on.",
            fix=f"A precision of {written(float(enough))} is coarse enough.",
        )
    ]

# SPDX-License-Identifier: Apache-2.0
"""Noise that records are given in a simulation of confident k, rounded and clamped as for publishing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from kepsilon.evaluate.noise_law import ExponentialLaw, NoiseLaw
from kepsilon.evaluate.simulation import SimulatedBytes
from kepsilon.policy.roles import fraction
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.steps import Steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Publishing:
    """How noisy values are rounded and clamped before they are published."""

    precisions: Sequence[Fraction] | None
    domains: Sequence[tuple[float, float] | None] | None

    def apply(self, noisy: FloatArray) -> None:
        """Rounds to whole units of the precision, and then clamps to the last ones inside the domain, in place."""
        for j, values in enumerate(noisy):
            domain = None if self.domains is None else self.domains[j]
            if self.precisions is not None:
                precision = self.precisions[j]
                p, q = float(precision.numerator), float(precision.denominator)
                values[:] = np.rint(values * q / p) * p / q
                domain = None if domain is None else _whole_units(domain, precision)
            if domain is not None:
                np.clip(values, *domain, out=values)


def _whole_units(domain: tuple[float, float], precision: Fraction) -> tuple[float, float]:
    """The smallest and largest multiple of the precision inside the domain."""
    low, high = (fraction(end) / precision for end in domain)
    return float(math.ceil(low) * precision), float(math.floor(high) * precision)


class Noise(Protocol):
    """Noise that is given to records in a simulation."""

    @property
    def precisions(self) -> Sequence[Fraction] | None:
        """The precisions of published values; None where values are not rounded."""

    def move(self, places: FloatArray, class_ids: IntArray, tells: BoolArray, rng: np.random.Generator) -> FloatArray:
        """The published values of records whose values are `places`; both (n_attributes, n_records).

        `class_ids` are those of the records, and `tells`, (n_records, n_attributes), says which attributes are active;
        the others are 0 in `places` and in the result.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialNoise:
    """Exponential noise in floating point, rounded and clamped as for publishing."""

    law: ExponentialLaw
    ranges: FloatArray
    epsilon: float
    publishing: Publishing

    @property
    def precisions(self) -> Sequence[Fraction] | None:
        return self.publishing.precisions

    def move(self, places: FloatArray, class_ids: IntArray, tells: BoolArray, rng: np.random.Generator) -> FloatArray:
        scales = np.where(tells, self.ranges[class_ids] / self.epsilon, 0.0)
        moved: FloatArray = places + (self.law.unit_noise(scales > 0, rng) * scales).T
        self.publishing.apply(moved)
        return moved


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnNoise:
    """Noise as the mechanism draws it for a release."""

    mechanism: NoiseLaw
    low: FloatArray
    high: FloatArray
    epsilon: float
    steps: Sequence[Steps]

    @property
    def precisions(self) -> Sequence[Fraction]:
        return [own.precision for own in self.steps]

    def move(self, places: FloatArray, class_ids: IntArray, tells: BoolArray, rng: np.random.Generator) -> FloatArray:
        classes, own = np.unique(class_ids, return_inverse=True)
        told = np.zeros((len(classes), len(places)), dtype=np.bool_)
        told[own] = tells
        drawn = self.mechanism.draw(
            np.ascontiguousarray(places.T),
            own,
            np.where(told, self.low[classes], 0.0),
            np.where(told, self.high[classes], 0.0),
            epsilon=fraction(self.epsilon),
            steps=self.steps,
            source=SimulatedBytes(rng),
        )
        return np.ascontiguousarray(drawn.T)
